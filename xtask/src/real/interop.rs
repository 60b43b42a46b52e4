//! A home goes back and forth: made by the Python program, used by ours, read by the Python program again, and the other way round.

mod compare;
mod keys;
mod learned;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::Checks;
use crate::cache::{self, Scratch};
use crate::command::{self, Finished, as_user};
use crate::workspace;
use compare::{Change, changes, edited_lines};

/// 0.13.0 writes schema 11, 0.19.0 writes schema 22: the oldest and the newest a user may have.
const VERSIONS: &[&str] = &["0.13.0", NEWEST];
const NEWEST: &str = "0.19.0";

type Check = fn(&Pair) -> Result<()>;

/// In this order: each leaves the home as the next one expects it.
const CHECKS: &[(&str, Check)] = &[
    ("our list is their list", same_list),
    ("our search finds what theirs finds", same_search),
    ("our export is their export", same_export),
    ("our config is their config, key by key", same_config),
    ("doctor finds no error", doctor_is_content),
    ("reading changed nothing", reading_changes_nothing),
    ("config set edits one line", config_set_edits_one_line),
    (
        "rename changes a title and nothing else",
        rename_changes_one_title,
    ),
    (
        "appending adds rows and changes nothing else",
        append_only_adds,
    ),
    ("their program lists it all again", they_list_it),
    ("their newest program lists it too", newest_lists_it),
    ("the database is sound", database_is_sound),
];

pub fn run(checks: &mut Checks) -> Result<()> {
    let hermes = command::build_program("dev", "hermes")?;
    let probe = command::build_probe("dev")?;
    let newest = cache::hermes_agent(NEWEST)?;
    for version in VERSIONS {
        let new_pair = || -> Result<Pair> {
            Ok(Pair {
                hermes: hermes.clone(),
                probe: probe.clone(),
                theirs: cache::hermes_agent(version)?,
                newest: newest.clone(),
                user: Scratch::new("interop")?,
            })
        };
        let pair = new_pair()?;
        pair.make_their_home().context("making a home")?;
        for (name, check) in CHECKS {
            checks.note(&format!("{version}: {name}"), check(&pair));
        }
        let pair = new_pair()?;
        checks.note(
            &format!("{version}: a home of ours opens there"),
            our_home_opens(&pair),
        );
        checks.note(
            &format!("{version}: keys are everybody's"),
            keys::are_shared(&pair),
        );
        for (name, check) in learned::CHECKS {
            checks.note(&format!("{version}: {name}"), check(&new_pair()?));
        }
    }
    Ok(())
}

/// Both programs and the home they share.
struct Pair {
    hermes: PathBuf,
    /// Our store without the program around it.
    probe: PathBuf,
    /// The `bin` folder of the Python program.
    theirs: PathBuf,
    /// The same of the newest version.
    newest: PathBuf,
    user: Scratch,
}

impl Pair {
    fn file(&self, name: &str) -> PathBuf {
        self.user.path().join(".hermes").join(name)
    }

    fn command(&self, program: &Path) -> Command {
        as_user(program, self.user.path())
    }

    fn ours(&self, args: &[&str]) -> Result<String> {
        command::stdout(self.command(&self.hermes).args(args))
    }

    fn ours_json(&self, args: &[&str]) -> Result<Value> {
        let out = self.ours(args)?;
        serde_json::from_str(&out).with_context(|| format!("{args:?} printed {out}"))
    }

    fn append(&self, session: &str, count: usize) -> Result<()> {
        let mut probe = self.command(&self.probe);
        probe.arg("append").arg(self.file("state.db"));
        command::stdout(probe.args([session, &count.to_string()])).map(drop)
    }

    fn their_program(&self, args: &[&str]) -> Result<Finished> {
        command::finish(self.command(&self.theirs.join("hermes")).args(args))
    }

    /// `sessions export -` of the Python program, one value per session.
    fn their_export(&self) -> Result<Vec<Value>> {
        json_lines(&self.their_program(&["sessions", "export", "-"])?.out)
    }

    fn their_script(&self, name: &str, args: &[&str]) -> Result<String> {
        let script = workspace::root().join("xtask/python/interop").join(name);
        let mut python = self.command(&self.theirs.join("python"));
        command::stdout(python.arg(script).args(args))
    }

    /// What `read.py` sees: its modules, its way of reading.
    fn they_read(&self, args: &[&str]) -> Result<Value> {
        Ok(serde_json::from_str(&self.their_script("read.py", args)?)?)
    }

    fn make_their_home(&self) -> Result<()> {
        // The first command of a new user creates the home's folders.
        let first = self.their_program(&["config", "set", "timezone", "UTC"])?;
        ensure!(first.code == Some(0), "{}", first.err);
        self.their_script("make_home.py", &[])?;
        Ok(())
    }
}

fn json_lines(text: &str) -> Result<Vec<Value>> {
    let lines = text.lines().map(serde_json::from_str);
    Ok(lines.collect::<Result<_, _>>()?)
}

// spec: state §13.6, state §13.11
fn same_list(pair: &Pair) -> Result<()> {
    let seen = |sessions: &Value| -> Vec<String> {
        let sessions = sessions.as_array().into_iter().flatten();
        let shown = ["id", "source", "title", "message_count"];
        sessions
            .map(|session| shown.map(|field| session[field].to_string()).join(" "))
            .collect()
    };
    let theirs = pair.they_read(&["sessions"])?;
    let ours = pair.ours_json(&["sessions", "list", "--json", "--limit", "1000"])?;
    compare::equal(&seen(&ours), &seen(&theirs))
}

fn same_search(pair: &Pair) -> Result<()> {
    let queries = [
        "docker",
        "parser",
        "全文検索",
        "图片",
        "zebras",
        "deployment script",
        "nosuchword",
    ];
    let mut args = vec!["search"];
    args.extend(queries);
    let theirs = pair.they_read(&args)?;
    for query in queries {
        let hits = pair.ours_json(&["sessions", "search", query, "--json"])?;
        let hits = hits.as_array().into_iter().flatten();
        let mut ours: Vec<_> = hits.map(|hit| hit["session_id"].clone()).collect();
        ours.sort_by_key(Value::to_string);
        ours.dedup();
        compare::equal(&Value::Array(ours), &theirs[query])
            .with_context(|| format!("`{query}`"))?;
    }
    Ok(())
}

fn same_export(pair: &Pair) -> Result<()> {
    let theirs = pair.their_export()?;
    let ours = json_lines(&pair.ours(&["sessions", "export", "-"])?)?;
    compare::none(&changes(&theirs, &ours))
}

/// Odd YAML included: `off`, octal, merge keys, duplicates, dates.
fn same_config(pair: &Pair) -> Result<()> {
    let theirs = pair.they_read(&["config"])?;
    for (key, value) in theirs.as_object().context("no mapping")? {
        let ours = pair.ours_json(&["config", "get", key, "--reveal", "--json"])?;
        compare::equal(&ours, value).with_context(|| key.clone())?;
    }
    Ok(())
}

fn doctor_is_content(pair: &Pair) -> Result<()> {
    let mut doctor = pair.command(&pair.hermes);
    let told = command::finish(doctor.args(["doctor", "--json"]))?;
    let told: Value = serde_json::from_str(&told.out)?;
    let findings = told["findings"].as_array().context("no findings")?;
    let errors = findings
        .iter()
        .filter(|finding| finding["level"] == "error");
    let errors: Vec<_> = errors
        .map(|e| format!("{}: {}", e["text"], e["why"]))
        .collect();
    compare::equal(&errors, &Vec::new())
}

fn reading_changes_nothing(pair: &Pair) -> Result<()> {
    let here = workspace::root().join("xtask/python/interop");
    for (file, original) in [("config.yaml", "config.yaml"), (".env", "dotenv")] {
        let original = fs::read_to_string(here.join(original))?;
        let now = fs::read_to_string(pair.file(file))?;
        ensure!(now == original, "{file} is different");
    }
    Ok(())
}

fn config_set_edits_one_line(pair: &Pair) -> Result<()> {
    let before = fs::read_to_string(pair.file("config.yaml"))?;
    pair.ours(&["config", "set", "agent.max_turns", "7"])?;
    let after = fs::read_to_string(pair.file("config.yaml"))?;
    let edited = edited_lines(&before, &after);
    compare::equal(
        &edited,
        &vec![
            "-    max_turns: 60   # enough for me".to_owned(),
            "+    max_turns: 7   # enough for me".to_owned(),
        ],
    )?;
    let theirs = pair.they_read(&["config"])?;
    compare::equal(&theirs["agent.max_turns"], &Value::from(7))
}

fn rename_changes_one_title(pair: &Pair) -> Result<()> {
    let before = pair.their_export()?;
    pair.ours(&[
        "sessions",
        "rename",
        "20260101_100000_aaaaaa",
        "αlpha",
        "zwei",
    ])?;
    let changes = changes(&before, &pair.their_export()?);
    let expected = Change::new(
        "20260101_100000_aaaaaa",
        "title",
        "\"alpha\"",
        "\"αlpha zwei\"",
    );
    compare::equal(&changes, &vec![expected])
}

// spec: state §13.6, state §13.7
fn append_only_adds(pair: &Pair) -> Result<()> {
    const SESSION: &str = "20260101_130000_dddddd";
    let before = pair.their_export()?;
    let version = pair.they_read(&["health"])?["version"].clone();
    pair.append(SESSION, 3)?;
    let changes = changes(&before, &pair.their_export()?);
    let fields: Vec<_> = changes.iter().map(|change| change.field.as_str()).collect();
    let counted = ["message_count", "last_active"];
    let added = ["messages[2]", "messages[3]", "messages[4]"];
    compare::equal(&fields, &[&counted[..], &added].concat())?;
    ensure!(changes.iter().all(|change| change.session == SESSION));
    compare::equal(&pair.they_read(&["health"])?["version"], &version)?;
    let replayed = pair.they_read(&["replay", SESSION])?;
    compare::equal(&replayed.as_array().map(Vec::len), &Some(5))
}

// spec: state §13.6
fn they_list_it(pair: &Pair) -> Result<()> {
    lists(pair, &pair.theirs)
}

/// A user may have updated meanwhile.
// spec: state §13.6
fn newest_lists_it(pair: &Pair) -> Result<()> {
    lists(pair, &pair.newest)
}

fn lists(pair: &Pair, program: &Path) -> Result<()> {
    let mut program = pair.command(&program.join("hermes"));
    let listed = command::finish(program.args(["sessions", "list"]))?;
    ensure!(listed.code == Some(0), "{}", listed.err);
    for title in ["αlpha zwei", "proj #2"] {
        ensure!(
            listed.out.contains(title),
            "no `{title}` in\n{}",
            listed.out
        );
    }
    Ok(())
}

fn database_is_sound(pair: &Pair) -> Result<()> {
    let health = pair.they_read(&["health"])?;
    compare::equal(&health["integrity"], &Value::from("ok"))?;
    compare::equal(&health["fts"], &health["messages"])?;
    compare::equal(&health["trigram"], &health["messages"])
}

/// Created by our first command, then opened by the Python program without a word of complaint.
fn our_home_opens(pair: &Pair) -> Result<()> {
    pair.ours(&["config", "set", "display.compact", "true"])?;
    pair.ours(&[
        "config",
        "set",
        "OPENROUTER_API_KEY",
        "sk-or-v1-1234567890abcdef",
    ])?;
    pair.append("20260103_000000_123456", 4)?;
    for args in [
        &["sessions", "list"][..],
        &["config", "show"],
        &["sessions", "stats"],
    ] {
        let Finished { code, out, err } = pair.their_program(args)?;
        ensure!(
            code == Some(0) && err.is_empty(),
            "{args:?}: {code:?} {out}{err}"
        );
    }
    let config = pair.they_read(&["config"])?;
    compare::equal(&config["display.compact"], &Value::from(true))?;
    let exported = pair.their_export()?;
    compare::equal(&exported[0]["messages"].as_array().map(Vec::len), &Some(4))?;
    database_is_sound(pair)
}
