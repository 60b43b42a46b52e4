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

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    /// Files, hunks and lines in a few signs: `Edited a.rs @1,1 =-+`.
    fn told(text: &str) -> Vec<String> {
        let diff = Diff::parse(text, Path::new("/work/project"));
        let hunk = |hunk: &Hunk| {
            let signs = hunk.lines.iter().map(|line| match line.mark {
                Mark::Same => '=',
                Mark::Added => '+',
                Mark::Removed => '-',
            });
            format!(" @{},{} {}", hunk.old, hunk.new, signs.collect::<String>())
        };
        let file = |file: &Change| {
            let hunks: String = file.hunks.iter().map(hunk).collect();
            format!("{:?} {}{hunks}", file.kind, file.path)
        };
        diff.files.iter().map(file).collect()
    }

    #[test]
    fn unified_diffs_are_read() {
        let check = |text: &str, expected: &[&str]| assert_eq!(told(text), expected, "{text}");
        check(
            "--- a/work/project/src/a.rs\n+++ b/work/project/src/a.rs\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n\
             @@ -9 +9,2 @@ fn x()\n nine\n+ten\n",
            &["Edited src/a.rs @1,1 =-+ @9,9 =+"],
        );
        check(
            "--- a/old\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n\\ No newline at end of file\n\
             --- /dev/null\n+++ b/elsewhere/new\n@@ -0,0 +1 @@\n+here\n",
            &["Deleted old @1,0 -", "New elsewhere/new @0,1 +"],
        );
        // A removed line that looks like a header is a line.
        check(
            "--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n--- a/y\n \n",
            &["Edited x @1,1 -="],
        );
        check("nothing\n@@ -1 +1 @@\n+++ b/x\n", &[]);
        check("--- a/x\n+++ b/x\n@@ -a +b @@\n+1\n", &["Edited x"]);
        check("", &[]);
    }

    #[test]
    fn only_what_is_under_the_directory_is_relative() {
        let check = |path: &str, expected: &str| {
            assert_eq!(relative(path, Path::new("/work/project")), expected);
        };
        check("work/project/a", "a");
        check("/work/project/a", "a");
        check("work/projects/a", "work/projects/a");
        check("a", "a");
    }
}
