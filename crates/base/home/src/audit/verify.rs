//! Whether the chain is whole.

use std::path::Path;

use serde::Serialize;

use super::head::Head;
use super::read::{Line, lines};
use super::{Entry, Mark, nothing};
use crate::Result;

/// What was found out about a log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    pub entries: u64,
    /// Each names the place and what is wrong there; empty: the chain is whole.
    pub problems: Vec<String>,
    /// What is missing although nobody touched the log: old months, and what could not be written.
    pub notes: Vec<String>,
}

/// Follows the chain from its first line to its last.
pub fn verify(dir: &Path) -> Result<Report> {
    let mut walk = Walk {
        // Read first: somebody may be writing, and a log that has more than its note says is fine.
        noted: Head::noted(dir),
        seq: 0,
        hash: nothing(),
        begins: None,
        pruned: Vec::new(),
        unread: Vec::new(),
        report: Report::default(),
    };
    for line in lines(dir)? {
        walk.step(&line?);
    }
    walk.end();
    Ok(walk.report)
}

/// How far the chain was followed.
struct Walk {
    /// The newest line, as it was noted beside the log.
    noted: Option<Mark>,
    seq: u64,
    hash: String,
    /// What the first line goes on from, and where that stands, unless it is the very first.
    begins: Option<(Mark, String)>,
    /// What was removed on purpose, as far as the log says.
    pruned: Vec<Mark>,
    /// Unreadable lines since the last good one. If the next goes on from that, no entry was lost with them.
    unread: Vec<String>,
    report: Report,
}

impl Walk {
    fn step(&mut self, line: &Line) {
        let at = format!("{}:{}", line.file.display(), line.number);
        let (entry, hash) = match &line.entry {
            Ok(found) => found,
            Err(wrong) => return add(&mut self.unread, format!("{at}: {wrong}")),
        };
        self.report.entries += 1;
        self.settle(entry.prev == self.hash);
        if entry.prev != self.hash {
            match self.seq {
                0 => self.begins = Some((mark_before(entry), at.clone())),
                seq => add(&mut self.report.problems, gap(seq, entry, &at)),
            }
        }
        if entry.action.missed > 0 {
            let told = format!(
                "{at}: before entry {}, {} could not be written down",
                entry.seq, entry.action.missed
            );
            add(&mut self.report.notes, told);
        }
        if matches!(&self.noted, Some(noted) if noted.seq == entry.seq && noted.hash != *hash) {
            let seq = entry.seq;
            let wrong = format!("{at}: entry {seq} is not the one that had been written");
            add(&mut self.report.problems, wrong);
        }
        self.pruned.extend(entry.pruned.clone());
        (self.seq, self.hash) = (entry.seq, hash.clone());
    }

    /// Unreadable lines are an entry that was changed, or one that was never finished.
    fn settle(&mut self, is_followed: bool) {
        for line in std::mem::take(&mut self.unread) {
            match is_followed {
                true => add(
                    &mut self.report.notes,
                    format!("{line} (a full disk or a kill: no other is missing)"),
                ),
                false => add(&mut self.report.problems, line),
            }
        }
    }

    fn end(&mut self) {
        let is_all = self
            .noted
            .as_ref()
            .is_none_or(|noted| noted.seq <= self.seq);
        self.settle(is_all);
        self.beginning();
        self.newest();
    }

    fn beginning(&mut self) {
        let Some((mark, at)) = self.begins.take() else {
            return;
        };
        let Mark { seq, .. } = mark;
        match self.pruned.contains(&mark) {
            true => self
                .report
                .notes
                .push(format!("entries 1 to {seq} were removed as too old")),
            false => self.report.problems.push(format!(
                "{at}: the log begins with entry {}; what was before is gone",
                seq + 1
            )),
        }
    }

    /// A log that was cut off at its end looks whole; only the note about its newest line tells.
    fn newest(&mut self) {
        match &self.noted {
            Some(noted) if noted.seq > self.seq => self.report.problems.push(format!(
                "the log ends with entry {}, but entry {} had been written: its end was cut off",
                self.seq, noted.seq
            )),
            None if self.seq > 0 => self.report.problems.push(
                "the note about the newest entry (audit/head) is gone: whether the end was cut off cannot be told"
                    .to_owned(),
            ),
            // One entry more than noted: whoever wrote it was killed in between.
            _ => {}
        }
    }
}

/// Of a file full of nonsense, the beginning says enough.
fn add(list: &mut Vec<String>, text: String) {
    const MOST: usize = 200;
    match list.len() {
        ..MOST => list.push(text),
        MOST => list.push("and more".to_owned()),
        _ => {}
    }
}

/// What an entry goes on from.
fn mark_before(entry: &Entry) -> Mark {
    Mark {
        seq: entry.seq.saturating_sub(1),
        hash: entry.prev.clone(),
    }
}

fn gap(seq: u64, entry: &Entry, at: &str) -> String {
    match entry.seq > seq + 1 {
        true => format!("{at}: entries {} to {} are gone", seq + 1, entry.seq - 1),
        false => format!("{at}: entry {} does not follow entry {seq}", entry.seq),
    }
}
