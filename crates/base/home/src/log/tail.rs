//! The end of a log.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::file::{FileId, generations};
use super::query::{Filter, Query};
use crate::{Error, Result};

const BLOCK: u64 = 64 << 10;
/// However many lines are asked for, no more than this is held in memory.
const MAX_BYTES: u64 = 64 << 20;

/// The last lines that pass the query's filters, oldest first. Where the log is too short, because it started
/// anew, its backups are read as well.
pub fn tail(query: &Query) -> Result<Vec<String>> {
    Ok(End::read(query)?.lines)
}

/// The end of a log and what it takes to go on from there.
pub(super) struct End {
    pub(super) lines: Vec<String>,
    pub(super) filter: Filter,
    /// The newest file, and how much of it was there.
    pub(super) file: (FileId, File),
    pub(super) size: u64,
}

impl End {
    pub(super) fn read(query: &Query) -> Result<Self> {
        let end = raw(query).and_then(|found| found.ok_or_else(|| io::ErrorKind::NotFound.into()));
        let (mut lines, file, size) = end.map_err(Error::io("read", &query.file))?;
        let mut filter = Filter::new(query);
        lines.retain(|line| filter.admits(line));
        let surplus = lines.len().saturating_sub(query.lines);
        let lines = lines.into_iter().skip(surplus).collect();
        Ok(Self {
            lines,
            filter,
            file,
            size,
        })
    }
}

type Raw = (VecDeque<String>, (FileId, File), u64);

/// As many lines as the filters may see, going back from the newest file. `None` if there is no file.
fn raw(query: &Query) -> io::Result<Option<Raw>> {
    let wanted = query.reach();
    let mut budget = MAX_BYTES;
    let mut lines = VecDeque::new();
    let mut newest = None;
    for (id, file) in generations(&query.file) {
        let size = file.metadata()?.len();
        let missing = wanted - lines.len();
        let text = last_lines(&file, size, missing, &mut budget)?;
        let older: Vec<_> = split(&text).collect();
        older
            .into_iter()
            .rev()
            .take(missing)
            .for_each(|line| lines.push_front(line));
        newest.get_or_insert(((id, file), size));
        if lines.len() == wanted || budget == 0 {
            break;
        }
    }
    Ok(newest.map(|(file, size)| (lines, file, size)))
}

/// The end of a file, read backwards until it holds so many whole lines.
fn last_lines(file: &File, size: u64, lines: usize, budget: &mut u64) -> io::Result<Vec<u8>> {
    let mut blocks = VecDeque::new();
    let mut ends = 0;
    let mut start = size;
    // The end of the line before the first wanted one counts too.
    while start > 0 && ends <= lines && *budget > 0 {
        let length = start.min(BLOCK).min(*budget);
        start -= length;
        *budget -= length;
        let mut block = vec![0; length as usize];
        file.read_exact_at(&mut block, start)?;
        ends += block.iter().filter(|byte| **byte == b'\n').count();
        blocks.push_front(block);
    }
    let mut text: Vec<u8> = blocks.into_iter().flatten().collect();
    if start > 0 {
        // Begins somewhere inside a line.
        let partial = text
            .iter()
            .position(|byte| *byte == b'\n')
            .map_or(text.len(), |at| at + 1);
        text.drain(..partial);
    }
    Ok(text)
}

/// The lines of a text; what isn't UTF-8 is shown as such and doesn't hide the rest.
pub(super) fn split(text: &[u8]) -> impl Iterator<Item = String> {
    let inner = text.strip_suffix(b"\n").unwrap_or(text);
    let lines = (!text.is_empty()).then(|| inner.split(|byte| *byte == b'\n'));
    lines
        .into_iter()
        .flatten()
        .map(|line| String::from_utf8_lossy(line).into_owned())
}
