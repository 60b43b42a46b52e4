//! Prompt-cache markers: at most four, on the system prompt and the end of the conversation.

use serde_json::{Value, json};

use crate::route::CacheTtl;

/// What a vendor allows per request.
pub(super) const MAX_MARKERS: usize = 4;

pub(super) fn marker(ttl: CacheTtl) -> Value {
    match ttl {
        CacheTtl::FiveMinutes => json!({"type": "ephemeral"}),
        CacheTtl::OneHour => json!({"type": "ephemeral", "ttl": "1h"}),
    }
}

/// Marks chat messages in place: the system message and the last ones that can carry a marker.
pub(super) fn mark_envelope(messages: &mut [Value], ttl: CacheTtl) {
    let marker = marker(ttl);
    let mut left = MAX_MARKERS;
    if let Some(first) = messages.first_mut()
        && is_system(first)
        && mark(first, &marker)
    {
        left -= 1;
    }
    for message in messages
        .iter_mut()
        .rev()
        .filter(|message| !is_system(message))
    {
        if left == 0 {
            break;
        }
        if mark(message, &marker) {
            left -= 1;
        }
    }
}

fn is_system(message: &Value) -> bool {
    matches!(message["role"].as_str(), Some("system" | "developer"))
}

/// Only a content part can carry a marker here: on the message itself aggregators ignore it, or hang.
fn mark(message: &mut Value, marker: &Value) -> bool {
    let content = &mut message["content"];
    if let Value::String(text) = content {
        if text.is_empty() {
            return false;
        }
        *content = json!([{"type": "text", "text": text}]);
    }
    let last = content.as_array_mut().and_then(|parts| parts.last_mut());
    match last {
        Some(Value::Object(part)) => {
            part.insert("cache_control".to_owned(), marker.clone());
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    /// The positions of messages with a marker.
    fn marked(mut messages: Vec<Value>) -> Vec<usize> {
        mark_envelope(&mut messages, CacheTtl::FiveMinutes);
        let carries = |message: &Value| message.to_string().contains("cache_control");
        let all = messages.iter().enumerate();
        all.filter(|(_, message)| carries(message))
            .map(|(at, _)| at)
            .collect()
    }

    fn say(role: &str, content: &str) -> Value {
        json!({"role": role, "content": content})
    }

    #[test]
    fn system_and_the_last_three() {
        let user = || say("user", "x");
        assert_eq!(
            marked(vec![say("system", "s"), user(), user(), user(), user()]),
            [0, 2, 3, 4]
        );
        assert_eq!(
            marked(vec![user(), user(), user(), user(), user()]),
            [1, 2, 3, 4]
        );
        assert_eq!(
            marked(vec![
                say("system", "s"),
                user(),
                say("assistant", ""),
                say("tool", "t")
            ]),
            [0, 1, 3]
        );
        assert_eq!(marked(vec![]), Vec::<usize>::new());
    }

    #[test]
    fn the_marker_is_on_the_last_part() {
        let mut messages = vec![json!({"role": "user", "content": [
            {"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "u"}}]})];
        mark_envelope(&mut messages, CacheTtl::OneHour);
        assert_eq!(messages[0]["content"][0].get("cache_control"), None);
        assert_eq!(
            messages[0]["content"][1]["cache_control"],
            json!({"type": "ephemeral", "ttl": "1h"})
        );
    }
}
