//! The workspace as cargo and the file system see it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

/// The workspace root: the folder that holds `xtask/`.
pub fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}

/// One member of the workspace.
#[derive(Debug, Deserialize)]
pub struct Package {
    pub name: String,
    pub manifest_path: PathBuf,
    pub dependencies: Vec<Dependency>,
}

/// One line of a member's dependency tables.
#[derive(Debug, Deserialize)]
pub struct Dependency {
    pub name: String,
    /// `None` for a normal dependency, else `dev` or `build`.
    pub kind: Option<String>,
}

impl Package {
    pub fn dir(&self) -> &Path {
        self.manifest_path.parent().unwrap_or(root())
    }

    /// The folder's own name: `store` for `crates/base/store`.
    pub fn folder(&self) -> &str {
        self.dir()
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default()
    }
}

/// All members, as `cargo metadata` lists them.
pub fn packages() -> Result<Vec<Package>> {
    #[derive(Deserialize)]
    struct Metadata {
        packages: Vec<Package>,
    }
    let out = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(root())
        .output()
        .context("cannot start cargo")?;
    ensure!(
        out.status.success(),
        "cargo metadata: {}",
        String::from_utf8_lossy(&out.stderr)
    );
    let metadata: Metadata = serde_json::from_slice(&out.stdout)?;
    Ok(metadata.packages)
}

/// A text file of the workspace.
#[derive(Debug)]
pub struct Source {
    /// Relative to the workspace root.
    pub path: PathBuf,
    pub text: String,
}

/// Every file below `dir` with one of these extensions, sorted by path.
pub fn sources(dir: &Path, extensions: &[&str]) -> Result<Vec<Source>> {
    let mut found = Vec::new();
    let mut folders = vec![dir.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let extension = path.extension().and_then(|ext| ext.to_str());
            if name == "target" || name.starts_with('.') {
                continue;
            } else if path.is_dir() {
                folders.push(path);
            } else if extension.is_some_and(|ext| extensions.contains(&ext)) {
                found.push(read(&path)?);
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

fn read(path: &Path) -> Result<Source> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let path = path.strip_prefix(root()).unwrap_or(path).to_path_buf();
    Ok(Source { path, text })
}
