//! What a call asks for, once it is clear that it makes sense.

use std::path::PathBuf;
use std::time::Duration;

use hermes_proc::Tty;
use hermes_types::Args;
use serde_json::Value;

use super::answer::Answer;
use super::{TerminalLimits, refuse};
use crate::process::Tell;

/// The size of the terminals we make up.
const TTY: Tty = Tty::Sized {
    rows: 30,
    cols: 120,
};

pub(super) struct Request {
    pub command: String,
    pub workdir: Option<PathBuf>,
    pub mode: Mode,
    /// What the model should know about how its wishes were read.
    pub notes: Vec<(&'static str, &'static str)>,
}

pub(super) enum Mode {
    Foreground { limit: Duration },
    Background { tell: Tell, tty: Tty },
}

impl Request {
    pub fn read(args: &Args, limits: &TerminalLimits) -> Result<Self, Answer> {
        let Some(command) = args.get("command").and_then(Value::as_str) else {
            return Err(Answer::error("command must be a text"));
        };
        if command.trim().is_empty() {
            return Err(Answer::error("command is empty"));
        }
        let workdir = args.get("workdir").and_then(Value::as_str);
        let workdir = workdir.filter(|dir| !dir.is_empty());
        if workdir.is_some_and(|dir| !refuse::is_plausible_dir(dir)) {
            let reason = "workdir has characters that no directory name needs";
            return Err(Answer::blocked(reason));
        }
        let mut notes = Vec::new();
        let mode = if is_on(args, "background") {
            Mode::Background {
                tell: tell(args, &mut notes),
                tty: tty(args, command, &mut notes),
            }
        } else {
            if let Some(why) = refuse::foreground(command) {
                return Err(Answer::error(format!(
                    "Not started: {why}. Call terminal with background=true instead, then use the process tool."
                )));
            }
            Mode::Foreground {
                limit: limit(args, limits)?,
            }
        };
        Ok(Self {
            command: command.to_owned(),
            workdir: workdir.map(PathBuf::from),
            mode,
            notes,
        })
    }
}

fn is_on(args: &Args, name: &str) -> bool {
    args.get(name).and_then(Value::as_bool).unwrap_or_default()
}

fn limit(args: &Args, limits: &TerminalLimits) -> Result<Duration, Answer> {
    let asked = args.get("timeout").and_then(Value::as_u64);
    let asked = asked.filter(|asked| *asked > 0);
    let limit = asked.map_or(limits.timeout, Duration::from_secs);
    if limit > limits.max_timeout {
        return Err(Answer::error(format!(
            "timeout is at most {} seconds in the foreground. Use background=true with notify_on_complete=true \
             for longer commands.",
            limits.max_timeout.as_secs()
        )));
    }
    Ok(limit)
}

fn tell(args: &Args, notes: &mut Vec<(&'static str, &'static str)>) -> Tell {
    let patterns = args.get("watch_patterns").and_then(Value::as_array);
    let patterns: Vec<String> = patterns
        .into_iter()
        .flatten()
        .filter_map(|pattern| Some(pattern.as_str()?.to_owned()))
        .filter(|pattern| !pattern.is_empty())
        .collect();
    match (is_on(args, "notify_on_complete"), patterns.is_empty()) {
        (true, true) => Tell::End,
        (true, false) => {
            let why = "notify_on_complete is set: the end is told, patterns are not watched";
            notes.push(("watch_patterns_ignored", why));
            Tell::End
        }
        (false, false) => Tell::Lines(patterns),
        (false, true) => Tell::Nothing,
    }
}

fn tty(args: &Args, command: &str, notes: &mut Vec<(&'static str, &'static str)>) -> Tty {
    if !is_on(args, "pty") {
        return Tty::None;
    }
    if command.contains("gh auth login") && command.contains("--with-token") {
        notes.push((
            "pty_note",
            "pty is off: the token is read from a plain stdin",
        ));
        return Tty::None;
    }
    TTY
}
