//! From the conversation to one request, in pure steps.
//!
//! The first two mend the conversation itself, so that what was sent once is sent the same way again and
//! caches keep their worth; the others work on the copy that goes out.

use std::collections::HashSet;

use hermes_types::{Content, Message, Role};

use crate::{calls, recalled};

const CORRUPTED: &str = "[The arguments of this call were corrupted and have been dropped.] ";
const UNANSWERED: &str = "[No result was recorded for this call.]";

/// Mends a stored conversation in place: arguments that are not JSON, results without a call, neighbours of
/// one role.
pub fn mend(messages: &mut Vec<Message>) {
    mend_arguments(messages);
    drop_strays(messages);
    merge_users(messages);
}

/// The messages as they go out.
pub fn outgoing(messages: &[Message], scaffold: &[Message]) -> Vec<Message> {
    let mut out: Vec<Message> = messages
        .iter()
        .chain(scaffold)
        .filter(|message| is_sendable(message))
        .cloned()
        .collect();
    out.retain(|message| !only_reasoning(message));
    drop_strays(&mut out);
    answer_all(&mut out);
    merge_users(&mut out);
    recalled::speak(&mut out);
    out
}

/// Old history may hold arguments that no provider accepts; they have run or failed long ago.
fn mend_arguments(messages: &mut [Message]) {
    let mut broken = HashSet::new();
    for message in messages {
        if message.role == Role::Tool {
            let is_broken = |id: &String| broken.contains(id);
            if message.tool_call_id.as_ref().is_some_and(is_broken) {
                mark_corrupted(message);
            }
            continue;
        }
        // Ids are unique among neighbours only.
        broken.clear();
        for call in &mut message.tool_calls {
            if !calls::settle(&mut call.function) {
                broken.insert(call.id.clone());
            }
        }
    }
}

fn mark_corrupted(message: &mut Message) {
    let content = message.content.as_ref();
    let text = content.map(Content::plain).unwrap_or_default();
    if !text.starts_with(CORRUPTED) {
        message.content = Some(Content::Text(format!("{CORRUPTED}{text}")));
    }
}

/// A result belongs to the calls right before it, once each.
fn drop_strays(messages: &mut Vec<Message>) {
    let mut open: HashSet<String> = HashSet::new();
    messages.retain(|message| {
        if message.role == Role::Tool {
            return message
                .tool_call_id
                .as_ref()
                .is_some_and(|id| open.remove(id));
        }
        open = message
            .tool_calls
            .iter()
            .map(|call| call.id.clone())
            .collect();
        true
    });
}

/// Every call gets a result, in the order of the calls.
fn answer_all(messages: &mut Vec<Message>) {
    let mut out: Vec<Message> = Vec::with_capacity(messages.len());
    let mut open: Vec<(String, String)> = Vec::new();
    for message in messages.drain(..) {
        match (&message.role, &message.tool_call_id) {
            (Role::Tool, Some(id)) => open.retain(|(call, _)| call != id),
            _ => {
                out.extend(
                    open.drain(..)
                        .map(|(id, name)| Message::tool(id, name, UNANSWERED)),
                );
                open = message
                    .tool_calls
                    .iter()
                    .map(|call| (call.id.clone(), call.function.name.clone()))
                    .collect();
            }
        }
        out.push(message);
    }
    out.extend(
        open.into_iter()
            .map(|(id, name)| Message::tool(id, name, UNANSWERED)),
    );
    *messages = out;
}

fn merge_users(messages: &mut Vec<Message>) {
    let mut out: Vec<Message> = Vec::with_capacity(messages.len());
    for message in messages.drain(..) {
        if message.role == Role::User
            && let Some(Content::Text(more)) = &message.content
            && let Some(last) = out.last_mut().filter(|last| last.role == Role::User)
            && let Some(Content::Text(text)) = &mut last.content
        {
            text.push_str("\n\n");
            text.push_str(more);
            recalled::hand_on(&message, last);
            continue;
        }
        out.push(message);
    }
    *messages = out;
}

fn is_sendable(message: &Message) -> bool {
    match &message.role {
        Role::System => false, // the system prompt travels apart
        Role::Other(name) => matches!(name.as_str(), "function" | "developer"),
        _ => true,
    }
}

fn only_reasoning(message: &Message) -> bool {
    let says = message
        .content
        .as_ref()
        .is_some_and(|content| !content.plain().trim().is_empty());
    message.role == Role::Assistant
        && !says
        && message.tool_calls.is_empty()
        && !is_prefill(message)
        && !has_items(message)
}

/// Whether a message holds a step of thinking that its server wants to see again.
pub(crate) fn has_items(message: &Message) -> bool {
    message.codex_reasoning_items.is_some() || message.codex_message_items.is_some()
}

/// Thinking that is sent back on purpose, to be continued.
fn is_prefill(message: &Message) -> bool {
    message.extra.contains_key(PREFILL)
}

/// Marks a message as such; never stored.
pub const PREFILL: &str = "_thinking_prefill";

#[cfg(test)]
mod tests {
    use hermes_types::{FunctionCall, ToolCall};
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;
    use serde_json::Map;

    use super::*;

    fn call(id: &str, args: &str) -> ToolCall {
        ToolCall {
            id: id.to_owned(),
            kind: "function".to_owned(),
            function: FunctionCall {
                name: "f".to_owned(),
                arguments: args.to_owned(),
                extra: Map::new(),
            },
            extra: Map::new(),
        }
    }

    fn calls(ids: &[&str]) -> Message {
        Message {
            tool_calls: ids.iter().map(|id| call(id, "{}")).collect(),
            ..Message::assistant("")
        }
    }

    /// One letter a message: u, a, t(id), c(ids).
    fn sketch(messages: &[Message]) -> String {
        let one = |message: &Message| {
            let ids: Vec<_> = message
                .tool_calls
                .iter()
                .map(|call| call.id.clone())
                .collect();
            match &message.role {
                Role::Tool => format!("t{}", message.tool_call_id.clone().unwrap_or_default()),
                Role::User => format!(
                    "u:{}",
                    message.content.as_ref().unwrap().plain().replace('\n', "/")
                ),
                _ if !ids.is_empty() => format!("c{}", ids.join("")),
                role => role.as_str()[..1].to_owned(),
            }
        };
        messages.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_goes_out_is_a_valid_conversation() {
        let check = |messages: &[Message], expected: &str| {
            assert_eq!(sketch(&outgoing(messages, &[])), expected)
        };
        let result = |id: &str| Message::tool(id, "f", "ok");
        check(&[Message::user("a"), Message::assistant("b")], "u:a a");
        check(&[Message::user("a"), Message::user("b")], "u:a//b");
        check(&[calls(&["1", "2"]), result("2")], "c12 t2 t1");
        check(
            &[Message::user("a"), result("9"), Message::assistant("b")],
            "u:a a",
        );
        check(&[calls(&["1"]), result("1"), result("1")], "c1 t1");
        check(
            &[calls(&["1"]), Message::user("x"), result("1")],
            "c1 t1 u:x",
        );
        check(
            &[
                Message::user("a"),
                Message::assistant(" "),
                Message::user("b"),
            ],
            "u:a//b",
        );
        check(
            &[
                Message::text(Role::System, "s"),
                Message::text(Role::Other("session_meta".into()), "m"),
            ],
            "",
        );
    }

    #[test]
    fn corrupted_arguments_of_old_calls_are_dropped_and_said_so() {
        let mut messages = vec![
            Message {
                tool_calls: vec![call("1", "{\"a\": ")],
                ..Message::assistant("")
            },
            Message::tool("1", "f", "result"),
        ];
        mend(&mut messages);
        let once = messages.clone();
        mend(&mut messages);
        assert_eq!(messages, once, "mending twice changes nothing");
        assert_eq!(messages[0].tool_calls[0].function.arguments, "{}");
        assert!(
            messages[1]
                .content
                .as_ref()
                .unwrap()
                .plain()
                .ends_with("dropped.] result")
        );
    }

    /// Providers reject anything else.
    pub fn assert_valid(messages: &[Message]) {
        let mut open: Vec<&str> = Vec::new();
        for message in messages {
            if message.role == Role::Tool {
                let id = message.tool_call_id.as_deref().unwrap();
                let place = open
                    .iter()
                    .position(|call| *call == id)
                    .expect("a result follows its call");
                open.remove(place);
                continue;
            }
            assert!(
                open.is_empty(),
                "every call is answered before anything else"
            );
            open = message
                .tool_calls
                .iter()
                .map(|call| call.id.as_str())
                .collect();
        }
        assert!(open.is_empty(), "the last calls are answered");
    }

    proptest! {
        #[test]
        fn any_history_goes_out_valid(kinds in prop::collection::vec((0..4usize, 0..4usize, 0..4usize), 0..20)) {
            let ids = ["1", "2", "3", "4"];
            let messages: Vec<_> = kinds.iter().map(|(kind, a, b)| match kind {
                0 => Message::user("u"),
                1 => Message::assistant("a"),
                2 => if a == b { calls(&[ids[*a]]) } else { calls(&[ids[*a], ids[*b]]) },
                _ => Message::tool(ids[*a], "f", "r"),
            }).collect();
            assert_valid(&outgoing(&messages, &[]));
            let mut mended = messages;
            mend(&mut mended);
            assert_valid(&outgoing(&mended, &[]));
        }
    }
}
