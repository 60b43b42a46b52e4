//! What the driver found, and what it adds up to.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The operations, in the order of the matrix.
pub const OPERATIONS: [&str; 6] = ["CTw", "CTr", "LR", "RR", "LP", "GP"];
/// What the driver adds to each bound: clocks are coarse and machines busy.
const SLACK_MS: f64 = 250.0;

/// Everything about one run.
#[derive(Debug)]
pub struct Report {
    pub cells: Vec<Cell>,
    pub control: Control,
    pub named: Vec<Cell>,
}

/// One fault, one operation.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Cell {
    pub fault: String,
    pub title: String,
    pub op: String,
    pub wanted: String,
    pub outcome: String,
    pub ms: u64,
    pub bound_ms: u64,
    pub next: Option<String>,
    /// How many times as fast as in life all timing ran.
    pub pace: f64,
    pub duplicates: u64,
    pub miss: Option<String>,
    pub text: String,
}

impl Cell {
    /// The bound as the matrix has it.
    pub fn real_bound_ms(&self) -> f64 {
        (self.bound_ms as f64 - SLACK_MS) * self.pace + SLACK_MS
    }

    /// How much of the bound was used.
    pub fn share(&self) -> f64 {
        self.ms as f64 / self.bound_ms.max(1) as f64
    }

    fn is_empty_text(&self) -> bool {
        let is_error = matches!(self.outcome.as_str(), "E" | "U" | "A" | "S" | "C");
        is_error && self.text.trim().is_empty()
    }
}

/// The healthy server among the faulty ones, and its twin far from them.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct Control {
    pub ours: Calls,
    pub twin: Calls,
    pub p99_bar: f64,
    pub worst_bar: f64,
    pub miss: Option<String>,
}

/// In milliseconds.
#[derive(Debug, Default, Deserialize, Serialize)]
pub struct Calls {
    pub calls: u64,
    pub p50: f64,
    pub p99: f64,
    pub worst: f64,
}

/// The cells and the control of a driver's output.
pub fn read(lines: &str) -> Result<(Vec<Cell>, Control)> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Line {
        Control { control: Control },
        Cell(Cell),
    }
    let mut cells = Vec::new();
    let mut control = Control::default();
    for line in lines.lines() {
        match serde_json::from_str(line).with_context(|| line.to_owned())? {
            Line::Cell(cell) => cells.push(cell),
            Line::Control { control: found } => control = found,
        }
    }
    cells.sort_by_key(|cell| {
        let place = OPERATIONS.iter().position(|op| *op == cell.op);
        (cell.fault.clone(), place)
    });
    Ok((cells, control))
}

/// The sums the matrix asks for.
#[derive(Debug, Serialize)]
pub struct Totals {
    pub passed: usize,
    pub all: usize,
    /// Cells that answered after one recovery the caller did not see.
    pub recoveries: usize,
    pub duplicates: u64,
    pub hangs: usize,
    pub empty_texts: usize,
    /// The largest share of a bound that was used, in percent, and where.
    pub worst_percent: f64,
    pub worst_cell: String,
}

pub fn totals(cells: &[Cell]) -> Totals {
    let count = |is: &dyn Fn(&Cell) -> bool| cells.iter().filter(|cell| is(cell)).count();
    let worst = cells
        .iter()
        .max_by(|one, other| one.share().total_cmp(&other.share()));
    Totals {
        passed: count(&|cell| cell.miss.is_none()),
        all: cells.len(),
        recoveries: count(&|cell| cell.outcome == "R1"),
        duplicates: cells.iter().map(|cell| cell.duplicates).sum(),
        hangs: count(&|cell| cell.miss.as_deref() == Some("hangs")),
        empty_texts: count(&Cell::is_empty_text),
        worst_percent: worst.map_or(0.0, |cell| cell.share() * 100.0),
        worst_cell: worst.map_or_else(String::new, |cell| format!("{} {}", cell.fault, cell.op)),
    }
}

impl Report {
    /// What is wrong, a line each.
    pub fn misses(&self) -> Vec<String> {
        let line = |cell: &Cell, through: &str| {
            let miss = cell.miss.as_ref()?;
            Some(format!("{} {} {through}: {miss}", cell.fault, cell.op))
        };
        let library = self.cells.iter().filter_map(|cell| line(cell, "(library)"));
        let program = self.named.iter().filter_map(|cell| line(cell, "(program)"));
        let control = self.control.miss.iter();
        let control = control.map(|miss| format!("the healthy server: {miss}"));
        library.chain(program).chain(control).collect()
    }

    pub fn json(&self) -> Value {
        json!({
            "totals": totals(&self.cells), "named_totals": totals(&self.named), "misses": self.misses(),
            "control": self.control, "cells": self.cells, "named": self.named,
        })
    }

    /// The cells of each fault.
    pub fn rows(&self) -> impl Iterator<Item = &[Cell]> {
        self.cells.chunk_by(|one, other| one.fault == other.fault)
    }
}
