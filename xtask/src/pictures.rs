//! `cargo xtask pictures`: draws `docs/pictures/*.svg` anew, from the real program.

use std::process::Command;

use anyhow::{Result, ensure};

use crate::args::Args;
use crate::{command, workspace};

pub fn run(mut args: Args) -> Result<()> {
    let profile = match args.flag("--debug") {
        true => "dev",
        false => "dist",
    };
    args.words(&[])?;
    let hermes = command::build_program(profile, "hermes")?;
    let painter = command::build_example("dev", "screen_pictures")?;
    let dir = workspace::root().join("docs/pictures");
    let status = Command::new(painter).arg(hermes).arg(dir).status()?;
    ensure!(status.success(), "a scene did not come about: see above");
    Ok(())
}
