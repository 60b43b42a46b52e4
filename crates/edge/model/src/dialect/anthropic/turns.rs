//! A chat-shaped conversation as alternating turns in which every call is answered right away.

use std::collections::HashSet;

use hermes_types::{Content, KnownPart, Message, Part, Role, ToolCall};
use serde_json::{Value, json};

use crate::dialect::{arguments, inline};
use crate::route::{Route, ThinkingBlocks};

#[derive(Debug, PartialEq)]
pub(crate) struct Turn {
    speaker: Speaker,
    blocks: Vec<Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Speaker {
    User,
    Assistant,
}

pub(crate) fn turns(route: &Route, messages: &[Message]) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    for next in messages.iter().filter_map(turn) {
        match turns.last_mut().filter(|last| last.speaker == next.speaker) {
            Some(last) => last.merge(next),
            None => turns.push(next),
        }
    }
    pair_calls(&mut turns);
    let policy = match route.concessions.no_thinking_blocks {
        true => ThinkingBlocks::Dropped,
        false => route.quirks.thinking_blocks,
    };
    keep_thinking(&mut turns, policy);
    for turn in &mut turns {
        turn.fill();
    }
    turns
}

impl Turn {
    pub fn json(self) -> Value {
        let role = match self.speaker {
            Speaker::User => "user",
            Speaker::Assistant => "assistant",
        };
        json!({"role": role, "content": self.blocks})
    }

    /// The block that can carry a cache marker for everything up to here.
    pub fn last_markable(&mut self) -> Option<&mut Value> {
        self.blocks
            .iter_mut()
            .rev()
            .find(|block| !is_thinking(block))
    }

    fn merge(&mut self, next: Turn) {
        // A signature covers the turn it came in.
        let blocks = next.blocks.into_iter();
        let is_user = self.speaker == Speaker::User;
        self.blocks
            .extend(blocks.filter(|block| is_user || !is_thinking(block)));
    }

    fn ids(&self, kind: &str, key: &str) -> HashSet<String> {
        let blocks = self.blocks.iter().filter(|block| block["type"] == kind);
        blocks
            .filter_map(|block| block[key].as_str().map(str::to_owned))
            .collect()
    }

    /// No turn may be empty, nor any text in it.
    fn fill(&mut self) {
        self.blocks.retain(|block| {
            block["type"] != "text" || block["text"].as_str().is_some_and(|t| !t.trim().is_empty())
        });
        if self.blocks.is_empty() {
            let placeholder = match self.speaker {
                Speaker::User => "(empty message)",
                Speaker::Assistant => "(empty)",
            };
            self.blocks
                .push(json!({"type": "text", "text": placeholder}));
        }
    }
}

fn turn(message: &Message) -> Option<Turn> {
    let (speaker, blocks) = match message.role {
        Role::User => (Speaker::User, content(message.content.as_ref())),
        Role::Tool => (Speaker::User, vec![tool_result(message)]),
        Role::Assistant => (Speaker::Assistant, assistant(message)),
        // The system prompt travels elsewhere; roles nobody knows don't travel.
        Role::System | Role::Other(_) => return None,
    };
    Some(Turn { speaker, blocks })
}

fn assistant(message: &Message) -> Vec<Value> {
    let details = message.reasoning_details.as_ref().and_then(Value::as_array);
    let thinking = details
        .into_iter()
        .flatten()
        .filter(|block| is_thinking(block))
        .cloned();
    let calls = message.tool_calls.iter().map(tool_use);
    thinking
        .chain(content(message.content.as_ref()))
        .chain(calls)
        .collect()
}

fn content(content: Option<&Content>) -> Vec<Value> {
    match content {
        None => Vec::new(),
        Some(Content::Parts(parts)) => parts.iter().filter_map(block).collect(),
        Some(other) => vec![json!({"type": "text", "text": other.plain()})],
    }
}

fn block(part: &Part) -> Option<Value> {
    match part {
        Part::Known(KnownPart::Text { text, .. }) => Some(json!({"type": "text", "text": text})),
        Part::Known(KnownPart::ImageUrl { image_url, .. }) => Some(image(&image_url.url)),
        Part::Other(Value::String(text)) => Some(json!({"type": "text", "text": text})),
        Part::Other(_) => None,
    }
}

fn image(url: &str) -> Value {
    let source = match inline(url) {
        Some((media_type, data)) => {
            json!({"type": "base64", "media_type": media_type, "data": data})
        }
        None => json!({"type": "url", "url": url}),
    };
    json!({"type": "image", "source": source})
}

fn tool_use(call: &ToolCall) -> Value {
    json!({"type": "tool_use", "id": tool_id(&call.id), "name": call.function.name,
        "input": arguments(call)})
}

fn tool_result(message: &Message) -> Value {
    let id = tool_id(message.tool_call_id.as_deref().unwrap_or_default());
    let has_image = |blocks: &Vec<Value>| blocks.iter().any(|block| block["type"] == "image");
    let content = match &message.content {
        Some(parts @ Content::Parts(_)) => Some(content(Some(parts))).filter(has_image),
        _ => None,
    };
    let content = content.map_or_else(|| plain_result(message).into(), Value::from);
    json!({"type": "tool_result", "tool_use_id": id, "content": content})
}

fn plain_result(message: &Message) -> String {
    let text = message
        .content
        .as_ref()
        .map(Content::plain)
        .unwrap_or_default();
    if text.is_empty() {
        "(no output)".to_owned()
    } else {
        text
    }
}

fn tool_id(id: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let id: String = id
        .chars()
        .map(|c| if allowed(c) { c } else { '_' })
        .collect();
    if id.is_empty() {
        "call_0".to_owned()
    } else {
        id
    }
}

/// Drops calls that aren't answered in the next turn, and answers nobody asked for.
fn pair_calls(turns: &mut [Turn]) {
    let mut asked = HashSet::new();
    for at in 0..turns.len() {
        let answers = turns
            .get(at + 1)
            .map(|next| next.ids("tool_result", "tool_use_id"));
        let answers = answers.unwrap_or_default();
        let turn = &mut turns[at];
        if turn.speaker == Speaker::User {
            turn.blocks.retain(|block| {
                block["type"] != "tool_result"
                    || block["tool_use_id"]
                        .as_str()
                        .is_some_and(|id| asked.contains(id))
            });
            continue;
        }
        let before = turn.blocks.len();
        turn.blocks.retain(|block| {
            block["type"] != "tool_use"
                || block["id"].as_str().is_some_and(|id| answers.contains(id))
        });
        if turn.blocks.len() != before {
            // Signatures were made for the turn as it was.
            turn.blocks.retain(|block| !is_thinking(block));
        }
        asked = turn.ids("tool_use", "id");
    }
}

fn keep_thinking(turns: &mut [Turn], policy: ThinkingBlocks) {
    let last = turns
        .iter()
        .rposition(|turn| turn.speaker == Speaker::Assistant);
    for (at, turn) in turns.iter_mut().enumerate() {
        turn.blocks.retain(|block| {
            !is_thinking(block)
                || match policy {
                    ThinkingBlocks::Dropped => false,
                    ThinkingBlocks::Signed => Some(at) == last && is_signed(block),
                    ThinkingBlocks::Unsigned => !is_signed(block),
                }
        });
    }
}

fn is_thinking(block: &Value) -> bool {
    matches!(
        block["type"].as_str(),
        Some("thinking" | "redacted_thinking")
    )
}

fn is_signed(block: &Value) -> bool {
    let has = |key: &str| block[key].as_str().is_some_and(|text| !text.is_empty());
    has("signature") || has("data")
}
