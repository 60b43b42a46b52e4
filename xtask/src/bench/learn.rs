//! Killed while it learns: whoever is killed with -9 while skills and notes are written leaves the old or the new,
//! and whoever starts next notices nothing.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::Setup;
use super::table::{Bar, Row};
use super::user::User;
use crate::command::{Finished, finish};

/// How long a start may take until it has written something.
const PATIENCE: Duration = Duration::from_secs(30);
/// A few replies' worth of changes.
const LONGEST_MS: u64 = 120;
const KEPT: &str = "never to be lost";

pub fn rows(setup: &Setup) -> Result<Vec<Row>> {
    let pupil = Pupil::new(setup)?;
    let rounds = setup.rounds(200);
    let (mut torn, mut lost, mut stuck) = (0, 0, 0);
    for _ in 0..rounds {
        pupil.is_killed()?;
        torn += usize::from(!pupil.is_whole()?);
        lost += usize::from(!pupil.knows_what_it_knew()?);
        stuck += usize::from(!pupil.starts_again()?);
    }
    // Whoever never got as far as deleting has not tried everything.
    let deleted = fs::read_dir(pupil.file("skills/.archive"))?.count();
    ensure!(deleted > 0, "nothing was ever deleted");
    let row = |what: &str, count: usize| {
        let what = format!("`kill -9` while learning, {rounds} rounds: {what}");
        Row::new(what, count as f64, "", Bar::AtMost(0.0))
    };
    Ok(vec![
        row("neither the old nor the new", torn),
        row("something learned before is gone", lost),
        row("the next start has trouble", stuck),
    ])
}

/// Somebody whose model changes skills and notes without end.
struct Pupil<'s> {
    user: User,
    setup: &'s Setup,
}

impl<'s> Pupil<'s> {
    fn new(setup: &'s Setup) -> Result<Self> {
        let user = User::new("learn", &script())?;
        let pupil = Self { user, setup };
        let config = fs::read_to_string(pupil.file("config.yaml"))?;
        let more = "memory:\n  memory_char_limit: 40000\nagent:\n  max_turns: 10000\n";
        fs::write(pupil.file("config.yaml"), config + more)?;
        // Only what is learned here.
        fs::write(pupil.file(".no-bundled-skills"), "")?;
        fs::create_dir_all(pupil.file("skills/one"))?;
        fs::write(pupil.file("skills/one/SKILL.md"), one("alpha"))?;
        fs::create_dir_all(pupil.file("memories"))?;
        fs::write(pupil.file("memories/MEMORY.md"), KEPT)?;
        Ok(pupil)
    }

    fn file(&self, path: &str) -> PathBuf {
        self.user.home.path().join(".hermes").join(path)
    }

    /// One start, killed at some moment after its first change.
    fn is_killed(&self) -> Result<()> {
        let before = self.changed();
        let mut command = self.user.command(&self.setup.hermes, &["-z", "learn"]);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut child = command.spawn().context("hermes")?;
        let begun = self.wait_for_change(&mut child, before);
        std::thread::sleep(Duration::from_micros(fastrand::u64(0..LONGEST_MS * 1000)));
        child.kill()?;
        child.wait()?;
        begun
    }

    fn wait_for_change(&self, child: &mut Child, before: [Option<SystemTime>; 2]) -> Result<()> {
        let until = Instant::now() + PATIENCE;
        while self.changed() == before {
            ensure!(child.try_wait()?.is_none(), "it ended by itself");
            ensure!(Instant::now() < until, "it changed nothing");
            std::thread::sleep(Duration::from_micros(200));
        }
        Ok(())
    }

    fn changed(&self) -> [Option<SystemTime>; 2] {
        ["skills/one/SKILL.md", "memories/MEMORY.md"].map(|path| {
            let meta = fs::metadata(self.file(path)).ok()?;
            meta.modified().ok()
        })
    }

    /// Every file is one that somebody wrote whole.
    fn is_whole(&self) -> Result<bool> {
        let text = fs::read_to_string(self.file("skills/one/SKILL.md"))?;
        let one_is = text == one("alpha") || text == one("beta");
        let made = self.file("skills/made");
        let made_is = !made.exists() || fs::read_to_string(made.join("SKILL.md"))? == made_text();
        let reference = made.join("references/a.md");
        let reference_is = !reference.exists() || fs::read_to_string(reference)? == long("a");
        let notes = fs::read_to_string(self.file("memories/MEMORY.md"))?;
        let known = [KEPT.to_owned(), long("first"), long("second")];
        let notes_are = notes
            .split("\n§\n")
            .all(|entry| known.iter().any(|k| k == entry));
        let usage = fs::read(self.file("skills/.usage.json")).unwrap_or_else(|_| b"{}".to_vec());
        let usage_is = serde_json::from_slice::<Value>(&usage).is_ok();
        Ok(one_is && made_is && reference_is && notes_are && usage_is)
    }

    /// What was there before the first round is there for good.
    fn knows_what_it_knew(&self) -> Result<bool> {
        let notes = fs::read_to_string(self.file("memories/MEMORY.md"))?;
        Ok(notes.starts_with(KEPT) && self.file("skills/one/SKILL.md").is_file())
    }

    fn starts_again(&self) -> Result<bool> {
        for (args, part) in [
            (&["skills", "list", "--json"][..], "\"one\""),
            (&["memory", "status", "--json"], KEPT),
            (&["journey", "--json"], "["),
        ] {
            let Finished { code, out, err } =
                finish(&mut self.user.command(&self.setup.hermes, args))?;
            if code != Some(0) || !err.is_empty() || !out.contains(part) {
                eprintln!("{args:?}: {code:?} {err}");
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Everything that can be done to a skill and to notes, over and over.
fn script() -> Value {
    let manage = |arguments: Value| json!({"name": "skill_manage", "arguments": arguments});
    let memory = |arguments: Value| json!({"name": "memory", "arguments": arguments});
    let patch = |old: &str, new: &str| {
        let change = json!({"action": "patch", "name": "one", "old_string": old, "new_string": new, "replace_all": true});
        manage(change)
    };
    let (first, second) = (long("first"), long("second"));
    json!([{"repeat": true, "tool_calls": [
        patch("alpha", "beta"),
        manage(json!({"action": "create", "name": "made", "content": made_text()})),
        manage(json!({"action": "write_file", "name": "made", "file_path": "references/a.md", "file_content": long("a")})),
        memory(json!({"action": "add", "target": "memory", "content": first})),
        patch("beta", "alpha"),
        memory(json!({"action": "replace", "target": "memory", "old_text": "first", "content": second})),
        manage(json!({"action": "delete", "name": "made"})),
        memory(json!({"action": "remove", "target": "memory", "old_text": "second"})),
    ]}])
}

/// The skill that is changed.
fn one(word: &str) -> String {
    format!(
        "---\nname: one\ndescription: One.\n---\n{}",
        format!("{word}\n").repeat(2_000)
    )
}

/// The skill that comes and goes.
fn made_text() -> String {
    format!(
        "---\nname: made\ndescription: Made.\n---\n{}\n",
        long("made")
    )
}

/// More than one block of a disk.
fn long(word: &str) -> String {
    format!("{word} ").repeat(2_000).trim_end().to_owned()
}
