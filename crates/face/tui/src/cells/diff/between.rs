//! The change from one text to another.

use std::time::Duration;

use similar::{ChangeTag, TextDiff};

use super::{Change, Hunk, Kind, Line, Mark};

/// Lines around a change that are shown with it.
const AROUND: usize = 3;
/// A comparison that takes longer is coarser, not later.
const TIME: Duration = Duration::from_millis(500);

impl Change {
    /// A text that is empty counts as a file that is not there.
    pub fn between(path: &str, old: &str, new: &str) -> Self {
        let diff = TextDiff::configure().timeout(TIME).diff_lines(old, new);
        let hunk = |ops: Vec<similar::DiffOp>| Hunk {
            old: ops.first().map_or(0, |op| op.old_range().start) + 1,
            new: ops.first().map_or(0, |op| op.new_range().start) + 1,
            lines: ops
                .iter()
                .flat_map(|op| diff.iter_changes(op))
                .map(line)
                .collect(),
        };
        let groups = diff.grouped_ops(AROUND).into_iter();
        Self {
            path: path.to_owned(),
            kind: match (old.is_empty(), new.is_empty()) {
                (true, false) => Kind::New,
                (false, true) => Kind::Deleted,
                _ => Kind::Edited,
            },
            hunks: groups.map(hunk).collect(),
        }
    }
}

fn line(change: similar::Change<&str>) -> Line {
    Line {
        mark: match change.tag() {
            ChangeTag::Equal => Mark::Same,
            ChangeTag::Delete => Mark::Removed,
            ChangeTag::Insert => Mark::Added,
        },
        text: change.value().trim_end_matches(['\n', '\r']).to_owned(),
    }
}
