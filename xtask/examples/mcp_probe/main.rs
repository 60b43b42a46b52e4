//! The MCP client without the program around it, for `cargo xtask bench mcp`: how fast it heals, what it costs, and
//! whether anything piles up. Figures are JSON on stdout.

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "its figures are read from stdout, and it starts the server that fails"
)]

mod crowd;
mod cycles;
mod faulty;
mod speed;

use std::path::Path;

use anyhow::{Result, bail};

/// One thread, like the program.
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let args: Vec<_> = std::env::args().skip(1).collect();
    let args: Vec<_> = args.iter().map(String::as_str).collect();
    let figures = match args[..] {
        ["heal", flaky, rounds] => speed::heal(Path::new(flaky), rounds.parse()?).await?,
        ["overhead", flaky, rounds] => speed::overhead(Path::new(flaky), rounds.parse()?).await?,
        ["expire", flaky, cycles] => cycles::expire(Path::new(flaky), cycles.parse()?).await?,
        ["kill", flaky, cycles] => cycles::kill(Path::new(flaky), cycles.parse()?).await?,
        ["crowd", flaky, dead] => crowd::crowd(Path::new(flaky), dead.parse()?).await?,
        ["hung", flaky, rounds] => crowd::hung(Path::new(flaky), rounds.parse()?).await?,
        ["holes", count] => return crowd::holes(count.parse()?).await,
        _ => bail!("heal|overhead|expire|kill|crowd|hung FLAKY_MCP N, or holes N"),
    };
    println!("{figures}");
    Ok(())
}
