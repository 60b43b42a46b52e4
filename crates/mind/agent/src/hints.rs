//! Rules that lie beside the files a tool touches, told with the first result from there.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use hermes_types::{Args, Workspace};
use serde_json::Value;

use hermes_text::scan::screened;

const NAMES: &[&str] = &[
    "AGENTS.md",
    "agents.md",
    "CLAUDE.md",
    "claude.md",
    ".cursorrules",
];
const MAX_CHARS: usize = 8_000;
const MAX_ANCESTORS: usize = 5;
/// One call can't mention more places than this.
const MAX_PLACES: usize = 8;

/// The directories a session has looked into. The working directory is known from the start: its files are
/// in the system prompt.
#[derive(Debug, Default)]
pub struct Hints {
    seen: HashSet<PathBuf>,
}

impl Hints {
    pub fn new(cwd: PathBuf) -> Self {
        Self {
            seen: HashSet::from([cwd]),
        }
    }

    /// What to append to a result: each directory's rules once per session.
    pub async fn discover(
        hints: &Mutex<Self>,
        args: &Args,
        workspace: &dyn Workspace,
    ) -> Option<String> {
        let cwd = workspace.cwd();
        let mut found = String::new();
        for dir in mentioned(args, &cwd) {
            let fresh = hints
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .fresh(&dir);
            for dir in fresh {
                if let Some((name, text)) = rules_in(&dir, workspace).await {
                    let path = dir.join(name);
                    let shown = path.strip_prefix(&cwd).unwrap_or(&path).display();
                    found.push_str(&format!(
                        "\n\n[Subdirectory context discovered: {shown}]\n{text}"
                    ));
                }
            }
        }
        (!found.is_empty()).then_some(found)
    }

    /// This directory and its parents up to one already seen; marks them.
    fn fresh(&mut self, dir: &Path) -> Vec<PathBuf> {
        let chain: Vec<_> = dir
            .ancestors()
            .take(MAX_ANCESTORS)
            .take_while(|dir| !self.seen.contains(*dir))
            .collect();
        // Without a known parent the place has nothing to do with this session's work.
        let connected = chain
            .last()
            .and_then(|last| last.parent())
            .is_some_and(|parent| self.seen.contains(parent));
        let fresh: Vec<PathBuf> = if connected {
            chain.iter().map(|dir| dir.to_path_buf()).collect()
        } else {
            Vec::new()
        };
        self.seen.extend(fresh.iter().cloned());
        fresh
    }
}

async fn rules_in(dir: &Path, workspace: &dyn Workspace) -> Option<(&'static str, String)> {
    for name in NAMES {
        if let Ok(bytes) = workspace.read(&dir.join(name), 0, MAX_CHARS * 4).await {
            let text: String = String::from_utf8_lossy(&bytes)
                .chars()
                .take(MAX_CHARS)
                .collect();
            return Some((name, screened(name, &text)));
        }
    }
    None
}

/// Directories a call is about.
fn mentioned(args: &Args, cwd: &Path) -> Vec<PathBuf> {
    let text = |key: &str| args.get(key).and_then(Value::as_str);
    let mut dirs: Vec<PathBuf> = Vec::new();
    for path in ["path", "file_path"].iter().filter_map(|key| text(key)) {
        dirs.extend(cwd.join(path).parent().map(Path::to_path_buf));
    }
    dirs.extend(text("workdir").map(|dir| cwd.join(dir)));
    if let Some(command) = text("command") {
        let words = command.split_whitespace();
        let paths = words
            .filter(|word| word.contains('/') && !word.contains("://") && !word.starts_with('-'));
        dirs.extend(paths.filter_map(|path| {
            cwd.join(path.trim_matches(['"', '\'']))
                .parent()
                .map(Path::to_path_buf)
        }));
    }
    dirs.truncate(MAX_PLACES);
    dirs
}
