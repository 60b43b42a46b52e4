//! Throws changed copies of known inputs at a target, for `cargo xtask fuzz`: TARGET SECONDS INPUTS SEED.

#![allow(clippy::print_stdout, reason = "its findings are read from stdout")]

mod change;
mod clock;
mod gate;

use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use fastrand::Rng;

/// Something that must hold for every input.
struct Target {
    name: &'static str,
    /// Inputs to begin with.
    seeds: fn() -> Vec<String>,
    /// Pieces that mean something to the target.
    pieces: &'static [&'static str],
    /// What is wrong, if anything is.
    check: fn(&str) -> Result<(), String>,
}

const TARGETS: [Target; 1] = [gate::TARGET];

/// Inputs are cut to this, but for a few.
const USUAL: usize = 300;
const LONG: usize = 20_000;

fn main() -> Result<ExitCode> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [name, seconds, inputs, seed] = args.as_slice() else {
        anyhow::bail!("TARGET SECONDS INPUTS SEED");
    };
    let target = TARGETS.iter().find(|target| target.name == name);
    let target = target.context("no such target")?;
    let limit = Duration::from_secs(seconds.parse()?);
    let (inputs, seed): (u64, u64) = (inputs.parse()?, seed.parse()?);
    println!("{name}: seed {seed}");
    Ok(run(target, limit, inputs, seed))
}

fn run(target: &Target, limit: Duration, inputs: u64, seed: u64) -> ExitCode {
    let mut rng = Rng::with_seed(seed);
    let seeds = (target.seeds)();
    let start = Instant::now();
    let mut done = 0;
    let mut slowest = (Duration::ZERO, String::new());
    while done < inputs && (done % 256 != 0 || start.elapsed() < limit) {
        let input = change::changed(&seeds, target.pieces, &mut rng);
        let began = clock::spent();
        let checked = panic::catch_unwind(AssertUnwindSafe(|| (target.check)(&input)));
        let took = clock::spent().saturating_sub(began);
        if took > slowest.0 {
            slowest = (took, input.clone());
        }
        done += 1;
        let wrong = match checked {
            Ok(Ok(())) => continue,
            Ok(Err(wrong)) => wrong,
            Err(_) => "it panicked".to_owned(),
        };
        // The first time it was told; a smaller input says the same again and again.
        panic::set_hook(Box::new(|_| {}));
        let smaller = change::shrunk(&input, |input| fails(target, input));
        println!("{}: {}", target.name, shown(&wrong));
        println!("  input   {}\n  smaller {}", shown(&input), shown(&smaller));
        return ExitCode::FAILURE;
    }
    println!(
        "{}: {done} inputs in {:.0?}, nothing found; the slowest took {:.1?} for {} bytes: {}",
        target.name,
        start.elapsed(),
        slowest.0,
        slowest.1.len(),
        shown(&slowest.1)
    );
    ExitCode::SUCCESS
}

/// As much of a text as a terminal takes.
fn shown(text: &str) -> String {
    let start: String = text.chars().take(500).collect();
    match start.len() < text.len() {
        true => format!("{start:?} …"),
        false => format!("{start:?}"),
    }
}

fn fails(target: &Target, input: &str) -> bool {
    let checked = panic::catch_unwind(AssertUnwindSafe(|| (target.check)(input)));
    !matches!(checked, Ok(Ok(())))
}
