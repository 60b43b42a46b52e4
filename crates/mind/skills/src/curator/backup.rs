//! All skills as they were before a run, in `skills/.curator_backups`.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use hermes_home::{Home, replace_file};
use jiff::civil::DateTime;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::format::FILE;
use crate::usage::now;
use crate::{Error, Result};

pub(super) const DIR: &str = ".curator_backups";
pub(super) const ARCHIVE: &str = "skills.tar.gz";
const TIME: &str = "%Y-%m-%dT%H-%M-%SZ";
const MANIFEST: &str = "manifest.json";
const CRON: &str = "cron-jobs.json";
/// Being written, or being removed: nobody's any more.
pub(super) const LOOSE: &str = ".loose-";

/// A backup that can be brought back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backup {
    pub id: String,
    pub reason: String,
    pub bytes: u64,
    pub skills: u64,
}

/// Packs all skills; needs the lock of the skills. The oldest beyond `keep` go, but not `spared`.
pub(super) fn take(home: &Home, reason: &str, keep: usize, spared: &[&str]) -> Result<String> {
    let dir = home.skills_dir().join(DIR);
    sweep(&dir);
    let partial = dir.join(format!("{LOOSE}{:08x}", fastrand::u32(..)));
    let made = make(home, reason, &partial);
    // A full disk must not be kept full by what did not fit.
    let id = made.inspect_err(|_| drop(fs::remove_dir_all(&partial)))?;
    let old = ids(&dir).into_iter().skip(keep.max(1));
    for old in old.filter(|old| *old != id && !spared.contains(&old.as_str())) {
        discard(&dir.join(old), &dir);
    }
    Ok(id)
}

/// Builds one in a loose directory, which then gets its name.
fn make(home: &Home, reason: &str, partial: &Path) -> Result<String> {
    let (own, dir) = (home.skills_dir(), home.skills_dir().join(DIR));
    fs::create_dir_all(partial).map_err(|error| Error::io("create", partial, &error))?;
    let archive = partial.join(ARCHIVE);
    let packed = pack(&own, &archive).map_err(|error| Error::io("pack", &own, &error))?;
    let jobs = home.dir().join("cron/jobs.json");
    let cron = match fs::copy(&jobs, partial.join(CRON)) {
        Ok(_) => json!({"backed_up": true, "jobs_count": count_jobs(&jobs)}),
        Err(_) => json!({"backed_up": false, "jobs_count": 0, "reason": "no cron/jobs.json"}),
    };
    let id = new_id(&dir, Timestamp::now());
    let manifest = json!({
        "archive": ARCHIVE, "archive_bytes": packed.bytes, "created_at": now(), "cron_jobs": cron,
        "id": id, "reason": reason, "skill_files": packed.skills,
    });
    replace_file(
        &partial.join(MANIFEST),
        format!("{manifest:#}"),
        home.modes(),
    )?;
    let target = dir.join(&id);
    fs::rename(partial, &target).map_err(|error| Error::io("create", &target, &error))?;
    Ok(id)
}

/// Those there are, newest first.
pub(super) fn list(home: &Home) -> Vec<Backup> {
    let dir = home.skills_dir().join(DIR);
    let backup = |id: String| {
        let path = dir.join(&id);
        let text = fs::read(path.join(MANIFEST)).unwrap_or_default();
        let manifest: Value = serde_json::from_slice(&text).unwrap_or_default();
        let size = fs::metadata(path.join(ARCHIVE)).map_or(0, |meta| meta.len());
        Backup {
            reason: manifest["reason"].as_str().unwrap_or_default().to_owned(),
            skills: manifest["skill_files"].as_u64().unwrap_or_default(),
            bytes: size,
            id,
        }
    };
    ids(&dir).into_iter().map(backup).collect()
}

/// Out of sight with one rename, then gone.
pub(super) fn discard(path: &Path, dir: &Path) {
    let loose = dir.join(format!("{LOOSE}{:08x}", fastrand::u32(..)));
    if fs::rename(path, &loose).is_ok() {
        let _ = fs::remove_dir_all(&loose); // the next one sweeps it
    }
}

/// What killed processes left half done.
pub(super) fn sweep(dir: &Path) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(LOOSE) {
            let _ = fs::remove_dir_all(entry.path()); // harmless where it is
        }
    }
}

/// What belongs to the hub, to this moment or to a repository, and is in no backup.
pub(super) fn is_left_out(path: &Path) -> bool {
    let name =
        |part: Option<&std::ffi::OsStr>| part.map(|name| name.to_string_lossy().into_owned());
    let last = name(path.file_name()).unwrap_or_default();
    let is_top = path.components().count() == 1;
    let passing =
        last.ends_with(".lock") || last.starts_with(".staging-") || last.starts_with(".aside-");
    last == ".git" || is_top && (passing || [DIR, ".hub"].contains(&last.as_str()))
}

struct Packed {
    bytes: u64,
    skills: u64,
}

fn pack(own: &Path, target: &Path) -> io::Result<Packed> {
    let file = File::create(target)?;
    let mut tar = tar::Builder::new(GzEncoder::new(file, Compression::default()));
    tar.follow_symlinks(false);
    let (mut pending, mut skills) = (vec![PathBuf::new()], 0);
    while let Some(dir) = pending.pop() {
        let mut entries = fs::read_dir(own.join(&dir))?.collect::<io::Result<Vec<_>>>()?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let path = dir.join(entry.file_name());
            let kind = entry.file_type()?;
            if is_left_out(&path) {
                continue;
            }
            if kind.is_dir() {
                tar.append_dir(&path, entry.path())?;
                pending.push(path);
            } else if kind.is_file() || kind.is_symlink() {
                let in_archive = path.starts_with(".archive");
                skills += u64::from(entry.file_name() == FILE && !in_archive);
                tar.append_path_with_name(entry.path(), &path)?;
            }
        }
    }
    let file = tar.into_inner()?.finish()?;
    file.sync_all()?;
    let bytes = file.metadata()?.len();
    Ok(Packed { bytes, skills })
}

fn count_jobs(path: &Path) -> usize {
    let text = fs::read(path).unwrap_or_default();
    let value: Value = serde_json::from_slice(&text).unwrap_or_default();
    let jobs = value.get("jobs").unwrap_or(&value);
    jobs.as_array().map_or(0, Vec::len)
}

/// `2026-01-31T10-20-30Z`, or with a number behind the newest of the same second. One behind a clock that has gone
/// back, too: by their names the newest is found, and the oldest are the ones that go.
fn new_id(dir: &Path, now: Timestamp) -> String {
    let time = now.strftime(TIME).to_string();
    let Some(newest) = ids(dir).into_iter().next() else {
        return time;
    };
    let (second, number) = newest.split_at_checked(time.len()).unwrap_or((&newest, ""));
    if second < time.as_str() {
        return time;
    }
    match number.trim_start_matches('-').parse().unwrap_or(0_u32) {
        number @ ..99 => format!("{second}-{:02}", number + 1),
        _ => {
            let full = DateTime::strptime(TIME, second).ok();
            let next = full.and_then(|full| full.checked_add(SignedDuration::from_secs(1)).ok());
            next.map_or(time, |next| next.strftime(TIME).to_string())
        }
    }
}

/// Newest first.
fn ids(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let is_backup = |id: &String| is_id(id) && dir.join(id).join(ARCHIVE).is_file();
    let mut ids: Vec<String> = names.filter(is_backup).collect();
    ids.sort();
    ids.reverse();
    ids
}

fn is_id(text: &str) -> bool {
    let shape = "0000-00-00T00-00-00Z";
    let (time, number) = text.split_at_checked(shape.len()).unwrap_or((text, ""));
    let fits = |(a, b): (char, char)| a == b || (b == '0' && a.is_ascii_digit());
    let is_number = number
        .strip_prefix('-')
        .is_some_and(|digits| digits.len() == 2 && digits.chars().all(|c| c.is_ascii_digit()));
    time.len() == shape.len()
        && time.chars().zip(shape.chars()).all(fits)
        && (number.is_empty() || is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_backups() {
        for good in ["2026-01-31T10-20-30Z", "2026-01-31T10-20-30Z-01"] {
            assert!(is_id(good), "{good}");
        }
        for bad in [
            "",
            "x",
            "2026-01-31T10:20:30Z",
            "2026-01-31T10-20-30Z-1",
            "../2026-01-31T10-20-3",
        ] {
            assert!(!is_id(bad), "{bad}");
        }
    }

    #[test]
    fn a_later_backup_has_a_later_name() {
        let dir = tempfile::tempdir().unwrap();
        let make = || {
            let id = new_id(dir.path(), "2026-01-31T10:20:30Z".parse().unwrap());
            fs::create_dir(dir.path().join(&id)).unwrap();
            fs::write(dir.path().join(&id).join(ARCHIVE), "").unwrap();
            id
        };
        let first = make();
        assert_eq!(
            (first.as_str(), make().as_str()),
            ("2026-01-31T10-20-30Z", "2026-01-31T10-20-30Z-01")
        );
        fs::remove_dir_all(dir.path().join(first)).unwrap();
        assert_eq!(make(), "2026-01-31T10-20-30Z-02");
        // The clock went back by an hour; and for so long that there are no numbers left.
        let earlier = "2026-01-31T09:00:00Z".parse().unwrap();
        assert_eq!(new_id(dir.path(), earlier), "2026-01-31T10-20-30Z-03");
        for last in ["2026-01-31T10-20-30Z-98", "2026-01-31T10-20-30Z-99"] {
            fs::create_dir(dir.path().join(last)).unwrap();
            fs::write(dir.path().join(last).join(ARCHIVE), "").unwrap();
        }
        let next = new_id(dir.path(), earlier);
        assert!(is_id(&next) && next == "2026-01-31T10-20-31Z", "{next}");
    }

    #[test]
    fn what_is_in_a_backup() {
        for out in [
            ".hub",
            ".curator_backups",
            ".write.lock",
            ".git",
            "a/.git",
            ".staging-1",
        ] {
            assert!(is_left_out(Path::new(out)), "{out}");
        }
        for kept in [
            "a",
            ".archive",
            ".usage.json",
            ".bundled_manifest",
            "a/.hub",
            "a/x.lock",
        ] {
            assert!(!is_left_out(Path::new(kept)), "{kept}");
        }
    }
}
