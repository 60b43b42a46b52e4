//! Prints how fast the redactor is: `cargo run --release -p hermes-home --example redact_speed`. With `--json`,
//! megabytes in a second by what is looked at, for `cargo xtask bench redact`.
#![allow(clippy::print_stdout, reason = "an example prints its result")]

use std::hint::black_box;
use std::time::Instant;

use hermes_home::redact::{Redactor, Switch};

const SIZE: usize = 16 << 20;

const PROSE: &[&str] = &[
    "The quick brown fox jumps over the lazy dog, and nobody writes it down.",
    "fn main() { let total: usize = rows.iter().map(|row| row.len()).sum(); }",
    "Compiling serde v1.0.229 (registry+https://github.com/rust-lang/crates.io-index)",
    "<div class=\"card\" id=\"c-17\"><a href=\"https://example.org/a?page=2\">more</a></div>",
];

const LOG: &[&str] = &[
    "2026-04-05 22:35:00,123 INFO [20260405_223459_ab12cd] agent.turn: request model=claude tokens=18233 ms=912",
    "2026-04-05 22:35:01,004 INFO gateway.telegram: update id=883211 chat=-1001234 kind=message",
    "2026-04-05 22:35:01,077 DEBUG tools.exec: exit=0 bytes=4096 cwd=/home/u/src path=/usr/bin:/bin",
    "2026-04-05 22:35:02,310 WARNING [20260405_223459_ab12cd] agent.model: retry in 2s: https://api.example.com/v1 said 529",
];

fn main() {
    let secret = "2026-04-05 22:35:03,000 ERROR agent.model: Authorization: Bearer abcdefghijklmnopqrstuvwxyz";
    let mut with_secrets = LOG.repeat(5);
    with_secrets.push(secret);

    let started = Instant::now();
    black_box(Redactor::new(Switch::On).apply("first"));
    let first = started.elapsed().as_secs_f64() * 1e6;

    let texts = [
        ("clean text", PROSE),
        ("log lines", LOG),
        ("with secrets", &with_secrets),
    ];
    let rates = texts.map(|(name, lines)| (name, measure(lines)));
    if std::env::args().any(|arg| arg == "--json") {
        let figures: serde_json::Map<_, _> = rates
            .into_iter()
            .flat_map(|(name, (whole, by_line))| {
                [
                    (name.to_owned(), whole),
                    (format!("{name}, line by line"), by_line),
                ]
            })
            .map(|(name, rate)| (name, rate.into()))
            .collect();
        println!("{}", serde_json::Value::Object(figures));
        return;
    }
    println!("first call   {first:>8.0} µs");
    for (name, (whole, by_line)) in rates {
        println!("{name:<12} {whole:>8.0} MB/s whole, {by_line:>6.0} MB/s line by line");
    }
}

/// Once as one big text, as tool output comes, and once line by line, as logs come.
fn measure(lines: &[&str]) -> (f64, f64) {
    let redactor = Redactor::new(Switch::On);
    let big: String = lines
        .iter()
        .cycle()
        .flat_map(|line| [*line, "\n"])
        .scan(0, |n, s| {
            *n += s.len();
            (*n < SIZE).then_some(s)
        })
        .collect();
    let whole = best_of(|| drop(black_box(redactor.apply(black_box(&big)))));
    let by_line = best_of(|| {
        big.lines()
            .for_each(|line| drop(black_box(redactor.apply(line))))
    });
    let rate = |seconds: f64| big.len() as f64 / 1e6 / seconds;
    (rate(whole), rate(by_line))
}

fn best_of(run: impl Fn()) -> f64 {
    let time = || {
        let started = Instant::now();
        run();
        started.elapsed().as_secs_f64()
    };
    (0..5).map(|_| time()).fold(f64::INFINITY, f64::min)
}
