//! Copying homes: what goes along and what stays.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::{Error, Result};

/// What a whole copy leaves out besides caches and temporary files.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Skip {
    RuntimeFiles,
    /// The root also holds the other profiles and an installed program.
    RootExtras,
}

/// Configuration, keys, persona, skills and memories.
pub fn settings(source: &Path, target: &Path) -> Result<()> {
    for file in [
        "config.yaml",
        ".env",
        "SOUL.md",
        "memories/MEMORY.md",
        "memories/USER.md",
    ] {
        let from = source.join(file);
        if from.is_file() {
            // Content, not link: editing one profile must not change another.
            fs::copy(&from, target.join(file)).map_err(Error::io("copy", &from))?;
        }
    }
    match source.join("skills") {
        skills if skills.is_dir() => copy_dir(&skills, &target.join("skills"), &|_| true),
        _ => Ok(()),
    }
}

/// The whole tree, without what is only good for the running original.
pub fn tree(source: &Path, target: &Path, skip: Skip) -> Result<()> {
    const RUNTIME: &[&str] = &[
        "gateway.pid",
        "gateway.lock",
        "gateway_state.json",
        "processes.json",
    ];
    const EXTRAS: &[&str] = &[
        "hermes-agent",
        ".worktrees",
        "profiles",
        "bin",
        "node_modules",
        "active_profile",
    ];
    copy_dir(source, target, &|relative| {
        let name = relative.file_name().unwrap_or_default().to_string_lossy();
        let top = relative.components().count() == 1;
        let passing = name == "__pycache__"
            || [".pyc", ".pyo", ".sock", ".tmp"]
                .iter()
                .any(|end| name.ends_with(end));
        let runtime = top && RUNTIME.contains(&name.as_ref());
        let extra = skip == Skip::RootExtras && top && EXTRAS.contains(&name.as_ref());
        !passing && !runtime && !extra
    })
}

fn copy_dir(source: &Path, target: &Path, wanted: &dyn Fn(&Path) -> bool) -> Result<()> {
    copy_below(source, target, Path::new(""), wanted)
}

fn copy_below(
    source: &Path,
    target: &Path,
    relative: &Path,
    wanted: &dyn Fn(&Path) -> bool,
) -> Result<()> {
    let (from_dir, to_dir) = (source.join(relative), target.join(relative));
    fs::create_dir_all(&to_dir).map_err(Error::io("create", &to_dir))?;
    for entry in fs::read_dir(&from_dir).map_err(Error::io("read", &from_dir))? {
        let entry = entry.map_err(Error::io("read", &from_dir))?;
        let relative = relative.join(entry.file_name());
        let (from, to) = (entry.path(), target.join(&relative));
        let kind = entry.file_type().map_err(Error::io("read", &from))?;
        if !wanted(&relative) {
            continue;
        }
        if kind.is_dir() {
            copy_below(source, target, &relative, wanted)?;
        } else if kind.is_symlink() {
            let link = fs::read_link(&from).map_err(Error::io("read", &from))?;
            symlink(link, &to).map_err(Error::io("link", &to))?;
        } else if kind.is_file() {
            fs::copy(&from, &to).map_err(Error::io("copy", &from))?;
        }
        // Sockets, pipes and devices belong to running programs.
    }
    Ok(())
}
