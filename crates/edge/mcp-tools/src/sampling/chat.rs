//! A server's messages as a conversation of ours, and a model's reply as a server's result. Pure.

use hermes_types::{
    Content, Finish, FunctionCall, ImageUrl, KnownPart, Message, ModelReply, ModelRequest, Part,
    Role, ToolCall, ToolDef,
};
use serde_json::{Map, Value, json};

use crate::schema::normalise;

/// `params` of `sampling/createMessage` as a request.
pub(super) fn request(params: &Value) -> Result<ModelRequest, String> {
    let messages = params.get("messages").and_then(Value::as_array);
    let messages: Vec<Message> = messages.into_iter().flatten().flat_map(chat).collect();
    if messages.is_empty() {
        return Err("The sampling request has no messages".to_owned());
    }
    let forbidden = params
        .pointer("/toolChoice/mode")
        .is_some_and(|mode| mode == "none");
    let tools = params
        .get("tools")
        .and_then(Value::as_array)
        .filter(|_| !forbidden);
    Ok(ModelRequest {
        system: text(params, "systemPrompt").to_owned(),
        messages,
        tools: tools.into_iter().flatten().filter_map(tool).collect(),
        max_output: params
            .get("maxTokens")
            .and_then(Value::as_u64)
            .filter(|most| *most > 0),
        temperature: params.get("temperature").and_then(Value::as_f64),
        ..ModelRequest::default()
    })
}

/// The model the server would like best.
pub(super) fn hint(params: &Value) -> Option<&str> {
    let hints = params.pointer("/modelPreferences/hints")?.as_array()?;
    let names = hints.iter().filter_map(|hint| hint.get("name")?.as_str());
    names.map(str::trim).find(|name| !name.is_empty())
}

fn tool(tool: &Value) -> Option<ToolDef> {
    let name = text(tool, "name");
    (!name.is_empty()).then(|| ToolDef {
        name: name.to_owned(),
        description: text(tool, "description").to_owned(),
        parameters: normalise(tool.get("inputSchema").unwrap_or(&Value::Null)),
    })
}

/// Results of tools are messages of their own; everything else of a message stays together.
fn chat(message: &Value) -> Vec<Message> {
    let blocks = match message.get("content") {
        Some(Value::Array(blocks)) => blocks.clone(),
        Some(Value::String(text)) => vec![json!({"type": "text", "text": text})],
        Some(one) => vec![one.clone()],
        None => return Vec::new(),
    };
    let role = match text(message, "role") {
        "assistant" => Role::Assistant,
        _ => Role::User,
    };
    let mut all = Vec::new();
    let (mut parts, mut calls) = (Vec::new(), Vec::new());
    for block in &blocks {
        match text(block, "type") {
            "tool_use" => calls.push(call(block)),
            "tool_result" => all.push(Message {
                tool_call_id: Some(text(block, "toolUseId").to_owned()),
                ..Message::text(Role::Tool, result_text(block))
            }),
            _ => parts.extend(part(block)),
        }
    }
    if !parts.is_empty() || !calls.is_empty() {
        let mut message = Message::text(role, "");
        message.content = content(parts);
        message.tool_calls = calls;
        all.push(message);
    }
    all
}

fn content(parts: Vec<Part>) -> Option<Content> {
    let texts: Option<Vec<&str>> = parts
        .iter()
        .map(|part| match part {
            Part::Known(KnownPart::Text { text, .. }) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    match texts {
        Some(texts) if texts.is_empty() => None,
        Some(texts) => Some(Content::Text(texts.join("\n"))),
        None => Some(Content::Parts(parts)),
    }
}

fn part(block: &Value) -> Option<Part> {
    let extra = Map::new();
    let known = match text(block, "type") {
        "text" => KnownPart::Text {
            text: text(block, "text").to_owned(),
            extra,
        },
        "image" => {
            let url = format!(
                "data:{};base64,{}",
                text(block, "mimeType"),
                text(block, "data")
            );
            let image_url = ImageUrl {
                url,
                extra: Map::new(),
            };
            KnownPart::ImageUrl { image_url, extra }
        }
        "" => return None,
        other => KnownPart::Text {
            text: format!("[{other} is not supported]"),
            extra,
        },
    };
    Some(Part::Known(known))
}

fn call(block: &Value) -> ToolCall {
    let arguments = block
        .get("input")
        .map_or_else(|| "{}".to_owned(), Value::to_string);
    ToolCall {
        id: text(block, "id").to_owned(),
        kind: "function".to_owned(),
        function: FunctionCall {
            name: text(block, "name").to_owned(),
            arguments,
            extra: Map::new(),
        },
        extra: Map::new(),
    }
}

fn result_text(block: &Value) -> String {
    let blocks = block.get("content").and_then(Value::as_array);
    let texts: Vec<&str> = blocks
        .into_iter()
        .flatten()
        .map(|block| match text(block, "type") {
            "text" => text(block, "text"),
            _ => "[content that is no text]",
        })
        .collect();
    match block.get("structuredContent") {
        Some(structured) if texts.is_empty() => structured.to_string(),
        _ => texts.join("\n"),
    }
}

/// The result the server gets. `clean` takes secrets out of texts.
pub(super) fn result(reply: &ModelReply, model: &str, clean: impl Fn(&str) -> String) -> Value {
    let text = reply
        .message
        .content
        .as_ref()
        .map(Content::plain)
        .unwrap_or_default();
    let text = json!({"type": "text", "text": clean(&text)});
    let calls = &reply.message.tool_calls;
    let content = match calls.is_empty() {
        true => text,
        false => {
            let said = Some(text).filter(|text| text["text"] != "");
            said.into_iter().chain(calls.iter().map(tool_use)).collect()
        }
    };
    let reason = match reply.finish {
        _ if !calls.is_empty() => "toolUse",
        Finish::Length => "maxTokens",
        _ => "endTurn",
    };
    json!({"role": "assistant", "content": content, "model": model, "stopReason": reason})
}

fn tool_use(call: &ToolCall) -> Value {
    let written = &call.function.arguments;
    let input = match serde_json::from_str(written) {
        Ok(Value::Object(input)) => Value::Object(input),
        Err(_) if written.trim().is_empty() => json!({}),
        _ => json!({"_raw": written}),
    };
    json!({"type": "tool_use", "id": call.id, "name": call.function.name, "input": input})
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn messages_become_a_conversation() {
        let check = |message: Value, expected: Value| {
            let request = request(&json!({"messages": [message]})).unwrap();
            assert_eq!(serde_json::to_value(request.messages).unwrap(), expected);
        };
        check(
            json!({"role": "user", "content": {"type": "text", "text": "hi"}}),
            json!([{"role": "user", "content": "hi"}]),
        );
        check(
            json!({"role": "user", "content": [{"type": "text", "text": "see"},
                {"type": "image", "data": "aGk=", "mimeType": "image/png"}]}),
            json!([{"role": "user", "content": [{"type": "text", "text": "see"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}]}]),
        );
        check(
            json!({"role": "assistant", "content": [{"type": "text", "text": "wait"},
                {"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}}]}),
            json!([{"role": "assistant", "content": "wait", "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{\"a\":1}"}}]}]),
        );
        check(
            json!({"role": "user", "content": [{"type": "tool_result", "toolUseId": "c1",
                "content": [{"type": "text", "text": "42"}, {"type": "image"}]}, {"type": "audio"}]}),
            json!([{"role": "tool", "content": "42\n[content that is no text]", "tool_call_id": "c1"},
                {"role": "user", "content": "[audio is not supported]"}]),
        );
    }

    #[test]
    fn the_rest_of_a_request() {
        let message = json!({"role": "user", "content": {"type": "text", "text": "hi"}});
        let asked = json!({"messages": [message], "systemPrompt": "be kind", "maxTokens": 9,
            "temperature": 0.5,
            "tools": [{"name": "f", "inputSchema": {"required": ["x"]}}, {"description": "nameless"}],
            "modelPreferences": {"hints": [{"name": " "}, {"name": "sonnet"}]}});
        let made = request(&asked).unwrap();
        assert_eq!(
            (made.system.as_str(), made.max_output, made.temperature),
            ("be kind", Some(9), Some(0.5))
        );
        assert_eq!(made.tools.len(), 1);
        assert_eq!(
            made.tools[0].parameters,
            json!({"type": "object", "properties": {}})
        );
        assert_eq!(hint(&asked), Some("sonnet"));
        let mut none = asked;
        none["toolChoice"] = json!({"mode": "none"});
        assert!(request(&none).unwrap().tools.is_empty());
        assert!(request(&json!({"messages": []})).is_err());
        assert_eq!(hint(&json!({})), None);
    }
}
