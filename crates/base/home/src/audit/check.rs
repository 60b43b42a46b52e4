//! How the log is doing, without reading all of it; and the note about when somebody last did.

use std::fs;
use std::path::Path;

use hermes_types::Finding;
use jiff::Timestamp;

use super::head::Head;
use super::read::lines;
use super::verify::{Report, verify};
use super::{dir, months};
use crate::config::Settings;
use crate::{FileLock, Home, Result, clock, replace_file};

/// Follows the chain, and takes note of it.
pub fn verify_and_note(home: &Home, now: Timestamp) -> Result<Report> {
    let dir = dir(home);
    let report = verify(&dir)?;
    if report.entries > 0 {
        let note = format!("{now} {}\n", report.problems.len());
        // Whoever may only read the home still learns the result.
        let _ = replace_file(&dir.join("verified"), note, home.modes());
    }
    Ok(report)
}

/// What `hermes doctor` says about it.
pub fn check(home: &Home, settings: &Settings) -> Finding {
    let dir = dir(home);
    if !settings.is_on("audit.enabled") {
        return Finding::ok("off (audit.enabled)");
    }
    if !dir.is_dir() {
        return Finding::ok("nothing is recorded yet");
    }
    let lock = FileLock::try_acquire(&dir.join(".lock"));
    let (entries, bytes) = match count(&dir).and_then(|counted| lock.map(|_| counted)) {
        Ok(counted) => counted,
        Err(error) => {
            return Finding::warning(
                error.to_string(),
                "what the tools do is not written down",
                format!("make {} writable", dir.display()),
            );
        }
    };
    let size = bytes.div_ceil(1024);
    let text = format!("{entries} entries, {size} KB");
    match verified(&dir) {
        None => Finding::ok(format!("{text}, never verified")),
        Some((when, 0)) => Finding::ok(format!("{text}, verified {when}")),
        Some((when, problems)) => Finding::error(
            format!("{text}, problems on {when}: {problems}"),
            "what is written there may not be what was done",
            "run `hermes audit verify`, which names every place",
        ),
    }
}

/// When the chain was last followed to its end, and how much was wrong with it.
fn verified(dir: &Path) -> Option<(String, usize)> {
    let note = fs::read_to_string(dir.join("verified")).ok()?;
    let (at, problems) = note.trim().split_once(' ')?;
    let at = clock::local(at.parse().ok()?);
    let when = at.strftime("%Y-%m-%d %H:%M").to_string();
    Some((when, problems.parse().ok()?))
}

/// Entries, by the numbers of the first and the last, and bytes.
fn count(dir: &Path) -> Result<(u64, u64)> {
    let sizes = months(dir)?.into_iter().map(fs::metadata);
    let bytes = sizes.flatten().map(|file| file.len()).sum();
    let first = lines(dir)?.find_map(|line| line.ok()?.entry.ok());
    let entries = match first {
        Some((first, _)) => (Head::find(dir)?.seq + 1).saturating_sub(first.seq),
        None => 0,
    };
    Ok((entries, bytes))
}
