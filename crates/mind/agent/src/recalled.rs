//! What a memory outside recalled for a turn: goes out behind the turn's own message, and is kept nowhere.
//!
//! The text travels as a private mark of the message, so that it stays with it when the conversation is made shorter
//! or two messages become one. Every request of the turn carries it byte for byte; with the turn it is gone.

use hermes_types::{Content, KnownPart, Message, Part};
use serde_json::{Map, Value};

/// Private marks are never stored.
const MARK: &str = "_recalled";

/// The message, with this behind it in the requests of its turn.
pub fn with_recalled(mut message: Message, text: &str) -> Message {
    if !text.is_empty() {
        message.extra.insert(MARK.to_owned(), text.into());
    }
    message
}

/// What one message carries goes to the one it becomes a part of.
pub(crate) fn hand_on(from: &Message, to: &mut Message) {
    if let Some(text) = from.extra.get(MARK) {
        to.extra.insert(MARK.to_owned(), text.clone());
    }
}

/// The copies that go out say what was recalled.
pub(crate) fn speak(messages: &mut [Message]) {
    for message in messages {
        let Some(Value::String(text)) = message.extra.remove(MARK) else {
            continue;
        };
        match &mut message.content {
            Some(Content::Text(said)) => said.push_str(&format!("\n\n{text}")),
            Some(Content::Parts(parts)) => {
                let extra = Map::new();
                parts.push(Part::Known(KnownPart::Text { text, extra }));
            }
            None => message.content = Some(Content::Text(text)),
            // Nobody knows how to add to that.
            Some(Content::Other(_)) => {}
        }
    }
}

/// The turn is over.
pub(crate) fn forget(messages: &mut [Message]) {
    for message in messages {
        message.extra.remove(MARK);
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::request::{mend, outgoing};

    fn said(messages: &[Message]) -> Vec<String> {
        let plain = |message: &Message| message.content.as_ref().unwrap().plain();
        outgoing(messages, &[]).iter().map(plain).collect()
    }

    #[test]
    fn only_copies_say_what_was_recalled() {
        let mut messages = vec![
            Message::user("a"),
            Message::assistant("b"),
            with_recalled(Message::user("c"), "<x>"),
        ];
        assert_eq!(said(&messages), ["a", "b", "c\n\n<x>"]);
        assert_eq!(messages[2].content, Some(Content::Text("c".to_owned())));
        assert!(outgoing(&messages, &[])[2].extra.is_empty());
        forget(&mut messages);
        assert_eq!(said(&messages), ["a", "b", "c"]);
        assert_eq!(with_recalled(Message::user("c"), ""), Message::user("c"));
    }

    #[test]
    fn it_stays_with_a_message_that_becomes_part_of_another() {
        let mut messages = vec![
            Message::user("note"),
            with_recalled(Message::user("c"), "<x>"),
        ];
        mend(&mut messages);
        assert_eq!(said(&messages), ["note\n\nc\n\n<x>"]);
    }
}
