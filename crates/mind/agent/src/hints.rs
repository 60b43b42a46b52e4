//! Rules that lie beside the files a tool touches, told with the first result from there.

use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};
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
const MAX_PARENTS: usize = 5;
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
        for path in mentioned(args, &cwd) {
            let Some(dir) = directory(path, workspace).await else {
                continue;
            };
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

    /// This directory and its nearest parents up to one already seen; marks them.
    fn fresh(&mut self, dir: &Path) -> Vec<PathBuf> {
        // Without a known one above it, the place has nothing to do with this session's work.
        if !dir.ancestors().any(|dir| self.seen.contains(dir)) {
            return Vec::new();
        }
        let way = dir.ancestors().take(1 + MAX_PARENTS);
        let fresh: Vec<PathBuf> = way
            .take_while(|dir| !self.seen.contains(*dir))
            .map(Path::to_path_buf)
            .collect();
        self.seen.extend(fresh.iter().cloned());
        fresh
    }
}

/// The directory a path is, or is in.
async fn directory(path: PathBuf, workspace: &dyn Workspace) -> Option<PathBuf> {
    let is_dir = workspace.stat(&path).await.is_ok_and(|stat| stat.is_dir);
    match is_dir {
        true => Some(path),
        false => path.parent().map(Path::to_path_buf),
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

/// Paths a call is about.
fn mentioned(args: &Args, cwd: &Path) -> Vec<PathBuf> {
    let text = |key: &str| args.get(key).and_then(Value::as_str);
    let named = ["path", "file_path", "workdir"];
    let mut paths: Vec<PathBuf> = named
        .iter()
        .filter_map(|key| text(key))
        .map(|path| normal(&cwd.join(path)))
        .collect();
    if let Some(command) = text("command") {
        let words = command.split_whitespace();
        let words = words
            .filter(|word| word.contains('/') && !word.contains("://") && !word.starts_with('-'));
        paths.extend(words.map(|word| normal(&cwd.join(word.trim_matches(['"', '\''])))));
    }
    paths.truncate(MAX_PLACES);
    paths
}

/// Without `.` and `..`: what lies above is not below.
fn normal(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents_are_looked_at_once_and_not_too_many() {
        let mut hints = Hints::new("/p".into());
        let mut check = |dir: &str, expected: &[&str]| {
            let fresh = hints.fresh(&normal(&Path::new("/p").join(dir)));
            let expected: Vec<PathBuf> = expected.iter().map(PathBuf::from).collect();
            assert_eq!(fresh, expected, "{dir}");
        };
        check("", &[]);
        check("a/b", &["/p/a/b", "/p/a"]);
        check("a/c", &["/p/a/c"]);
        check("a/b", &[]);
        let deep = [
            "/p/1/2/3/4/5/6/7",
            "/p/1/2/3/4/5/6",
            "/p/1/2/3/4/5",
            "/p/1/2/3/4",
            "/p/1/2/3",
            "/p/1/2",
        ];
        check("1/2/3/4/5/6/7", &deep);
        check("1", &["/p/1"]);
        check("../other", &[]);
        check("/elsewhere/x", &[]);
    }

    #[test]
    fn paths_of_a_call() {
        let check = |args: Value, expected: &[&str]| {
            let args = args.as_object().cloned().unwrap_or_default();
            let expected: Vec<PathBuf> = expected.iter().map(PathBuf::from).collect();
            assert_eq!(mentioned(&args, Path::new("/p")), expected, "{args:?}");
        };
        check(serde_json::json!({"path": "a/f"}), &["/p/a/f"]);
        check(serde_json::json!({"file_path": "/x/../y"}), &["/y"]);
        check(
            serde_json::json!({"workdir": "w", "command": "cat 'a/f' -o/x http://h/ word"}),
            &["/p/w", "/p/a/f"],
        );
    }
}
