//! Inputs made of other inputs.

use fastrand::Rng;

use crate::{LONG, USUAL};

/// A few changes to one of the seeds.
pub fn changed(seeds: &[String], pieces: &[&str], rng: &mut Rng) -> String {
    let mut chars: Vec<char> = pick(seeds, rng).chars().collect();
    for _ in 0..rng.usize(0..6) {
        change(&mut chars, seeds, pieces, rng);
    }
    let most = if rng.u32(0..2000) == 0 { LONG } else { USUAL };
    while most == LONG && !chars.is_empty() && chars.len() < LONG / 2 {
        chars.extend_from_within(..);
    }
    chars.truncate(most);
    chars.into_iter().collect()
}

fn change(chars: &mut Vec<char>, seeds: &[String], pieces: &[&str], rng: &mut Rng) {
    let at = rng.usize(..=chars.len());
    let end = (at + rng.usize(0..8)).min(chars.len());
    match rng.u32(0..8) {
        0 | 1 => drop(chars.splice(at..at, pick(pieces, rng).chars())),
        2 => drop(chars.splice(at..end, pick(pieces, rng).chars())),
        3 => drop(chars.drain(at..end)),
        4 => drop(chars.splice(at..at, pick(seeds, rng).chars())),
        5 => {
            let other: Vec<char> = pick(seeds, rng).chars().collect();
            chars.truncate(at);
            chars.extend(&other[rng.usize(..=other.len())..]);
        }
        6 => {
            let again: Vec<char> = chars[at..end].repeat(rng.usize(1..6));
            chars.splice(at..at, again);
        }
        _ => chars.insert(at, rng.char(' '..='~')),
    }
}

fn pick<'p, T: AsRef<str>>(from: &'p [T], rng: &mut Rng) -> &'p str {
    from.get(rng.usize(..from.len().max(1)))
        .map_or("", AsRef::as_ref)
}

/// Leaves away what the failure doesn't need.
pub fn shrunk(input: &str, fails: impl Fn(&str) -> bool) -> String {
    let mut chars: Vec<char> = input.chars().collect();
    let mut size = chars.len() / 2;
    while size > 0 {
        let mut at = 0;
        while at + size <= chars.len() {
            let mut fewer = chars.clone();
            fewer.drain(at..at + size);
            match fails(&fewer.iter().collect::<String>()) {
                true => chars = fewer,
                false => at += size,
            }
        }
        size /= 2;
    }
    chars.into_iter().collect()
}
