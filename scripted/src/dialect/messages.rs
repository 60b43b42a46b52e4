//! Anthropic Messages: a message of content blocks, each opened, filled and closed.

use serde_json::{Value, json};

use super::{Dialect, Event, Framing, Streams, with};
use crate::answer::{Answer, Call, End, Finish, Usage};
use crate::prompt::{Prompt, Said, Who};

pub(super) const DIALECT: Dialect = Dialect {
    path: "/messages",
    request_id: "request-id",
    streams: Streams::IfAsked,
    framing: Framing::ServerSentEvents,
    read,
    encode,
    encode_whole,
    error,
    error_kind: None,
};

pub(super) fn read(body: &Value) -> Prompt {
    let mut said = vec![Said::new(Who::Other, &body["system"])];
    for message in body["messages"].as_array().into_iter().flatten() {
        match (message["role"].as_str(), &message["content"]) {
            (Some("user"), Value::Array(blocks)) => said.extend(blocks.iter().map(read_block)),
            (Some("user"), text) => said.push(Said::new(Who::User, text)),
            (_, content) => said.push(Said::new(Who::Other, content)),
        }
    }
    Prompt::common(body, said)
}

/// Tool results come as blocks of a user message.
fn read_block(block: &Value) -> Said {
    match block["type"].as_str() {
        Some("tool_result") => Said::new(Who::Tool, &block["content"]),
        _ => Said::new(Who::User, block),
    }
}

fn encode(answer: &Answer, _request: &Value) -> Vec<Event> {
    events(answer).iter().map(Event::typed).collect()
}

/// A stream's events; the last one tells of an error, if the script wants one.
pub(super) fn events(answer: &Answer) -> Vec<Value> {
    let mut start = message(answer, vec![], None);
    // As the vendor counts when nothing has been written yet.
    start["usage"]["output_tokens"] = json!(1);
    let mut events = vec![json!({"type": "message_start", "message": start})];
    for (index, block) in blocks(answer).into_iter().enumerate() {
        let event = |kind: &str, key: &str, value: Value| json!({"type": format!("content_block_{kind}"), "index": index, key: value});
        events.push(event("start", "content_block", block.start));
        if index == 0 {
            events.push(json!({"type": "ping"}));
        }
        let deltas = block.deltas.into_iter();
        events.extend(deltas.map(|delta| event("delta", "delta", delta)));
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    match &answer.end {
        End::Error(message) => events.push(error(529, message)),
        End::Finish(finish) => events.extend([
            json!({"type": "message_delta",
                "delta": {"stop_reason": stop_reason(finish), "stop_sequence": null},
                "usage": usage(&answer.usage)}),
            json!({"type": "message_stop"}),
        ]),
    }
    events
}

pub(super) fn encode_whole(answer: &Answer) -> Value {
    let content = blocks(answer).into_iter().map(|block| block.whole);
    let reason = match &answer.end {
        End::Finish(finish) => Some(stop_reason(finish)),
        End::Error(_) => None,
    };
    message(answer, content.collect(), reason)
}

fn message(answer: &Answer, content: Vec<Value>, stop_reason: Option<&str>) -> Value {
    json!({
        "id": format!("msg_{}", answer.number),
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": null,
        "usage": with(usage(&answer.usage), "service_tier", Some("standard")),
    })
}

/// A content block: how it opens, what fills it, and the whole of it.
struct Block {
    start: Value,
    deltas: Vec<Value>,
    whole: Value,
}

fn blocks(answer: &Answer) -> Vec<Block> {
    let thinking = (!answer.reasoning.is_empty()).then(|| thinking(answer));
    let text = (!answer.text.is_empty()).then(|| text(answer));
    let calls = answer.calls.iter().map(tool_use);
    thinking.into_iter().chain(text).chain(calls).collect()
}

fn thinking(answer: &Answer) -> Block {
    let block = |thinking: &str, signature: &str| json!({"type": "thinking", "thinking": thinking, "signature": signature});
    let signature = format!("signature-{}", answer.number);
    let pieces = answer.reasoning.iter();
    let mut deltas: Vec<_> = pieces
        .map(|piece| json!({"type": "thinking_delta", "thinking": piece}))
        .collect();
    deltas.push(json!({"type": "signature_delta", "signature": signature}));
    Block {
        start: block("", ""),
        deltas,
        whole: block(&answer.reasoning.concat(), &signature),
    }
}

fn text(answer: &Answer) -> Block {
    let block = |text: &str| json!({"type": "text", "text": text});
    let pieces = answer.text.iter();
    Block {
        start: block(""),
        deltas: pieces
            .map(|piece| json!({"type": "text_delta", "text": piece}))
            .collect(),
        whole: block(&answer.text.concat()),
    }
}

fn tool_use(call: &Call) -> Block {
    let block = |input: Value| {
        let head = with(json!({"type": "tool_use"}), "id", call.id.text("toolu_"));
        with(with(head, "name", Some(&*call.name)), "input", Some(input))
    };
    let delta = |piece: &str| json!({"type": "input_json_delta", "partial_json": piece});
    let arguments = call.arguments.concat();
    // Broken arguments can only be streamed; as a whole they are at least not lost.
    let input = serde_json::from_str(&arguments).unwrap_or(Value::String(arguments));
    let pieces = call.arguments.iter().map(|piece| delta(piece));
    Block {
        start: block(json!({})),
        deltas: std::iter::once(delta("")).chain(pieces).collect(),
        whole: block(input),
    }
}

fn stop_reason(finish: &Finish) -> &str {
    match finish {
        Finish::Stop => "end_turn",
        Finish::Length => "max_tokens",
        Finish::ToolCalls => "tool_use",
        Finish::ContentFilter => "refusal",
        Finish::Other(word) => word,
    }
}

fn usage(usage: &Usage) -> Value {
    json!({
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": usage.output,
    })
}

fn error(status: u16, message: &str) -> Value {
    let kind = match status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        400..500 => "invalid_request_error",
        _ => "api_error",
    };
    json!({"type": "error", "error": {"type": kind, "message": message}})
}

/// `GET /v1/models`, with whatever else the script says of a model.
pub(crate) fn models(models: &[Value]) -> Value {
    let data = models.iter().map(|model| {
        let mut entry = json!({
            "type": "model", "id": null, "display_name": model["id"], "lifecycle": "active",
            "created_at": "2023-11-14T22:13:20Z"
        });
        for (key, value) in model.as_object().into_iter().flatten() {
            entry[key] = value.clone();
        }
        entry
    });
    let id = |model: Option<&Value>| model.map(|model| model["id"].clone());
    json!({
        "data": data.collect::<Vec<_>>(),
        "has_more": false,
        "first_id": id(models.first()),
        "last_id": id(models.last()),
    })
}
