//! The chat on a screen: how soon it is there, how soon it answers a key, and what it costs when nothing happens.
//!
//! Beside the Python program only where both do the same: the first prompt.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Value, json};

use super::table::{Bar, Row};
use super::user::User;
use super::{Setup, percentile, skills, store};
use crate::command::{self, as_user};

const SKILLS: usize = 500;
/// Eight words every two milliseconds, or three: timers are not finer.
const AT_ONCE: usize = 8;
const PAUSE_MS: u64 = 2;
/// More words than fit into the time the keys take.
const WORDS: usize = 200_000;
const TURNS: usize = 1000;

pub fn rows(setup: &Setup) -> Result<Vec<Row>> {
    let probe = Probe {
        setup,
        program: command::build_example("release", "tui_probe")?,
    };
    let mut rows = probe.first_frame()?;
    rows.push(probe.first_frame_of_years()?);
    rows.extend(probe.keys()?);
    rows.extend(probe.idle()?);
    rows.push(probe.large()?);
    rows.push(probe.turns()?);
    Ok(rows)
}

struct Probe<'s> {
    setup: &'s Setup,
    program: PathBuf,
}

impl Probe<'_> {
    fn first_frame(&self) -> Result<Vec<Row>> {
        let user = User::new("tui-first", &json!([]))?;
        let rounds = self.setup.rounds(100);
        let ours: Vec<f64> = self.run("fresh", &self.setup.hermes, &user, rounds)?;
        let what = "chat: first frame, empty home";
        let median = Row::new(
            format!("{what}, median"),
            percentile(&ours, 50),
            "ms",
            Bar::AtMost(30.0),
        );
        let slow = Row::new(
            format!("{what}, p95"),
            percentile(&ours, 95),
            "ms",
            Bar::None,
        );
        Ok(vec![self.beside(median, &user), slow])
    }

    /// Its first start makes folders and caches; that is not what is compared.
    fn beside(&self, row: Row, user: &User) -> Row {
        let theirs = self.setup.theirs.join("hermes");
        let rounds = self.setup.rounds(60).max(2);
        match self.run::<Vec<f64>>("first", &theirs, user, rounds) {
            Ok(times) => row.beside(percentile(&times[1..], 50)),
            Err(error) => {
                eprintln!("Python showed no prompt: {error:#}");
                row
            }
        }
    }

    /// Somebody with many skills and years of conversations.
    fn first_frame_of_years(&self) -> Result<Row> {
        let user = User::new("tui-years", &json!([]))?;
        let hermes = user.home.path().join(".hermes");
        skills::write(&hermes.join("skills"), SKILLS)?;
        fs::copy(store::made()?.join("state.db"), hermes.join("state.db"))?;
        let rounds = self.setup.rounds(100);
        let times: Vec<f64> = self.run("first", &self.setup.hermes, &user, rounds + 1)?;
        let what = format!("chat: first frame, {SKILLS} skills and 300,000 messages, median");
        // The first one pays for a cold cache.
        let median = percentile(&times[1..], 50);
        Ok(Row::new(what, median, "ms", Bar::AtMost(60.0)))
    }

    fn keys(&self) -> Result<Vec<Row>> {
        #[derive(Deserialize)]
        struct Keys {
            times: Vec<f64>,
            rate: f64,
        }
        let user = User::new("tui-keys", &stream())?;
        let count = self.setup.rounds(400);
        let keys: Keys = self.run("keys", &self.setup.hermes, &user, count)?;
        let what = "chat: key to glyph while an answer streams in";
        Ok(vec![
            Row::new(
                format!("{what}: words per second"),
                keys.rate,
                "",
                Bar::AtLeast(2000.0),
            ),
            Row::new(
                format!("{what}, median"),
                percentile(&keys.times, 50),
                "ms",
                Bar::None,
            ),
            Row::new(
                format!("{what}, p99"),
                percentile(&keys.times, 99),
                "ms",
                Bar::AtMost(16.0),
            ),
        ])
    }

    fn idle(&self) -> Result<Vec<Row>> {
        #[derive(Deserialize)]
        struct Idle {
            woken: f64,
            written: f64,
        }
        let user = User::new("tui-idle", &json!([{"text": "done", "repeat": true}]))?;
        let seconds = if self.setup.quick { 2 } else { 10 };
        let idle: Idle = self.run("idle", &self.setup.hermes, &user, seconds)?;
        let row = |what: &str, count| {
            let what = format!("chat: {what} in {seconds} s of nothing");
            Row::new(what, count, "", Bar::AtMost(0.0))
        };
        Ok(vec![
            row("wake-ups", idle.woken),
            row("bytes written", idle.written),
        ])
    }

    fn large(&self) -> Result<Row> {
        let user = User::new("tui-large", &large())?;
        let config = user.home.path().join(".hermes/config.yaml");
        let set = fs::read_to_string(&config)? + "logging:\n  level: DEBUG\n";
        fs::write(config, set)?;
        let slowest: f64 = self.run("large", &self.setup.hermes, &user, 1)?;
        let what = "chat: an answer of 1 MB, the slowest frame";
        Ok(Row::new(what, slowest, "ms", Bar::AtMost(33.0)))
    }

    fn turns(&self) -> Result<Row> {
        let script = json!({"steps": [], "otherwise": {"echo": "Heard: "}});
        let user = User::new("tui-turns", &script)?;
        let count = self.setup.rounds(TURNS);
        let memory: f64 = self.run("turns", &self.setup.hermes, &user, count)?;
        let what = format!("chat: memory after {count} turns");
        Ok(Row::new(what, memory, "MB", Bar::AtMost(40.0)))
    }

    fn run<T: for<'d> Deserialize<'d>>(
        &self,
        what: &str,
        program: &Path,
        user: &User,
        count: usize,
    ) -> Result<T> {
        let mut probe = as_user(&self.program, user.home.path());
        probe.arg(what).arg(program).arg(user.home.path());
        let out = command::stdout(probe.arg(count.to_string()))?;
        serde_json::from_str(&out).with_context(|| format!("not figures: {out}"))
    }
}

fn stream() -> Value {
    let words: Vec<_> = (0..WORDS).map(|at| format!("word{at} ")).collect();
    let deltas = words.chunks(AT_ONCE).map(|words| words.concat() + "\n\n");
    json!([{"when": {"tools": false}, "text": "A title", "repeat": true},
        {"text": deltas.collect::<Vec<_>>(), "between_ms": PAUSE_MS}])
}

/// What models write, over and over: text, a list, code, a table.
fn large() -> Value {
    let part = "## Some words\n\nA paragraph with **bold** words, `code` and [a link](https://example.com) that goes on \
        for more than a line of the screen, as paragraphs do.\n\n- one\n- two\n  - nested\n\n\
        ```rust\nfn main() {\n    println!(\"hello\");\n}\n```\n\n\
        | key | value |\n|---|---|\n| a | 1 |\n| b | 2 |\n\n";
    let whole = part.repeat(1_000_000 / part.len() + 1) + "The end.";
    json!([{"when": {"tools": false}, "text": "A title", "repeat": true},
        {"text": whole, "chunk": 64}])
}
