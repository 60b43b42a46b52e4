//! Which lines a reader wants.

use std::path::PathBuf;
use std::time::Duration;

use jiff::civil::DateTime;

use super::{Component, Level};
use crate::clock;
use crate::{Error, Result};

/// What `hermes logs` asks for; the filters combine.
#[derive(Clone, Debug)]
pub struct Query {
    pub file: PathBuf,
    /// How many of the last lines, at most.
    pub lines: usize,
    /// This level and those above it.
    pub level: Option<Level>,
    /// Lines that contain this, usually a session id or a part of one.
    pub session: Option<String>,
    /// Not older than this.
    pub since: Option<Duration>,
    pub component: Option<Component>,
}

impl Query {
    /// The last 50 lines of a log.
    pub fn new(file: impl Into<PathBuf>) -> Self {
        Self {
            file: file.into(),
            lines: 50,
            level: None,
            session: None,
            since: None,
            component: None,
        }
    }

    fn is_filtered(&self) -> bool {
        self.level.is_some()
            || self.session.is_some()
            || self.since.is_some()
            || self.component.is_some()
    }

    /// How far back to look for lines that pass the filters.
    pub(super) fn reach(&self) -> usize {
        if self.is_filtered() {
            self.lines.saturating_mul(20).max(2_000)
        } else {
            self.lines
        }
    }
}

/// Reads `45s`, `30m`, `2h` or `1d`.
pub fn parse_since(text: &str) -> Result<Duration> {
    let text = text.trim().to_ascii_lowercase();
    let parsed = || {
        let (at, unit) = text.char_indices().next_back()?;
        let seconds = match unit {
            's' => 1,
            'm' => 60,
            'h' => 3_600,
            'd' => 86_400,
            _ => return None,
        };
        let number = text[..at].trim_end();
        let is_number = number.bytes().all(|b| b.is_ascii_digit());
        let count = is_number.then(|| number.parse::<u64>().ok())??;
        Some(Duration::from_secs(count.checked_mul(seconds)?))
    };
    parsed().ok_or_else(|| {
        Error::invalid(format!(
            "no time span '{text}'; write a number and s, m, h or d, as in 30m or 2h"
        ))
    })
}

/// Decides line by line, in the order they were written.
#[derive(Debug)]
pub(super) struct Filter {
    query: Query,
    oldest: Option<DateTime>,
    /// The verdict over the last line with a head. What follows without one is the rest of that message.
    verdict: bool,
}

impl Filter {
    pub(super) fn new(query: &Query) -> Self {
        let oldest = query.since.map(|since| {
            let now = clock::now();
            now.checked_sub(since)
                .map_or(DateTime::MIN, |then| then.datetime())
        });
        Self {
            oldest,
            verdict: !query.is_filtered(),
            query: query.clone(),
        }
    }

    pub(super) fn admits(&mut self, line: &str) -> bool {
        if let Some(head) = Head::parse(line) {
            self.verdict = self.passes(&head, line);
        }
        self.verdict
    }

    fn passes(&self, head: &Head<'_>, line: &str) -> bool {
        let query = &self.query;
        query.level.is_none_or(|level| head.level >= level)
            && self.oldest.is_none_or(|oldest| head.time >= oldest)
            && query
                .component
                .is_none_or(|component| component.owns(head.logger))
            && query
                .session
                .as_ref()
                .is_none_or(|session| line.contains(session.as_str()))
    }
}

/// What a line begins with.
struct Head<'l> {
    time: DateTime,
    level: Level,
    logger: &'l str,
}

impl<'l> Head<'l> {
    fn parse(line: &'l str) -> Option<Self> {
        let (time, rest) = line.split_at_checked("2026-04-05 22:35:00".len())?;
        let (_milliseconds, rest) = rest.split_once(' ')?;
        let (level, rest) = rest.split_once(' ')?;
        let rest = match rest.strip_prefix('[') {
            Some(session) => session.split_once("] ")?.1,
            None => rest,
        };
        let (logger, _) = rest.split_once(": ").or_else(|| rest.split_once(':'))?;
        Some(Self {
            level: level.parse().ok()?,
            time: time.parse().ok()?,
            logger,
        })
    }
}
