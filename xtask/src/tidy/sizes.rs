//! How big things are, and how big they may be.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::scan::Function;

/// A crate may have this share of all code, and any crate may be small.
const CRATE: Bound = Bound {
    percent: 20,
    lines: 12_000,
};
/// The binary parses and renders; what it holds besides belongs elsewhere. The chat by lines is still in it, and
/// moves out with the first face that has a screen.
const BINARY: Bound = Bound {
    percent: 8,
    lines: 7_000,
};
const FILE_LINES: usize = 800;
const FUNCTION_LINES: usize = 100;

/// Tables and generated files, as `path` or `path::function`: long because there is much data, not much to follow.
const TABLES: &[&str] = &[];

struct Bound {
    percent: usize,
    lines: usize,
}

impl Bound {
    fn exceeded(&self, lines: usize, total: usize) -> bool {
        lines > self.lines && lines * 100 > total * self.percent
    }
}

/// One source file.
#[derive(Debug)]
pub struct Measured {
    pub package: String,
    pub path: String,
    pub code: usize,
    pub tests: usize,
    /// Functions outside tests.
    pub functions: Vec<Function>,
    /// The text without strings and comments.
    pub blanked: String,
}

pub fn check(files: &[Measured]) -> Vec<String> {
    let mut problems = Vec::new();
    let total: usize = files.iter().map(|file| file.code).sum();
    for (package, (code, _)) in by_package(files) {
        let bound = if package == "hermes" { BINARY } else { CRATE };
        if bound.exceeded(code, total) {
            let percent = code * 100 / total;
            problems.push(format!(
                "{package}: {code} lines are {percent} % of all; split it"
            ));
        }
    }
    for file in files {
        problems.extend(check_file(file));
    }
    problems
}

fn check_file(file: &Measured) -> Vec<String> {
    let path = &file.path;
    let mut problems = Vec::new();
    if file.code > FILE_LINES && !TABLES.contains(&path.as_str()) {
        problems.push(format!("{path}:1: {} lines, over {FILE_LINES}", file.code));
    }
    for function in &file.functions {
        let Function { name, line, lines } = function;
        let exempt = TABLES.contains(&format!("{path}::{name}").as_str());
        if *lines > FUNCTION_LINES && !exempt {
            problems.push(format!(
                "{path}:{line}: `{name}` has {lines} lines, over {FUNCTION_LINES}"
            ));
        }
    }
    problems
}

/// What is where: lines per crate, then the longest files and functions.
pub fn report(files: &[Measured]) -> String {
    let mut out = String::new();
    let total: usize = files.iter().map(|file| file.code).sum();
    let _ = writeln!(
        out,
        "{:<18} {:>7} {:>7}  share of code",
        "crate", "code", "tests"
    );
    for (package, (code, tests)) in by_package(files) {
        let share = code * 100 / total.max(1);
        let _ = writeln!(out, "{package:<18} {code:>7} {tests:>7}  {share:>3} %");
    }
    let all_tests: usize = files.iter().map(|file| file.tests).sum();
    let _ = writeln!(out, "{:<18} {total:>7} {all_tests:>7}\n", "all");

    let mut file_sizes: Vec<_> = files
        .iter()
        .filter(|file| file.code > 0)
        .map(|file| (file.code, file.path.clone()))
        .collect();
    longest(&mut out, "files", &mut file_sizes);
    let mut function_sizes: Vec<_> = files
        .iter()
        .flat_map(|file| file.functions.iter().map(move |f| (file, f)))
        .map(|(file, f)| (f.lines, format!("{} {}:{}", f.name, file.path, f.line)))
        .collect();
    longest(&mut out, "functions", &mut function_sizes);
    out
}

fn longest(out: &mut String, what: &str, sizes: &mut [(usize, String)]) {
    const SHOWN: usize = 5;
    sizes.sort_by(|a, b| b.cmp(a));
    let median = sizes.get(sizes.len() / 2).map_or(0, |(lines, _)| *lines);
    let _ = writeln!(
        out,
        "{} {what}, median {median} lines; longest:",
        sizes.len()
    );
    for (lines, name) in sizes.iter().take(SHOWN) {
        let _ = writeln!(out, "{lines:>7}  {name}");
    }
    out.push('\n');
}

/// Lines of code and of tests per crate.
fn by_package(files: &[Measured]) -> BTreeMap<&str, (usize, usize)> {
    let mut sums = BTreeMap::new();
    for file in files {
        let sum: &mut (usize, usize) = sums.entry(file.package.as_str()).or_default();
        sum.0 += file.code;
        sum.1 += file.tests;
    }
    sums
}
