//! The decision about one command, as a pure function of the command, the owner's policy and what was approved.

use std::collections::BTreeSet;

use globset::GlobBuilder;

use crate::Yolo;
use crate::look::{Findings, look};
use crate::policy::{Approvals, Isolation, Mode, Policy, Surface, Unasked};

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
        Screened::Allowed => Decision::Allow,
        Screened::Forbidden(reason) => Decision::Block { reason },
        Screened::Open(dangers) => conclude(dangers, policy),
    }
}

/// What can be said before anybody else is asked.
pub(super) enum Screened {
    Allowed,
    Forbidden(String),
    /// It may be asked about; for these reasons so far, perhaps for none.
    Open(Vec<String>),
}

pub(super) fn screen(command: &str, policy: &Policy, approvals: &Approvals) -> Screened {
    if policy.isolation == Isolation::Sandbox {
        return Screened::Allowed;
    }
    let findings = look(command, &policy.places);
    if let Some(reason) = forbidden(command, policy, &findings) {
        return Screened::Forbidden(reason);
    }
    if is_trusting(policy, approvals) || listed(command, &approvals.always) {
        return Screened::Allowed;
    }
    let unasked = matches!(
        policy.surface,
        Surface::Headless(Unasked::Allow)
            | Surface::Cron(Unasked::Allow)
            | Surface::Child(Unasked::Allow)
    );
    if unasked {
        return Screened::Allowed;
    }
    let fresh = |key: &String| !approvals.cover(key);
    Screened::Open(findings.dangers.into_iter().filter(fresh).collect())
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
        || is_trusting(policy, approvals)
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

fn is_trusting(policy: &Policy, approvals: &Approvals) -> bool {
    approvals.yolo || policy.yolo == Yolo::On || policy.mode == Mode::Off
}

/// Why nothing the owner says now would let this run.
fn forbidden(command: &str, policy: &Policy, findings: &Findings) -> Option<String> {
    if let Some(key) = &findings.hardline {
        return Some(format!(
            "BLOCKED (hardline): {key}. No setting, no approval and no --yolo lets the agent run this. Whoever \
             really wants it has to type it into a terminal of their own."
        ));
    }
    if !policy.sudo_password && findings.sudo_reads_input {
        let reason = "BLOCKED: sudo password guessing via stdin (sudo -S). Never pipe a password into sudo; the \
             owner can set SUDO_PASSWORD in .env, or run the command themselves.";
        return Some(reason.to_owned());
    }
    let rule = denied(command, findings, &policy.deny)?;
    Some(format!(
        "BLOCKED: the owner forbids commands like '{rule}' (approvals.deny), whatever else allows them. Do not \
         try to reach the same in another way."
    ))
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
fn listed(command: &str, entries: &BTreeSet<String>) -> bool {
    let command = command.trim();
    let compound = command.contains(['\n', ';', '&', '|', '<', '>', '`']) || command.contains("$(");
    !command.is_empty()
        && !compound
        && entries
            .iter()
            .any(|entry| matches(entry.trim(), command, Case::Kept))
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
