//! Many skills: how long a session waits for their list, and how much of its prompt they take.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::table::{Bar, Row};
use super::{Setup, percentile};
use crate::cache::Scratch;
use crate::command::{self, as_user};
use crate::workspace;

const MANY: usize = 500;
const USUAL: usize = 60;

pub fn rows(setup: &Setup) -> Result<Vec<Row>> {
    let (ours, theirs) = both(setup, MANY)?;
    let time = |what: &str, of: fn(&Figures) -> &Vec<f64>, most| {
        let [ours, theirs] = [&ours, &theirs].map(|figures| percentile(of(figures), 50));
        let what = format!("skills: list of {MANY}, {what}, median");
        Row::new(what, ours, "ms", Bar::AtMost(most)).beside(theirs)
    };
    let mut rows = vec![
        time("nothing known", |figures| &figures.cold, 20.0),
        time("from the snapshot", |figures| &figures.warm, 2.0),
    ];
    let (ours, theirs) = both(setup, USUAL)?;
    let kilobytes = |figures: &Figures| figures.bytes as f64 / 1024.0;
    let what = format!("skills: list of {USUAL} in the prompt");
    rows.push(Row::new(what, kilobytes(&ours), "KB", Bar::AtMost(3.0)).beside(kilobytes(&theirs)));
    Ok(rows)
}

#[derive(Debug, Deserialize)]
struct Figures {
    cold: Vec<f64>,
    warm: Vec<f64>,
    bytes: usize,
}

/// Both programs on the same skills, each in a home of its own: they keep different snapshots.
fn both(setup: &Setup, count: usize) -> Result<(Figures, Figures)> {
    let probe = command::build_example("release", "skills_probe")?;
    let home = home(count)?;
    let rounds = setup.rounds(100).to_string();
    let mut ours = as_user(&probe, home.path());
    ours.arg(home.path().join(".hermes")).arg(&rounds);
    let ours = figures(&mut ours)?;
    let home = self::home(count)?;
    let script = workspace::root().join("xtask/python/bench/their_skills.py");
    let mut theirs = as_user(&setup.theirs.join("python"), home.path());
    theirs.arg(script).arg(setup.rounds(20).max(2).to_string());
    Ok((ours, figures(&mut theirs)?))
}

fn figures(command: &mut Command) -> Result<Figures> {
    let out = command::stdout(command)?;
    serde_json::from_str(&out).with_context(|| format!("not figures: {out}"))
}

/// Somebody with this many skills, each with a description longer than is shown.
fn home(count: usize) -> Result<Scratch> {
    let user = Scratch::new("skills")?;
    write(&user.path().join(".hermes/skills"), count)?;
    Ok(user)
}

/// So many skills in a folder.
pub fn write(skills: &Path, count: usize) -> Result<()> {
    for n in 0..count {
        let dir = skills.join(format!("category-{}/skill-{n:03}", n % 12));
        fs::create_dir_all(&dir)?;
        let about =
            "Do one of the many things that a person may want to be done, and say how it was done.";
        let front = format!(
            "name: skill-{n:03}\ndescription: {about}\nmetadata:\n  hermes:\n    tags: [a, b]"
        );
        let body = "Words of instruction.\n".repeat(200);
        fs::write(dir.join("SKILL.md"), format!("---\n{front}\n---\n{body}"))?;
    }
    Ok(())
}
