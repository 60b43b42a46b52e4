//! The Nous account's limit, shared by all processes of a home: `rate_limits/nous.json`. Once one of them was told
//! that the account has had enough, asking again only makes it worse.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use hermes_home::{Modes, replace_file};
use hermes_net::backoff;
use hermes_types::{ModelError, ModelErrorKind, RateLimits};
use jiff::Timestamp;
use reqwest::header::{HeaderMap, RETRY_AFTER};
use serde::{Deserialize, Serialize};

pub(crate) const PROVIDER: &str = "nous";

/// A bucket that is full again sooner is a burst, not the account's limit.
const GENUINE: Duration = Duration::from_secs(60);
/// If the server doesn't say how long.
const USUAL: Duration = Duration::from_secs(300);

#[derive(Clone, Debug)]
pub(crate) struct Guard {
    path: PathBuf,
}

/// The file; times in seconds since 1970.
#[derive(Debug, Deserialize, Serialize)]
struct Record {
    reset_at: f64,
    recorded_at: f64,
    reset_seconds: f64,
}

impl Guard {
    pub fn new(home: &Path) -> Self {
        Self {
            path: home.join("rate_limits").join("nous.json"),
        }
    }

    /// How long nobody should ask.
    pub fn left(&self, now: Timestamp) -> Option<Duration> {
        let text = fs::read_to_string(&self.path).ok()?;
        let record: Record = serde_json::from_str(&text).ok()?;
        let left = record.reset_at - now.as_millisecond() as f64 / 1e3;
        Duration::try_from_secs_f64(left)
            .ok()
            .filter(|left| !left.is_zero())
    }

    /// Notes a refusal, if the account is meant: an empty bucket now, or in the last good response.
    pub fn refused(&self, now: Option<&RateLimits>, before: Option<&RateLimits>, head: &HeaderMap) {
        let Some(reset) = now.or(before).and_then(exhausted) else {
            return;
        };
        let asked = head.get(RETRY_AFTER).and_then(|value| value.to_str().ok());
        let asked = asked.and_then(|text| backoff::retry_after(text, SystemTime::now()));
        self.record(asked.unwrap_or(reset), Timestamp::now());
    }

    fn record(&self, wait: Duration, now: Timestamp) {
        let wait = if wait.is_zero() { USUAL } else { wait };
        let recorded_at = now.as_millisecond() as f64 / 1e3;
        let record = Record {
            reset_at: recorded_at + wait.as_secs_f64(),
            recorded_at,
            reset_seconds: wait.as_secs_f64(),
        };
        let modes = Modes {
            dir: 0o700,
            secret: None,
        };
        let text = serde_json::to_string(&record).unwrap_or_default();
        let dir = self.path.parent().unwrap_or(&self.path);
        let written = fs::create_dir_all(dir)
            .map_err(|error| error.to_string())
            .and_then(|()| {
                replace_file(&self.path, text, &modes).map_err(|error| error.to_string())
            });
        if let Err(error) = written {
            tracing::warn!("the limit was not written down: {error}");
        }
    }

    /// The account is served again.
    pub fn clear(&self) {
        // Usually it isn't there.
        let _ = fs::remove_file(&self.path);
    }
}

/// How long the account must wait, if one of its buckets is empty for long.
fn exhausted(limits: &RateLimits) -> Option<Duration> {
    let empty = limits.buckets.iter().filter(|bucket| bucket.remaining == 0);
    let resets = empty.map(|bucket| bucket.reset);
    resets.filter(|reset| *reset >= GENUINE).max()
}

pub(crate) fn blocked(left: Duration) -> ModelError {
    let mut error = ModelError::new(
        ModelErrorKind::RateLimit,
        format!(
            "The Nous account has reached its limit; it is served again in {} s. \
             Another model meanwhile: `hermes fallback add PROVIDER:MODEL`",
            left.as_secs() + 1
        ),
    );
    error.retry_after = Some(left);
    error
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use hermes_types::Bucket;

    use super::*;

    fn limits(remaining: u64, reset: u64) -> RateLimits {
        RateLimits {
            provider: PROVIDER.to_owned(),
            buckets: vec![Bucket {
                name: "tokens per hour",
                limit: 10,
                remaining,
                reset: Duration::from_secs(reset),
            }],
            at: Instant::now(),
        }
    }

    #[test]
    fn only_an_empty_account_is_written_down() {
        let home = tempfile::tempdir().unwrap();
        let guard = Guard::new(home.path());
        let check = |now: Option<RateLimits>, before: Option<RateLimits>, blocked| {
            guard.clear();
            guard.refused(now.as_ref(), before.as_ref(), &HeaderMap::new());
            let left = guard.left(Timestamp::now());
            assert_eq!(left.is_some(), blocked, "{now:?} {before:?}");
        };
        check(None, None, false);
        check(Some(limits(0, 30)), None, false);
        check(Some(limits(5, 3_000)), None, false);
        check(Some(limits(0, 3_000)), None, true);
        check(None, Some(limits(0, 90)), true);
        // The wait is over.
        guard.record(Duration::from_secs(90), Timestamp::UNIX_EPOCH);
        assert_eq!(guard.left(Timestamp::now()), None);
    }
}
