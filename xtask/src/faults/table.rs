//! The run as a table for a terminal.

use std::fmt::Write;

use super::report::{Calls, Cell, Control, OPERATIONS, Report, Totals, totals};

pub fn text(report: &Report) -> String {
    let mut out = format!("{:<5}{:<42}", "", "");
    for op in OPERATIONS {
        let _ = write!(out, "{op:<5}");
    }
    let _ = writeln!(out, "{:<22}next", "worst / bound");
    for row in report.rows() {
        line(&mut out, row);
    }
    out.push('\n');
    if !report.named.is_empty() {
        named(&mut out, &report.named);
    }
    sums(&mut out, "library", &totals(&report.cells));
    if !report.named.is_empty() {
        sums(&mut out, "program", &totals(&report.named));
    }
    let _ = writeln!(out, "{}", control(&report.control));
    for miss in report.misses() {
        let _ = writeln!(out, "MISS {miss}");
    }
    out
}

fn line(out: &mut String, row: &[Cell]) {
    let Some(first) = row.first() else {
        return;
    };
    let _ = write!(out, "{:<5}{:<42}", first.fault, first.title);
    for cell in row {
        let _ = write!(out, "{:<5}", marked(&cell.outcome, cell.miss.is_none()));
    }
    let nexts: Vec<_> = row.iter().filter_map(|cell| cell.next.as_deref()).collect();
    let next = nexts.first().copied().unwrap_or("-");
    let _ = writeln!(out, "{:<22}{next}", worst(row));
}

fn marked(outcome: &str, is_good: bool) -> String {
    let outcome = if outcome.is_empty() { "?" } else { outcome };
    let mark = if is_good { "" } else { "!" };
    format!("{outcome}{mark}")
}

fn named(out: &mut String, cells: &[Cell]) {
    let _ = writeln!(out, "through `hermes mcp call`, at its real pace:");
    for cell in cells {
        let Cell {
            fault, title, op, ..
        } = cell;
        let outcome = marked(&cell.outcome, cell.miss.is_none());
        let worst = worst(std::slice::from_ref(cell));
        let next = cell.next.as_deref().unwrap_or("-");
        let _ = writeln!(
            out,
            "{fault:<5}{title:<42}{op:<5}{outcome:<5}{worst:<22}{next}"
        );
    }
    out.push('\n');
}

/// The longest wall time in a row, beside its bound.
pub fn worst(row: &[Cell]) -> String {
    let Some(cell) = row.iter().max_by_key(|cell| cell.ms) else {
        return String::new();
    };
    let seconds = |ms: u64| format!("{:.2}", ms as f64 / 1000.0);
    let pace = match cell.pace {
        pace if pace > 1.0 => format!(" (×{pace:.0})"),
        _ => String::new(),
    };
    let (wall, bound) = (seconds(cell.ms), seconds(cell.bound_ms));
    format!("{wall} / {bound} s{pace}")
}

fn sums(out: &mut String, through: &str, totals: &Totals) {
    let Totals {
        passed,
        all,
        recoveries,
        duplicates,
        hangs,
        empty_texts,
        worst_percent,
        worst_cell,
    } = totals;
    let _ = writeln!(
        out,
        "{through}: {passed}/{all} cells passed, {recoveries} recoveries, {duplicates} duplicate executions, \
         {hangs} hangs, {empty_texts} empty texts, worst bound {worst_percent:.0} % ({worst_cell})"
    );
}

/// A sentence about the healthy server.
pub fn control(control: &Control) -> String {
    let Calls {
        calls, p99, worst, ..
    } = &control.ours;
    let Calls {
        p99: twin_p99,
        worst: twin_worst,
        ..
    } = &control.twin;
    let times = p99 / twin_p99.max(f64::MIN_POSITIVE);
    format!(
        "healthy server beside them: {calls} calls, p99 {p99:.1} ms, longest {worst:.0} ms; its twin in a process of its \
         own at the same time: p99 {twin_p99:.1} ms, longest {twin_worst:.0} ms; {times:.1} times the twin's p99"
    )
}
