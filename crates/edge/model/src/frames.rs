//! Bytes as events, whichever way a server frames them: server-sent events, or Amazon's binary messages.

use aws_smithy_eventstream::frame::read_message_from;
use aws_smithy_types::event_stream::Message;
use hermes_net::sse::{self, Event};

use crate::route::Mode;

/// What the name of an event begins with that reports an error.
pub(crate) const EXCEPTION: &str = "exception:";

/// Length and checksum at the front of a binary message, checksum at its end.
const SMALLEST: usize = 16;

/// A stream being cut into events.
#[derive(Debug)]
pub(crate) enum Frames {
    Text(sse::Decoder),
    Binary { limit: usize, buffer: Vec<u8> },
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Garbled {
    #[error(transparent)]
    TooLarge(#[from] sse::TooLarge),
    #[error("the stream is no event stream: {0}")]
    NoMessage(String),
}

impl Frames {
    /// `limit` bounds the bytes of one event.
    pub fn new(mode: Mode, limit: usize) -> Self {
        match mode {
            Mode::BedrockConverse | Mode::BedrockAnthropic => Self::Binary {
                limit,
                buffer: Vec::new(),
            },
            _ => Self::Text(sse::Decoder::new(limit)),
        }
    }

    /// Takes the next bytes and returns the events they complete.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<Event>, Garbled> {
        match self {
            Self::Text(decoder) => Ok(decoder.push(bytes)?),
            Self::Binary { limit, buffer } => {
                buffer.extend_from_slice(bytes);
                messages(buffer, *limit)
            }
        }
    }

    /// The server has closed the stream. A binary message that is not complete is none.
    pub fn finish(self) -> Result<Option<Event>, Garbled> {
        match self {
            Self::Text(decoder) => Ok(decoder.finish()?),
            Self::Binary { .. } => Ok(None),
        }
    }
}

/// Takes the complete messages out of the buffer.
fn messages(buffer: &mut Vec<u8>, limit: usize) -> Result<Vec<Event>, Garbled> {
    let mut events = Vec::new();
    let mut taken = 0;
    while let Some((length, rest)) = buffer[taken..].split_first_chunk::<4>() {
        let length = u32::from_be_bytes(*length) as usize;
        if length > limit {
            return Err(sse::TooLarge { limit }.into());
        }
        if length < SMALLEST {
            let problem = format!("a message of {length} bytes");
            return Err(Garbled::NoMessage(problem));
        }
        if rest.len() + 4 < length {
            break;
        }
        let message = read_message_from(&buffer[taken..taken + length]);
        let message = message.map_err(|error| Garbled::NoMessage(error.to_string()))?;
        taken += length;
        events.push(event(&message));
    }
    buffer.drain(..taken);
    Ok(events)
}

fn event(message: &Message) -> Event {
    let header = |name: &str| {
        let found = message.headers().iter();
        let mut found = found.filter(|header| header.name().as_str() == name);
        let value = found.next()?.value().as_string().ok()?;
        Some(value.as_str().to_owned())
    };
    let kind = header(":message-type").unwrap_or_default();
    let name = match kind.as_str() {
        "exception" => header(":exception-type"),
        "error" => header(":error-code"),
        _ => header(":event-type"),
    };
    let name = name.unwrap_or_default();
    let data = String::from_utf8_lossy(message.payload()).into_owned();
    match kind.as_str() {
        "exception" | "error" => Event {
            name: format!("{EXCEPTION}{name}"),
            data,
        },
        _ => Event { name, data },
    }
}

#[cfg(test)]
mod tests {
    use aws_smithy_eventstream::frame::write_message_to;
    use aws_smithy_types::event_stream::{Header, HeaderValue};
    use pretty_assertions::assert_eq;

    use super::*;

    fn message(kind: &str, name: (&'static str, &'static str), payload: &str) -> Vec<u8> {
        let text = |text: &str| HeaderValue::String(text.to_owned().into());
        let message = Message::new(payload.to_owned())
            .add_header(Header::new(":message-type", text(kind)))
            .add_header(Header::new(name.0, text(name.1)));
        let mut bytes = Vec::new();
        write_message_to(&message, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn messages_wherever_they_are_cut() {
        let bytes = [
            message("event", (":event-type", "chunk"), "{\"a\":\"é\"}"),
            message(
                "exception",
                (":exception-type", "throttlingException"),
                "{}",
            ),
        ]
        .concat();
        for size in [1, 3, 7, bytes.len()] {
            let mut frames = Frames::new(Mode::BedrockConverse, 1000);
            let events: Vec<_> = bytes
                .chunks(size)
                .flat_map(|chunk| frames.push(chunk).unwrap())
                .map(|event| (event.name, event.data))
                .collect();
            let expected = [
                ("chunk", "{\"a\":\"é\"}"),
                ("exception:throttlingException", "{}"),
            ];
            let expected = expected.map(|(name, data)| (name.to_owned(), data.to_owned()));
            assert_eq!(events, expected);
            assert_eq!(frames.finish(), Ok(None));
        }
    }

    #[test]
    fn what_is_no_message_is_refused() {
        let refused = |bytes: &[u8]| {
            let mut frames = Frames::new(Mode::BedrockConverse, 100);
            frames.push(bytes).unwrap_err().to_string()
        };
        assert!(refused(b"{\"message\": \"no\"}").contains("larger than 100 bytes"));
        assert!(refused(&[0, 0, 0, 5]).contains("a message of 5 bytes"));
        let mut broken = message("event", (":event-type", "x"), "payload");
        *broken.last_mut().unwrap() ^= 1;
        assert!(refused(&broken).contains("no event stream"));
    }
}
