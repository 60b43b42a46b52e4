//! One conversation, two programs: begun by either, gone on with by the other.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::Checks;
use crate::cache::{self, Scratch};
use crate::command::{self, as_user, finish};
use crate::scripted::Server;

const VERSIONS: &[&str] = &["0.13.0", "0.19.0"];

pub fn run(checks: &mut Checks) -> Result<()> {
    let hermes = command::build_program("dev", "hermes")?;
    let server = command::build_program("dev", "scripted-model")?;
    for version in VERSIONS {
        let theirs = cache::hermes_agent(version)?.join("hermes");
        for (name, first, second) in [
            ("a conversation of ours goes on there", &hermes, &theirs),
            ("a conversation of theirs goes on here", &theirs, &hermes),
        ] {
            checks.note(
                &format!("{version}: {name}"),
                back_and_forth(&server, first, second),
            );
        }
    }
    Ok(())
}

/// Each answer is given only to a request that holds the answer before it.
fn script() -> Value {
    json!({
        "steps": [
            {"when": {"user": "three", "message": "second-answer"}, "text": "third-answer", "repeat": true},
            {"when": {"user": "two", "message": "first-answer"}, "text": "second-answer", "repeat": true},
            {"when": {"user": "one", "after_tool": false}, "repeat": true,
             "tool_calls": [{"name": "terminal", "arguments": {"command": "echo 工具"}}]},
            {"when": {"user": "one", "tool_result": "工具"}, "text": "first-answer", "repeat": true},
        ],
        "otherwise": {"text": "the thread is lost"},
    })
}

fn back_and_forth(server: &Path, first: &Path, second: &Path) -> Result<()> {
    let user = Scratch::new("talk")?;
    let script = user.path().join("script.json");
    fs::write(&script, self::script().to_string())?;
    let server = Server::start(server, &script)?;
    fs::create_dir_all(user.path().join(".hermes"))?;
    fs::write(
        user.path().join(".hermes/config.yaml"),
        format!(
            "model:\n  default: scripted\n  provider: custom\n  base_url: {}/v1\n  api_key: not-needed\n  context_length: 131072\n",
            server.url
        ),
    )?;
    let say = |program: &Path, args: &[&str], expected: &str| -> Result<String> {
        let ended = finish(as_user(program, user.path()).args(args))?;
        ensure!(
            ended.out.contains(expected),
            "{args:?} answered: {}{}",
            ended.out,
            ended.err
        );
        Ok(ended.out + &ended.err)
    };
    let said = say(first, &["chat", "-Q", "-q", "one"], "first-answer")?;
    let id = said
        .split("session_id:")
        .nth(1)
        .and_then(|rest| rest.split_whitespace().next());
    let id = id.context("no session id was printed")?;
    say(
        second,
        &["chat", "--resume", id, "-Q", "-q", "two"],
        "second-answer",
    )?;
    say(
        first,
        &["chat", "--resume", id, "-Q", "-q", "three"],
        "third-answer",
    )?;
    Ok(())
}
