//! What every provider demands of every request.

use std::collections::HashSet;

use hermes_types::{Content, Message, ModelRequest, Role};
use serde_json::{Map, Value};

use crate::text;

/// Panics if a provider would refuse the request.
#[track_caller]
pub fn assert_valid(request: &ModelRequest) {
    let messages = &request.messages;
    let why = |what: &str, at: usize| format!("{what}, at message {at} of {messages:#?}");
    assert_eq!(messages[0].role, Role::User, "{}", why("a user begins", 0));
    let mut ids = HashSet::new();
    let mut open: Vec<&str> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        if message.role == Role::Tool {
            let id = message.tool_call_id.as_deref().unwrap();
            let place = open.iter().position(|call| *call == id);
            open.remove(
                place.unwrap_or_else(|| panic!("{}", why("a result follows its call", at))),
            );
            continue;
        }
        assert!(open.is_empty(), "{}", why("calls are answered first", at));
        let before = at.checked_sub(1).map(|before| &messages[before]);
        assert!(
            says_something(message),
            "{}",
            why("nobody says nothing", at)
        );
        assert!(
            !repeats(before, message),
            "{}",
            why("speakers alternate", at)
        );
        for call in &message.tool_calls {
            let what = why("a call has its own id, a name and an object", at);
            assert!(!call.id.is_empty() && ids.insert(&call.id), "{what}");
            assert!(is_name(&call.function.name), "{what}");
            let arguments = serde_json::from_str::<Map<String, Value>>(&call.function.arguments);
            assert!(arguments.is_ok(), "{what}");
        }
        open = message.tool_calls.iter().map(|call| &*call.id).collect();
    }
    assert!(
        open.is_empty(),
        "{}",
        why("the last calls are answered", messages.len())
    );
}

/// Thinking that is sent back to be continued may stand alone, and so may the steps of a server that keeps them
/// as items.
pub fn is_prefill(message: &Message) -> bool {
    message.extra.contains_key("_thinking_prefill") || message.codex_reasoning_items.is_some()
}

fn says_something(message: &Message) -> bool {
    !text(message).trim().is_empty() || !message.tool_calls.is_empty() || is_prefill(message)
}

/// Pictures keep user messages apart; anything else of one speaker belongs together.
fn repeats(before: Option<&Message>, message: &Message) -> bool {
    let is_text = |message: &Message| matches!(message.content, Some(Content::Text(_)));
    before.is_some_and(|before| {
        before.role == message.role && is_text(before) && is_text(message) && !is_prefill(message)
    })
}

fn is_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    (1..=64).contains(&name.len()) && name.chars().all(is_plain)
}
