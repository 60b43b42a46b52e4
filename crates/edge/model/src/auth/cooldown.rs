//! How long a key that failed is left alone, and what servers say about it in their many ways.

use std::sync::LazyLock;
use std::time::Duration;

use jiff::Timestamp;
use regex::Regex;
use serde_json::Value;

/// A wrong key may only have been a hiccup of the server.
const AFTER_AUTH: Duration = Duration::from_secs(5 * 60);
const AFTER_OTHERS: Duration = Duration::from_secs(60 * 60);
/// Larger numbers are milliseconds.
const MILLISECONDS_FROM: f64 = 1e12;

/// Why a key is not to be used for a while.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Spent {
    pub code: Option<u16>,
    /// One word: `rate_limit`, `billing`, `auth`.
    pub reason: String,
    /// What the server said, without secrets.
    pub message: String,
    /// When it is good again, if the server said.
    pub reset_at: Option<Timestamp>,
}

/// How long a key rests after this status.
pub(crate) fn rest(code: Option<u16>) -> Duration {
    match code {
        Some(401) => AFTER_AUTH,
        _ => AFTER_OTHERS,
    }
}

/// When a refused key is good again, according to the body of the refusal.
pub(crate) fn reset_in(body: &str, now: Timestamp) -> Option<Timestamp> {
    let named = serde_json::from_str(body)
        .ok()
        .and_then(|body| named(&body, now));
    named.or_else(|| later(now, delay_in(body)?))
}

/// A moment as servers and files write it: epoch seconds, epoch milliseconds, ISO 8601.
pub(crate) fn moment(value: &Value) -> Option<Timestamp> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => match text.trim().parse() {
            Ok(number) => Some(number),
            Err(_) => return date(text.trim()),
        },
        _ => None,
    };
    let number = number.filter(|number| *number > 0.0 && number.is_finite())?;
    let seconds = match number > MILLISECONDS_FROM {
        true => number / 1000.0,
        false => number,
    };
    later(
        Timestamp::UNIX_EPOCH,
        Duration::try_from_secs_f64(seconds).ok()?,
    )
}

/// Dates without a zone are UTC.
fn date(text: &str) -> Option<Timestamp> {
    let zoned: Option<Timestamp> = text.parse().ok();
    zoned.or_else(|| {
        let civil: jiff::civil::DateTime = text.parse().ok()?;
        Some(civil.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp())
    })
}

fn named(body: &Value, now: Timestamp) -> Option<Timestamp> {
    let places = [&body["error"]["metadata"], &body["error"], body];
    let at = ["reset_at", "resets_at", "retry_until"];
    let after = ["resets_in_seconds", "retry_after", "retry_after_seconds"];
    places.into_iter().find_map(|place| {
        let absolute = at.iter().find_map(|name| moment(&place[*name]));
        let relative = || after.iter().find_map(|name| place[*name].as_f64());
        absolute.or_else(|| later(now, Duration::try_from_secs_f64(relative()?).ok()?))
    })
}

fn delay_in(text: &str) -> Option<Duration> {
    static QUOTA: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r#"(?i)quotaResetDelay[\\":\s]+(\d+(?:\.\d+)?)(ms|s)"#).ok());
    static RETRY: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(?i)(?:retry|try again)\s+(?:after\s+|in\s+)?(\d+(?:\.\d+)?)\s*(ms|s(?:ec(?:ond)?s?)?)\b").ok()
    });
    let mut found = [&QUOTA, &RETRY]
        .into_iter()
        .filter_map(|pattern| pattern.as_ref()?.captures(text));
    let found = found.next()?;
    let amount: f64 = found[1].parse().ok()?;
    let seconds = match found[2].eq_ignore_ascii_case("ms") {
        true => amount / 1000.0,
        false => amount,
    };
    Duration::try_from_secs_f64(seconds).ok()
}

fn later(from: Timestamp, by: Duration) -> Option<Timestamp> {
    from.checked_add(jiff::SignedDuration::try_from(by).ok()?)
        .ok()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    const NOW: i64 = 1_800_000_000;

    #[test]
    fn moments_as_people_write_them() {
        let check = |value: Value, expected: Option<i64>| {
            assert_eq!(
                moment(&value).map(Timestamp::as_second),
                expected,
                "{value}"
            );
        };
        check(json!(1_800_000_000), Some(1_800_000_000));
        check(json!(1_800_000_000.5), Some(1_800_000_000));
        check(json!(1_800_000_000_123_u64), Some(1_800_000_000));
        check(json!("1800000000"), Some(1_800_000_000));
        check(json!("2027-01-15T08:00:00Z"), Some(1_800_000_000));
        check(json!("2027-01-15T09:00:00+01:00"), Some(1_800_000_000));
        check(json!("2027-01-15T08:00:00"), Some(1_800_000_000));
        for odd in [
            json!(0),
            json!(-5),
            json!(""),
            json!("soon"),
            json!(null),
            json!([1]),
        ] {
            check(odd, None);
        }
    }

    #[test]
    fn resets_as_servers_tell_them() {
        let now = Timestamp::from_second(NOW).unwrap();
        let check = |body: &str, seconds: Option<i64>| {
            let found = reset_in(body, now).map(|at| at.as_second() - NOW);
            assert_eq!(found, seconds, "{body}");
        };
        check(r#"{"error": {"resets_at": 1800000300}}"#, Some(300));
        check(r#"{"error": {"reset_at": 1800000300000}}"#, Some(300));
        check(r#"{"reset_at": "2027-01-15T08:05:00Z"}"#, Some(300));
        check(r#"{"error": {"resets_in_seconds": 90}}"#, Some(90));
        check(r#"{"error": {"metadata": {"retry_after": 7}}}"#, Some(7));
        check(
            r#"{"error": {"message": "Please retry after 20 seconds"}}"#,
            Some(20),
        );
        check("Rate limit reached, try again in 30s.", Some(30));
        check("retry 2.5 s", Some(2));
        check(r#"{"quotaResetDelay":"1500ms"}"#, Some(1));
        check(
            r#"{"error": {"message": "{\"quotaResetDelay\": \"42.7s\"}"}}"#,
            Some(42),
        );
        check("retry after lunch", None);
        check("we retried 3 servers", None);
        check("", None);
    }

    #[test]
    fn a_wrong_key_rests_less_than_an_empty_one() {
        let check = |code, minutes: u64| assert_eq!(rest(code), Duration::from_secs(minutes * 60));
        check(Some(401), 5);
        check(Some(429), 60);
        check(Some(402), 60);
        check(Some(403), 60);
        check(None, 60);
    }
}
