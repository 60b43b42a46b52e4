//! Whole months that nobody wants any more. What was removed is said in the chain itself, so that a beginning
//! that is missing for another reason is still noticed.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};

use super::head::last_line;
use super::{Action, Audit, Mark, OWN, month_file, months};
use crate::{Error, Result};

impl Audit {
    /// Removes the months that ended more than `keep` months ago; 0 keeps all. How many were removed.
    pub fn prune(&self, keep: u32, now: Timestamp) -> Result<usize> {
        let Some(limit) = limit(keep, now) else {
            return Ok(0);
        };
        let _lock = self.lock()?;
        let mut months = months(&self.dir)?;
        // The newest stays, whatever the clock says: the chain goes on from it.
        months.pop();
        months.retain(|path| path.file_name().is_some_and(|name| *name < *limit));
        for month in &months {
            self.remove(month, now)?;
        }
        Ok(months.len())
    }

    /// First said, then done: whoever is killed in between leaves a whole chain.
    fn remove(&self, month: &Path, now: Timestamp) -> Result<()> {
        let name = month.file_stem().unwrap_or_default().to_string_lossy();
        if let (Some((entry, hash)), _) = last_line(month)? {
            let action = Action {
                tool: OWN.to_owned(),
                about: format!("removed {name}: entries up to {}", entry.seq),
                decision: "audit.keep_months".to_owned(),
                outcome: "done".to_owned(),
                ..Action::default()
            };
            let mark = Mark {
                seq: entry.seq,
                hash,
            };
            self.extend(&action, now, Some(mark))?;
        }
        fs::remove_file(month).map_err(Error::io("remove", month))
    }
}

/// The first file to keep; `None`: all.
fn limit(keep: u32, now: Timestamp) -> Option<OsString> {
    let utc = now.to_zoned(TimeZone::UTC);
    let span = Span::new().try_months(keep).ok()?;
    let first = utc.checked_sub(span).ok()?;
    (keep > 0).then(|| month_file(first.timestamp()).into())
}
