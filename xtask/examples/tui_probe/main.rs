//! The chat in a terminal, for `cargo xtask bench tui`: how long somebody waits for the first frame and for each key,
//! what it does while nothing happens, how long its slowest frame took, and what it holds after many turns.

#![allow(
    clippy::print_stdout,
    clippy::panic,
    reason = "its figures are read from stdout; whoever waits in vain sees the screen"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use hermes_testkit::{Pty, TempHome};
use serde_json::{Value, json};

const WAIT: Duration = Duration::from_secs(120);
const ROWS: u16 = 40;
const COLUMNS: u16 = 110;
/// Stands in nothing that is written by itself.
const KEY: char = 'Z';

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let mut next = |what: &'static str| args.next().context(what);
    let what = next("WHAT")?;
    let somebody = Somebody {
        program: next("PROGRAM")?.into(),
        folder: next("FOLDER")?.into(),
        temporary: TempHome::new(),
    };
    let count: usize = next("COUNT")?.parse()?;
    let figures = match what.as_str() {
        "first" => somebody.first(count),
        "fresh" => somebody.fresh(count),
        "keys" => somebody.keys(count),
        "idle" => somebody.idle(Duration::from_secs(count as u64)),
        "large" => somebody.large(),
        "turns" => somebody.turns(count),
        odd => bail!("unknown: {odd}"),
    };
    println!("{}", figures?);
    Ok(())
}

/// A user of the program with a folder of their own.
struct Somebody {
    program: PathBuf,
    folder: PathBuf,
    /// Only where the terminal begins; nothing is in it.
    temporary: TempHome,
}

impl Somebody {
    fn start(&self) -> Pty {
        let command = self.temporary.cmd(&self.program);
        let command = command.env("HOME", &self.folder);
        let command = command.env("HERMES_HOME", self.hermes());
        command.current_dir(&self.folder).pty(ROWS, COLUMNS)
    }

    fn hermes(&self) -> PathBuf {
        self.folder.join(".hermes")
    }

    /// A chat whose session is open.
    fn open(&self) -> Pty {
        let pty = self.start();
        pty.wait_until(|screen| screen.contains("⚕ scripted") && idle(screen), WAIT);
        pty
    }

    /// Milliseconds until there is a prompt.
    fn first(&self, rounds: usize) -> Result<Value> {
        let times = (0..rounds).map(|_| self.first_frame());
        Ok(json!(times.collect::<Vec<_>>()))
    }

    /// The same when nothing but the configuration was ever there.
    fn fresh(&self, rounds: usize) -> Result<Value> {
        let mut times = Vec::new();
        for _ in 0..rounds {
            empty(&self.hermes())?;
            times.push(self.first_frame());
        }
        Ok(json!(times))
    }

    fn first_frame(&self) -> f64 {
        let begun = Instant::now();
        let pty = self.start();
        pty.wait_for("❯", WAIT);
        ms(begun)
    }

    /// Milliseconds from each key to its glyph while an answer comes in, and how fast it did.
    fn keys(&self, count: usize) -> Result<Value> {
        let mut pty = self.open();
        type_in(&mut pty, "tell");
        pty.wait_until(|screen| newest(screen) > 0, WAIT);
        let (begun, from) = (Instant::now(), newest(&pty.screen()));
        let glyphs = |screen: &str| screen.matches(KEY).count();
        let mut times = Vec::new();
        for _ in 0..count {
            let before = glyphs(&pty.screen());
            let pressed = Instant::now();
            pty.send(&KEY.to_string());
            let screen = pty.wait_until(|screen| glyphs(screen) > before, WAIT);
            times.push(ms(pressed));
            if idle(&screen) {
                bail!("the answer was over before the keys were");
            }
            // Slower than what would be taken for a paste.
            thread::sleep(Duration::from_millis(20));
        }
        let words = newest(&pty.screen()).saturating_sub(from);
        let rate = words as f64 / begun.elapsed().as_secs_f64();
        Ok(json!({"times": times, "rate": rate}))
    }

    /// How often any of its threads woke up while nothing happened, and what it wrote.
    fn idle(&self, time: Duration) -> Result<Value> {
        let mut pty = self.open();
        say(&mut pty, "hello");
        pty.wait_until(|screen| screen.contains("done") && idle(screen), WAIT);
        // What is done after a turn, such as its title; and threads nobody needs any more end after ten seconds.
        thread::sleep(Duration::from_secs(12));
        let (wakes, written) = (wakes(pty.id())?, pty.bytes_written());
        thread::sleep(time);
        let woken = self::wakes(pty.id())? - wakes;
        Ok(json!({"woken": woken, "written": pty.bytes_written() - written}))
    }

    /// Milliseconds of the slowest frame while a large answer came in, as its log tells.
    fn large(&self) -> Result<Value> {
        let mut pty = self.open();
        say(&mut pty, "tell");
        pty.wait_until(|screen| screen.contains("The end.") && idle(screen), WAIT);
        let log = fs::read_to_string(self.hermes().join("logs/agent.log"))?;
        let frames = log.lines().filter_map(|line| {
            let (_, rest) = line.split_once("a frame took ")?;
            rest.strip_suffix(" ms")?.parse::<u64>().ok()
        });
        // Quicker ones are not in the log.
        Ok(json!(frames.max().context("no frame is in the log")?))
    }

    /// Megabytes after this many turns.
    fn turns(&self, count: usize) -> Result<Value> {
        let mut pty = self.open();
        // Whose terminal marks pastes has keys that are keys.
        pty.send("\x1b[200~turn\x1b[201~");
        for at in 0..count {
            pty.send(&format!(" {at} \r"));
            let answer = format!("Heard: turn {at}");
            pty.wait_until(|screen| screen.contains(&answer) && idle(screen), WAIT);
            pty.send("turn");
        }
        let status = fs::read_to_string(format!("/proc/{}/status", pty.id()))?;
        Ok(json!(field(&status, "VmRSS:")? as f64 / 1024.0))
    }
}

/// Types as most people do: on a terminal that has not marked a paste yet, so that keys are looked at twice.
fn type_in(pty: &mut Pty, text: &str) {
    pty.send(text);
    pty.wait_for(&format!("❯ {text}"), WAIT);
    // For so long, Enter would belong to what came too fast for fingers.
    thread::sleep(Duration::from_millis(140));
    pty.send("\r");
}

fn say(pty: &mut Pty, text: &str) {
    // As a paste, so that Enter right behind it is Enter.
    pty.send(&format!("\x1b[200~{text}\x1b[201~\r"));
}

/// The prompt waits and no turn runs.
fn idle(screen: &str) -> bool {
    let mut lines = screen.lines();
    lines.any(|line| line.starts_with('❯')) && !screen.contains("⚕ ❯")
}

/// The number of the last word on the screen.
fn newest(screen: &str) -> u64 {
    let words = screen.split_whitespace();
    let numbers = words.filter_map(|word| word.strip_prefix("word")?.parse().ok());
    numbers.max().unwrap_or(0)
}

/// How often the threads of a process have waited for something, all together.
fn wakes(process: u32) -> Result<u64> {
    let mut count = 0;
    for thread in fs::read_dir(format!("/proc/{process}/task"))? {
        let status = fs::read_to_string(thread?.path().join("status"))?;
        count += field(&status, "voluntary_ctxt_switches:")?;
    }
    Ok(count)
}

fn field(status: &str, name: &str) -> Result<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.split_whitespace().next());
    Ok(number.context("the kernel says otherwise")?.parse()?)
}

/// Takes everything away but the configuration.
fn empty(hermes: &Path) -> Result<()> {
    for entry in fs::read_dir(hermes)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => fs::remove_dir_all(entry.path())?,
            false if entry.file_name() == "config.yaml" => {}
            false => fs::remove_file(entry.path())?,
        }
    }
    Ok(())
}

fn ms(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1000.0
}
