//! What changed in files: line numbers, signs, and the words that differ.

mod between;
mod parse;
mod parts;

use ratatui::text::Span;

use super::{Detail, indented};
use crate::Row;
use crate::look::{Look, Role};
use crate::text::{clip, cut_front, fold, harmless, one_line};

/// Files and lines that are shown at once, and lines of a file that is new.
const MAX_FILES: usize = 6;
const MAX_LINES: usize = 80;
const MAX_NEW: usize = 20;

/// The changes of one call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diff {
    pub files: Vec<Change>,
}

/// The change of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// As the owner would call it from where they are.
    pub path: String,
    pub kind: Kind,
    pub hunks: Vec<Hunk>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Edited,
    New,
    Deleted,
}

/// Some lines that stand together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunk {
    /// The number of the first line before and after.
    pub old: usize,
    pub new: usize,
    pub lines: Vec<Line>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub mark: Mark,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    Same,
    Added,
    Removed,
}

impl Diff {
    pub fn rows(&self, width: u16, look: &Look, detail: Detail) -> Vec<Row> {
        let Some(mut left) = self.budget(detail) else {
            return Vec::new();
        };
        let faint = look.style(Role::Faint);
        let indent = if width >= 64 { 4 } else { 0 };
        let columns = usize::from(width).saturating_sub(indent).max(1);
        let page = Page {
            columns,
            look,
            detail,
        };
        let title = format!("{} review diff", one_line(look.tool_prefix()));
        let mut rows = vec![clip(Row::from(Span::styled(title, faint)), columns)];
        let (mut lines, mut files) = (0, 0);
        for change in &self.files {
            let (shown, omitted) = page.change(change, &mut left);
            rows.extend(shown);
            lines += omitted;
            files += usize::from(omitted > 0);
        }
        if files > 0 {
            let text = match files {
                1 => format!("… omitted {lines} lines across 1 file"),
                _ => format!("… omitted {lines} lines across {files} files"),
            };
            rows.push(clip(Row::from(Span::styled(text, faint)), columns));
        }
        indented(rows, indent)
    }

    /// What may be shown; `None`: there is nothing.
    fn budget(&self, detail: Detail) -> Option<Left> {
        let left = match detail {
            Detail::Short => Left {
                files: MAX_FILES,
                lines: MAX_LINES,
            },
            Detail::Full => Left {
                files: usize::MAX,
                lines: usize::MAX,
            },
        };
        (!self.files.is_empty()).then_some(left)
    }
}

/// What may still be shown.
struct Left {
    files: usize,
    lines: usize,
}

struct Page<'a> {
    columns: usize,
    look: &'a Look,
    detail: Detail,
}

impl Page<'_> {
    /// Rows of one file, and how many of its lines are missing.
    fn change(&self, change: &Change, left: &mut Left) -> (Vec<Row>, usize) {
        let all: usize = change.hunks.iter().map(|hunk| hunk.lines.len()).sum();
        if left.files == 0 || left.lines == 0 {
            return (Vec::new(), all);
        }
        left.files -= 1;
        let new = change.kind == Kind::New && self.detail == Detail::Short;
        let most = if new {
            MAX_NEW.min(left.lines)
        } else {
            left.lines
        };
        let mut rows = vec![self.head(change)];
        let gutter = digits(change);
        let mut shown = 0;
        for (index, hunk) in change.hunks.iter().enumerate() {
            let room = most - shown;
            if room == 0 {
                break;
            }
            if index > 0 {
                let gap = format!("{:>gutter$}", "⋮");
                rows.push(Row::from(Span::styled(gap, self.look.style(Role::Faint))));
            }
            rows.extend(self.hunk(hunk, gutter, room));
            shown += hunk.lines.len().min(room);
        }
        left.lines -= shown;
        if new && all > shown && shown == MAX_NEW {
            let more = format!("… +{} lines", all - shown);
            let more = Row::from(Span::styled(more, self.look.style(Role::Faint)));
            rows.push(clip(more, self.columns));
            return (rows, 0);
        }
        (rows, all - shown)
    }

    fn head(&self, change: &Change) -> Row {
        let path = one_line(&change.path);
        let label = self.look.style(Role::Label);
        let half = self.columns.saturating_sub(3) / 2;
        let text = match change.kind {
            Kind::New => format!("new b/{}", cut_front(&path, self.columns.saturating_sub(6))),
            Kind::Deleted => {
                format!(
                    "deleted a/{}",
                    cut_front(&path, self.columns.saturating_sub(10))
                )
            }
            Kind::Edited => {
                let path = cut_front(&path, half.saturating_sub(2));
                format!("a/{path} → b/{path}")
            }
        };
        clip(Row::from(Span::styled(text, label)), self.columns)
    }

    fn hunk(&self, hunk: &Hunk, gutter: usize, room: usize) -> Vec<Row> {
        let lines = &hunk.lines[..hunk.lines.len().min(room)];
        let parts = parts::of(lines);
        let (mut old, mut new) = (hunk.old, hunk.new);
        let mut rows = Vec::new();
        for (line, parts) in lines.iter().zip(parts) {
            let number = match line.mark {
                Mark::Removed => old,
                Mark::Same | Mark::Added => new,
            };
            old += usize::from(line.mark != Mark::Added);
            new += usize::from(line.mark != Mark::Removed);
            let row = self.line(line, number, gutter, &parts);
            match self.detail {
                Detail::Short => rows.push(clip(row, self.columns)),
                Detail::Full => rows.extend(fold(row, self.columns)),
            }
        }
        rows
    }

    fn line(&self, line: &Line, number: usize, gutter: usize, parts: &[parts::Part]) -> Row {
        let (sign, role, strong) = match line.mark {
            Mark::Same => (" ", Role::Faint, Role::Faint),
            Mark::Added => ("+", Role::Added, Role::AddedPart),
            Mark::Removed => ("-", Role::Removed, Role::RemovedPart),
        };
        let faint = self.look.style(Role::Faint);
        let base = self.look.style(role);
        let mut spans = vec![
            Span::styled(format!("{number:>gutter$} "), faint),
            Span::styled(format!("{sign} "), base),
        ];
        // Tabs are columns of the line, so all of it is made harmless at once and cut at its parts after.
        if parts.len() < 2 || line.text.contains('\t') {
            spans.push(Span::styled(harmless(&line.text), base));
            return Row::from(spans);
        }
        for part in parts {
            let style = match part.changed {
                true => self.look.style(strong),
                false => base,
            };
            spans.push(Span::styled(harmless(&part.text), style));
        }
        Row::from(spans)
    }
}

/// Columns of the largest line number.
fn digits(change: &Change) -> usize {
    let last = |hunk: &Hunk| hunk.old.max(hunk.new) + hunk.lines.len();
    let largest = change.hunks.iter().map(last).max().unwrap_or_default();
    largest.to_string().len()
}
