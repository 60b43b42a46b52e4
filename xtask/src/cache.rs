//! What is kept between runs, outside the repository: Python environments, generated databases, scratch folders.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::command;

/// `$XDG_CACHE_HOME/hermes-xtask`, else `~/.cache/hermes-xtask`.
pub fn dir() -> Result<PathBuf> {
    let base = match std::env::var_os("XDG_CACHE_HOME") {
        Some(cache) => PathBuf::from(cache),
        None => PathBuf::from(std::env::var_os("HOME").context("HOME is not set")?).join(".cache"),
    };
    Ok(base.join("hermes-xtask"))
}

/// A folder of the cache, made once by `make`. `key` says what it was made from: another key makes it anew, and so does a `make`
/// that was interrupted, because the marker is written last.
pub fn once(name: &str, key: &str, make: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    let folder = dir()?.join(name);
    let marker = folder.join(".complete");
    if fs::read_to_string(&marker).is_ok_and(|made_from| made_from == key) {
        return Ok(folder);
    }
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| folder.display().to_string())?;
    }
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    make(&folder)?;
    fs::write(marker, key)?;
    Ok(folder)
}

/// The `bin` folder of a Python environment with these requirements (lines as pip reads them).
pub fn venv(name: &str, requirements: &str) -> Result<PathBuf> {
    let python = command::stdout(Command::new("python3").arg("--version"))?;
    let folder = once(name, &(python + requirements), |folder| {
        eprintln!("installing {name} ...");
        command::stdout(Command::new("python3").args(["-m", "venv"]).arg(folder))?;
        let list = folder.join("requirements.txt");
        fs::write(&list, requirements)?;
        let mut pip = Command::new(folder.join("bin/python"));
        pip.args(["-m", "pip", "install", "--quiet", "--requirement"]);
        command::stdout(pip.arg(list)).context("pip could not install what is needed")?;
        Ok(())
    })?;
    Ok(folder.join("bin"))
}

/// The `node_modules` folder with these packages, each as `name@version`.
pub fn npm(name: &str, packages: &[&str]) -> Result<PathBuf> {
    let folder = once(name, &packages.join("\n"), |folder| {
        eprintln!("installing {name} ...");
        let mut npm = Command::new("npm");
        npm.args([
            "install",
            "--no-audit",
            "--no-fund",
            "--loglevel",
            "error",
            "--prefix",
        ]);
        command::stdout(npm.arg(folder).args(packages))
            .context("npm could not install what is needed")?;
        Ok(())
    })?;
    Ok(folder.join("node_modules"))
}

/// The Python program we take over from.
pub fn hermes_agent(version: &str) -> Result<PathBuf> {
    venv(
        &format!("hermes-agent-{version}"),
        &format!("hermes-agent=={version}\n"),
    )
}

/// An empty folder that is gone when this value is.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Result<Self> {
        let folder = dir()?.join(format!("scratch-{name}-{:08x}", fastrand::u32(..)));
        fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        Ok(Self(folder))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A folder left behind is litter, nothing worse.
        let _ = fs::remove_dir_all(&self.0);
    }
}
