//! Rules about single files that neither rustc nor clippy checks.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::scan;
use super::sizes::Measured;
use crate::workspace::{self, Source};

/// Text that has no place in code; looked for where strings and comments are blanked.
const FORBIDDEN: &[(&str, &str)] = &[
    (
        "#[ignore]",
        "an ignored test says what it needs: #[ignore = \"needs X: cargo xtask real X\"]",
    ),
    ("todo!(", "unfinished"),
];

pub fn source(source: &Source, file: &Measured) -> Vec<String> {
    let path = source.path.display();
    let mut problems = Vec::new();
    if file.code > 0 && !source.text.starts_with("//!") {
        problems.push(format!(
            "{path}:1: begins without a `//!` line saying what it is for"
        ));
    }
    for (text, why) in FORBIDDEN {
        for (at, _) in file.blanked.match_indices(text) {
            let line = scan::line_at(&file.blanked, at);
            problems.push(format!("{path}:{line}: {text} {why}"));
        }
    }
    problems
}

/// Every dependency comes from `[workspace.dependencies]`, so that versions and features are in one place.
pub fn manifest(path: &Path) -> Result<Vec<String>> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let name = path.strip_prefix(workspace::root()).unwrap_or(path);
    let found = own_versions(&text).into_iter().map(|line| {
        let name = name.display();
        format!("{name}:{line}: take it from the workspace: `name.workspace = true`")
    });
    Ok(found.collect())
}

/// The lines (from 1) of a manifest that name a dependency without the workspace.
fn own_versions(manifest: &str) -> Vec<usize> {
    let mut inside = false;
    let mut found = Vec::new();
    for (number, line) in manifest.lines().enumerate() {
        let line = line.trim();
        if line.starts_with('[') {
            inside = line.ends_with("dependencies]");
            if line.contains("dependencies.") {
                // `[dependencies.x]` is a second way to write one; one way is enough.
                found.push(number + 1);
            }
        } else if inside && line.contains('=') && !line.starts_with('#') {
            let spaceless = line.replace(' ', "");
            if !spaceless.contains("workspace=true") {
                found.push(number + 1);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::own_versions;

    #[test]
    fn only_dependencies_of_the_workspace_pass() {
        let manifest = "[package]\nname = \"x\"\n[dependencies]\na.workspace = true\nb = { workspace = true }\nc = \"1\"\n\
                        [target.'cfg(unix)'.dependencies]\nd = { path = \"d\" }\n[dev-dependencies.e]\nversion = \"1\"\n[features]\nf = []\n";
        assert_eq!(own_versions(manifest), [6, 8, 9]);
    }
}
