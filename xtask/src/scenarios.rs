//! `cargo xtask scenarios`: which test proves which acceptance scenario of `docs/spec`, and which has none.
//!
//! A scenario's name is its area (the page), section and number: `state §13.7`. A test claims it in a comment above: `spec: state §13.7`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use crate::args::{Args, Usage};
use crate::workspace::{self, Source};

/// Scenarios of features that are not there yet, one per line, each with the reason.
const LATER: &str = "xtask/scenarios-later.txt";

struct Scenario {
    area: String,
    name: String,
    text: String,
}

/// Scenario name -> the places that claim to prove it.
type Claims = BTreeMap<String, Vec<String>>;

pub fn run(mut args: Args) -> Result<()> {
    let shown = args.list("--area")?;
    let required = args.list("--require")?;
    args.words(&[])?;

    let scenarios = read_spec()?;
    for area in shown.iter().chain(&required) {
        if !scenarios.iter().any(|scenario| scenario.area == *area) {
            bail!(Usage(format!(
                "no acceptance scenarios in docs/spec/{area}.md"
            )));
        }
    }
    let claims = read_claims()?;
    let later = read_later()?;

    let wanted = if shown.is_empty() { &required } else { &shown };
    let visible = |scenario: &&Scenario| wanted.is_empty() || wanted.contains(&scenario.area);
    for scenario in scenarios.iter().filter(visible) {
        show(scenario, &claims, &later);
    }
    summarise(&scenarios, &claims);

    let unknown = unknown(&scenarios, &claims, &later);
    ensure!(
        unknown.is_empty(),
        "no such scenario:\n  {}",
        unknown.join("\n  ")
    );
    let holes: Vec<_> = scenarios
        .iter()
        .filter(|scenario| required.contains(&scenario.area) && !later.contains(&scenario.name))
        .map(|scenario| scenario.name.as_str())
        .filter(|name| !claims.contains_key(*name))
        .collect();
    ensure!(holes.is_empty(), "no test for {}", holes.join(", "));
    Ok(())
}

fn show(scenario: &Scenario, claims: &Claims, later: &BTreeSet<String>) {
    const WIDTH: usize = 90;
    let text: String = scenario.text.chars().take(WIDTH).collect();
    println!("{}  {text}", scenario.name);
    match claims.get(&scenario.name) {
        Some(places) => places.iter().for_each(|place| println!("    {place}")),
        None if later.contains(&scenario.name) => println!("    (later)"),
        None => println!("    -- no test --"),
    }
}

fn summarise(scenarios: &[Scenario], claims: &Claims) {
    let mut areas: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for scenario in scenarios {
        let (all, proved) = areas.entry(&scenario.area).or_default();
        *all += 1;
        *proved += usize::from(claims.contains_key(&scenario.name));
    }
    println!();
    for (area, (all, proved)) in areas {
        println!("{area:<20} {proved:>3} of {all:>3} scenarios have a test");
    }
}

/// Names that mean nothing: a slip of the pen, or a scenario that was renumbered.
fn unknown(scenarios: &[Scenario], claims: &Claims, later: &BTreeSet<String>) -> Vec<String> {
    let known: BTreeSet<_> = scenarios.iter().map(|scenario| &scenario.name).collect();
    let claimed = claims
        .iter()
        .map(|(name, places)| (name, places.join(", ")));
    let postponed = later.iter().map(|name| (name, LATER.to_owned()));
    claimed
        .chain(postponed)
        .filter(|(name, _)| !known.contains(name))
        .map(|(name, place)| format!("{name} ({place})"))
        .collect()
}

fn read_spec() -> Result<Vec<Scenario>> {
    let pages = workspace::sources(&workspace::root().join("docs/spec"), &["md"])?;
    Ok(pages.iter().flat_map(scenarios_of).collect())
}

/// The numbered list under `## 13. Acceptance scenarios`.
fn scenarios_of(page: &Source) -> Vec<Scenario> {
    let area = page.path.file_stem().unwrap_or_default().to_string_lossy();
    let mut section = None;
    let mut found = Vec::new();
    for line in page.text.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            let (number, title) = heading.split_once(". ").unwrap_or_default();
            section = title.starts_with("Acceptance scenarios").then_some(number);
        } else if let Some((section, (number, text))) = section.zip(line.split_once(". "))
            && number.parse::<u32>().is_ok()
        {
            found.push(Scenario {
                area: area.to_string(),
                name: format!("{area} §{section}.{number}"),
                text: text.to_owned(),
            });
        }
    }
    found
}

fn read_claims() -> Result<Claims> {
    let mut claims = Claims::new();
    for source in workspace::sources(workspace::root(), &["rs", "py"])? {
        for (name, place) in claims_of(&source.path, &source.text) {
            claims.entry(name).or_default().push(place);
        }
    }
    Ok(claims)
}

/// `// spec: state §13.7, state §13.8` (or `#` in Python), with the function that follows.
fn claims_of(path: &Path, text: &str) -> Vec<(String, String)> {
    let lines: Vec<_> = text.lines().map(str::trim).collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let comment = line.trim_start_matches(['/', '#']).trim_start();
        let Some(names) = comment.strip_prefix("spec: ").filter(|_| comment != *line) else {
            continue;
        };
        let function = lines[at..].iter().find_map(|line| function_name(line));
        let place = format!(
            "{}:{} {}",
            path.display(),
            at + 1,
            function.unwrap_or_default()
        );
        for name in names.split(',') {
            // What follows the two words of a name is a remark.
            let name: Vec<_> = name.split_whitespace().take(2).collect();
            found.push((name.join(" "), place.clone()));
        }
    }
    found
}

fn function_name(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    words.find(|word| matches!(*word, "fn" | "def"))?;
    words.next()?.split(['(', '<']).next()
}

fn read_later() -> Result<BTreeSet<String>> {
    let text = fs::read_to_string(workspace::root().join(LATER)).context(LATER)?;
    let names = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    Ok(names
        .map(|line| {
            line.split_whitespace()
                .take(2)
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenarios_are_the_numbered_lines_of_their_section() {
        let page = Source {
            path: "docs/spec/state.md".into(),
            text: "## 12. Other\n1. no\n## 13. Acceptance scenarios (fakes)\nWords. More.\n1. one\n12. two\n## 14. Z\n2. no\n".into(),
        };
        let names: Vec<_> = scenarios_of(&page).into_iter().map(|s| s.name).collect();
        assert_eq!(names, ["state §13.1", "state §13.12"]);
    }

    #[test]
    fn claims_name_the_function_below_them() {
        let slashes = "/".repeat(2);
        let rust = format!(
            "{slashes} spec: a §1.1, b §2.2 (half)\n#[test]\nfn works() {{}}\nlet spec: u8;"
        );
        let found = claims_of(Path::new("x.rs"), &rust);
        let place = "x.rs:1 works".to_owned();
        assert_eq!(
            found,
            [
                ("a §1.1".to_owned(), place.clone()),
                ("b §2.2".to_owned(), place)
            ]
        );
        let python = "# spec: a §1.3\ndef test_it():";
        assert_eq!(claims_of(Path::new("x.py"), python)[0].1, "x.py:1 test_it");
    }
}
