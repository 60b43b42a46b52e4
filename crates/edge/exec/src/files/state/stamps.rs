//! Who has read and who has written which file, to warn an agent that is about to write over news.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use hermes_types::SessionId;

use super::{Version, View};
use crate::files::recent::Recent;

const SESSIONS: usize = 256;
const PATHS: usize = 4096;

#[derive(Debug)]
pub(super) struct Stamps {
    reads: Recent<SessionId, Recent<PathBuf, Read>>,
    /// The last writer of each path.
    writes: Recent<PathBuf, Write>,
}

#[derive(Debug)]
struct Read {
    version: Version,
    at: SystemTime,
    view: View,
}

#[derive(Debug)]
struct Write {
    by: SessionId,
    at: SystemTime,
}

impl Default for Stamps {
    fn default() -> Self {
        Self {
            reads: Recent::new(SESSIONS),
            writes: Recent::new(PATHS),
        }
    }
}

impl Stamps {
    pub fn was_read(&mut self, session: &SessionId, path: PathBuf, version: Version, view: View) {
        let at = SystemTime::now();
        self.stamp(session, path, Read { version, at, view });
    }

    /// A writer knows what it wrote, so it has read the file as well.
    pub fn was_written(
        &mut self,
        session: &SessionId,
        path: PathBuf,
        version: Version,
        at: SystemTime,
    ) {
        let by = session.clone();
        self.writes.insert(path.clone(), Write { by, at });
        let view = View::Whole;
        self.stamp(session, path, Read { version, at, view });
    }

    pub fn was_removed(&mut self, path: &Path) {
        let path = path.to_owned();
        self.writes.remove(&path);
        self.reads
            .values_mut()
            .for_each(|reads| reads.remove(&path));
    }

    /// What could be lost by a write now; the most telling reason only.
    pub fn warning(&self, session: &SessionId, path: &Path, now: Version) -> Option<String> {
        let path = path.to_owned();
        let read = self.reads.get(session).and_then(|reads| reads.get(&path));
        let write = self.writes.get(&path);
        let shown = path.display();
        match (read, write) {
            (None, Some(write)) if write.by != *session => Some(format!(
                "{shown} was written by sibling agent '{}' and you have never read it. Read it before writing.",
                write.by
            )),
            (Some(read), Some(write)) if write.by != *session && write.at > read.at => {
                Some(format!(
                    "{shown} was written by sibling agent '{}' at {}, after you read it at {}. Read it again before writing.",
                    write.by,
                    time_of_day(write.at),
                    time_of_day(read.at),
                ))
            }
            (Some(read), _) if read.version != now => Some(format!(
                "{shown} was changed by somebody else since you last read it. Read it again before writing."
            )),
            (Some(read), _) if read.view == View::Partial => Some(format!(
                "You have read only a part of {shown}. Read all of it before replacing it."
            )),
            (None, Some(_)) => Some(format!(
                "You have not read {shown} recently. Read it before writing."
            )),
            _ => None,
        }
    }

    /// What `session` has read and others have written since then.
    pub fn changed_by_others(&self, session: &SessionId, since: SystemTime) -> Vec<PathBuf> {
        let Some(reads) = self.reads.get(session) else {
            return Vec::new();
        };
        let news = |(path, write): &(&PathBuf, &Write)| {
            write.by != *session && write.at >= since && reads.get(path).is_some()
        };
        let changed = self.writes.iter().filter(news);
        let mut paths: Vec<PathBuf> = changed.map(|(path, _)| path.clone()).collect();
        paths.sort();
        paths
    }

    pub fn forget(&mut self, session: &SessionId) {
        self.reads.remove(session);
    }

    fn stamp(&mut self, session: &SessionId, path: PathBuf, read: Read) {
        if self.reads.get(session).is_none() {
            self.reads.insert(session.clone(), Recent::new(PATHS));
        }
        if let Some(reads) = self.reads.get_mut(session) {
            reads.insert(path, read);
        }
    }
}

/// `HH:MM:SS UTC`: only the order matters here, and that needs no time zone.
fn time_of_day(at: SystemTime) -> String {
    let seconds = at
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs();
    let (hours, minutes) = (seconds / 3600 % 24, seconds / 60 % 60);
    format!("{hours:02}:{minutes:02}:{:02} UTC", seconds % 60)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const PATH: &str = "/f";

    fn version(size: u64) -> Version {
        Version {
            modified: SystemTime::UNIX_EPOCH,
            size,
        }
    }

    /// What `me` is warned of after `history`, when the file is at version 1.
    fn check(history: &[&str], expected: Option<&str>) {
        let mut stamps = Stamps::default();
        for (at, event) in history.iter().enumerate() {
            let (who, what) = event.split_once(' ').unwrap();
            let (session, path) = (SessionId::from(who), PathBuf::from(PATH));
            let at = SystemTime::now() + Duration::from_secs(at as u64);
            match what {
                "reads" => stamps.was_read(&session, path, version(1), View::Whole),
                "reads a part" => stamps.was_read(&session, path, version(1), View::Partial),
                "reads an old version" => {
                    stamps.was_read(&session, path, version(0), View::Whole);
                }
                "writes" => stamps.was_written(&session, path, version(1), at),
                other => panic!("{other}"),
            }
        }
        let warning = stamps.warning(&"me".into(), Path::new(PATH), version(1));
        match expected {
            Some(text) => assert!(
                warning
                    .as_ref()
                    .is_some_and(|warning| warning.contains(text)),
                "{history:?}: {warning:?}"
            ),
            None => assert_eq!(warning, None, "{history:?}"),
        }
    }

    #[test]
    fn warnings_name_the_most_telling_reason() {
        check(&[], None);
        check(&["me reads"], None);
        check(&["me writes"], None);
        check(&["other reads"], None);
        check(
            &["other writes"],
            Some("sibling agent 'other' and you have never"),
        );
        check(&["me reads", "other writes"], Some("after you read it at"));
        check(&["me reads a part", "other writes"], Some("after you read"));
        check(&["me reads an old version"], Some("somebody else"));
        check(&["me reads a part"], Some("only a part"));
        check(&["me reads", "other writes", "me writes"], None);
    }

    #[test]
    fn a_parent_learns_what_changed_under_it() {
        let mut stamps = Stamps::default();
        let (parent, child) = (SessionId::from("parent"), SessionId::from("child"));
        let start = SystemTime::now();
        for path in ["/a", "/b", "/c"] {
            stamps.was_read(&parent, path.into(), version(1), View::Whole);
        }
        stamps.was_written(&child, "/a".into(), version(2), start);
        stamps.was_written(&parent, "/b".into(), version(2), start);
        stamps.was_written(&child, "/unread".into(), version(2), start);
        stamps.forget(&child);
        let since = |at| stamps.changed_by_others(&parent, at);
        assert_eq!(since(start), [PathBuf::from("/a")]);
        assert_eq!(since(start + Duration::from_secs(1)), Vec::<PathBuf>::new());
        stamps.forget(&parent);
        assert_eq!(
            stamps.changed_by_others(&parent, start),
            Vec::<PathBuf>::new()
        );
    }

    #[test]
    fn times() {
        let at = SystemTime::UNIX_EPOCH + Duration::from_secs(86_400 + 3661);
        assert_eq!(time_of_day(at), "01:01:01 UTC");
    }
}
