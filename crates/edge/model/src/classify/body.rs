//! What an error body says, whatever shape it has.

use std::sync::LazyLock;
use std::time::Duration;

use regex::Regex;
use serde_json::Value;

/// Longer complaints help nobody, and some servers echo the whole request.
const MAX_MESSAGE: usize = 500;

#[derive(Debug, Default)]
pub(super) struct Body {
    /// For people.
    pub message: String,
    /// Everything that was said, in lower case.
    pub searchable: String,
    pub code: Option<String>,
    /// Aggregators report an upstream's status inside the body.
    pub status: Option<u16>,
}

impl Body {
    pub fn read(text: &str) -> Self {
        match serde_json::from_str::<Value>(text) {
            Ok(value @ Value::Object(_)) => Self::from_json(&value),
            // Google's streams, where they are no events, are lists.
            Ok(Value::Array(list)) if list.first().is_some_and(Value::is_object) => {
                Self::from_json(&list[0])
            }
            _ => Self::from_text(text),
        }
    }

    fn from_json(body: &Value) -> Self {
        let error = match &body["error"] {
            error @ Value::Object(_) => error,
            _ => body,
        };
        let own = [
            &error["message"],
            &body["message"],
            // Amazon's services don't agree about the case.
            &body["Message"],
            &body["error"],
            &body["detail"],
        ]
        .into_iter()
        .find_map(Value::as_str);
        let upstream = upstream(error);
        let message = match (own, upstream) {
            (Some(own), Some(upstream)) => format!("{own}: {upstream}"),
            (Some(text), None) => text.to_owned(),
            (None, Some(text)) => text,
            (None, None) => body.to_string(),
        };
        let codes = [&error["code"], &error["status"], &error["type"]];
        let code = codes
            .into_iter()
            .find_map(Value::as_str)
            .map(str::to_lowercase);
        let status = codes.into_iter().find_map(Value::as_u64);
        let quota = quota(error);
        Self {
            searchable: format!("{message} {quota}").trim_end().to_lowercase(),
            message: shorten(&message),
            code,
            status: status
                .and_then(|status| u16::try_from(status).ok())
                .filter(|s| *s >= 400),
        }
    }

    fn from_text(text: &str) -> Self {
        let message = match text.trim_start().starts_with('<') {
            true => page_title(text),
            false => text.trim().to_owned(),
        };
        Self {
            searchable: text.to_lowercase(),
            message: shorten(&message),
            ..Self::default()
        }
    }
}

/// The quotas Google names beside its message.
fn quota(error: &Value) -> String {
    let details = error["details"].as_array().into_iter().flatten();
    let violations = details.filter_map(|detail| detail["violations"].as_array());
    let ids = violations
        .flatten()
        .filter_map(|one| one["quotaId"].as_str());
    ids.collect::<Vec<_>>().join(" ")
}

/// Google's `retryDelay: "37s"`.
pub(super) fn retry_delay(text: &str) -> Option<Duration> {
    let body: Value = serde_json::from_str(text).ok()?;
    let body = body.get(0).unwrap_or(&body);
    let mut details = body["error"]["details"].as_array()?.iter();
    let delay = details.find_map(|detail| detail["retryDelay"].as_str())?;
    let seconds: f64 = delay.strip_suffix('s')?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// What the provider behind an aggregator said: JSON inside a text inside JSON.
fn upstream(error: &Value) -> Option<String> {
    let raw = &error["metadata"]["raw"];
    let raw = match raw {
        Value::String(text) => serde_json::from_str(text).unwrap_or_else(|_| raw.clone()),
        other => other.clone(),
    };
    let said = [
        &raw["error"]["message"],
        &raw["message"],
        &raw["error"],
        &raw,
    ];
    said.into_iter().find_map(Value::as_str).map(str::to_owned)
}

/// A web page in place of an answer: its title, and Cloudflare's id for whoever looks into it.
fn page_title(page: &str) -> String {
    static TITLE: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"(?is)<title[^>]*>\s*(.*?)\s*</title>"));
    static RAY: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"(?i)ray id:?\s*(?:<[^>]*>\s*)*([0-9a-f]{10,})"));
    let title = TITLE
        .captures(page)
        .map_or("no title", |found| found.extract::<1>().1[0]);
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    match RAY.captures(page) {
        Some(found) => format!("a web page: {title} (Ray ID {})", &found[1]),
        None => format!("a web page: {title}"),
    }
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(MAX_MESSAGE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[expect(clippy::expect_used, reason = "constants; compiled by the tests")]
fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern for error pages compiles")
}
