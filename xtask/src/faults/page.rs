//! The run as a page of the documentation, beside other programs.

use std::fmt::Write;

use super::recorded::{Recorded, Score};
use super::report::{Cell, Report, Totals, totals};
use super::table::{control, worst};

const INTRODUCTION: &str = include_str!("page.md");

pub fn markdown(report: &Report, peers: &[Recorded]) -> String {
    let mut out = INTRODUCTION.to_owned();
    out.push_str("\n## In short\n\n");
    summary(&mut out, report, peers);
    out.push_str("\n## All cells\n\n");
    matrix(&mut out, report, peers);
    out.push_str("\n## Through the program\n\n");
    named(&mut out, &report.named);
    out
}

fn summary(out: &mut String, report: &Report, peers: &[Recorded]) {
    let Totals {
        passed,
        all,
        recoveries,
        duplicates,
        hangs,
        empty_texts,
        worst_percent,
        worst_cell,
    } = totals(&report.cells);
    out.push_str("| program | cells passed | executed twice | hangs |\n|---|---|---|---|\n");
    let _ = writeln!(
        out,
        "| Hermes (this) | **{passed}** of {all} | {duplicates} | {hangs} |"
    );
    for peer in peers {
        let Score {
            passed,
            run,
            duplicates,
            hangs,
        } = peer.score(&report.cells);
        let (name, date) = (name(peer), &peer.date);
        let _ = writeln!(
            out,
            "| {name} ({date}) | **{passed}** of {run} | {duplicates} | {hangs} |"
        );
    }
    let _ = writeln!(
        out,
        "\nHermes: {recoveries} recoveries nobody saw, {empty_texts} empty error texts; the call that \
         came closest to its bound used {worst_percent:.0} % of it ({worst_cell})."
    );
    let sentence = control(&report.control);
    let _ = writeln!(out, "\nThe {sentence}.");
}

fn matrix(out: &mut String, report: &Report, peers: &[Recorded]) {
    let names: String = peers
        .iter()
        .map(|peer| format!(" {} |", name(peer)))
        .collect();
    let lines = "---|".repeat(peers.len());
    let _ = writeln!(
        out,
        "| # | fault | wanted | Hermes | longest / bound | next |{names}\n|---|---|---|---|---|---|{lines}"
    );
    for row in report.rows() {
        let Some(first) = row.first() else {
            continue;
        };
        let wanted = folded(row.iter().map(|cell| cell.wanted.clone()));
        let ours = row
            .iter()
            .map(|cell| shown(&cell.outcome, cell.miss.is_none()));
        let next = row.iter().find_map(|cell| cell.next.as_deref());
        let _ = write!(
            out,
            "| {} | {} | {wanted} | {} | {} | {} |",
            first.fault,
            first.title,
            folded(ours),
            worst(row),
            next.unwrap_or("–")
        );
        for peer in peers {
            let theirs = row.iter().map(|cell| match peer.seen(cell) {
                Some(seen) => shown(&seen.outcome, seen.passes(cell)),
                None => "–".to_owned(),
            });
            let _ = write!(out, " {} |", folded(theirs));
        }
        out.push('\n');
    }
}

fn named(out: &mut String, cells: &[Cell]) {
    let Totals { passed, all, .. } = totals(cells);
    let _ = writeln!(
        out,
        "{passed} of {all} passed.\n\n| # | fault | operation | wanted | outcome | took / bound | next |\n\
         |---|---|---|---|---|---|---|"
    );
    for cell in cells {
        let Cell {
            fault,
            title,
            op,
            wanted,
            ..
        } = cell;
        let outcome = shown(&cell.outcome, cell.miss.is_none());
        let took = worst(std::slice::from_ref(cell));
        let next = cell.next.as_deref().unwrap_or("–");
        let _ = writeln!(
            out,
            "| {fault} | {title} | {op} | {wanted} | {outcome} | {took} | {next} |"
        );
    }
}

fn name(peer: &Recorded) -> String {
    format!("{} {}", peer.program, peer.version)
}

fn shown(outcome: &str, is_good: bool) -> String {
    let outcome = if outcome.is_empty() { "?" } else { outcome };
    match is_good {
        true => outcome.to_owned(),
        false => format!("**{outcome}**✗"),
    }
}

/// Six words, or as few as say the same: all alike, or the first and then all alike.
fn folded(words: impl Iterator<Item = String>) -> String {
    let words: Vec<String> = words.collect();
    let alike = |words: &[String]| words.windows(2).all(|pair| pair[0] == pair[1]);
    match words.as_slice() {
        [] => String::new(),
        [first, ..] if alike(&words) => first.clone(),
        [first, second, ..] if alike(&words[1..]) => format!("{first}, then {second}"),
        words => words.join(" "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_are_alike_are_said_once() {
        let check = |given: &str, expected: &str| {
            assert_eq!(folded(given.split(' ').map(str::to_owned)), expected);
        };
        check("R1 R1 R1 R1 R1 R1", "R1");
        check("U R1 R1 R1 R1 R1", "U, then R1");
        check("U E R0 E R0 E", "U E R0 E R0 E");
    }
}
