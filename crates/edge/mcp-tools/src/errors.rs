//! Why a call has no answer, in the words the model reads.

use std::time::Duration;

use hermes_mcp::{CallError, Cause};
use hermes_types::{Outcome, ToolOutput};
use serde_json::{Map, Value};

use crate::redact::Secrets;

/// What was asked of whom.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    pub server: &'a str,
    /// The raw name of the tool, or the operation.
    pub tool: &'a str,
}

const VERIFY: &str = "The call may have taken effect: find out with a read before repeating it.";

/// One JSON document with `error` and what else the model can act upon. No secret is in it.
pub fn output(error: &CallError, asked: Asked<'_>, secrets: &Secrets) -> ToolOutput {
    let mut document = Map::new();
    let text = secrets.hide(&text(&error.cause, asked.server));
    document.insert("error".to_owned(), text.into());
    let mut put = |name: &str, value: Value| drop(document.insert(name.to_owned(), value));
    match &error.cause {
        Cause::NeedsAuth { scope, .. } => {
            put("needs_reauth", true.into());
            put("server", asked.server.into());
            if let Some(scope) = scope {
                put("scope", scope.as_str().into());
            }
        }
        cause if is_ambiguous(cause) => {
            put("outcome_unknown", true.into());
            put("server", asked.server.into());
            put("tool", asked.tool.into());
        }
        _ => {}
    }
    let outcome = match error.cause {
        Cause::Cancelled => Outcome::Cancelled,
        _ => Outcome::Failed,
    };
    ToolOutput::json(&Value::Object(document)).with_outcome(outcome)
}

fn is_ambiguous(cause: &Cause) -> bool {
    match cause {
        Cause::Ambiguous(_) => true,
        Cause::TimedOut { is_ambiguous, .. } => *is_ambiguous,
        _ => false,
    }
}

fn text(cause: &Cause, server: &str) -> String {
    match cause {
        Cause::Failed(failure) => format!("MCP call failed: {failure}"),
        Cause::Ambiguous(failure) => format!("MCP call failed: {failure}. {VERIFY}"),
        Cause::TimedOut {
            elapsed,
            limit,
            is_ambiguous,
        } => {
            let text = format!(
                "MCP call failed: Timeout: no answer after {} s (the limit is {} s)",
                seconds(*elapsed),
                seconds(*limit)
            );
            match is_ambiguous {
                true => format!("{text}. {VERIFY}"),
                false => text,
            }
        }
        Cause::NeedsAuth { reason, .. } => format!(
            "MCP server '{server}' needs a new login ({}). Don't retry; ask the user to run: \
             hermes mcp login {server}",
            or(reason, "its credentials were refused")
        ),
        Cause::Unreachable {
            failures,
            retry_in,
            last,
        } => format!(
            "MCP server '{server}' is unreachable: {failures} failures in a row (last: {}). It is tried again in \
             ~{} s; until then use another way or tell the user.",
            or(last, "no answer"),
            retry_in.as_secs_f64().ceil()
        ),
        Cause::Reconnecting { reason } => format!(
            "MCP server '{server}' is not connected ({}). A reconnect was requested; don't repeat the call \
             immediately.",
            or(reason, "the connection was lost")
        ),
        Cause::NotConnected { reason } => match reason.trim() {
            "" => format!("MCP server '{server}' is not connected"),
            reason => format!("MCP server '{server}' is not connected: {reason}"),
        },
        Cause::Throttled { wait } => format!(
            "MCP call failed: Throttled: server '{server}' asks to wait {} seconds before the next call",
            wait.as_secs_f64().ceil()
        ),
        Cause::Cancelled => "The MCP call was interrupted by a new user message".to_owned(),
        Cause::BadArgument(text) => or(text, "an argument is missing").to_owned(),
    }
}

/// No text is ever empty.
fn or<'t>(text: &'t str, instead: &'t str) -> &'t str {
    match text.trim() {
        "" => instead,
        text => text,
    }
}

/// Whole seconds as such, shorter times with a digit.
fn seconds(time: Duration) -> String {
    let rounded = (time.as_secs_f64() * 10.0).round() / 10.0;
    rounded.to_string()
}

#[cfg(test)]
mod tests {
    use hermes_mcp::{Class, Failure, Secret};
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    fn document(cause: Cause) -> (Value, Outcome) {
        let error = CallError {
            cause,
            retries: 0,
            generation: 1,
        };
        let asked = Asked {
            server: "s",
            tool: "send",
        };
        let secrets = Secrets::new([Secret::new("Bearer hunter2-hunter2")]);
        let output = output(&error, asked, &secrets);
        (serde_json::from_str(&output.text).unwrap(), output.outcome)
    }

    fn check(cause: Cause, expected: Value) {
        assert_eq!(document(cause), (expected, Outcome::Failed));
    }

    #[test]
    fn every_situation_has_its_words() {
        let s = Duration::from_secs;
        let cut = || Failure::new(Class::Cut, "Connection reset", "");
        check(
            Cause::Failed(Failure::new(Class::App, "HTTP 503", "down")),
            json!({"error": "MCP call failed: HTTP 503: down"}),
        );
        check(
            Cause::Ambiguous(cut()),
            json!({"error": format!("MCP call failed: Connection reset. {VERIFY}"),
                "outcome_unknown": true, "server": "s", "tool": "send"}),
        );
        check(
            Cause::TimedOut {
                elapsed: Duration::from_millis(30_040),
                limit: s(30),
                is_ambiguous: false,
            },
            json!({"error": "MCP call failed: Timeout: no answer after 30 s (the limit is 30 s)"}),
        );
        check(
            Cause::NeedsAuth {
                reason: "invalid_grant".to_owned(),
                scope: Some("mail".to_owned()),
            },
            json!({"error": "MCP server 's' needs a new login (invalid_grant). Don't retry; ask the user to run: \
                hermes mcp login s", "needs_reauth": true, "server": "s", "scope": "mail"}),
        );
        check(
            Cause::Unreachable {
                failures: 3,
                retry_in: Duration::from_millis(41_200),
                last: String::new(),
            },
            json!({"error": "MCP server 's' is unreachable: 3 failures in a row (last: no answer). It is tried \
                again in ~42 s; until then use another way or tell the user."}),
        );
        check(
            Cause::Reconnecting {
                reason: String::new(),
            },
            json!({"error": "MCP server 's' is not connected (the connection was lost). A reconnect was requested; \
                don't repeat the call immediately."}),
        );
        check(
            Cause::NotConnected {
                reason: String::new(),
            },
            json!({"error": "MCP server 's' is not connected"}),
        );
        check(
            Cause::Throttled { wait: s(3600) },
            json!({"error": "MCP call failed: Throttled: server 's' asks to wait 3600 seconds before the next call"}),
        );
        let (text, outcome) = document(Cause::Cancelled);
        assert_eq!(outcome, Outcome::Cancelled);
        assert_eq!(
            text["error"],
            "The MCP call was interrupted by a new user message"
        );
    }

    #[test]
    fn an_unsafe_timeout_says_so() {
        let late = Cause::TimedOut {
            elapsed: Duration::from_millis(1500),
            limit: Duration::from_secs(1),
            is_ambiguous: true,
        };
        let (text, _) = document(late);
        assert_eq!(text["outcome_unknown"], true);
        let error = text["error"].as_str().unwrap();
        assert!(error.contains("after 1.5 s (the limit is 1 s)") && error.ends_with(VERIFY));
    }

    // spec: mcp §15.18
    #[test]
    fn no_secret_is_in_an_error() {
        let said = "refused 'hunter2-hunter2' and Bearer abc123 at https://u:p@h/x?k=v";
        check(
            Cause::Failed(Failure::new(Class::App, "HTTP 400", said)),
            json!({"error": "MCP call failed: HTTP 400: refused '[REDACTED]' and [REDACTED] at \
                https://h/x?k=[REDACTED]"}),
        );
    }
}
