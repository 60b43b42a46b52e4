//! A conversation as a Responses request.

use std::collections::HashSet;

use hermes_types::{
    Content, Effort, KnownPart, Message, ModelRequest, Part, Role, SessionId, ToolCall, ToolDef,
};
use serde_json::{Map, Value, json};

use crate::dialect::{Wire, join, sampling};
use crate::extras;
use crate::route::{OutputField, Route};
use crate::schema;

/// Some servers insist on instructions.
const NO_INSTRUCTIONS: &str = "You are a helpful assistant.";
/// The longest id the vendor takes back.
const MAX_ID: usize = 64;

pub(crate) fn encode(route: &Route, request: &ModelRequest, session: &SessionId) -> Wire {
    let instructions = match request.system.trim() {
        "" => NO_INSTRUCTIONS,
        _ => &request.system,
    };
    let mut body = Map::new();
    let mut put = |name: &str, value: Value| body.insert(name.to_owned(), value);
    put("model", route.model.clone().into());
    put("instructions", instructions.into());
    put("input", input(route, &request.messages));
    if !request.tools.is_empty() {
        put("tools", tools(route, &request.tools));
        put("tool_choice", "auto".into());
        put("parallel_tool_calls", true.into());
    }
    put("store", false.into());
    put("prompt_cache_key", session.as_str().into());
    if !route.concessions.no_reasoning && request.effort != Effort::None {
        put("include", json!(["reasoning.encrypted_content"]));
    }
    if let Some(reasoning) = reasoning(route, request.effort) {
        put("reasoning", reasoning);
    }
    let limit = request.max_output.or(route.max_output);
    let limit = limit.or(route.quirks.output_default);
    if let Some(limit) = limit.filter(|_| route.quirks.output_field != OutputField::Nowhere) {
        put("max_output_tokens", limit.into());
    }
    if let Some(temperature) = sampling::temperature(route, request) {
        put("temperature", temperature.into());
    }
    if !route.concessions.no_streaming {
        put("stream", true.into());
    }
    body.extend(route.quirks.body.clone());
    extras::hurry(&mut body, request.speed);
    Wire {
        url: join(&route.base_url, "responses"),
        headers: Vec::new(),
        body: body.into(),
    }
}

fn reasoning(route: &Route, effort: Effort) -> Option<Value> {
    if route.quirks.no_effort || route.concessions.no_reasoning {
        return None;
    }
    match effort {
        Effort::None => None,
        // A summary is shown to people; how hard to think stays the model's own choice.
        Effort::Default => Some(json!({"summary": "auto"})),
        Effort::Minimal => Some(json!({"effort": "low", "summary": "auto"})),
        effort => Some(json!({"effort": effort.to_string(), "summary": "auto"})),
    }
}

fn tools(route: &Route, tools: &[ToolDef]) -> Value {
    let tools = schema::for_route(route, tools).into_iter().map(|tool| {
        json!({"type": "function", "name": tool.name, "description": tool.description,
            "strict": false, "parameters": tool.parameters})
    });
    tools.collect()
}

fn input(route: &Route, messages: &[Message]) -> Value {
    let mut sent = HashSet::new();
    let keeps_thinking = !route.concessions.no_thinking_blocks;
    let items = messages.iter().flat_map(|message| match &message.role {
        Role::Assistant => {
            let thinking = match keeps_thinking {
                true => thinking(message, &mut sent),
                false => Vec::new(),
            };
            assistant(message, thinking)
        }
        Role::Tool => vec![result(message)],
        Role::User => vec![json!({"role": "user", "content": content(message)})],
        Role::System => vec![json!({"role": "developer", "content": content(message)})],
        Role::Other(name) if name == "developer" => {
            vec![json!({"role": name, "content": content(message)})]
        }
        Role::Other(_) => Vec::new(),
    });
    items.collect()
}

/// The sealed thinking of a message, as far as it hasn't been sent yet. Without ids: nothing is stored there, so
/// nothing would be found by them.
fn thinking(message: &Message, sent: &mut HashSet<String>) -> Vec<Value> {
    let items = list(message.codex_reasoning_items.as_ref());
    let items = items.filter_map(|item| {
        let sealed = item["encrypted_content"].as_str()?;
        let is_new = !sealed.is_empty() && sent.insert(sealed.to_owned());
        is_new.then(|| {
            let mut item = item.clone();
            if let Value::Object(fields) = &mut item {
                fields.shift_remove("id");
                fields.shift_remove("status");
                fields.entry("summary").or_insert_with(|| json!([]));
            }
            item
        })
    });
    items.collect()
}

fn assistant(message: &Message, mut items: Vec<Value>) -> Vec<Value> {
    let said = said(message);
    let is_bare = said.is_empty() && message.tool_calls.is_empty() && !items.is_empty();
    items.extend(said);
    if is_bare {
        // Thinking must be followed by something.
        items.push(json!({"role": "assistant", "content": ""}));
    }
    items.extend(message.tool_calls.iter().map(call));
    items
}

/// What was said, as the very items it came in where there are any.
fn said(message: &Message) -> Vec<Value> {
    let items: Vec<Value> = list(message.codex_message_items.as_ref())
        .filter(|item| item["type"] == "message")
        .map(|item| {
            let mut item = item.clone();
            let has_id = item["id"].as_str().is_some_and(|id| id.len() <= MAX_ID);
            if let Some(fields) = item.as_object_mut().filter(|_| !has_id) {
                fields.shift_remove("id");
            }
            item
        })
        .collect();
    if !items.is_empty() {
        return items;
    }
    let text = plain(message);
    match text.trim() {
        "" => Vec::new(),
        _ => vec![json!({"role": "assistant", "content": text})],
    }
}

fn call(call: &ToolCall) -> Value {
    json!({"type": "function_call", "call_id": call_id(call), "name": call.function.name,
        "arguments": call.function.arguments})
}

fn call_id(call: &ToolCall) -> &str {
    let own = call.extra.get("call_id").and_then(Value::as_str);
    // The agent may have given a call another id, and its result goes by that.
    own.filter(|own| call.id.is_empty() || *own == call.id)
        .unwrap_or(&call.id)
}

fn result(message: &Message) -> Value {
    let output = match &message.content {
        Some(parts @ Content::Parts(list)) if list.iter().any(is_image) => parts_of(parts),
        _ => plain(message).into(),
    };
    json!({"type": "function_call_output", "output": output,
        "call_id": message.tool_call_id.as_deref().unwrap_or_default()})
}

fn is_image(part: &Part) -> bool {
    matches!(part, Part::Known(KnownPart::ImageUrl { .. }))
}

fn content(message: &Message) -> Value {
    match &message.content {
        Some(parts @ Content::Parts(_)) => parts_of(parts),
        _ => plain(message).into(),
    }
}

fn parts_of(content: &Content) -> Value {
    let Content::Parts(parts) = content else {
        return content.plain().into();
    };
    let parts = parts.iter().filter_map(|part| match part {
        Part::Known(KnownPart::Text { text, .. }) => {
            Some(json!({"type": "input_text", "text": text}))
        }
        Part::Known(KnownPart::ImageUrl { image_url, .. }) => {
            Some(json!({"type": "input_image", "image_url": image_url.url}))
        }
        Part::Other(Value::String(text)) => Some(json!({"type": "input_text", "text": text})),
        Part::Other(_) => None,
    });
    parts.collect()
}

fn plain(message: &Message) -> String {
    let content = message.content.as_ref();
    content.map(Content::plain).unwrap_or_default()
}

fn list(items: Option<&Value>) -> impl Iterator<Item = &Value> {
    items.and_then(Value::as_array).into_iter().flatten()
}
