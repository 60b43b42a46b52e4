//! Running other programs: cargo, python, hermes.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use crate::workspace;

/// One of our programs: `build_program("release", "hermes")`.
pub fn build_program(profile: &str, name: &str) -> Result<PathBuf> {
    build(profile, ["--bin", name])
}

/// One of the programs in `examples`.
pub fn build_example(profile: &str, name: &str) -> Result<PathBuf> {
    build(profile, ["--example", name])
}

/// Our store without the program around it: `examples/store_probe`.
pub fn build_probe(profile: &str) -> Result<PathBuf> {
    build_example(profile, "store_probe")
}

/// Builds one target and says where cargo put it.
fn build(profile: &str, target: [&str; 2]) -> Result<PathBuf> {
    #[derive(Deserialize)]
    struct Message {
        executable: Option<PathBuf>,
    }
    let out = cargo()
        .args(["build", "--message-format=json-render-diagnostics"])
        // With one package alone, cargo would build the crates they share once more, with other features.
        .args(["--workspace", "--profile", profile])
        .args(target)
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start cargo")?;
    ensure!(out.status.success(), "cargo build {}", target.join(" "));
    let lines = String::from_utf8(out.stdout)?;
    let mut built = lines
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .filter_map(|message: Message| message.executable);
    built.next_back().context("cargo built no program")
}

/// Cargo in this workspace.
pub fn cargo() -> Command {
    let mut cargo = Command::new(env!("CARGO"));
    // What the cargo that runs us says of this package would make it build other packages anew: ring looks at it.
    for (name, _) in std::env::vars_os() {
        let ours = name.to_string_lossy();
        if ours.starts_with("CARGO_PKG_") || ours.starts_with("CARGO_MANIFEST_") {
            cargo.env_remove(&name);
        }
    }
    cargo.current_dir(workspace::root());
    cargo
}

/// What a program wrote, if it ended well.
pub fn stdout(command: &mut Command) -> Result<String> {
    let Finished { code, out, err } = finish(command)?;
    if code != Some(0) {
        bail!("{} ended with {code:?}: {err}{out}", shown(command));
    }
    Ok(out)
}

/// How a program ended and what it wrote.
#[derive(Debug)]
pub struct Finished {
    /// `None` if a signal ended it.
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

pub fn finish(command: &mut Command) -> Result<Finished> {
    let output = command.stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("cannot start {}", shown(command)))?;
    Ok(Finished {
        code: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

/// A program run as a user whose folder is `user`: it knows nothing of the developer's own home and keys.
pub fn as_user(program: &Path, user: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("LANG", "C.UTF-8")
        .env("HOME", user)
        .env("HERMES_HOME", user.join(".hermes"))
        .current_dir(user);
    command
}

fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name();
    let words = program.into_iter().chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}
