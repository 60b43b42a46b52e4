//! What becomes of a skill that is not used: a pure matter of its record and the clock.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::provenance::Source;
use crate::usage::Record;

/// What counts as a sign of life. `restored_at`: its owner wanted it back.
const SIGNS: [&str; 4] = [
    "last_used_at",
    "last_viewed_at",
    "last_patched_at",
    "restored_at",
];

/// How long a skill may lie around; `None`: for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    pub stale_after: Option<SignedDuration>,
    pub archive_after: Option<SignedDuration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Stale,
    Archive,
    /// It was stale and is of use again.
    Activate,
}

/// What is to be done with a skill now; `None`: nothing.
pub fn decide(
    record: &Record,
    source: Source,
    now: Timestamp,
    patience: &Patience,
) -> Option<Step> {
    if !is_managed(record, source) || record.is_pinned() {
        return None;
    }
    let idle = now.duration_since(anchor(record)?);
    let is_over = |limit: Option<SignedDuration>| limit.is_some_and(|limit| idle >= limit);
    let is_stale = record.text("state") == Some("stale");
    match (
        is_over(patience.archive_after),
        is_over(patience.stale_after),
    ) {
        (true, _) => Some(Step::Archive),
        (false, true) => (!is_stale).then_some(Step::Stale),
        (false, false) => is_stale.then_some(Step::Activate),
    }
}

/// Whether the curator may touch it at all: the agent made it on its own, here.
pub fn is_managed(record: &Record, source: Source) -> bool {
    source == Source::Local && record.is_agents()
}

/// The last sign of life, else its beginning.
pub fn anchor(record: &Record) -> Option<Timestamp> {
    let at = |field: &str| record.text(field).and_then(moment);
    let latest = SIGNS.into_iter().filter_map(at).max();
    latest.or_else(|| at("created_at"))
}

/// A time as programs write it; without a zone it is UTC.
pub fn moment(text: &str) -> Option<Timestamp> {
    let zoned = text.parse::<Timestamp>().ok();
    zoned.or_else(|| {
        let plain: DateTime = text.parse().ok()?;
        plain.to_zoned(TimeZone::UTC).ok().map(|at| at.timestamp())
    })
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::{Value, json};

    use super::*;

    const PATIENCE: Patience = Patience {
        stale_after: Some(SignedDuration::from_hours(30 * 24)),
        archive_after: Some(SignedDuration::from_hours(90 * 24)),
    };

    fn now() -> Timestamp {
        "2026-06-01T12:00:00Z".parse().unwrap()
    }

    fn ago(days: i64) -> String {
        let at = now() - SignedDuration::from_hours(days * 24);
        at.strftime("%Y-%m-%dT%H:%M:%S%.6f+00:00").to_string()
    }

    fn record(value: Value) -> Record {
        Record(value.as_object().unwrap().clone())
    }

    fn agents(days: i64, more: Value) -> Record {
        let mut all =
            record(json!({"created_by": "agent", "state": "active", "last_used_at": ago(days)}));
        all.0.extend(more.as_object().unwrap().clone());
        all
    }

    #[track_caller]
    fn check(record: Record, expected: Option<Step>) {
        assert_eq!(
            decide(&record, Source::Local, now(), &PATIENCE),
            expected,
            "{record:?}"
        );
    }

    #[test]
    fn idle_skills_become_stale_and_then_go() {
        check(agents(0, json!({})), None);
        check(agents(29, json!({})), None);
        check(agents(30, json!({})), Some(Step::Stale));
        check(agents(31, json!({"state": null})), Some(Step::Stale));
        check(agents(89, json!({"state": "stale"})), None);
        check(agents(90, json!({})), Some(Step::Archive));
        check(agents(91, json!({"state": "stale"})), Some(Step::Archive));
        check(agents(3, json!({"state": "stale"})), Some(Step::Activate));
        // Ahead of our clock is not idle.
        check(agents(-5, json!({})), None);
    }

    #[test]
    fn every_sign_of_life_counts() {
        for sign in SIGNS {
            check(agents(91, json!({sign: ago(2)})), None);
        }
        let created = |at: Value| {
            record(json!({"created_by": "agent", "created_at": at, "last_used_at": null}))
        };
        check(created(json!(ago(91))), Some(Step::Archive));
        check(created(json!("2026-05-30T01:02:03")), None);
        check(created(json!("2025-05-30T01:02:03Z")), Some(Step::Archive));
        // Nobody knows how old it is.
        check(created(json!("long ago")), None);
        check(created(json!(null)), None);
        // Used later than it was made: its beginning says nothing any more.
        check(agents(1, json!({"created_at": ago(400)})), None);
    }

    #[test]
    fn what_is_not_the_curators_is_left_alone() {
        check(agents(400, json!({"pinned": true})), None);
        check(agents(400, json!({"created_by": null})), None);
        check(agents(400, json!({"created_by": "user"})), None);
        let legacy = json!({"created_by": null, "agent_created": true});
        check(agents(400, legacy), Some(Step::Archive));
        for source in [Source::Bundled, Source::Hub, Source::External] {
            let old = agents(400, json!({}));
            assert_eq!(decide(&old, source, now(), &PATIENCE), None);
        }
    }

    #[test]
    fn without_a_limit_nothing_happens() {
        let for_ever = Patience {
            stale_after: None,
            archive_after: None,
        };
        assert_eq!(
            decide(&agents(999, json!({})), Source::Local, now(), &for_ever),
            None
        );
    }
}
