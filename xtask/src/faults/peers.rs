//! The faults of the matrix against other clients: what they answer is written down in `xtask/faults/*.json`.
//!
//! A peer is a program of its own that connects and then does what it is told, line by line (see
//! `xtask/python/faults_peer.py`). The server, the faults and the judgement are the same for all of them.

mod cell;
mod flaky;
mod peer;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::{Context, Result, ensure};
use serde_json::{Map, Value, json};

use crate::args::Usage;
use crate::{cache, command, workspace};
use peer::Peer;

pub const COLUMNS: [&str; 6] = ["CTw", "CTr", "LR", "RR", "LP", "GP"];

/// Cells that run at a time: they mostly wait.
const AT_A_TIME: usize = 12;
/// These keep a processor busy: what they take would say more about their company.
const ALONE: &[&str] = &["F32", "F34", "F35", "F36"];

const PYTHON: &str = "0.19.0";
const RMCP: &str = "3.8.0";

const NOTE: &str = "tools: timeout 10 s, connect_timeout 10 s, keepalive_interval 5 s where the client has them; \
    many cells at a time on a busy machine, so only seconds mean something; no answer within 30 s is a hang; R1 is a success with more than one request, handshake, child or refresh; \
    executions are those of the tool during the failing call (for the other operations: requests of that method); \
    next is the same call after the fault has ended; F41 is down for 70 s instead of 10 min; \
    not run: what only the driver of our own library can arrange (clock, suspend, name resolution)";

/// Runs every cell against `python` or `rmcp`.
pub fn run(peer: &str) -> Result<()> {
    let (peer, program, version) = match peer {
        "python" => (python()?, "hermes-agent", PYTHON),
        "rmcp" => (rmcp()?, "rmcp", RMCP),
        other => return Err(Usage(format!("no peer `{other}`; known: python, rmcp")).into()),
    };
    let flaky = command::build_program("dev", "flaky-mcp")?;
    let cells = all_cells(&peer, &flaky);
    let document = json!({
        "program": program, "version": version,
        "date": jiff::Zoned::now().date().to_string(), "note": NOTE, "cells": cells,
    });
    let name = peer.name;
    let path = workspace::root().join(format!("xtask/faults/{name}-{version}.json"));
    fs::create_dir_all(path.parent().context("a path has a parent")?)?;
    fs::write(&path, text(&document)?).with_context(|| path.display().to_string())?;
    println!("{}: {}", path.display(), summary(&document["cells"]));
    let failed = count(&document["cells"], "not connected");
    ensure!(failed == 0, "{failed} cells did not even connect");
    Ok(())
}

fn python() -> Result<Peer> {
    let requirements = format!("hermes-agent[mcp]=={PYTHON}\n");
    let bin = cache::venv(&format!("hermes-agent-mcp-{PYTHON}"), &requirements)?;
    let script = workspace::root().join("xtask/python/faults_peer.py");
    Ok(Peer {
        name: "python",
        program: bin.join("python"),
        args: vec![script.into_os_string()],
    })
}

fn rmcp() -> Result<Peer> {
    Ok(Peer {
        name: "rmcp",
        program: command::build_example("dev", "rmcp_peer")?,
        args: Vec::new(),
    })
}

fn all_cells(peer: &Peer, flaky: &Path) -> Value {
    let codes = (1..=46).map(|number| format!("F{number:02}"));
    let (alone, together) = codes.partition(|code| ALONE.contains(&code.as_str()));
    let mut cells = some_cells(peer, flaky, together, AT_A_TIME);
    cells.extend(some_cells(peer, flaky, alone, 1));
    Value::Object(cells)
}

fn some_cells(
    peer: &Peer,
    flaky: &Path,
    codes: Vec<String>,
    at_a_time: usize,
) -> Map<String, Value> {
    let cells = codes
        .iter()
        .flat_map(|code| COLUMNS.map(|column| (code, column)));
    let (todo, done) = (Mutex::new(cells), Mutex::new(Map::new()));
    thread::scope(|scope| {
        for _ in 0..at_a_time {
            scope.spawn(|| {
                loop {
                    let next = todo.lock().unwrap_or_else(PoisonError::into_inner).next();
                    let Some((code, column)) = next else { return };
                    let found = cell::run(peer, flaky, code, column);
                    eprintln!("{code} {column}: {found}");
                    let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                    let row = done.entry(code.clone()).or_insert_with(|| json!({}));
                    row[column] = found;
                }
            });
        }
    });
    done.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// A line per fault, in order: easy to compare with the run before.
fn text(document: &Value) -> Result<String> {
    let mut out = String::from("{\n");
    for key in ["program", "version", "date", "note"] {
        writeln!(out, "  \"{key}\": {},", document[key])?;
    }
    out += "  \"cells\": {\n";
    let mut rows = Vec::new();
    for number in 1..=46 {
        let code = format!("F{number:02}");
        let cells = COLUMNS
            .map(|column| format!("      \"{column}\": {}", document["cells"][&code][column]));
        rows.push(format!("    \"{code}\": {{\n{}\n    }}", cells.join(",\n")));
    }
    out += &rows.join(",\n");
    out += "\n  }\n}\n";
    Ok(out)
}

fn count(cells: &Value, outcome: &str) -> usize {
    let rows = cells.as_object().into_iter().flat_map(Map::values);
    let cells = rows.filter_map(Value::as_object).flat_map(Map::values);
    cells.filter(|cell| cell["outcome"] == outcome).count()
}

fn summary(cells: &Value) -> String {
    let outcomes = ["R0", "R1", "E", "U", "A", "S", "C", "hang", "not run"];
    let counts = outcomes.map(|outcome| format!("{} {outcome}", count(cells, outcome)));
    counts.join(", ")
}
