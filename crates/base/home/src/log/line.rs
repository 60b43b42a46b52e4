//! One event as text: `2026-04-05 22:35:00,123 INFO [session] agent.turn: message key=value`.

use std::error::Error;
use std::fmt::{self, Write};

use tracing::Event;
use tracing::field::{Field, Visit};

use super::Level;
use crate::clock;
use crate::redact::Redactor;

/// The field of a span or event that names the session.
pub(super) const SESSION: &str = "session";

/// The finished line, without secrets and with its line end. A message of several lines stays so.
pub(super) fn format(
    event: &Event<'_>,
    level: Level,
    logger: &str,
    span_session: Option<String>,
    redactor: Redactor,
) -> String {
    let mut body = Body {
        message: String::new(),
        fields: String::new(),
        session: None,
        redactor,
    };
    event.record(&mut body);
    let session = body
        .session
        .take()
        .or(span_session)
        .map(|id| format!(" [{id}]"))
        .unwrap_or_default();
    let text = format!("{}{}", body.message.trim_end(), body.fields);
    let text = printable(redactor.apply(text.trim()).into_owned());
    format!(
        "{} {level}{session} {logger}: {text}\n",
        clock::now().strftime("%Y-%m-%d %H:%M:%S,%3f")
    )
}

/// Control characters could play tricks on the terminal that shows the log.
fn printable(text: String) -> String {
    let is_odd = |c: char| c.is_control() && c != '\n' && c != '\t';
    if text.contains(is_odd) {
        text.replace(is_odd, "\u{fffd}")
    } else {
        text
    }
}

/// Collects what an event says.
struct Body {
    message: String,
    fields: String,
    session: Option<String>,
    redactor: Redactor,
}

impl Body {
    fn push(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => self.message = value.to_owned(),
            SESSION => self.session = Some(value.to_owned()),
            name => {
                let value = self.redactor.field(name, value);
                // Writing to a string cannot fail.
                let _ = if value.is_empty() || value.contains(char::is_whitespace) {
                    write!(self.fields, " {name}={value:?}")
                } else {
                    write!(self.fields, " {name}={value}")
                };
            }
        }
    }
}

impl Visit for Body {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.push(field, value);
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        let mut text = value.to_string();
        let mut cause = value.source();
        while let Some(error) = cause {
            let _ = write!(text, ": {error}");
            cause = error.source();
        }
        self.push(field, &text);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.push(field, &format!("{value:?}"));
    }
}

/// Collects the session of a span.
#[derive(Default)]
pub(super) struct SessionField(pub(super) Option<String>);

impl Visit for SessionField {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == SESSION && !value.is_empty() {
            self.0 = Some(value.to_owned());
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.record_str(field, &format!("{value:?}"));
    }
}
