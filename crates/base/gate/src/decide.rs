//! The decision about one command, as a pure function of the command, the owner's policy and what was approved.

use std::collections::BTreeSet;

use globset::GlobBuilder;

use crate::look::{Findings, look};
use crate::policy::{ALLOWLIST, Approvals, Isolation, Mode, Policy, Surface, Unasked};
use crate::{Denied, Yolo};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    Allow,
    Block {
        reason: String,
    },
    /// The owner must agree; the warnings are the keys to remember.
    Ask {
        warnings: Vec<String>,
    },
}

/// May this run? The order of the questions is the policy.
pub fn decide(command: &str, policy: &Policy, approvals: &Approvals) -> Decision {
    match screen(command, policy, approvals) {
        Screened::Allowed(_) => Decision::Allow,
        Screened::Forbidden(refused) => Decision::Block {
            reason: refused.reason,
        },
        Screened::Open { dangers, .. } => conclude(dangers, policy),
    }
}

/// What can be said before anybody else is asked.
pub(super) enum Screened {
    /// By whom or what; empty if there is nothing to be said against it.
    Allowed(&'static str),
    Forbidden(Denied),
    /// It may be asked about; for these reasons so far, perhaps for none.
    Open {
        dangers: Vec<String>,
        /// Who allowed what else would have been a reason.
        covered: &'static str,
    },
}

pub(super) fn screen(command: &str, policy: &Policy, approvals: &Approvals) -> Screened {
    if policy.isolation == Isolation::Sandbox {
        // Nobody looks at what cannot reach the host.
        return Screened::Allowed("");
    }
    let findings = look(command, &policy.places);
    if let Some(refused) = forbidden(command, policy, &findings) {
        return Screened::Forbidden(refused);
    }
    let listed = || listed(command, &approvals.always);
    if let Some(by) = trusted(policy, approvals).or_else(listed) {
        let decided = !findings.dangers.is_empty();
        return Screened::Allowed(if decided { by } else { "" });
    }
    let (covered, fresh): (Vec<_>, Vec<_>) = findings
        .dangers
        .into_iter()
        .partition(|key| approvals.cover(key));
    Screened::Open {
        dangers: fresh,
        covered: approvals.origin(&covered),
    }
}

/// Why nobody has to be asked, whatever the command.
fn trusted(policy: &Policy, approvals: &Approvals) -> Option<&'static str> {
    match policy.surface {
        _ if approvals.yolo || policy.yolo == Yolo::On => Some("yolo"),
        _ if policy.mode == Mode::Off => Some("approvals off"),
        Surface::Headless(Unasked::Allow)
        | Surface::Cron(Unasked::Allow)
        | Surface::Child(Unasked::Allow) => Some(policy.surface.name()),
        _ => None,
    }
}

/// What becomes of a command that all this is to be said against.
pub(super) fn conclude(warnings: Vec<String>, policy: &Policy) -> Decision {
    if warnings.is_empty() {
        return Decision::Allow;
    }
    match policy.surface {
        Surface::Interactive | Surface::Messages => Decision::Ask { warnings },
        Surface::Headless(Unasked::Deny) => unattended(&warnings, "approvals.headless_mode"),
        Surface::Cron(Unasked::Deny) => unattended(&warnings, "approvals.cron_mode"),
        Surface::Child(Unasked::Deny) => unattended(&warnings, "delegation.subagent_auto_approve"),
        Surface::Headless(Unasked::Allow)
        | Surface::Cron(Unasked::Allow)
        | Surface::Child(Unasked::Allow) => Decision::Allow,
    }
}

/// May a whole script of `execute_code` run? Asked once, and only where the owner is far away: at a terminal they
/// see what it does, and every command it runs is judged on its own.
pub fn decide_script(policy: &Policy, approvals: &Approvals) -> Decision {
    let key = "execute_code";
    let fine = policy.isolation == Isolation::Sandbox
        || approvals.yolo
        || policy.yolo == Yolo::On
        || policy.mode == Mode::Off
        || approvals.cover(key);
    match policy.surface {
        _ if fine => Decision::Allow,
        Surface::Messages => Decision::Ask {
            warnings: vec![key.to_owned()],
        },
        Surface::Cron(Unasked::Deny) => unattended(&[key.to_owned()], "approvals.cron_mode"),
        Surface::Interactive
        | Surface::Headless(_)
        | Surface::Child(_)
        | Surface::Cron(Unasked::Allow) => Decision::Allow,
    }
}

/// Why nothing the owner says now would let this run.
fn forbidden(command: &str, policy: &Policy, findings: &Findings) -> Option<Denied> {
    if let Some(key) = &findings.hardline {
        let reason = format!(
            "BLOCKED (hardline): {key}. No setting, no approval and no --yolo lets the agent run this. Whoever \
             really wants it has to type it into a terminal of their own."
        );
        return Some(Denied::by_policy(reason, "hardline"));
    }
    if !policy.sudo_password && findings.sudo_reads_input {
        let reason = "BLOCKED: sudo password guessing via stdin (sudo -S). Never pipe a password into sudo; the \
             owner can set SUDO_PASSWORD in .env, or run the command themselves.";
        return Some(Denied::by_policy(reason.to_owned(), "sudo -S"));
    }
    let rule = denied(command, findings, &policy.deny)?;
    let reason = format!(
        "BLOCKED: the owner forbids commands like '{rule}' (approvals.deny), whatever else allows them. Do not \
         try to reach the same in another way."
    );
    Some(Denied::by_policy(reason, "approvals.deny"))
}

fn unattended(warnings: &[String], key: &str) -> Decision {
    Decision::Block {
        reason: format!(
            "BLOCKED: {}. Nobody is here to approve it. Find a way that needs no approval; the owner can allow \
             such commands with {key}.",
            warnings.join("; ")
        ),
    }
}

fn denied<'r>(command: &str, findings: &Findings, rules: &'r [String]) -> Option<&'r str> {
    let mut rules = rules
        .iter()
        .map(|rule| rule.trim())
        .filter(|rule| !rule.is_empty())
        .peekable();
    rules.peek()?;
    let texts: Vec<String> = findings
        .lines()
        .chain([command.trim().to_owned()])
        .collect();
    rules.find(|rule| texts.iter().any(|text| matches(rule, text, Case::Folded)))
}

/// An entry that is the command itself, or a glob of it. Never for commands made of several.
fn listed(command: &str, entries: &BTreeSet<String>) -> Option<&'static str> {
    let command = command.trim();
    let compound = command.contains(['\n', ';', '&', '|', '<', '>', '`']) || command.contains("$(");
    let listed = !command.is_empty()
        && !compound
        && entries
            .iter()
            .any(|entry| matches(entry.trim(), command, Case::Kept));
    listed.then_some(ALLOWLIST)
}

#[derive(PartialEq)]
enum Case {
    Kept,
    Folded,
}

fn matches(pattern: &str, text: &str, case: Case) -> bool {
    if pattern == text {
        return true;
    }
    if !pattern.contains(['*', '?', '[']) && case == Case::Kept {
        return false;
    }
    let glob = GlobBuilder::new(pattern)
        .case_insensitive(case == Case::Folded)
        .literal_separator(false)
        .build();
    glob.is_ok_and(|glob| glob.compile_matcher().is_match(text))
}
