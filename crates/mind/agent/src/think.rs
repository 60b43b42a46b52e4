//! Recognising what is not an answer.

use hermes_types::{Content, Message};

/// The visible text of a message.
pub fn visible(message: &Message) -> String {
    message
        .content
        .as_ref()
        .map(Content::plain)
        .unwrap_or_default()
}

/// Whether the model thought, in whatever way its provider reports that.
pub fn has_reasoning(message: &Message) -> bool {
    let filled =
        |text: &Option<String>| text.as_deref().is_some_and(|text| !text.trim().is_empty());
    filled(&message.reasoning)
        || filled(&message.reasoning_content)
        || message.reasoning_details.is_some()
}
