//! What the fault matrix of docs/spec/mcp.md §10 demands, row by row.

use std::time::Duration;

use anyhow::{Context, Result};

/// Fault; what the six operations may answer (`=`: like the one before, `-`: not affected); bound in seconds; what
/// the next call after the fault answers (`-`: not looked at).
const MATRIX: &str = "
F01 R1    =    = = = =  2    R0
F02 R1    =    = = = =  2    R0
F03 R1    =    = = = =  2    R0
F04 R1    =    = = = =  2    R0
F05 R1    =    = = = =  8    R0
F06 R1    =    = = = =  3    R0
F07 R1/E  =    = = = =  5    -
F08 R1    =    = = = =  12   R0
F09 U     E    = = = =  45   R0
F10 U     R1   = = = =  3    R0
F11 U     R1   = = = =  3    R0
F12 E     =    = = = =  1    R0
F13 U     R1   = = = =  3    R0
F14 R1    =    = = = =  4    R0
F15 R1    =    = = = =  4    R0
F16 E     =    = = = =  1    R0
F17 U     E    = = = =  31   R0
F18 R1    =    = = = =  2.5  R0
F19 U     R1   = = = =  3    R0
F20 U     R1   = = = =  2    R0
F21 E/U   E    = = = =  2    R0
F22 U     R1/E = = = =  5    R0
F23 R1    =    = = = =  3    R0
F24 R1    =    = = = =  5    R0
F25 A     =    = = = =  3    R0
F26 E     =    = = = =  1    -
F27 A     =    = = = =  2    -
F28 E     =    = = = =  12   R1
F29 R1    =    = = = =  3    R0
F30 U     R1   = = = =  3    R0
F31 U     E    = = = =  31   R0
F32 R0    =    = = = =  2    R0
F33 U/R1  R1   = = = =  3    R0
F34 R0    =    = = = =  2    R0
F35 U     E    - E - E  5    R0
F36 R0    =    - R0 - R0 10  R0
F37 R1    =    = = = =  3    R0
F38 R1    =    = = = =  10   R0
F39 E     =    = = = =  16   R0
F40 E     =    = = = =  16   R0
F41 S/E   =    = = = =  1    R0
F42 C     =    = = = =  0.5  R0
F43 R0    =    = = = =  2    R0
F44 E     =    = = = =  2    -
F45 E     =    - - - -  2    R0
F46 E     =    = = = =  5    -
";

/// The operations, as the columns are called.
pub const COLUMNS: [&str; 6] = ["CTw", "CTr", "LR", "RR", "LP", "GP"];

pub struct Row {
    pub code: &'static str,
    /// What each operation may answer.
    pub cells: [&'static str; 6],
    /// Whether the fault can happen to an operation at all.
    pub affected: [bool; 6],
    pub bound: Duration,
    pub next: &'static str,
}

pub fn rows() -> Result<Vec<Row>> {
    MATRIX.trim().lines().map(row).collect()
}

fn row(line: &'static str) -> Result<Row> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [code, cells @ .., bound, next] = &words[..] else {
        anyhow::bail!("not a row: {line}");
    };
    let mut named = [""; 6];
    let mut affected = [true; 6];
    for (column, word) in cells.iter().enumerate() {
        let before = column
            .checked_sub(1)
            .and_then(|before| named.get(before))
            .copied();
        if let Some(affected) = affected.get_mut(column) {
            *affected = if *word == "=" { true } else { *word != "-" };
        }
        *named.get_mut(column).context("too many cells")? = match *word {
            "=" => before.context("nothing before =")?,
            "-" => "R0",
            want => want,
        };
    }
    Ok(Row {
        code,
        cells: named,
        affected,
        bound: Duration::from_secs_f64(bound.parse()?),
        next,
    })
}

/// Whether an outcome is one of those wanted. A success that needed no retry is as good as one that did.
pub fn fits(wanted: &str, outcome: &str) -> bool {
    wanted
        .split('/')
        .any(|want| want == outcome || (want == "R1" && outcome == "R0"))
}
