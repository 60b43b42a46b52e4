//! `cargo xtask faults`: every way an MCP server is known to fail (docs/spec/mcp.md §10), and what becomes of a call.

mod named;
mod page;
mod peers;
mod recorded;
mod report;
mod table;
mod world;

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::thread;

use anyhow::{Context, Result, anyhow, ensure};

use crate::args::{Args, Usage};
use crate::cache::Scratch;
use crate::{command, workspace};
use report::Report;
use world::World;

/// Where the results are told.
const PAGE: &str = "docs/mcp-faults.md";

pub fn run(mut args: Args) -> Result<()> {
    let json = args.flag("--json");
    let write = args.flag("--write");
    let peers = args.list("--peer")?;
    let codes: Vec<String> = (1..=46).map(|number| format!("F{number:02}")).collect();
    let codes: Vec<&str> = codes.iter().map(String::as_str).collect();
    let only = args.words(&codes)?;
    if !peers.is_empty() {
        if json || write || !only.is_empty() {
            return Err(
                Usage("--peer records all faults in a file: nothing beside it".to_owned()).into(),
            );
        }
        return peers.iter().try_for_each(|peer| peers::run(peer));
    }
    if write && !only.is_empty() {
        return Err(Usage("--write tells of all faults: name none".to_owned()).into());
    }

    let report = measure(&only)?;
    if json {
        println!("{}", serde_json::to_string_pretty(&report.json())?);
    } else {
        print!("{}", table::text(&report));
    }
    if write {
        let path = workspace::root().join(PAGE);
        fs::write(&path, page::markdown(&report, &recorded::all()?)).context(PAGE)?;
        eprintln!("wrote {PAGE}");
    }
    let missed = report.misses().len();
    ensure!(missed == 0, "{missed} demands are missed");
    Ok(())
}

/// The matrix through the library, then the named cells through the program.
fn measure(only: &[String]) -> Result<Report> {
    let programs = Programs::build()?;
    let world = World::new(&programs.matrix)?;
    eprintln!("running the matrix ...");
    let lines = world.run(&programs.through_the_library(only))?;
    let (cells, control) = report::read(&lines)?;
    let mut report = Report {
        cells,
        control,
        named: Vec::new(),
    };
    let (together, alone) = named::choose(only);
    if together.is_empty() && alone.is_empty() {
        return Ok(report);
    }
    eprintln!("running the named cells ...");
    // Each group has a network of its own: what one loses the others keep.
    let groups = [together, alone].map(|group| programs.through_the_program(&group));
    let results = thread::scope(|scope| {
        let running: Vec<_> = groups
            .iter()
            .flatten()
            .map(|group| scope.spawn(|| world.run(group)))
            .collect();
        let ended = running.into_iter().map(|group| group.join());
        ended.collect::<Vec<_>>()
    });
    for lines in results {
        let lines = lines.map_err(|_| anyhow!("a thread panicked"))??;
        report.named.extend(report::read(&lines)?.0);
    }
    report
        .named
        .sort_by(|one, other| one.fault.cmp(&other.fault));
    Ok(report)
}

/// What takes part.
struct Programs {
    matrix: PathBuf,
    flaky: PathBuf,
    hermes: PathBuf,
    clocks: PathBuf,
    _scratch: Scratch,
}

impl Programs {
    fn build() -> Result<Self> {
        let scratch = Scratch::new("faults")?;
        let clocks = scratch.path().join("clocks.so");
        let source = workspace::root().join("xtask/examples/fault_matrix/clocks.c");
        let mut cc = Command::new("cc");
        cc.args(["-shared", "-fPIC", "-O1", "-o"]);
        command::stdout(cc.arg(&clocks).arg(source))?;
        Ok(Self {
            matrix: command::build_example("dev", "fault_matrix")?,
            flaky: command::build_program("dev", "flaky-mcp")?,
            hermes: command::build_program("dev", "hermes")?,
            clocks,
            _scratch: scratch,
        })
    }

    fn through_the_library(&self, only: &[String]) -> Vec<String> {
        let mut words = vec![self.flaky.display().to_string()];
        words.extend_from_slice(only);
        words
    }

    /// `None` if there is nothing to do.
    fn through_the_program(&self, only: &[String]) -> Option<Vec<String>> {
        let mut words = vec![
            self.flaky.display().to_string(),
            "--through".to_owned(),
            self.hermes.display().to_string(),
            self.clocks.display().to_string(),
        ];
        words.extend_from_slice(only);
        (!only.is_empty()).then_some(words)
    }
}
