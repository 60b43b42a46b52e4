//! What the owner wants of the gate, and what was allowed so far.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;

use crate::look::Places;
use crate::{Yolo, keys};

/// What the owner wants, frozen when the session opens: a command cannot change the rules it is judged by.
#[derive(Clone, Debug)]
pub struct Policy {
    pub mode: Mode,
    /// `--yolo` or HERMES_YOLO_MODE, as they were at the start of the process.
    pub yolo: Yolo,
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
            yolo: Yolo::default(),
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
    /// A side model is asked first, the owner only if it doesn't approve.
    Smart,
    Off,
}

/// Who could be asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Surface {
    /// Somebody sits at a terminal.
    #[default]
    Interactive,
    /// The owner is asked by message: gateway, TUI, API.
    Messages,
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
    /// `/yolo`
    pub yolo: bool,
}

/// Consent that outlived its session, as the record calls it.
pub(super) const ALLOWLIST: &str = "allowlist";

impl Surface {
    /// As the record calls it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Interactive => "terminal",
            Self::Messages => "messages",
            Self::Headless(_) => "headless",
            Self::Cron(_) => "cron",
            Self::Child(_) => "delegation",
        }
    }

    /// The same where it is the reason that nothing runs.
    pub(super) fn refusal(self) -> &'static str {
        match self {
            Self::Interactive | Self::Messages => "nobody asked",
            Self::Headless(_) => "headless: denied",
            Self::Cron(_) => "cron: denied",
            Self::Child(_) => "delegation: denied",
        }
    }
}

impl Approvals {
    /// Who allowed these; what was allowed for the shortest time counts.
    pub(super) fn origin(&self, keys: &[String]) -> &'static str {
        let always = |key: &String| self.always.iter().any(|stored| keys::covers(stored, key));
        match keys {
            [] => "",
            keys if keys.iter().all(always) => ALLOWLIST,
            _ => "owner: session",
        }
    }

    pub(super) fn cover(&self, key: &str) -> bool {
        let mut stored = self.always.iter().chain(&self.session);
        stored.any(|stored| keys::covers(stored, key))
    }
}

impl Mode {
    /// What a setting means, and what is odd about it. What isn't a mode is the careful one.
    pub fn read(setting: &Value) -> (Self, Option<String>) {
        let text = match setting {
            // YAML reads a bare `off` as false.
            Value::Bool(false) => return (Self::Off, None),
            Value::String(text) => text.trim().to_lowercase(),
            other => other.to_string(),
        };
        match text.as_str() {
            "off" | "false" => (Self::Off, None),
            "smart" => (Self::Smart, None),
            "manual" => (Self::Manual, None),
            _ => {
                let odd = format!("approvals.mode '{text}' is unknown; asking as with 'manual'");
                (Self::Manual, Some(odd))
            }
        }
    }
}

impl From<&Value> for Mode {
    fn from(setting: &Value) -> Self {
        let (mode, odd) = Self::read(setting);
        if let Some(odd) = odd {
            tracing::warn!("{odd}");
        }
        mode
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
