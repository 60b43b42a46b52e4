//! `cargo xtask fuzz`: inputs nobody thought of, for as long as one likes, without a special compiler.
//!
//! The targets are in the crate `fuzz`, one module each. It is built as for tests, so arithmetic that overflows
//! is a find and a machine that has run the tests has built nearly all of it; what is thrown at is optimised.

use std::process::Command;

use anyhow::{Result, ensure};

use crate::args::{Args, Usage};
use crate::command;

const TARGETS: [&str; 1] = ["gate"];

pub fn run(mut args: Args) -> Result<()> {
    let number = |args: &mut Args, name: &str, usual: u64| -> Result<u64> {
        match args.list(name)?.first() {
            None => Ok(usual),
            Some(text) => Ok(text
                .parse()
                .map_err(|_| Usage(format!("{name} needs a number")))?),
        }
    };
    let seconds = number(&mut args, "--seconds", 60)?;
    let inputs = number(&mut args, "--inputs", u64::MAX)?;
    // A new one each time, told so that a find can be found again.
    let seed = number(&mut args, "--seed", fastrand::u64(..1 << 32))?;
    let wanted = args.words(&TARGETS)?;
    let fuzz = command::build_program("dev", "hermes-fuzz")?;
    for target in TARGETS {
        if !wanted.is_empty() && !wanted.iter().any(|word| word == target) {
            continue;
        }
        let status = Command::new(&fuzz)
            .arg(target)
            .args([seconds, inputs, seed].map(|number| number.to_string()))
            .status()?;
        ensure!(status.success(), "{target}: see above");
    }
    Ok(())
}
