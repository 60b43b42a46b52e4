//! A conversation as a chat-completions request.

use hermes_types::{Content, Effort, Message, ModelRequest, Role, ToolDef};
use serde_json::{Map, Value, json};

use crate::dialect::{Wire, cache, is_only_items, join, sampling};
use crate::limits;
use crate::route::{CacheLayout, EffortField, OutputField, Quirks, Route, SystemRole};
use crate::schema;

pub(crate) fn encode(route: &Route, request: &ModelRequest) -> Wire {
    let quirks = &route.quirks;
    let mut messages = messages(route, request);
    if quirks.cache != CacheLayout::Automatic {
        cache::mark_envelope(&mut messages, quirks.cache_ttl);
    }
    let mut body = Map::new();
    body.insert("model".to_owned(), route.model.clone().into());
    body.insert("messages".to_owned(), messages.into());
    if !request.tools.is_empty() {
        body.insert("tools".to_owned(), tools(route, &request.tools));
    }
    if let Some((field, limit)) =
        output_field(quirks.output_field).zip(output_limit(route, request))
    {
        body.insert(field.to_owned(), limit.into());
    }
    if let Some(temperature) = temperature(route, request) {
        body.insert("temperature".to_owned(), temperature.into());
    }
    if !route.concessions.no_streaming {
        body.insert("stream".to_owned(), true.into());
        body.insert("stream_options".to_owned(), json!({"include_usage": true}));
    }
    body.extend(effort(quirks, request.effort));
    if let Some(temperature) = sampling::temperature(route, request) {
        body.insert("temperature".to_owned(), temperature.into());
    }
    body.extend(quirks.body.clone());
    Wire {
        url: join(&route.base_url, "chat/completions"),
        headers: Vec::new(),
        body: body.into(),
    }
}

fn messages(route: &Route, request: &ModelRequest) -> Vec<Value> {
    let role = match route.quirks.system_role {
        SystemRole::System => "system",
        SystemRole::Developer => "developer",
    };
    let system =
        (!request.system.is_empty()).then(|| json!({"role": role, "content": request.system}));
    let rest = request
        .messages
        .iter()
        .filter(|said| !is_only_items(said))
        .map(|said| match message(said, route) {
            mut system if said.role == Role::System => {
                system["role"] = role.into();
                system
            }
            message => message,
        });
    system.into_iter().chain(rest).collect()
}

/// The stored message without what is ours alone.
fn message(message: &Message, route: &Route) -> Value {
    let mut fields = Map::new();
    fields.insert("role".to_owned(), message.role.as_str().into());
    fields.insert("content".to_owned(), content(message.content.as_ref()));
    if let Some(name) = &message.name {
        fields.insert("name".to_owned(), name.clone().into());
    }
    if let Some(id) = &message.tool_call_id {
        fields.insert("tool_call_id".to_owned(), id.clone().into());
    }
    if !message.tool_calls.is_empty() {
        fields.insert("tool_calls".to_owned(), tool_calls(message));
    }
    if let Some(text) = reasoning_content(message, &route.quirks) {
        fields.insert("reasoning_content".to_owned(), text.into());
    }
    if let Some(details) = &message.reasoning_details
        && !route.concessions.no_thinking_blocks
        && !is_anthropic_thinking(details)
    {
        fields.insert("reasoning_details".to_owned(), details.clone());
    }
    let extra = message
        .extra
        .iter()
        .filter(|(name, _)| is_for_the_wire(name));
    fields.extend(extra.map(|(name, value)| (name.clone(), value.clone())));
    fields.into()
}

/// Never `null`: several servers refuse it, and all take an empty text.
fn content(content: Option<&Content>) -> Value {
    match content {
        None => "".into(),
        Some(Content::Text(text)) => text.clone().into(),
        Some(Content::Parts(parts)) => json!(parts),
        Some(other) => other.plain().into(),
    }
}

/// Fields that belong to the store, to us, or to another dialect.
fn is_for_the_wire(name: &str) -> bool {
    const OURS: [&str; 11] = [
        "reasoning",
        "finish_reason",
        "call_id",
        "response_item_id",
        "anthropic_content_blocks",
        "timestamp",
        // Columns of newer databases.
        "api_content",
        "effect_disposition",
        "message_id",
        "observed",
        "platform_message_id",
    ];
    !name.starts_with('_') && !name.starts_with("codex_") && !OURS.contains(&name)
}

fn tool_calls(message: &Message) -> Value {
    let calls = message.tool_calls.iter().map(|call| {
        let mut fields = Map::new();
        fields.insert("id".to_owned(), call.id.clone().into());
        fields.insert("type".to_owned(), call.kind.clone().into());
        let arguments = stable_arguments(&call.function.arguments);
        fields.insert(
            "function".to_owned(),
            json!({"name": call.function.name, "arguments": arguments}),
        );
        let extra = call.extra.iter().filter(|(name, _)| is_for_the_wire(name));
        fields.extend(extra.map(|(name, value)| (name.clone(), value.clone())));
        Value::Object(fields)
    });
    calls.collect()
}

/// The same bytes for the same arguments, so that a server's cached prefix keeps matching.
fn stable_arguments(arguments: &str) -> String {
    match serde_json::from_str::<Value>(arguments) {
        Ok(mut value) => {
            value.sort_all_objects();
            value.to_string()
        }
        Err(_) => arguments.to_owned(),
    }
}

/// Some servers want the thinking back with every assistant message, and refuse an empty text; the others
/// refuse the field.
fn reasoning_content(message: &Message, quirks: &Quirks) -> Option<String> {
    if !quirks.echo_reasoning || message.role != Role::Assistant {
        return None;
    }
    let own = message.reasoning_content.as_deref();
    // Thinking without its own field was written by another vendor's model: not for this one to read.
    let foreign = message
        .reasoning
        .as_deref()
        .filter(|_| message.tool_calls.is_empty());
    let text = own.or(foreign).filter(|text| !text.is_empty());
    Some(text.unwrap_or(" ").to_owned())
}

fn is_anthropic_thinking(details: &Value) -> bool {
    let blocks = details.as_array().into_iter().flatten();
    blocks
        .filter_map(|block| block["type"].as_str())
        .any(|kind| matches!(kind, "thinking" | "redacted_thinking"))
}

fn tools(route: &Route, tools: &[ToolDef]) -> Value {
    let tools = schema::for_route(route, tools).into_iter().map(|tool| {
        json!({"type": "function", "function": {
            "name": tool.name, "description": tool.description, "parameters": tool.parameters}})
    });
    tools.collect()
}

/// Kimi's models insist on their own.
fn temperature(route: &Route, request: &ModelRequest) -> Option<f64> {
    let is_kimi = route.model.rsplit('/').next()?.starts_with("kimi-");
    request
        .temperature
        .filter(|_| !is_kimi && !route.concessions.no_temperature)
}

fn output_limit(route: &Route, request: &ModelRequest) -> Option<u64> {
    if route.concessions.no_output_limit {
        return None;
    }
    let quirks = &route.quirks;
    let ceiling = quirks.output_ceiling.then(|| limits::output(&route.model));
    let asked = request.max_output.or(route.max_output);
    asked.or(quirks.output_default).or(ceiling)
}

fn output_field(field: OutputField) -> Option<&'static str> {
    match field {
        OutputField::MaxTokens => Some("max_tokens"),
        OutputField::MaxCompletionTokens => Some("max_completion_tokens"),
        OutputField::Nowhere => None,
    }
}

fn effort(quirks: &Quirks, effort: Effort) -> Vec<(String, Value)> {
    let word = || known_effort(&quirks.efforts, effort);
    let fields = match (quirks.effort, effort) {
        (EffortField::Nowhere, _) | (_, Effort::Default) => vec![],
        (EffortField::ReasoningUnlessOff, Effort::None) => vec![],
        (EffortField::Reasoning, Effort::None) => vec![("reasoning", json!({"enabled": false}))],
        (EffortField::Reasoning | EffortField::ReasoningUnlessOff, _) => {
            vec![("reasoning", json!({"enabled": true, "effort": word()}))]
        }
        (EffortField::ReasoningEffort, _) => vec![("reasoning_effort", word().into())],
        (EffortField::Think, Effort::None) => vec![("think", false.into())],
        (EffortField::Think, _) => vec![],
        (EffortField::Thinking, Effort::None) => vec![("thinking", json!({"type": "disabled"}))],
        (EffortField::Thinking, _) => vec![
            ("thinking", json!({"type": "enabled"})),
            ("reasoning_effort", word().into()),
        ],
    };
    let named = fields.into_iter();
    named
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// The effort, or the strongest weaker one the server knows; its weakest if there is none.
fn known_effort(known: &[String], effort: Effort) -> String {
    const WORDS: [&str; 6] = ["none", "minimal", "low", "medium", "high", "xhigh"];
    let rank = |word: &str| WORDS.iter().position(|known| *known == word);
    let wanted = effort.to_string();
    let fits = |word: &&String| rank(word) <= rank(&wanted);
    let best = known.iter().rev().find(fits).or(known.first());
    best.cloned().unwrap_or(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_the_store_stays_here() {
        for name in [
            "api_content",
            "observed",
            "platform_message_id",
            "_thinking_prefill",
            "codex_message_items",
        ] {
            assert!(!is_for_the_wire(name), "{name}");
        }
        assert!(is_for_the_wire("extra_content"));
    }

    #[test]
    fn an_effort_the_server_does_not_know_becomes_a_weaker_one() {
        let known: Vec<String> = ["low", "medium", "high"].map(str::to_owned).to_vec();
        let check = |effort, expected| assert_eq!(known_effort(&known, effort), expected);
        check(Effort::XHigh, "high");
        check(Effort::Medium, "medium");
        check(Effort::Minimal, "low");
        assert_eq!(known_effort(&[], Effort::XHigh), "xhigh");
    }
}
