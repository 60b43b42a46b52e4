//! What is added to a log while we watch.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io;
use std::mem;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use super::file::{FileId, generations};
use super::query::{Filter, Query};
use super::tail::{End, split};
use crate::{Error, Result};

const BLOCK: usize = 64 << 10;
/// About one batch of new lines, and the longest line.
const MAX_BATCH: usize = 1 << 20;

/// New lines as they are written, over rotations and truncations of the log.
#[derive(Debug)]
pub struct Follow {
    path: PathBuf,
    /// The file being read. It may have become a backup meanwhile.
    current: Reader,
    /// Files that came after it, oldest first.
    newer: VecDeque<Reader>,
    /// A line whose end isn't written yet.
    rest: Vec<u8>,
    filter: Filter,
    poll: Duration,
}

impl Follow {
    /// The lines [`tail`](super::tail) gives, together with what goes on exactly where they end.
    pub fn start(query: &Query, poll: Duration) -> Result<(Vec<String>, Self)> {
        let End {
            lines,
            filter,
            file: (id, file),
            size,
        } = End::read(query)?;
        let follow = Self {
            path: query.file.clone(),
            current: Reader {
                id,
                file,
                offset: size,
            },
            newer: VecDeque::new(),
            rest: Vec::new(),
            filter,
            poll,
        };
        Ok((lines, follow))
    }

    /// Waits for new lines; none after the timeout.
    pub fn next_batch(&mut self, timeout: Duration) -> Result<Vec<String>> {
        let started = Instant::now();
        loop {
            let lines = self.read_new().map_err(Error::io("read", &self.path))?;
            let left = timeout.saturating_sub(started.elapsed());
            if !lines.is_empty() || left.is_zero() {
                return Ok(lines);
            }
            thread::sleep(self.poll.min(left));
        }
    }

    fn read_new(&mut self) -> io::Result<Vec<String>> {
        let mut lines = Vec::new();
        loop {
            // Looked up before reading: a file that has a successor by now gets no more lines.
            if self.newer.is_empty() {
                self.newer = self.successors();
            }
            if self.read_current(&mut lines)? >= MAX_BATCH {
                return Ok(lines);
            }
            let Some(next) = self.newer.pop_front() else {
                return Ok(lines);
            };
            self.current = next;
            // Nobody will finish a line of the old file.
            let rest = mem::take(&mut self.rest);
            self.take_lines(&rest, &mut lines);
        }
    }

    /// Reads on in the current file; how many bytes there were.
    fn read_current(&mut self, lines: &mut Vec<String>) -> io::Result<usize> {
        if self.current.file.metadata()?.len() < self.current.offset {
            // Somebody emptied the file in place.
            self.current.offset = 0;
            self.rest.clear();
        }
        let count = self.current.read_to(&mut self.rest)?;
        let end = match self.rest.iter().rposition(|byte| *byte == b'\n') {
            Some(at) => at + 1,
            None if self.rest.len() >= MAX_BATCH => self.rest.len(),
            None => return Ok(count),
        };
        let unfinished = self.rest.split_off(end);
        let complete = mem::replace(&mut self.rest, unfinished);
        self.take_lines(&complete, lines);
        Ok(count)
    }

    fn take_lines(&mut self, text: &[u8], lines: &mut Vec<String>) {
        lines.extend(split(text).filter(|line| self.filter.admits(line)));
    }

    /// The files that were started since the current one.
    fn successors(&self) -> VecDeque<Reader> {
        let current = self.current.id;
        if fs::metadata(&self.path).is_ok_and(|meta| FileId::of(&meta) == current) {
            return VecDeque::new();
        }
        let mut newer = VecDeque::new();
        for (id, file) in generations(&self.path) {
            if id == current {
                return newer;
            }
            newer.push_front(Reader {
                id,
                file,
                offset: 0,
            });
        }
        // Ours has no place among them, as when somebody deleted it: only the newest is certainly newer.
        newer.pop_back().into_iter().collect()
    }
}

/// A file and how far we are in it.
#[derive(Debug)]
struct Reader {
    id: FileId,
    file: File,
    offset: u64,
}

impl Reader {
    /// Appends what comes next, about one batch at most; how many bytes.
    fn read_to(&mut self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        let mut block = vec![0; BLOCK];
        let mut count = 0;
        while count < MAX_BATCH {
            let length = self.file.read_at(&mut block, self.offset)?;
            if length == 0 {
                break;
            }
            buffer.extend_from_slice(&block[..length]);
            self.offset += length as u64;
            count += length;
        }
        Ok(count)
    }
}
