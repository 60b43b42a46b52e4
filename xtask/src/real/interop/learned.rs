//! What one program has learned, the other knows: notes, skills, how they were used, and which came with the program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::compare::equal;
use super::{Check, Pair};
use crate::command::{self, finish};
use crate::scripted::Server;
use crate::workspace;

/// Each in a home of its own.
pub const CHECKS: &[(&str, Check)] = &[
    ("what either learned is known to both", each_adds_and_mends),
    (
        "a bundled skill is brought up to date by either",
        either_updates,
    ),
    ("both remember at once and nothing is lost", both_at_once),
];

const COUNT: usize = 20;

/// A home with a model that does what it is told.
struct School<'p> {
    pair: &'p Pair,
    /// Answers as long as it is here.
    _server: Server,
}

impl<'p> School<'p> {
    fn new(pair: &'p Pair, script: &Value) -> Result<Self> {
        let program = command::build_program("dev", "scripted-model")?;
        let file = pair.user.path().join("script.json");
        fs::write(&file, script.to_string())?;
        let server = Server::start(&program, &file)?;
        fs::create_dir_all(pair.file(""))?;
        fs::write(
            pair.file("config.yaml"),
            format!(
                "model:\n  default: scripted\n  provider: custom\n  base_url: {}/v1\n  api_key: not-needed\n  \
                 context_length: 131072\nmemory:\n  memory_char_limit: 20000\n  user_char_limit: 20000\n",
                server.url
            ),
        )?;
        let school = Self {
            pair,
            _server: server,
        };
        school.bundle("Do it.")?;
        Ok(school)
    }

    /// The one skill that comes with either program here.
    fn bundle(&self, body: &str) -> Result<()> {
        let dir = self.bundled().join("tools/shared");
        fs::create_dir_all(&dir)?;
        let text =
            format!("---\nname: shared\ndescription: Comes with the program.\n---\n{body}\n");
        Ok(fs::write(dir.join("SKILL.md"), text)?)
    }

    fn bundled(&self) -> PathBuf {
        self.pair.user.path().join("bundle")
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = self.pair.command(program);
        command.env("HERMES_BUNDLED_SKILLS", self.bundled());
        // Modes are not left to the surroundings, wherever this runs.
        command.env("HERMES_CONTAINER", "0");
        command
    }

    fn ours(&self, args: &[&str]) -> Result<String> {
        command::stdout(self.command(&self.pair.hermes).args(args))
    }

    fn ours_json(&self, args: &[&str]) -> Result<Value> {
        Ok(serde_json::from_str(&self.ours(args)?)?)
    }

    fn their_command(&self, args: &[&str]) -> Command {
        let mut python = self.command(&self.pair.theirs.join("python"));
        python.arg(workspace::root().join("xtask/python/interop/learn.py"));
        python.args(args);
        python
    }

    fn theirs(&self, args: &[&str]) -> Result<Value> {
        Ok(serde_json::from_str(&command::stdout(
            &mut self.their_command(args),
        )?)?)
    }

    fn holds(&self, file: &str, expected: &str) -> Result<()> {
        equal(
            &fs::read_to_string(self.pair.file(file))?.as_str(),
            &expected,
        )
        .context(file.to_owned())
    }
}

fn call(name: &str, arguments: Value) -> Value {
    json!({"name": name, "arguments": arguments})
}

fn remember(target: &str, content: &str) -> Value {
    call(
        "memory",
        json!({"action": "add", "target": target, "content": content}),
    )
}

fn manage(arguments: Value) -> Value {
    call("skill_manage", arguments)
}

/// They begin, we go on, they go on, we look.
fn each_adds_and_mends(pair: &Pair) -> Result<()> {
    let ours = "---\nname: ours\ndescription: Made here.\n---\nFirst this.\n";
    let lesson = [
        remember("memory", "uses tabs"),
        remember("user", "TZ: UTC"),
        call("skill_view", json!({"name": "theirs"})),
        manage(
            json!({"action": "patch", "name": "theirs", "old_string": "step one", "new_string": "step two"}),
        ),
        manage(json!({"action": "create", "name": "ours", "content": ours})),
    ];
    let delete = manage(json!({"action": "delete", "name": "ours"}));
    let school = School::new(
        pair,
        &json!([
            {"when": {"user": "learn", "after_tool": false}, "tool_calls": lesson},
            {"when": {"user": "delete", "after_tool": false}, "tool_calls": [delete]},
            {"when": {"tool_result": "is pinned"}, "text": "it stays"},
            {"when": {"user": "learn"}, "text": "learned"},
        ]),
    )?;
    school.theirs(&["remember", "memory", "uses fish", "two\nlines ü"])?;
    school.theirs(&["remember", "user", "Name: Ada"])?;
    school.theirs(&["create", "theirs"])?;
    school.theirs(&["sync"])?;
    let before = school.theirs(&["read"])?;
    ensure!(school.ours(&["-z", "learn"])?.contains("learned"));
    school.holds(
        "memories/MEMORY.md",
        "uses fish\n§\ntwo\nlines ü\n§\nuses tabs",
    )?;
    school.holds("memories/USER.md", "Name: Ada\n§\nTZ: UTC")?;
    they_see_it(&before, &school.theirs(&["read"])?)?;
    they_go_on(&school)
}

fn they_see_it(before: &Value, now: &Value) -> Result<()> {
    equal(
        &now["memory"],
        &json!(["uses fish", "two\nlines ü", "uses tabs"]),
    )?;
    equal(&now["user"], &json!(["Name: Ada", "TZ: UTC"]))?;
    equal(&now["modes"], &before["modes"])?;
    equal(&now["manifest"], &before["manifest"])?;
    equal(&now["skills"], &json!(["ours", "shared", "theirs"]))?;
    let text = before["contents"]["theirs"]
        .as_str()
        .context("no skill of theirs")?;
    equal(
        &now["contents"]["theirs"],
        &json!(text.replace("step one", "step two")),
    )?;
    let counts = |usage: &Value, name: &str| {
        ["view_count", "use_count", "patch_count"].map(|field| usage[name][field].clone())
    };
    equal(
        &counts(&now["usage"], "theirs"),
        &[json!(2), json!(2), json!(1)],
    )?;
    equal(
        &counts(&now["usage"], "ours"),
        &[json!(0), json!(0), json!(0)],
    )?;
    for field in ["created_by", "created_at", "state", "pinned"] {
        equal(
            &now["usage"]["theirs"][field],
            &before["usage"]["theirs"][field],
        )?;
    }
    // A record of ours has what theirs have.
    let fields = |name: &str| -> Option<Vec<String>> {
        let mut fields: Vec<String> = now["usage"][name].as_object()?.keys().cloned().collect();
        fields.sort();
        Some(fields)
    };
    equal(&fields("ours"), &fields("theirs"))
}

fn they_go_on(school: &School<'_>) -> Result<()> {
    school.theirs(&["forget", "memory", "two\nlines"])?;
    school.theirs(&["remember", "user", "Likes short answers"])?;
    school.theirs(&["patch", "ours", "First this", "First that"])?;
    school.theirs(&["pin", "ours"])?;
    let stores = school.ours_json(&["memory", "status", "--json"])?;
    equal(&stores[0]["entries"], &json!(["uses fish", "uses tabs"]))?;
    equal(
        &stores[1]["entries"],
        &json!(["Name: Ada", "TZ: UTC", "Likes short answers"]),
    )?;
    ensure!(
        school
            .ours(&["skills", "view", "ours"])?
            .contains("First that.")
    );
    let sources = school.ours_json(&["skills", "list", "--json"])?;
    let sources = sources.as_array().into_iter().flatten();
    let sources: Vec<String> = sources
        .map(|row| format!("{} {}", row["name"], row["source"]))
        .collect();
    equal(
        &sources,
        &[
            "\"ours\" \"local\"",
            "\"theirs\" \"local\"",
            "\"shared\" \"builtin\"",
        ]
        .map(str::to_owned)
        .to_vec(),
    )?;
    // Their pin holds here.
    ensure!(school.ours(&["-z", "delete"])?.contains("it stays"));
    equal(
        &school.theirs(&["read"])?["usage"]["ours"]["patch_count"],
        &json!(1),
    )
}

/// The same digests: what one has brought up to date, the other finds in order.
fn either_updates(pair: &Pair) -> Result<()> {
    let school = School::new(pair, &json!([]))?;
    let nothing_new = |synced: &Value| -> Result<()> {
        for done in ["copied", "updated", "user_modified", "cleaned"] {
            equal(&synced[done], &json!([])).with_context(|| format!("{done}: {synced}"))?;
        }
        Ok(())
    };
    school.ours(&["skills", "list"])?;
    let first = school.theirs(&["read"])?;
    nothing_new(&school.theirs(&["sync"])?)?;
    school.bundle("Do it better.")?;
    equal(&school.theirs(&["sync"])?["updated"], &json!(["shared"]))?;
    school.ours(&["skills", "list"])?;
    let second = school.theirs(&["read"])?;
    school.bundle("Do it best.")?;
    school.ours(&["skills", "list"])?;
    let third = school.theirs(&["read"])?;
    nothing_new(&school.theirs(&["sync"])?)?;
    let digests = [&first, &second, &third].map(|seen| seen["manifest"]["shared"].as_str());
    ensure!(
        digests.iter().all(Option::is_some) && digests[0] != digests[1] && digests[1] != digests[2],
        "{digests:?}"
    );
    ensure!(
        third["contents"]["shared"].to_string().contains("best"),
        "{third}"
    );
    Ok(())
}

/// The same lock: they begin when our first note is there, and ours take longer than theirs.
fn both_at_once(pair: &Pair) -> Result<()> {
    let step = |n: usize| json!({"when": {"user": "learn"}, "delay_ms": 30, "tool_calls": [remember("memory", &format!("ours {n}"))]});
    let steps: Vec<Value> = (0..COUNT)
        .map(step)
        .chain([json!({"text": "learned"})])
        .collect();
    let school = School::new(pair, &json!(steps))?;
    let mut theirs = school.their_command(&["crowd", "ours 0", &COUNT.to_string()]);
    let theirs = theirs
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    let ours = finish(school.command(&pair.hermes).args(["-z", "learn"]));
    let theirs = theirs.wait_with_output()?;
    let ours = ours?;
    ensure!(ours.out.contains("learned"), "{}{}", ours.out, ours.err);
    ensure!(
        theirs.status.success(),
        "{}",
        String::from_utf8_lossy(&theirs.stderr)
    );
    let text = fs::read_to_string(pair.file("memories/MEMORY.md"))?;
    let entries: Vec<&str> = text.split("\n§\n").collect();
    let of = |who: &str| -> Vec<String> {
        let own = entries.iter().filter(|entry| entry.starts_with(who));
        own.map(|entry| (*entry).to_owned()).collect()
    };
    for who in ["ours", "theirs"] {
        let expected: Vec<String> = (0..COUNT).map(|n| format!("{who} {n}")).collect();
        equal(&of(who), &expected)?;
    }
    let turns = entries
        .windows(2)
        .filter(|pair| pair[0][..1] != pair[1][..1]);
    ensure!(turns.count() >= 3, "they did not work at once: {entries:?}");
    Ok(())
}
