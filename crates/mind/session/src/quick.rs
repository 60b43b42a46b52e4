//! Commands of the owner's own: `quick_commands` in the configuration. They run without the model.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hermes_home::config::Settings;
use hermes_proc::{Errors, Exit, Spawn, Stdin, Tty, nearest_dir};
use hermes_types::AgentEvent;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::net::unix::pipe;
use tokio::time::timeout;

use crate::actor::Live;
use crate::slash;

/// How long one may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// Bytes of it that are shown.
const MOST: u64 = 64 * 1024;
/// How long the end of its output may take once it has ended.
const DRAIN: Duration = Duration::from_millis(500);
/// Aliases of aliases, before somebody goes round in a circle.
const DEEPEST: usize = 8;

/// The owner's commands by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuickCommands(BTreeMap<String, Quick>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Quick {
    /// A command for the shell.
    Exec(String),
    /// Another slash command, with what follows.
    Alias(String),
}

impl QuickCommands {
    /// Entries that make no sense, and those nobody could call, are left out.
    pub fn read(settings: &Settings) -> Self {
        let section = settings.get("quick_commands").and_then(Value::as_object);
        let entries = section.into_iter().flatten();
        let known = entries.filter_map(|(name, entry)| {
            let read = usable(name, entry);
            read.inspect_err(|why| tracing::warn!("quick_commands.{name} is left out: {why}"))
                .ok()
        });
        Self(known.collect())
    }

    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Each with what it stands for.
    pub fn listed(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, quick)| match quick {
            Quick::Exec(text) | Quick::Alias(text) => (name.as_str(), text.as_str()),
        })
    }

    /// The line an alias stands for; any other line as it is.
    pub fn unfold(&self, line: &str) -> String {
        let mut line = line.trim().to_owned();
        for _ in 0..DEEPEST {
            let Some(target) = self.target(&line) else {
                break;
            };
            line = target;
        }
        line
    }

    fn target(&self, line: &str) -> Option<String> {
        let typed = line.strip_prefix('/')?;
        let (word, rest) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
        // What the table has cannot mean anything else.
        if slash::exact(word).is_some() {
            return None;
        }
        match self.0.get(&spelled(word))? {
            Quick::Alias(target) => {
                let target = target.trim_start_matches('/');
                Some(format!("/{target} {rest}").trim_end().to_owned())
            }
            Quick::Exec(_) => None,
        }
    }

    /// Rows for the help.
    pub fn help(&self) -> String {
        if self.0.is_empty() {
            return String::new();
        }
        let rows = self.listed();
        let rows: String = rows
            .map(|(name, about)| slash::row(&format!("/{name}"), &first_line(about)))
            .collect();
        format!("\nYour own\n{}", rows.trim_end())
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

fn spelled(name: &str) -> String {
    let name = name.trim().trim_start_matches('/');
    name.to_lowercase().replace('_', "-")
}

/// An entry under its name, or why nobody can use it.
fn usable(name: &str, entry: &Value) -> Result<(String, Quick), &'static str> {
    let name = spelled(name);
    if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c == '/') {
        return Err("this is no name of a command");
    }
    if slash::exact(&name).is_some() {
        return Err("Hermes has a command of this name");
    }
    let quick = quick(entry)
        .ok_or("it wants `type: exec` with `command`, or `type: alias` with `target`")?;
    Ok((name, quick))
}

fn quick(entry: &Value) -> Option<Quick> {
    let text = |key: &str| {
        let text = entry.get(key)?.as_str()?.trim();
        (!text.is_empty()).then(|| text.to_owned())
    };
    match entry.get("type").and_then(Value::as_str) {
        Some("alias") => text("target").map(Quick::Alias),
        Some("exec") => text("command").map(Quick::Exec),
        _ => None,
    }
}

/// The owner's commands and what they run with.
#[derive(Clone, Default)]
pub struct QuickShell {
    pub commands: QuickCommands,
    pub env: Vec<(String, String)>,
}

impl std::fmt::Debug for QuickShell {
    /// Without the environment, which holds secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.commands.fmt(f)
    }
}

impl Live {
    /// With the owner's own commands.
    #[must_use]
    pub fn with_quick_commands(mut self, quick: QuickShell) -> Self {
        self.quick = quick;
        self
    }

    /// Runs one beside the conversation; what it says becomes a notice.
    pub(crate) fn run_quick(&mut self, name: &str, rest: &str) {
        let Some(Quick::Exec(command)) = self.quick.commands.0.get(name) else {
            return self.notice(format!("there is no command /{name}; /help lists them"));
        };
        let spawn = Spawn {
            program: PathBuf::from("/bin/sh"),
            // What was typed behind its name is `$*`.
            args: ["-c", command, name]
                .into_iter()
                .chain(rest.split_whitespace())
                .map(str::to_owned)
                .collect(),
            env: self.quick.env.clone(),
            dir: nearest_dir(&self.opening.workspace.cwd(), Path::new("/")),
            stdin: Stdin::Null,
            tty: Tty::None,
        };
        let (events, name) = (self.events.clone(), name.to_owned());
        self.aside.spawn(async move {
            let said = ran(spawn, PATIENCE).await;
            let said = said.unwrap_or_else(|error| format!("/{name}: {error}"));
            events.send(AgentEvent::Notice(said));
        });
    }
}

/// What it printed, or else what it complained about, or how it ended.
async fn ran(spawn: Spawn, patience: Duration) -> std::io::Result<String> {
    let (complaints, errors) = std::io::pipe()?;
    let child = spawn.start_piped(Errors::File(OwnedFd::from(errors).into()));
    let mut child = child.map_err(std::io::Error::other)?;
    drop(child.input);
    let complaints = pipe::Receiver::from_owned_fd(complaints.into())?;
    let (mut said, mut complained) = (Vec::new(), Vec::new());
    let exit = {
        let reading = async {
            let reading = (
                beginning(child.output, &mut said),
                beginning(complaints, &mut complained),
            );
            tokio::join!(reading.0, reading.1)
        };
        tokio::pin!(reading);
        let process = &mut child.process;
        let over = async {
            tokio::select! {
                _ = &mut reading => process.exited().await,
                exit = process.exited() => {
                    // Whatever it left running may keep its output open for as long as it likes.
                    let _ = timeout(DRAIN, &mut reading).await;
                    exit
                }
            }
        };
        timeout(patience, over).await.ok()
    };
    let text = match shown(&said) {
        said if said.is_empty() => shown(&complained),
        said => said,
    };
    let late = format!(
        "it took longer than {} s and was stopped",
        patience.as_secs()
    );
    Ok(match (text.is_empty(), exit) {
        (false, Some(_)) => text,
        (false, None) => format!("{text}\n[{late}]"),
        (true, None) => late,
        (true, Some(Exit::Code(0))) => "done; it said nothing".to_owned(),
        (true, Some(exit)) => format!("it said nothing and ended with {exit}"),
    })
}

/// As much as is shown; what comes after that keeps nobody waiting.
async fn beginning(from: impl AsyncRead + Unpin, into: &mut Vec<u8>) {
    if let Err(error) = from.take(MOST).read_to_end(into).await {
        tracing::warn!("the output of a command ended early: {error}");
    }
}

fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    hermes_proc::strip_ansi(&text).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn commands() -> QuickCommands {
        let entry = |name: &str, text: &str, kind: fn(String) -> Quick| {
            (name.to_owned(), kind(text.to_owned()))
        };
        QuickCommands(BTreeMap::from([
            entry("gs", "git status", Quick::Exec),
            entry("sum", "compress", Quick::Alias),
            entry("s", "/sum the plan", Quick::Alias),
            entry("new", "quit", Quick::Alias),
            entry("round", "/round", Quick::Alias),
        ]))
    }

    #[test]
    fn an_alias_is_another_line() {
        let check = |line: &str, expected: &str| assert_eq!(commands().unfold(line), expected);
        check("/sum", "/compress");
        check("/SUM a  B", "/compress a  B");
        check("/s and more", "/compress the plan and more");
        check("/gs -s", "/gs -s");
        check("hello /sum", "hello /sum");
        // The table comes first; nobody waits for a circle.
        check("/new", "/new");
        check("/round", "/round");
    }

    #[test]
    fn entries_are_read_and_odd_ones_left_out() {
        let entry = |value: serde_json::Value| quick(&value);
        let json = |text: &str| serde_json::from_str(text).unwrap();
        assert_eq!(
            entry(json(r#"{"type": "exec", "command": "ls"}"#)),
            Some(Quick::Exec("ls".to_owned()))
        );
        for odd in [
            r#"{"type": "exec"}"#,
            r#"{"type": "alias", "target": " "}"#,
            r#"{"type": "other", "command": "ls"}"#,
            r#""ls""#,
        ] {
            assert_eq!(entry(json(odd)), None, "{odd}");
        }
    }

    #[test]
    fn names_nobody_could_call_are_left_out() {
        let exec: Value = serde_json::from_str(r#"{"type": "exec", "command": "ls"}"#).unwrap();
        let name = |name: &str| usable(name, &exec).map(|(name, _)| name).ok();
        assert_eq!(name("/Git_Status").as_deref(), Some("git-status"));
        for taken in ["help", "/QUIT", "", "a b", "a/b"] {
            assert_eq!(name(taken), None, "{taken}");
        }
    }

    async fn run(command: &str, patience: Duration) -> String {
        let spawn = Spawn {
            program: PathBuf::from("/bin/sh"),
            args: ["-c", command].map(str::to_owned).into(),
            env: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
            dir: PathBuf::from("/"),
            stdin: Stdin::Null,
            tty: Tty::None,
        };
        ran(spawn, patience).await.unwrap()
    }

    #[tokio::test]
    async fn what_a_command_says() {
        let check = async |command: &str, expected: &str| {
            assert_eq!(run(command, PATIENCE).await, expected, "{command}");
        };
        check(
            "printf '\\033[31mred\\033[0m \\033]0;title\\007end\\n'",
            "red end",
        )
        .await;
        check("echo no >&2; exit 3", "no").await;
        check("echo no >&2; echo yes", "yes").await;
        check("true", "done; it said nothing").await;
        check("exit 3", "it said nothing and ended with exit code 3").await;
        check("kill -9 $$", "it said nothing and ended with signal 9").await;
        // Something that stays and keeps the output open.
        check("echo begun; sleep 60 &", "begun").await;
    }

    #[tokio::test]
    async fn one_that_hangs_is_stopped_and_what_it_said_is_shown() {
        let soon = Duration::from_secs(1);
        let said = run("echo half; sleep 60", soon).await;
        assert_eq!(said, "half\n[it took longer than 1 s and was stopped]");
    }

    #[tokio::test]
    async fn whoever_says_too_much_is_cut_off_wherever_they_say_it() {
        for command in ["yes", "yes >&2"] {
            let said = run(command, PATIENCE).await;
            assert_eq!(said.len() as u64, MOST - 1, "{command}");
        }
    }
}
