//! How long to wait before trying again. Pure: chance and the clock are parameters.

use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use jiff::fmt::rfc2822;

/// A wait that doubles with each attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    pub first: Duration,
    pub longest: Duration,
}

impl Backoff {
    /// The wait after failed attempt number `attempt` (from 1): up to half of it is added at random, so that
    /// clients that failed together don't come back together. `chance` is uniform in 0..1.
    pub fn wait(&self, attempt: u32, chance: f64) -> Duration {
        let doubled = 2u32.saturating_pow(attempt.saturating_sub(1));
        let wait = self.first.saturating_mul(doubled).min(self.longest);
        wait + wait.mul_f64(chance.clamp(0.0, 1.0) / 2.0)
    }
}

/// Reads a `Retry-After` header: seconds, or a date to compare with `now`.
pub fn retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = rfc2822::parse(value).ok()?.timestamp();
    let now = Timestamp::try_from(now).ok()?;
    Some(Duration::try_from(date.duration_since(now)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_limit() {
        let backoff = Backoff {
            first: Duration::from_secs(2),
            longest: Duration::from_secs(60),
        };
        let check = |attempt, chance, seconds: f64| {
            let expected = Duration::from_secs_f64(seconds);
            assert_eq!(backoff.wait(attempt, chance), expected, "attempt {attempt}");
        };
        check(1, 0.0, 2.0);
        check(2, 0.0, 4.0);
        check(5, 0.0, 32.0);
        check(6, 0.0, 60.0);
        check(u32::MAX, 0.0, 60.0);
        check(1, 1.0, 3.0);
        check(6, 0.5, 75.0);
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_445_412_480);
        let check = |value, seconds: Option<f64>| {
            let expected = seconds.map(Duration::from_secs_f64);
            assert_eq!(retry_after(value, now), expected, "{value}");
        };
        check("1", Some(1.0));
        check(" 0.5 ", Some(0.5));
        check("Wed, 21 Oct 2015 07:28:30 GMT", Some(30.0));
        check("Wed, 21 Oct 2015 07:27:00 GMT", Some(0.0));
        check("-3", None);
        check("soon", None);
        check("nan", None);
    }
}
