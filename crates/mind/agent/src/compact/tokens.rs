//! Rough sizes: four characters are a token.

use hermes_types::{Content, KnownPart, Message, Part, ToolDef};

const CHARS: u64 = 4;
/// What providers add around a message.
const FRAME: u64 = 10;
const PICTURE: u64 = 1_500;

pub fn text(text: &str) -> u64 {
    (text.chars().count() as u64).div_ceil(CHARS)
}

pub fn messages(messages: &[Message]) -> u64 {
    messages.iter().map(message).sum()
}

/// What a message weighs in a request.
pub fn message(message: &Message) -> u64 {
    let spoken = message.content.as_ref().map_or(0, content);
    let thought = message.reasoning_content.as_deref().map_or(0, text);
    let details = message
        .reasoning_details
        .as_ref()
        .map_or(0, |details| text(&details.to_string()));
    FRAME + spoken + calls(message) + thought + details
}

/// The calls of a message.
pub fn calls(message: &Message) -> u64 {
    let calls = message.tool_calls.iter();
    calls
        .map(|call| text(&call.function.name) + text(&call.function.arguments) + FRAME)
        .sum()
}

pub fn tools(tools: &[ToolDef]) -> u64 {
    tools.iter().map(tool).sum()
}

fn tool(tool: &ToolDef) -> u64 {
    text(&tool.name) + text(&tool.description) + text(&tool.parameters.to_string()) + FRAME
}

fn content(content: &Content) -> u64 {
    match content {
        Content::Text(said) => text(said),
        Content::Parts(parts) => parts.iter().map(part).sum(),
        Content::Other(value) => text(&value.to_string()),
    }
}

fn part(part: &Part) -> u64 {
    match part {
        Part::Known(KnownPart::Text { text: said, .. }) => text(said),
        Part::Known(KnownPart::ImageUrl { .. }) => PICTURE,
        Part::Other(value) => text(&value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_characters_are_a_token_and_a_picture_many() {
        let check = |said: &str, expected: u64| assert_eq!(text(said), expected);
        check("", 0);
        check("abcd", 1);
        check("abcde", 2);
        check("äöüß", 1);
        assert_eq!(message(&Message::user("abcd")), FRAME + 1);
        let picture =
            serde_json::json!([{"type": "image_url", "image_url": {"url": "x".repeat(9_999)}}]);
        let mut pictured = Message::user("");
        pictured.content = Some(serde_json::from_value(picture).unwrap());
        assert_eq!(message(&pictured), FRAME + PICTURE);
    }
}
