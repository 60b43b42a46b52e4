//! Which words of a changed line changed.

use std::time::Duration;

use similar::{ChangeTag, TextDiff};
use unicode_segmentation::UnicodeSegmentation as _;

use super::{Line, Mark};

/// Longer lines are shown as a whole.
const MAX_LINE: usize = 500;
/// Lines that have less in common were not changed but replaced.
const ALIKE: f32 = 0.4;
/// A comparison that takes longer is coarser, not later.
const TIME: Duration = Duration::from_millis(20);

pub(super) struct Part {
    pub text: String,
    pub changed: bool,
}

/// The parts of every line; none for lines that are shown as a whole.
pub(super) fn of(lines: &[Line]) -> Vec<Vec<Part>> {
    let mut parts: Vec<Vec<Part>> = lines.iter().map(|_| Vec::new()).collect();
    let mut at = 0;
    while at < lines.len() {
        let removed = run(&lines[at..], Mark::Removed);
        let added = run(&lines[at + removed..], Mark::Added);
        for pair in 0..removed.min(added) {
            let (old, new) = (at + pair, at + removed + pair);
            if let Some((left, right)) = compared(&lines[old].text, &lines[new].text) {
                parts[old] = left;
                parts[new] = right;
            }
        }
        at += (removed + added).max(1);
    }
    parts
}

fn run(lines: &[Line], mark: Mark) -> usize {
    lines.iter().take_while(|line| line.mark == mark).count()
}

fn compared(old: &str, new: &str) -> Option<(Vec<Part>, Vec<Part>)> {
    if old.len().max(new.len()) > MAX_LINE {
        return None;
    }
    let left: Vec<&str> = old.split_word_bounds().collect();
    let right: Vec<&str> = new.split_word_bounds().collect();
    let diff = TextDiff::configure()
        .timeout(TIME)
        .diff_slices(&left, &right);
    if diff.ratio() < ALIKE {
        return None;
    }
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for change in diff.iter_all_changes() {
        let text = change.value();
        match change.tag() {
            ChangeTag::Equal => {
                push(&mut before, text, false);
                push(&mut after, text, false);
            }
            ChangeTag::Delete => push(&mut before, text, true),
            ChangeTag::Insert => push(&mut after, text, true),
        }
    }
    Some((before, after))
}

fn push(parts: &mut Vec<Part>, text: &str, changed: bool) {
    match parts.last_mut() {
        Some(last) if last.changed == changed => last.text.push_str(text),
        _ => parts.push(Part {
            text: text.to_owned(),
            changed,
        }),
    }
}
