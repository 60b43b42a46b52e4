//! The named cells: the rows that also run through `hermes mcp call`, at the program's real pace.

/// One operation of each; `examples/fault_matrix/program.rs` says which. Left out: what takes many minutes, what is
/// about many calls at a time, and what differs from its neighbours only inside the library.
pub const ROWS: &[&str] = &[
    "F01", "F02", "F03", "F04", "F05", "F06", "F09", "F10", "F13", "F14", "F15", "F16", "F17",
    "F18", "F20", "F22", "F23", "F25", "F26", "F29", "F30", "F31", "F32", "F33", "F37", "F38",
    "F40", "F42", "F44", "F45",
];

/// Takes the network away from everybody in its namespace.
const ALONE: &str = "F09";

/// Those of them that were asked for, in two groups that must not meet.
pub fn choose(only: &[String]) -> (Vec<String>, Vec<String>) {
    let wanted = |code: &&&str| only.is_empty() || only.iter().any(|word| word == **code);
    let wanted = ROWS.iter().filter(wanted).map(|code| (*code).to_owned());
    wanted.partition(|code| code != ALONE)
}
