//! Unified diffs, as `git apply` takes them.

use std::time::Duration;

use similar::TextDiff;

/// A diff that takes longer is coarser, not later.
const TIME: Duration = Duration::from_secs(1);

/// More than this of a change is not shown to people, who would not read it.
const SHOWN: usize = 64 * 1024;

/// The change of one file as people see it.
pub(super) fn shown(path: &str, old: Option<&str>, new: &str) -> String {
    brief(unified(path, old, Some(new)))
}

/// The beginning of a diff, in whole lines.
pub(super) fn brief(mut diff: String) -> String {
    if diff.len() > SHOWN {
        let end = diff.as_bytes()[..SHOWN]
            .iter()
            .rposition(|byte| *byte == b'\n');
        diff.truncate(end.map_or(0, |end| end + 1));
    }
    diff
}

/// The change of one file; `None` for a side that doesn't exist.
pub(super) fn unified(path: &str, old: Option<&str>, new: Option<&str>) -> String {
    let path = path.trim_start_matches('/');
    let side = |letter: char, text: Option<&str>| match text {
        Some(_) => format!("{letter}/{path}"),
        None => "/dev/null".to_owned(),
    };
    let diff = TextDiff::configure()
        .timeout(TIME)
        .diff_lines(old.unwrap_or_default(), new.unwrap_or_default());
    diff.unified_diff()
        .header(&side('a', old), &side('b', new))
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_that_do_not_exist_are_null() {
        let check = |old: Option<&str>, new: Option<&str>, expected: &str| {
            assert_eq!(unified("/x/a.py", old, new), expected);
        };
        check(
            Some("1\n2\n"),
            Some("1\n3\n"),
            "--- a/x/a.py\n+++ b/x/a.py\n@@ -1,2 +1,2 @@\n 1\n-2\n+3\n",
        );
        check(
            None,
            Some("1\n"),
            "--- /dev/null\n+++ b/x/a.py\n@@ -0,0 +1 @@\n+1\n",
        );
        check(
            Some("1"),
            None,
            "--- a/x/a.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n\\ No newline at end of file\n",
        );
        check(Some("a\n"), Some("a\n"), "");
    }
}
