//! Content in shapes nobody promised, as text.

use serde_json::Value;

use super::Delta;

/// Splits what stands in a `content` field into text and thinking.
pub(super) fn deltas(content: Value) -> Vec<Delta> {
    match content {
        Value::Null => Vec::new(),
        Value::String(text) if text.is_empty() => Vec::new(),
        Value::String(text) => vec![Delta::Text(text)],
        Value::Array(parts) => from_parts(parts),
        other => vec![Delta::Text(flatten(other))],
    }
}

fn from_parts(parts: Vec<Value>) -> Vec<Delta> {
    let (thinking, texts): (Vec<_>, Vec<_>) = parts
        .into_iter()
        .partition(|part| part["type"] == "thinking");
    let thinking = thinking
        .into_iter()
        .map(|mut part| flatten(part["thinking"].take()));
    let thinking = thinking
        .filter(|text| !text.is_empty())
        .map(Delta::Reasoning);
    let text = flatten(Value::Array(texts));
    let text = (!text.is_empty()).then_some(Delta::Text(text));
    thinking.chain(text).collect()
}

/// An object's `text` or `content`, else its JSON; a list's texts, one per line.
pub(super) fn flatten(content: Value) -> String {
    match content {
        Value::Null => String::new(),
        Value::String(text) => text,
        Value::Array(parts) => {
            let texts = parts.into_iter().filter_map(|part| match part {
                Value::Object(_) if part.get("text").is_none() => None,
                part => Some(flatten(part)),
            });
            texts.collect::<Vec<_>>().join("\n")
        }
        Value::Object(mut object) => match ["text", "content"]
            .iter()
            .find_map(|key| object.remove(*key))
        {
            Some(inner) => flatten(inner),
            None => Value::Object(object).to_string(),
        },
        scalar => scalar.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn content_becomes_text() {
        let check = |content: Value, expected: &str| assert_eq!(flatten(content), expected);
        check(json!("a"), "a");
        check(json!(null), "");
        check(json!({"text": "a", "x": 1}), "a");
        check(json!({"content": [{"text": "a"}, {"text": "b"}]}), "a\nb");
        check(json!({"x": 1}), "{\"x\":1}");
        check(
            json!([{"type": "text", "text": "a"}, "b", {"type": "image"}]),
            "a\nb",
        );
    }

    #[test]
    fn thinking_parts_are_thinking() {
        let content = json!([
            {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
            {"type": "text", "text": "hi"},
        ]);
        let expected = [Delta::Reasoning("hm".into()), Delta::Text("hi".into())];
        assert_eq!(deltas(content), expected);
    }
}
