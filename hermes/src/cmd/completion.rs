//! `hermes completion`: scripts generated from the command tree.

use std::io::Write;

use anyhow::Result;
use clap::CommandFactory;
use clap_complete::{Shell as Target, generate};
use hermes_lines::Out;

use crate::cli::{Cli, Shell};

pub fn print(out: &mut Out, shell: Shell) -> Result<()> {
    let mut script = Vec::new();
    let target = match shell {
        Shell::Bash => Target::Bash,
        Shell::Zsh => Target::Zsh,
        Shell::Fish => Target::Fish,
    };
    generate(target, &mut Cli::command(), "hermes", &mut script);
    out.write_all(&script)?;
    out.write_all(profile_names(shell).as_bytes())?;
    Ok(out.flush()?)
}

/// Profile names are looked up when the key is pressed: the generated script can't know them.
fn profile_names(shell: Shell) -> &'static str {
    match shell {
        Shell::Bash => include_str!("completion/profiles.bash"),
        Shell::Zsh => include_str!("completion/profiles.zsh"),
        Shell::Fish => include_str!("completion/profiles.fish"),
    }
}
