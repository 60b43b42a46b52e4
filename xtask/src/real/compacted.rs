//! A conversation that one program made shorter goes on in the other.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::Checks;
use crate::cache::{self, Scratch};
use crate::command::{self, as_user, finish};
use crate::scripted::Server;

const VERSIONS: &[&str] = &["0.13.0", "0.19.0"];
const SESSION: &str = "20260101_000000_abcdef";
const MESSAGES: &str = "200";

pub fn run(checks: &mut Checks) -> Result<()> {
    let hermes = command::build_program("dev", "hermes")?;
    let server = command::build_program("dev", "scripted-model")?;
    let probe = command::build_probe("dev")?;
    for version in VERSIONS {
        let theirs = cache::hermes_agent(version)?;
        let pair = Pair {
            server: server.clone(),
            probe: probe.clone(),
            theirs: theirs.join("hermes"),
        };
        for (name, first, second) in [
            ("what ours compacted goes on there", &hermes, &pair.theirs),
            ("what theirs compacted goes on here", &pair.theirs, &hermes),
        ] {
            checks.note(&format!("{version}: {name}"), pair.hand_over(first, second));
        }
    }
    Ok(())
}

struct Pair {
    server: PathBuf,
    probe: PathBuf,
    theirs: PathBuf,
}

/// The first request is too long; what has no tools is the summary; each answer is given only to a request that holds
/// the summary and the answer before it.
fn script() -> Value {
    let told = "This model's maximum context length is 70000 tokens. However, your messages resulted in 90000 tokens.";
    let held = "the-notes-of-it";
    json!({
        "steps": [
            {"when": {"tools": true}, "status": 400, "body": {"error": {"message": told, "code": "context_length_exceeded"}}},
            {"when": {"tools": false}, "text": format!("## Goal\n{held}"), "repeat": true},
            {"when": {"user": "two", "message": "first-answer"}, "text": "second-answer", "repeat": true},
            {"when": {"user": "three", "message": "second-answer"}, "text": "third-answer", "repeat": true},
            {"when": {"user": "one", "message": held}, "text": "first-answer", "repeat": true},
        ],
        "otherwise": {"text": "the thread is lost"},
    })
}

impl Pair {
    fn hand_over(&self, first: &Path, second: &Path) -> Result<()> {
        let user = Scratch::new("compacted")?;
        let script = user.path().join("script.json");
        fs::write(&script, self::script().to_string())?;
        let server = Server::start(&self.server, &script)?;
        self.make_home(&user, &server)?;
        let say = |program: &Path, text: &str, expected: &str| -> Result<()> {
            let args = ["chat", "--resume", SESSION, "-Q", "-q", text];
            let ended = finish(as_user(program, user.path()).args(args))?;
            ensure!(
                ended.out.contains(expected),
                "{text}: {}{}",
                ended.out,
                ended.err
            );
            Ok(())
        };
        say(first, "one", "first-answer").context("compacting")?;
        // By the old name: whoever compacted, it leads to where the conversation is now.
        say(second, "two", "second-answer").context("going on")?;
        say(first, "three", "third-answer").context("and back")?;
        let last = server.calls()?.pop().context("no request")?;
        let sent = last.body["messages"].as_array().map_or(0, Vec::len);
        ensure!(
            sent < 150,
            "{sent} messages were sent: the old ones are back"
        );
        let text = last.body.to_string();
        ensure!(
            text.contains("[CONTEXT COMPACTION") && text.contains("the-notes-of-it"),
            "no summary in {text}"
        );
        self.one_row(&user)
    }

    /// The database is theirs, so that it has their version.
    fn make_home(&self, user: &Scratch, server: &Server) -> Result<()> {
        fs::create_dir_all(user.path().join(".hermes"))?;
        fs::write(
            user.path().join(".hermes/config.yaml"),
            format!(
                "model:\n  default: scripted\n  provider: custom\n  base_url: {}/v1\n  api_key: not-needed\n  context_length: 131072\n",
                server.url
            ),
        )?;
        finish(as_user(&self.theirs, user.path()).args(["sessions", "list"]))?;
        let mut converse = as_user(&self.probe, user.path());
        converse
            .arg("converse")
            .arg(user.path().join(".hermes/state.db"));
        command::stdout(converse.args([SESSION, MESSAGES])).map(drop)
    }

    /// Both list one conversation, not its parts.
    fn one_row(&self, user: &Scratch) -> Result<()> {
        let listed = finish(as_user(&self.theirs, user.path()).args(["sessions", "export", "-"]))?;
        let sessions: Vec<Value> = listed
            .out
            .lines()
            .map(serde_json::from_str)
            .collect::<Result<_, _>>()?;
        let open = sessions
            .iter()
            .filter(|session| session["end_reason"] != "compression");
        ensure!(
            open.count() == 1,
            "more than one is the newest: {}",
            listed.out.len()
        );
        Ok(())
    }
}
