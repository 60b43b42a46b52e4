//! The part of Hermes a line comes from: written from the crate's name, found again by `--component`.

use std::borrow::Cow;
use std::str::FromStr;

use crate::Error;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Component {
    Gateway,
    Agent,
    Tools,
    Cli,
    Cron,
}

/// Which component a crate belongs to that isn't one itself. Crates that serve all of them (home, store, net,
/// proc) keep their own names.
const CRATES: [(&str, &str); 14] = [
    ("chat", "gateway"),
    ("session", "agent"),
    ("skills", "agent"),
    ("model", "agent"),
    ("batch", "agent"),
    ("exec", "tools"),
    ("web", "tools"),
    ("media", "tools"),
    ("mcp", "tools"),
    ("mcp_tools", "tools"),
    ("tui", "cli"),
    ("dashboard", "cli"),
    ("acp", "cli"),
    ("mcp_serve", "cli"),
];

impl Component {
    /// Whether a logger of this name, ours or the Python program's, belongs here.
    pub fn owns(self, logger: &str) -> bool {
        let roots: &[&str] = match self {
            Self::Gateway => &["gateway", "hermes_plugins", "plugins.platforms"],
            Self::Agent => &["agent", "run_agent", "model_tools", "batch_runner"],
            Self::Tools => &["tools"],
            Self::Cli => &["hermes_cli", "cli"],
            Self::Cron => &["cron"],
        };
        let ends_word = |rest: &str| !rest.starts_with(|c: char| c.is_ascii_alphanumeric());
        roots
            .iter()
            .any(|root| logger.strip_prefix(root).is_some_and(ends_word))
    }
}

impl FromStr for Component {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text.to_ascii_lowercase().as_str() {
            "gateway" => Ok(Self::Gateway),
            "agent" => Ok(Self::Agent),
            "tools" => Ok(Self::Tools),
            "cli" => Ok(Self::Cli),
            "cron" => Ok(Self::Cron),
            _ => Err(Error::invalid(format!(
                "no component '{text}'; there are gateway, agent, tools, cli and cron"
            ))),
        }
    }
}

/// Whether the event is our own; what libraries say is only worth reading from WARNING up.
pub(super) fn is_ours(target: &str) -> bool {
    target
        .strip_prefix("hermes")
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['_', ':']))
}

/// The name written into the line: `hermes_exec::terminal` is `tools.exec.terminal`.
pub(super) fn logger(target: &str) -> String {
    let dotted = |path: &str| path.replace("::", ".").replace(char::is_whitespace, "_");
    let Some(ours) = is_ours(target).then(|| target.trim_start_matches("hermes")) else {
        return dotted(target);
    };
    // The program itself is crate `hermes`; a library is `hermes_<folder>`.
    let path = match ours.strip_prefix('_') {
        Some(library) => Cow::Borrowed(library),
        None => Cow::Owned(format!("cli{ours}")),
    };
    let root = path.split("::").next().unwrap_or_default();
    match CRATES.iter().find(|(name, _)| *name == root) {
        Some((_, component)) => format!("{component}.{}", dotted(&path)),
        None => dotted(&path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_become_loggers_of_their_component() {
        let check = |target: &str, expected: &str| assert_eq!(logger(target), expected);
        check("hermes", "cli");
        check("hermes::cmd::chat", "cli.cmd.chat");
        check("hermes_agent::turn", "agent.turn");
        check("hermes_exec::terminal::pty", "tools.exec.terminal.pty");
        check("hermes_mcp_tools", "tools.mcp_tools");
        check("hermes_chat::telegram", "gateway.chat.telegram");
        check("hermes_gateway", "gateway");
        check("hermes_store::search", "store.search");
        check("hyper::client", "hyper.client");
        check("hermesish", "hermesish");
        check("an odd target", "an_odd_target");
    }

    #[test]
    fn a_component_owns_whole_words() {
        let check = |component: Component, logger: &str, expected: bool| {
            assert_eq!(component.owns(logger), expected, "{component:?} {logger}");
        };
        check(Component::Gateway, "gateway.run", true);
        check(Component::Gateway, "plugins.platforms.irc", true);
        check(Component::Agent, "run_agent", true);
        check(Component::Agent, "agentmail", false);
        check(Component::Cli, "hermes_cli.main", true);
        check(Component::Cli, "client", false);
        check(Component::Tools, "tools_config", true);
        check(Component::Cron, "croniter", false);
    }
}
