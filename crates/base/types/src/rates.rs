//! How much more a server will take, as its headers tell.

use std::fmt;
use std::time::{Duration, Instant};

/// What one response said.
#[derive(Clone, Debug, PartialEq)]
pub struct RateLimits {
    /// `provider`, whose limits these are.
    pub provider: String,
    pub buckets: Vec<Bucket>,
    /// When it was said.
    pub at: Instant,
}

/// One allowance: so many per so long.
#[derive(Clone, Debug, PartialEq)]
pub struct Bucket {
    /// For people: `requests per minute`, `tokens per hour`, …
    pub name: &'static str,
    pub limit: u64,
    pub remaining: u64,
    /// Until it is full again, counted from when it was said.
    pub reset: Duration,
}

impl RateLimits {
    /// How long until this bucket is full again, now.
    pub fn until_reset(&self, bucket: &Bucket) -> Duration {
        bucket.reset.saturating_sub(self.at.elapsed())
    }
}

/// One line per bucket.
impl fmt::Display for RateLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, bucket) in self.buckets.iter().enumerate() {
            let gap = if index == 0 { "" } else { "\n" };
            let Bucket {
                name,
                limit,
                remaining,
                ..
            } = bucket;
            let reset = self.until_reset(bucket).as_secs();
            write!(
                f,
                "{gap}{name}: {remaining} of {limit} left, full again in {reset} s"
            )?;
        }
        Ok(())
    }
}
