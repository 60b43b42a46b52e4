//! Unified diffs, as tools report them.

use std::path::Path;

use super::{Change, Diff, Hunk, Kind, Line, Mark};

impl Diff {
    /// Reads a unified diff; what is none gives no files. Paths under `cwd` become relative to it.
    pub fn parse(text: &str, cwd: &Path) -> Self {
        let mut files: Vec<Change> = Vec::new();
        let mut old_path = None;
        // Lines the current hunk still has, before and after.
        let mut left = (0, 0);
        for line in text.lines() {
            let hunk = files.last_mut().and_then(|file| file.hunks.last_mut());
            if let Some(hunk) = hunk.filter(|_| left != (0, 0)) {
                take(hunk, line, &mut left);
            } else if let Some(path) = line.strip_prefix("--- ") {
                old_path = Some(path);
            } else if let Some(path) = line.strip_prefix("+++ ") {
                files.extend(old_path.take().map(|old| opened(old, path, cwd)));
            } else if let (Some(hunk), Some(file)) = (header(line), files.last_mut()) {
                left = (hunk.1, hunk.2);
                file.hunks.push(hunk.0);
            }
        }
        Self { files }
    }
}

fn opened(old: &str, new: &str, cwd: &Path) -> Change {
    const NONE: &str = "/dev/null";
    let kind = match (old, new) {
        (NONE, _) => Kind::New,
        (_, NONE) => Kind::Deleted,
        _ => Kind::Edited,
    };
    let path = if kind == Kind::Deleted { old } else { new };
    let path = path.split('\t').next().unwrap_or_default();
    let sides = ["a/", "b/"];
    let bare = sides.iter().find_map(|side| path.strip_prefix(side));
    Change {
        path: relative(bare.unwrap_or(path), cwd),
        kind,
        hunks: Vec::new(),
    }
}

/// Headers leave out the slash an absolute path begins with.
fn relative(path: &str, cwd: &Path) -> String {
    let bare = path.trim_start_matches('/');
    let cwd = cwd.to_string_lossy();
    let under = bare
        .strip_prefix(cwd.trim_matches('/'))
        .and_then(|rest| rest.strip_prefix('/'));
    under.unwrap_or(path).to_owned()
}

/// `@@ -1,2 +3,4 @@`: where the hunk begins, and how many lines it has before and after.
fn header(line: &str) -> Option<(Hunk, usize, usize)> {
    let mut words = line.strip_prefix("@@ ")?.split(' ');
    let mut side = |sign: char| {
        let word = words.next()?.strip_prefix(sign)?;
        let (start, count) = word.split_once(',').unwrap_or((word, "1"));
        Some((start.parse::<usize>().ok()?, count.parse::<usize>().ok()?))
    };
    let (old, before) = side('-')?;
    let (new, after) = side('+')?;
    let lines = Vec::new();
    Some((Hunk { old, new, lines }, before, after))
}

fn take(hunk: &mut Hunk, line: &str, left: &mut (usize, usize)) {
    let (mark, text) = match line.split_at_checked(1) {
        Some(("+", text)) => (Mark::Added, text),
        Some(("-", text)) => (Mark::Removed, text),
        Some((" ", text)) => (Mark::Same, text),
        Some(("\\", _)) => return,
        // Some programs leave out the space of an empty line.
        _ => (Mark::Same, line),
    };
    if mark != Mark::Added {
        left.0 = left.0.saturating_sub(1);
    }
    if mark != Mark::Removed {
        left.1 = left.1.saturating_sub(1);
    }
    hunk.lines.push(Line {
        mark,
        text: text.to_owned(),
    });
}
