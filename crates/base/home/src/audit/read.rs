//! Reading the log, oldest line first.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::{Entry, hash, month_file, months};
use crate::{Error, Result};

/// Longer than any line of ours.
const LONGEST: u64 = 1 << 20;

/// One line as it stands there.
#[derive(Debug)]
pub struct Line {
    pub file: PathBuf,
    /// From 1.
    pub number: usize,
    /// The entry and its hash, or what is wrong with the line.
    pub entry: std::result::Result<(Entry, String), String>,
}

/// Every line of a log; empty lines are not counted as any.
pub fn lines(dir: &Path) -> Result<impl Iterator<Item = Result<Line>> + use<>> {
    lines_since(dir, Timestamp::MIN)
}

/// The same without the months that ended before `since`; the first may have earlier lines.
pub fn lines_since(
    dir: &Path,
    since: Timestamp,
) -> Result<impl Iterator<Item = Result<Line>> + use<>> {
    let mut months = months(dir)?;
    if since > Timestamp::UNIX_EPOCH {
        let first = dir.join(month_file(since));
        months.retain(|path| *path >= first);
    }
    Ok(months.into_iter().flat_map(Month::open))
}

/// A file on its way to its end.
struct Month {
    path: PathBuf,
    /// `None`: the end was reached, or it cannot be read.
    file: Option<BufReader<File>>,
    number: usize,
    /// Why it could not be opened; told once.
    error: Option<Error>,
}

impl Month {
    fn open(path: PathBuf) -> Self {
        let (file, error) = match File::open(&path) {
            Ok(file) => (Some(BufReader::new(file)), None),
            Err(error) => (None, Some(Error::io("open", &path)(error))),
        };
        Self {
            path,
            file,
            number: 0,
            error,
        }
    }

    /// The next line without its end; of one that is too long, as much as fits.
    fn next_line(&mut self) -> io::Result<Option<Vec<u8>>> {
        let Some(file) = &mut self.file else {
            return Ok(None);
        };
        let mut line = Vec::new();
        let read = file.by_ref().take(LONGEST).read_until(b'\n', &mut line)?;
        if line.last() == Some(&b'\n') {
            line.pop();
        } else if read as u64 == LONGEST {
            file.skip_until(b'\n')?;
        }
        Ok((read > 0).then_some(line))
    }
}

impl Iterator for Month {
    type Item = Result<Line>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(error) = self.error.take() {
            return Some(Err(error));
        }
        loop {
            let line = match self.next_line() {
                Ok(line) => line?,
                Err(error) => {
                    self.file = None;
                    return Some(Err(Error::io("read", &self.path)(error)));
                }
            };
            self.number += 1;
            if !line.is_empty() {
                return Some(Ok(Line {
                    file: self.path.clone(),
                    number: self.number,
                    entry: parse(&String::from_utf8_lossy(&line)),
                }));
            }
        }
    }
}

/// An entry and its hash, if the line's own hash agrees.
pub(super) fn parse(line: &str) -> std::result::Result<(Entry, String), String> {
    let (named, json) = line.split_once(' ').ok_or("it is incomplete")?;
    if hash(json.as_bytes()) != named {
        return Err("it was changed, or is incomplete".to_owned());
    }
    let entry = serde_json::from_str(json).map_err(|error| format!("it is unreadable: {error}"))?;
    Ok((entry, named.to_owned()))
}
