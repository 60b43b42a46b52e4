//! How much more a server will take, as its headers tell.

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
