//! The twelve `x-ratelimit-*` headers: how much more a server will take.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use hermes_types::{Bucket, RateLimits};
use reqwest::header::HeaderMap;

/// Header endings and what the bucket is called.
const BUCKETS: [(&str, &str); 4] = [
    ("requests", "requests per minute"),
    ("requests-1h", "requests per hour"),
    ("tokens", "tokens per minute"),
    ("tokens-1h", "tokens per hour"),
];

/// What a route's server said last.
#[derive(Debug, Default)]
pub(crate) struct Rates(Mutex<Option<RateLimits>>);

impl Rates {
    pub fn latest(&self) -> Option<RateLimits> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Keeps what a response says, if it says anything.
    pub fn note(&self, provider: &str, headers: &HeaderMap) -> Option<RateLimits> {
        let buckets = parse(headers);
        if buckets.is_empty() {
            return None;
        }
        let said = RateLimits {
            provider: provider.to_owned(),
            buckets,
            at: Instant::now(),
        };
        let mut latest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *latest = Some(said.clone());
        Some(said)
    }
}

fn parse(headers: &HeaderMap) -> Vec<Bucket> {
    let header = |what: &str, of: &str| {
        let value = headers.get(format!("x-ratelimit-{what}-{of}"))?;
        value.to_str().ok().map(str::trim)
    };
    let number = |text: &str| {
        text.parse::<f64>()
            .ok()
            .map(|number| number.max(0.0) as u64)
    };
    let bucket = |(of, name): (&str, &'static str)| {
        Some(Bucket {
            name,
            limit: header("limit", of)
                .and_then(number)
                .filter(|limit| *limit > 0)?,
            remaining: header("remaining", of).and_then(number)?,
            reset: header("reset", of).and_then(duration).unwrap_or_default(),
        })
    };
    BUCKETS.into_iter().filter_map(bucket).collect()
}

/// `59.2`, or `1h2m3.5s` and `20ms` as OpenAI writes it.
fn duration(text: &str) -> Option<Duration> {
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let mut seconds = 0.0;
    let mut rest = text;
    while !rest.is_empty() {
        let unit = rest.find(|c: char| c.is_ascii_alphabetic())?;
        let end = rest[unit..]
            .find(|c: char| !c.is_ascii_alphabetic())
            .map_or(rest.len(), |length| unit + length);
        let factor = match &rest[unit..end] {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3_600.0,
            "d" => 86_400.0,
            _ => return None,
        };
        seconds += rest[..unit].parse::<f64>().ok()? * factor;
        rest = &rest[end..];
    }
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;

    fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&str, &str)| {
            let name: HeaderName = format!("x-ratelimit-{name}").parse().unwrap();
            (name, HeaderValue::from_str(value).unwrap())
        };
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn complete_buckets_are_read() {
        let rates = Rates::default();
        let all = headers(&[
            ("limit-requests", "800"),
            ("remaining-requests", "795"),
            ("reset-requests", "58.5"),
            ("limit-tokens-1h", "336000000"),
            ("remaining-tokens-1h", "0"),
            ("reset-tokens-1h", "59m30s"),
            ("limit-tokens", "0"),
            ("remaining-requests-1h", "4"),
        ]);
        let said = rates.note("nous", &all).unwrap();
        let found: Vec<_> = said
            .buckets
            .iter()
            .map(|b| (b.name, b.limit, b.remaining, b.reset.as_millis()))
            .collect();
        assert_eq!(
            found,
            [
                ("requests per minute", 800, 795, 58_500),
                ("tokens per hour", 336_000_000, 0, 3_570_000)
            ]
        );
        // What says nothing changes nothing.
        assert_eq!(rates.note("nous", &HeaderMap::new()), None);
        assert_eq!(rates.latest(), Some(said));
    }

    #[test]
    fn durations_as_people_write_them() {
        let check = |text, millis: Option<u128>| {
            assert_eq!(duration(text).map(|d| d.as_millis()), millis, "{text}");
        };
        check("12", Some(12_000));
        check("20ms", Some(20));
        check("1h2m3.5s", Some(3_723_500));
        check("6m0s", Some(360_000));
        check("soon", None);
        check("-3", None);
        check("5 parsecs", None);
    }
}
