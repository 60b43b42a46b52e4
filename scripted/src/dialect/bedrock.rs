//! Amazon Bedrock: Converse, and Anthropic's own words in an envelope, both in binary messages when streamed.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{Dialect, Event, Framing, Streams, messages, with};
use crate::answer::{Answer, Call, End, Finish, Usage};
use crate::prompt::{Prompt, Said, Who, text_of};

pub(super) const CONVERSE_STREAM: Dialect = Dialect {
    path: "/converse-stream",
    request_id: "x-amzn-requestid",
    streams: Streams::Always,
    framing: Framing::Amazon,
    read,
    encode,
    encode_whole,
    error,
    error_kind: Some(kind),
};

pub(super) const CONVERSE: Dialect = Dialect {
    path: "/converse",
    streams: Streams::Never,
    ..CONVERSE_STREAM
};

pub(super) const INVOKE_STREAM: Dialect = Dialect {
    path: "/invoke-with-response-stream",
    read: messages::read,
    encode: encode_claude,
    encode_whole: messages::encode_whole,
    ..CONVERSE_STREAM
};

pub(super) const INVOKE: Dialect = Dialect {
    path: "/invoke",
    streams: Streams::Never,
    ..INVOKE_STREAM
};

fn read(body: &Value) -> Prompt {
    let mut said = vec![Said::new(Who::Other, &body["system"])];
    for message in body["messages"].as_array().into_iter().flatten() {
        let blocks = message["content"].as_array().into_iter().flatten();
        match message["role"].as_str() {
            Some("user") => said.extend(blocks.map(read_block)),
            _ => said.push(Said::new(Who::Other, &message["content"])),
        }
    }
    let tools = body["toolConfig"]["tools"].as_array();
    Prompt {
        tools: tools.is_some_and(|tools| !tools.is_empty()),
        ..Prompt::common(body, said)
    }
}

fn read_block(block: &Value) -> Said {
    match &block["toolResult"]["content"] {
        Value::Array(parts) => {
            let texts = parts.iter().map(|part| match &part["json"] {
                Value::Null => text_of(part),
                json => json.to_string(),
            });
            let text = texts.collect::<Vec<_>>().join("\n");
            Said::new(Who::Tool, &Value::String(text))
        }
        _ => Said::new(Who::User, block),
    }
}

fn encode(answer: &Answer, _request: &Value) -> Vec<Event> {
    let mut events = vec![Event::named("messageStart", json!({"role": "assistant"}))];
    for (index, block) in blocks(answer).into_iter().enumerate() {
        let place = || json!({"contentBlockIndex": index});
        let event = |name: &str, key: &str, value: Value| {
            Event::named(name, with(place(), key, Some(value)))
        };
        if let Some(start) = block.start {
            events.push(event("contentBlockStart", "start", start));
        }
        let deltas = block.deltas.into_iter();
        events.extend(deltas.map(|delta| event("contentBlockDelta", "delta", delta)));
        events.push(Event::named("contentBlockStop", place()));
    }
    match &answer.end {
        End::Error(message) => events.push(broken(message)),
        End::Finish(finish) => {
            let stop = json!({"stopReason": stop_reason(finish)});
            let metadata = json!({"usage": usage(&answer.usage), "metrics": {"latencyMs": 1}});
            events.push(Event::named("messageStop", stop));
            events.push(Event::named("metadata", metadata));
        }
    }
    events
}

fn encode_whole(answer: &Answer) -> Value {
    let content: Vec<_> = blocks(answer)
        .into_iter()
        .map(|block| block.whole)
        .collect();
    let reason = match &answer.end {
        End::Finish(finish) => stop_reason(finish),
        End::Error(_) => "end_turn",
    };
    json!({
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": reason,
        "usage": usage(&answer.usage),
        "metrics": {"latencyMs": 1},
    })
}

/// Anthropic's events, each in an envelope; its errors are Amazon's.
fn encode_claude(answer: &Answer, _request: &Value) -> Vec<Event> {
    let mut events = messages::events(answer);
    let error = match &answer.end {
        End::Error(message) => {
            events.pop();
            Some(broken(message))
        }
        End::Finish(_) => None,
    };
    let envelopes = events.iter().map(|event| {
        let bytes = STANDARD.encode(event.to_string());
        Event::named("chunk", json!({"bytes": bytes}))
    });
    envelopes.chain(error).collect()
}

fn broken(message: &str) -> Event {
    let data = json!({"message": message, "originalStatusCode": 500, "originalMessage": message});
    Event::exception("modelStreamErrorException", data)
}

/// A content block: how it opens, if anything says so, what fills it, and the whole of it.
struct Block {
    start: Option<Value>,
    deltas: Vec<Value>,
    whole: Value,
}

fn blocks(answer: &Answer) -> Vec<Block> {
    let thinking = (!answer.reasoning.is_empty()).then(|| thinking(answer));
    let text = (!answer.text.is_empty()).then(|| Block {
        start: None,
        deltas: answer
            .text
            .iter()
            .map(|piece| json!({"text": piece}))
            .collect(),
        whole: json!({"text": answer.text.concat()}),
    });
    let calls = answer.calls.iter().map(tool_use);
    thinking.into_iter().chain(text).chain(calls).collect()
}

fn thinking(answer: &Answer) -> Block {
    let signature = format!("signature-{}", answer.number);
    let pieces = answer.reasoning.iter();
    let mut deltas: Vec<_> = pieces
        .map(|piece| json!({"reasoningContent": {"text": piece}}))
        .collect();
    deltas.push(json!({"reasoningContent": {"signature": signature}}));
    let text = json!({"text": answer.reasoning.concat(), "signature": signature});
    Block {
        start: None,
        deltas,
        whole: json!({"reasoningContent": {"reasoningText": text}}),
    }
}

fn tool_use(call: &Call) -> Block {
    let head = json!({"name": call.name});
    let head = with(head, "toolUseId", call.id.text("tooluse_"));
    let arguments = call.arguments.concat();
    let input = serde_json::from_str(&arguments).unwrap_or(Value::String(arguments));
    let pieces = call.arguments.iter();
    Block {
        start: Some(json!({"toolUse": head})),
        deltas: pieces
            .map(|piece| json!({"toolUse": {"input": piece}}))
            .collect(),
        whole: json!({"toolUse": with(head, "input", Some(input))}),
    }
}

fn stop_reason(finish: &Finish) -> &str {
    match finish {
        Finish::Stop => "end_turn",
        Finish::Length => "max_tokens",
        Finish::ToolCalls => "tool_use",
        Finish::ContentFilter => "content_filtered",
        Finish::Other(word) => word,
    }
}

fn usage(usage: &Usage) -> Value {
    let total = usage.input + usage.cache_read + usage.cache_write + usage.output;
    json!({
        "inputTokens": usage.input,
        "outputTokens": usage.output,
        "totalTokens": total,
        "cacheReadInputTokens": usage.cache_read,
        "cacheWriteInputTokens": usage.cache_write,
    })
}

fn error(_status: u16, message: &str) -> Value {
    json!({"message": message})
}

fn kind(status: u16) -> &'static str {
    match status {
        401 | 403 => "AccessDeniedException",
        404 => "ResourceNotFoundException",
        408 => "ModelTimeoutException",
        424 => "ModelErrorException",
        429 => "ThrottlingException",
        503 => "ServiceUnavailableException",
        400..500 => "ValidationException",
        _ => "InternalServerException",
    }
}
