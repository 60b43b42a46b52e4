//! The one place where evidence becomes a class. Pure; structured facts first, text last.

use std::time::Duration;

use serde_json::Value;

use crate::failure::{Class, Failure};
use crate::message::{self, Message, RpcError};

/// What servers say when they have forgotten a session, in small letters.
const SESSION_MARKERS: &[&str] = &[
    "invalid or expired session",
    "expired session",
    "session expired",
    "session not found",
    "unknown session",
    "session terminated",
    "no valid session id",
    "invalid or missing session id",
    "missing session id",
    "unknown mcp-session-id",
    "mcp-session-id header is required",
    "invalid session id",
    "server not initialized",
    "before initialization was complete",
];

/// A session nobody knows, as one SDK numbers it.
const SESSION_UNKNOWN: i64 = -32001;
/// More versions than this no server speaks.
const VERSIONS: usize = 32;
/// How much of a foreign body is worth showing.
const SHOWN: usize = 300;

/// Whether a text says that the session is gone.
pub(crate) fn speaks_of_lost_session(text: &str) -> bool {
    let text = text.to_lowercase();
    SESSION_MARKERS.iter().any(|marker| text.contains(marker))
}

/// An HTTP answer that is not a success.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HttpAnswer<'a> {
    pub status: u16,
    pub body: &'a str,
    /// The request named a session.
    pub had_session: bool,
    pub retry_after: Option<Duration>,
    /// The value of `WWW-Authenticate`.
    pub challenge: Option<&'a str>,
}

/// Classifies an HTTP answer that is not a success.
pub(crate) fn http(answer: HttpAnswer<'_>) -> Failure {
    let status = answer.status;
    let rpc = rpc_error(answer.body);
    let class = http_class(answer, rpc.as_ref());
    let message = match &rpc {
        Some(error) if !error.message.is_empty() => error.message.clone(),
        _ => excerpt(answer.body),
    };
    let failure = Failure::new(class, format!("HTTP {status}"), message).with_status(status);
    match rpc {
        Some(error) => with_details(failure, &error),
        None => failure,
    }
}

fn http_class(answer: HttpAnswer<'_>, rpc: Option<&RpcError>) -> Class {
    let HttpAnswer { status, body, .. } = answer;
    let needs_scope = |text: &str| text.contains("insufficient_scope");
    match status {
        401 => Class::Auth,
        403 if answer.challenge.is_some_and(needs_scope) || needs_scope(body) => {
            Class::Scope(answer.challenge.and_then(scope))
        }
        404 | 410 if answer.had_session => Class::SessionLost,
        404 if rpc.is_some_and(|error| error.code == SESSION_UNKNOWN) => Class::SessionLost,
        _ if rpc.is_some_and(is_lost) => Class::SessionLost,
        403 => Class::App,
        429 => Class::Throttled(answer.retry_after),
        400..500 | 503 if speaks_of_lost_session(body) => Class::SessionLost,
        503 if answer.retry_after.is_some() => Class::Throttled(answer.retry_after),
        502..=504 => Class::Gateway,
        _ => Class::App,
    }
}

/// Classifies a JSON-RPC error, whatever the status it came with and whether or not it named our request.
pub(crate) fn rpc(error: &RpcError) -> Failure {
    let class = if is_lost(error) {
        Class::SessionLost
    } else {
        Class::App
    };
    with_details(Failure::new(class, "Server error", &*error.message), error)
}

fn with_details(failure: Failure, error: &RpcError) -> Failure {
    let versions = error
        .data
        .as_ref()
        .and_then(|data| data["supported"].as_array());
    let versions = versions.into_iter().flatten().filter_map(Value::as_str);
    failure
        .with_code(error.code)
        .with_versions(versions.take(VERSIONS).map(str::to_owned).collect())
}

/// Classifies an object that has an `error` text but is no JSON-RPC.
pub(crate) fn loose(text: &str) -> Failure {
    let class = if speaks_of_lost_session(text) {
        Class::SessionLost
    } else {
        Class::Protocol
    };
    Failure::new(class, "Protocol error", text)
}

fn is_lost(error: &RpcError) -> bool {
    speaks_of_lost_session(&error.message)
        || matches!(&error.data, Some(Value::String(data)) if speaks_of_lost_session(data))
}

fn rpc_error(body: &str) -> Option<RpcError> {
    match message::read(serde_json::from_str(body).ok()?)? {
        Message::Answer {
            body: Err(error), ..
        } => Some(error),
        Message::LooseError(message) => Some(RpcError {
            message,
            ..RpcError::default()
        }),
        _ => None,
    }
}

/// The `scope` of a challenge: quoted or bare.
fn scope(challenge: &str) -> Option<String> {
    let (_, rest) = challenge.split_once("scope=")?;
    let value = match rest.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next()?,
        None => rest.split([',', ' ']).next()?,
    };
    (!value.is_empty()).then(|| value.to_owned())
}

/// The beginning of a foreign text on one line.
pub(crate) fn excerpt(text: &str) -> String {
    let words = text.split_whitespace();
    let mut line = String::new();
    for word in words {
        if line.len() + word.len() > SHOWN {
            line.extend(word.chars().take(SHOWN.saturating_sub(line.len())));
            line.push('…');
            break;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    fn check(answer: HttpAnswer<'_>, class: Class) {
        let failure = http(answer);
        assert_eq!(failure.class, class, "{answer:?}");
        assert_eq!(failure.status, Some(answer.status));
        assert!(!failure.message.is_empty());
    }

    // spec: mcp §15.6
    #[test]
    fn what_says_that_a_session_is_gone() {
        let lost = [
            "Invalid params: Invalid or expired session",
            "Session expired",
            "expired session: abc",
            "session not found",
            "Unknown session: abc123",
        ];
        for text in lost {
            for text in [text.to_owned(), text.to_uppercase()] {
                let error = RpcError {
                    code: -32602,
                    message: text.clone(),
                    data: None,
                };
                assert_eq!(rpc(&error).class, Class::SessionLost, "{text}");
            }
        }
        for text in [
            "Tool failed to execute",
            "Missing parameter",
            "Connection refused",
            "401 Unauthorized",
            "",
        ] {
            let error = RpcError {
                code: -32602,
                message: text.to_owned(),
                data: None,
            };
            assert_eq!(rpc(&error).class, Class::App, "{text}");
        }
        assert_eq!(rpc(&RpcError::default()).class, Class::App);
        assert_eq!(loose("Session not found").class, Class::SessionLost);
        assert_eq!(loose("out of memory").class, Class::Protocol);
    }

    #[test]
    fn a_status_is_read_before_a_text() {
        let plain = |status| HttpAnswer {
            status,
            ..HttpAnswer::default()
        };
        let with = |status, body| HttpAnswer {
            status,
            body,
            ..HttpAnswer::default()
        };
        let in_session = |status| HttpAnswer {
            status,
            had_session: true,
            ..HttpAnswer::default()
        };
        check(with(401, "session expired"), Class::Auth);
        check(plain(403), Class::App);
        check(in_session(404), Class::SessionLost);
        check(in_session(410), Class::SessionLost);
        check(plain(404), Class::App);
        check(
            with(404, r#"{"error":{"code":-32001,"message":""}}"#),
            Class::SessionLost,
        );
        check(
            with(400, "Bad Request: No valid session ID provided"),
            Class::SessionLost,
        );
        check(
            with(503, r#"{"error":"Unknown session"}"#),
            Class::SessionLost,
        );
        check(with(500, "session expired"), Class::App);
        check(
            with(
                500,
                r#"{"error":{"code":-32603,"message":"Session expired"}}"#,
            ),
            Class::SessionLost,
        );
        check(
            with(400, r#"{"error":{"code":-32000,"message":"nope"}}"#),
            Class::App,
        );
        check(plain(429), Class::Throttled(None));
        check(plain(500), Class::App);
        for status in [502, 503, 504] {
            check(plain(status), Class::Gateway);
        }
    }

    #[test]
    fn waiting_times_and_scopes_are_kept() {
        let wait = Some(Duration::from_secs(2));
        for status in [429, 503] {
            check(
                HttpAnswer {
                    status,
                    retry_after: wait,
                    ..HttpAnswer::default()
                },
                Class::Throttled(wait),
            );
        }
        let challenge = Some(r#"Bearer error="insufficient_scope", scope="files:write mail""#);
        let scope = Class::Scope(Some("files:write mail".to_owned()));
        check(
            HttpAnswer {
                status: 403,
                challenge,
                ..HttpAnswer::default()
            },
            scope,
        );
    }

    #[test]
    fn a_foreign_page_is_shown_in_one_short_line() {
        assert_eq!(
            excerpt(" <html>\n <b>Login</b>\t</html> "),
            "<html> <b>Login</b> </html>"
        );
        assert!(excerpt(&"word ".repeat(500)).len() <= SHOWN + '…'.len_utf8());
        assert!(excerpt(&"你".repeat(5000)).chars().count() <= SHOWN + 1);
        assert_eq!(
            http(HttpAnswer {
                status: 418,
                ..HttpAnswer::default()
            })
            .message,
            "HTTP 418"
        );
        let error = RpcError {
            code: 1,
            message: String::new(),
            data: Some(json!("x")),
        };
        assert_eq!(rpc(&error).message, "Server error");
    }
}
