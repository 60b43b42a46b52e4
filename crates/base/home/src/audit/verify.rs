//! Whether the chain is whole.

use std::path::Path;

use super::head::Head;
use super::nothing;
use super::read::{Line, lines};
use crate::Result;

/// What was found out about a log.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub entries: u64,
    /// Each names the place and what is wrong there; empty: the chain is whole.
    pub problems: Vec<String>,
}

/// Follows the chain from its first line to its last.
pub fn verify(dir: &Path) -> Result<Report> {
    let mut walk = Walk {
        seq: 0,
        hash: nothing(),
        report: Report::default(),
    };
    for line in lines(dir)? {
        walk.step(&line?);
    }
    walk.end(Head::noted(dir));
    Ok(walk.report)
}

/// How far the chain was followed.
struct Walk {
    seq: u64,
    hash: String,
    report: Report,
}

impl Walk {
    fn step(&mut self, line: &Line) {
        let at = format!("{}:{}", line.file.display(), line.number);
        let (entry, hash) = match &line.entry {
            Ok(found) => found,
            Err(wrong) => return self.report.problems.push(format!("{at}: {wrong}")),
        };
        self.report.entries += 1;
        if entry.prev != self.hash {
            self.report.problems.push(match self.seq {
                0 => format!(
                    "{at}: the log begins with entry {}; what was before is gone",
                    entry.seq
                ),
                seq if entry.seq > seq + 1 => {
                    format!("{at}: entries {} to {} are gone", seq + 1, entry.seq - 1)
                }
                seq => format!("{at}: entry {} does not follow entry {seq}", entry.seq),
            });
        }
        (self.seq, self.hash) = (entry.seq, hash.clone());
    }

    /// A log that was cut off at its end looks whole; only the note about its newest line tells.
    fn end(&mut self, noted: Option<(u64, String)>) {
        match noted {
            Some((seq, _)) if seq > self.seq => self.report.problems.push(format!(
                "the log ends with entry {}, but entry {seq} had been written: its end was cut off",
                self.seq
            )),
            Some((seq, hash)) if seq == self.seq && hash != self.hash => {
                let wrong = format!("entry {seq} at the end is not the one that had been written");
                self.report.problems.push(wrong);
            }
            None if self.seq > 0 => self.report.problems.push(
                "the note about the newest entry (audit/head) is gone: whether the end was cut off cannot be told"
                    .to_owned(),
            ),
            // One entry more than noted: whoever wrote it was killed in between.
            _ => {}
        }
    }
}
