//! Notices an agent that asks the same again and again.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use hermes_types::SessionId;

use super::Version;
use crate::files::recent::Recent;

const SESSIONS: usize = 256;
const REGIONS: usize = 1000;

/// The part of a file a read is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::files) struct Region {
    pub path: PathBuf,
    pub offset: usize,
    pub limit: usize,
}

/// Whether a read would tell anything new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::files) enum Seen {
    New,
    /// Nothing has changed since it was delivered.
    Unchanged,
    /// As before, and that was already said; how often it was asked for.
    Again(u32),
}

#[derive(Debug)]
pub(super) struct Repeats(Recent<SessionId, Session>);

#[derive(Debug)]
struct Session {
    delivered: Recent<Region, Delivered>,
    /// The last request with its answer, as a hash, and how often in a row.
    last: (u64, u32),
}

#[derive(Debug)]
struct Delivered {
    version: Version,
    /// How often in a row the answer was "unchanged".
    stubs: u32,
}

impl Default for Repeats {
    fn default() -> Self {
        Self(Recent::new(SESSIONS))
    }
}

impl Repeats {
    pub fn seen(&mut self, session: &SessionId, region: &Region, now: Version) -> Seen {
        let delivered = self
            .0
            .get_mut(session)
            .and_then(|session| session.delivered.get_mut(region))
            .filter(|delivered| delivered.version == now);
        let Some(delivered) = delivered else {
            return Seen::New;
        };
        delivered.stubs += 1;
        match delivered.stubs {
            1 => Seen::Unchanged,
            stubs => Seen::Again(stubs + 1),
        }
    }

    pub fn delivered(&mut self, session: &SessionId, region: Region, version: Version) {
        let delivered = Delivered { version, stubs: 0 };
        if let Some(session) = self.session(session) {
            session.delivered.insert(region, delivered);
        }
    }

    pub fn times_in_a_row(&mut self, session: &SessionId, request: &str, answer: &str) -> u32 {
        let mut hasher = DefaultHasher::new();
        (request, answer).hash(&mut hasher);
        let this = hasher.finish();
        let Some(session) = self.session(session) else {
            return 1;
        };
        session.last = match session.last {
            (last, times) if last == this => (this, times + 1),
            _ => (this, 1),
        };
        session.last.1
    }

    pub fn interrupted(&mut self, session: &SessionId) {
        if let Some(session) = self.0.get_mut(session) {
            session.last = (0, 0);
            session
                .delivered
                .values_mut()
                .for_each(|delivered| delivered.stubs = 0);
        }
    }

    /// Nothing counts as delivered any more.
    pub fn forget(&mut self, session: &SessionId) {
        self.0.remove(session);
    }

    /// Whoever wrote it: everybody may read the file again.
    pub fn was_written(&mut self, path: &Path) {
        for session in self.0.values_mut() {
            session.delivered.retain(|region| region.path != path);
        }
    }

    fn session(&mut self, id: &SessionId) -> Option<&mut Session> {
        if self.0.get(id).is_none() {
            let fresh = Session {
                delivered: Recent::new(REGIONS),
                last: (0, 0),
            };
            self.0.insert(id.clone(), fresh);
        }
        self.0.get_mut(id)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    fn region(path: &str) -> Region {
        Region {
            path: path.into(),
            offset: 1,
            limit: 500,
        }
    }

    fn version(seconds: u64) -> Version {
        Version {
            modified: SystemTime::UNIX_EPOCH + Duration::from_secs(seconds),
            size: 1,
        }
    }

    #[test]
    fn the_second_repetition_is_too_much_until_something_else_happens() {
        let (mut repeats, me) = (Repeats::default(), SessionId::from("me"));
        let a = region("/a");
        assert_eq!(repeats.seen(&me, &a, version(1)), Seen::New);
        repeats.delivered(&me, a.clone(), version(1));
        let other = SessionId::from("other");
        assert_eq!(repeats.seen(&other, &a, version(1)), Seen::New);
        assert_eq!(repeats.seen(&me, &a, version(1)), Seen::Unchanged);
        assert_eq!(repeats.seen(&me, &a, version(1)), Seen::Again(3));
        repeats.interrupted(&me);
        assert_eq!(repeats.seen(&me, &a, version(1)), Seen::Unchanged);
        assert_eq!(repeats.seen(&me, &a, version(2)), Seen::New);
        repeats.was_written(Path::new("/a"));
        assert_eq!(repeats.seen(&me, &a, version(1)), Seen::New);
    }

    #[test]
    fn only_the_same_answer_to_the_same_request_counts() {
        let (mut repeats, me) = (Repeats::default(), SessionId::from("me"));
        let mut ask = |request, answer| repeats.times_in_a_row(&me, request, answer);
        assert_eq!([ask("a", "1"), ask("a", "1"), ask("a", "1")], [1, 2, 3]);
        assert_eq!([ask("a", "2"), ask("b", "2"), ask("a", "2")], [1, 1, 1]);
    }

    #[test]
    fn old_regions_are_dropped() {
        let (mut repeats, me) = (Repeats::default(), SessionId::from("me"));
        for number in 0..=REGIONS {
            repeats.delivered(&me, region(&format!("/{number}")), version(1));
        }
        assert_eq!(repeats.seen(&me, &region("/0"), version(1)), Seen::New);
        assert_eq!(
            repeats.seen(&me, &region("/1"), version(1)),
            Seen::Unchanged
        );
    }
}
