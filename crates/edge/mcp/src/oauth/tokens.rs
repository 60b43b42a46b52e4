//! The tokens of a server as they are stored, and how long they last. Pure.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Number, Value, json};

use crate::config::Secret;
use crate::oauth::store::{Fields, Stored};

/// A token with less left than this is renewed before it is used.
const MARGIN: f64 = 30.0;

#[derive(Clone, Debug)]
pub(crate) struct Tokens {
    pub access: Secret,
    pub refresh: Option<Secret>,
    /// Seconds since the epoch; `None` if nobody said.
    expires_at: Option<f64>,
    lifetime: Option<f64>,
    fields: Fields,
}

impl Tokens {
    /// `None` for a document without a token.
    pub(crate) fn read(stored: Stored) -> Option<Self> {
        let Stored { fields, modified } = stored;
        let lifetime = number(&fields, "expires_in").filter(|seconds| *seconds > 0.0);
        let written = modified.map(epoch);
        let expires_at = number(&fields, "expires_at")
            .or_else(|| written.zip(lifetime).map(|(start, length)| start + length));
        Some(Self {
            access: secret(&fields, "access_token")?,
            refresh: secret(&fields, "refresh_token"),
            expires_at,
            lifetime,
            fields,
        })
    }

    pub(crate) fn secrets(&self) -> impl Iterator<Item = &Secret> {
        [&self.access].into_iter().chain(&self.refresh)
    }

    /// Whether it is time to renew them. A token that never lasts long is renewed in the middle of its life.
    pub(crate) fn is_stale(&self, now: SystemTime) -> bool {
        let margin = self
            .lifetime
            .map_or(MARGIN, |length| MARGIN.min(length / 2.0));
        self.expires_at.is_some_and(|end| end - epoch(now) < margin)
    }

    pub(crate) fn is_expired(&self, now: SystemTime) -> bool {
        self.expires_at.is_some_and(|end| end <= epoch(now))
    }

    /// What to store after a renewal: what the answer does not speak of stays as it was.
    pub(crate) fn renewed(&self, answer: Fields, now: SystemTime) -> Fields {
        let mut fields = self.fields.clone();
        fields.remove("expires_in");
        fields.remove("expires_at");
        fields.extend(answer.into_iter().filter(|(_, value)| !value.is_null()));
        dated(fields, now)
    }
}

/// An answer of the token endpoint as it is stored: with the time at which it expires.
pub(crate) fn dated(mut fields: Fields, now: SystemTime) -> Fields {
    fields.retain(|_, value| !value.is_null());
    let is_bearer = |kind: &Value| {
        kind.as_str()
            .is_some_and(|kind| kind.eq_ignore_ascii_case("bearer"))
    };
    if fields.get("token_type").is_none_or(is_bearer) {
        fields.insert("token_type".to_owned(), json!("Bearer"));
    }
    fields.remove("expires_at");
    let length = number(&fields, "expires_in").filter(|seconds| *seconds > 0.0);
    let end = length.and_then(|length| Number::from_f64(epoch(now) + length));
    if let Some(end) = end {
        fields.insert("expires_at".to_owned(), Value::Number(end));
    }
    fields
}

/// A text field that says something.
pub(crate) fn text<'a>(fields: &'a Fields, name: &str) -> Option<&'a str> {
    let value = fields.get(name)?.as_str()?;
    (!value.is_empty()).then_some(value)
}

pub(crate) fn secret(fields: &Fields, name: &str) -> Option<Secret> {
    text(fields, name).map(Secret::new)
}

/// Some servers send numbers as texts.
pub(crate) fn number(fields: &Fields, name: &str) -> Option<f64> {
    let value = match fields.get(name)? {
        Value::String(text) => text.trim().parse().ok()?,
        value => value.as_f64()?,
    };
    value.is_finite().then_some(value)
}

/// Seconds since 1970; negative before.
pub(crate) fn epoch(time: SystemTime) -> f64 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(since) => since.as_secs_f64(),
        Err(before) => -before.duration().as_secs_f64(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use pretty_assertions::assert_eq;

    use super::*;

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    fn tokens(fields: Value, modified: Option<SystemTime>) -> Tokens {
        let fields = fields.as_object().unwrap().clone();
        Tokens::read(Stored { fields, modified }).unwrap()
    }

    #[test]
    fn when_a_token_is_stale() {
        let check = |fields: Value, modified: u64, now: u64, stale: bool, expired: bool| {
            let tokens = tokens(fields.clone(), Some(at(modified)));
            assert_eq!(tokens.is_stale(at(now)), stale, "{fields} at {now}");
            assert_eq!(tokens.is_expired(at(now)), expired, "{fields} at {now}");
        };
        let dated = json!({"access_token": "a", "expires_in": 3600, "expires_at": 5000.5});
        check(dated.clone(), 0, 4970, false, false);
        check(dated.clone(), 0, 4971, true, false);
        check(dated, 0, 5001, true, true);
        let undated = json!({"access_token": "a", "expires_in": "100"});
        check(undated.clone(), 1000, 1069, false, false);
        check(undated, 1000, 1100, true, true);
        let short = json!({"access_token": "a", "expires_in": 10, "expires_at": 1010});
        check(short.clone(), 0, 1004, false, false);
        check(short, 0, 1006, true, false);
        for unknown in [
            json!({"access_token": "a"}),
            json!({"access_token": "a", "expires_in": 0}),
            json!({"access_token": "a", "expires_in": "soon"}),
        ] {
            check(unknown, 1000, 9_999_999_999, false, false);
        }
    }

    #[test]
    fn a_renewal_keeps_what_the_answer_leaves_out() {
        let old = tokens(
            json!({"access_token": "a", "refresh_token": "r", "expires_in": 5, "expires_at": 7, "id": "x"}),
            None,
        );
        let answer = json!({"access_token": "b", "token_type": "bearer", "expires_in": 60, "refresh_token": null});
        let renewed = old.renewed(answer.as_object().unwrap().clone(), at(1000));
        let expected = json!({
            "access_token": "b", "refresh_token": "r", "token_type": "Bearer",
            "expires_in": 60, "expires_at": 1060.0, "id": "x",
        });
        assert_eq!(Value::Object(renewed), expected);
        let endless = json!({"access_token": "b"}).as_object().unwrap().clone();
        let renewed = old.renewed(endless, at(1000));
        assert!(!renewed.contains_key("expires_at") && !renewed.contains_key("expires_in"));
    }

    #[test]
    fn a_document_without_a_token_is_none() {
        for fields in [
            json!({}),
            json!({"access_token": ""}),
            json!({"access_token": 5}),
        ] {
            let fields = fields.as_object().unwrap().clone();
            let stored = Stored {
                fields,
                modified: None,
            };
            assert!(Tokens::read(stored).is_none());
        }
    }
}
