//! Reading the log, oldest line first.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use super::{Entry, hash, months};
use crate::{Error, Result};

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
pub fn lines(dir: &Path) -> Result<impl Iterator<Item = Result<Line>>> {
    Ok(months(dir)?.into_iter().flat_map(of_month))
}

fn of_month(path: PathBuf) -> Box<dyn Iterator<Item = Result<Line>>> {
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) => return Box::new(std::iter::once(Err(Error::io("open", &path)(error)))),
    };
    let read = BufReader::new(file).split(b'\n').enumerate();
    Box::new(read.filter_map(move |(index, bytes)| {
        let bytes = match bytes.map_err(Error::io("read", &path)) {
            Ok(bytes) => bytes,
            Err(error) => return Some(Err(error)),
        };
        let text = String::from_utf8_lossy(&bytes);
        (!text.is_empty()).then(|| {
            Ok(Line {
                file: path.clone(),
                number: index + 1,
                entry: parse(&text),
            })
        })
    }))
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
