//! The decision about one command, as a pure function of the command, the owner's policy and what was approved.

use std::collections::BTreeSet;
use std::time::Duration;

use globset::GlobBuilder;

use super::keys;
use super::look::{Findings, Places, look};

/// What the owner wants, frozen when the session opens: a command cannot change the rules it is judged by.
#[derive(Clone, Debug)]
pub struct Policy {
    pub mode: Mode,
    pub surface: Surface,
    /// What commands can reach from where they run.
    pub isolation: Isolation,
    /// `approvals.deny`
    pub deny: Vec<String>,
    /// SUDO_PASSWORD is set: then `sudo -S` is not a guess.
    pub sudo_password: bool,
    /// `approvals.timeout`, or `approvals.gateway_timeout` where the owner is asked by message.
    pub timeout: Duration,
    pub places: Places,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            mode: Mode::default(),
            surface: Surface::default(),
            isolation: Isolation::default(),
            deny: Vec::new(),
            sudo_password: false,
            timeout: Duration::from_secs(60),
            places: Places::default(),
        }
    }
}

/// `approvals.mode`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    #[default]
    Manual,
    /// Until a model helps to judge, the owner is asked.
    Smart,
    Off,
}

/// Who could be asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Surface {
    #[default]
    Interactive,
    /// One-shot and batch: `approvals.headless_mode`.
    Headless(Unasked),
    /// `approvals.cron_mode`
    Cron(Unasked),
    /// An agent that another one started: `delegation.subagent_auto_approve`.
    Child(Unasked),
}

/// What happens to dangerous commands where nobody can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unasked {
    Allow,
    Deny,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isolation {
    /// This machine, or another one that somebody cares about.
    #[default]
    Host,
    /// A sandbox without any path of the host.
    Sandbox,
}

/// What was allowed so far.
#[derive(Clone, Debug, Default)]
pub struct Approvals {
    /// `command_allowlist`: keys, commands, and globs of commands.
    pub always: BTreeSet<String>,
    /// Keys approved for this session.
    pub session: BTreeSet<String>,
    /// `--yolo` or `/yolo`.
    pub yolo: bool,
}

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
    if policy.isolation == Isolation::Sandbox {
        return Decision::Allow;
    }
    let findings = look(command, &policy.places);
    if let Some(reason) = forbidden(command, policy, &findings) {
        return Decision::Block { reason };
    }
    if approvals.yolo || policy.mode == Mode::Off || listed(command, &approvals.always) {
        return Decision::Allow;
    }
    let warnings: Vec<String> = findings
        .dangers
        .into_iter()
        .filter(|key| !approvals.cover(key))
        .collect();
    match (warnings.is_empty(), policy.surface) {
        (true, _) => Decision::Allow,
        (
            false,
            Surface::Headless(Unasked::Allow)
            | Surface::Cron(Unasked::Allow)
            | Surface::Child(Unasked::Allow),
        ) => Decision::Allow,
        (false, Surface::Interactive) => Decision::Ask { warnings },
        (false, Surface::Headless(Unasked::Deny)) => {
            unattended(&warnings, "approvals.headless_mode")
        }
        (false, Surface::Cron(Unasked::Deny)) => unattended(&warnings, "approvals.cron_mode"),
        (false, Surface::Child(Unasked::Deny)) => {
            unattended(&warnings, "delegation.subagent_auto_approve")
        }
    }
}

/// Why nothing the owner says now would let this run.
fn forbidden(command: &str, policy: &Policy, findings: &Findings) -> Option<String> {
    if let Some(key) = &findings.hardline {
        return Some(format!(
            "BLOCKED (hardline): {key}. No setting, no approval and no --yolo lets the agent run this. Whoever \
             really wants it has to type it into a terminal of their own."
        ));
    }
    if !policy.sudo_password && findings.lines.iter().any(|line| guesses_password(line)) {
        let reason = "BLOCKED: sudo password guessing via stdin (sudo -S). Never pipe a password into sudo; the \
             owner can set SUDO_PASSWORD in .env, or run the command themselves.";
        return Some(reason.to_owned());
    }
    let rule = denied(command, &findings.lines, &policy.deny)?;
    Some(format!(
        "BLOCKED: the owner forbids commands like '{rule}' (approvals.deny), whatever else allows them. Do not \
         try to reach the same in another way."
    ))
}

impl Approvals {
    fn cover(&self, key: &str) -> bool {
        let mut stored = self.always.iter().chain(&self.session);
        stored.any(|stored| keys::covers(stored, key))
    }
}

impl From<&str> for Mode {
    /// What isn't a mode is the careful one.
    fn from(text: &str) -> Self {
        match text.trim().to_lowercase().as_str() {
            "off" | "false" => Self::Off,
            "smart" => Self::Smart,
            "" | "manual" | "on" | "true" => Self::Manual,
            other => {
                tracing::warn!("approvals.mode '{other}' is unknown; asking as with 'manual'");
                Self::Manual
            }
        }
    }
}

impl From<&str> for Unasked {
    fn from(text: &str) -> Self {
        match text.trim().to_lowercase().as_str() {
            "approve" | "off" | "allow" | "yes" => Self::Allow,
            _ => Self::Deny,
        }
    }
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

fn guesses_password(line: &str) -> bool {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let called = super::program::started(&words);
    called
        .iter()
        .filter(|words| super::program::name(words) == "sudo")
        .any(|words| {
            super::program::sudo_options(&words[1..]).any(|option| {
                match option.strip_prefix("--") {
                    Some(long) => long.starts_with("st"),
                    None => option.contains('S'),
                }
            })
        })
}

fn denied<'r>(command: &str, lines: &[String], rules: &'r [String]) -> Option<&'r str> {
    let texts = || lines.iter().map(String::as_str).chain([command.trim()]);
    rules
        .iter()
        .map(|rule| rule.trim())
        .filter(|rule| !rule.is_empty())
        .find(|rule| texts().any(|text| matches(rule, text, Case::Folded)))
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
