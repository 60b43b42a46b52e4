//! Gemini's own API: chunks that are whole replies, each with a little more in it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{Dialect, Event, Framing, Streams, with};
use crate::answer::{Answer, Call, CallId, End, Finish, Usage};
use crate::prompt::{Prompt, Said, Who};

pub(super) const STREAMED: Dialect = Dialect {
    path: ":streamGenerateContent",
    request_id: "x-request-id",
    streams: Streams::Always,
    framing: Framing::ServerSentEvents,
    read,
    encode,
    encode_whole,
    error,
    error_kind: None,
};

pub(super) const WHOLE: Dialect = Dialect {
    path: ":generateContent",
    streams: Streams::Never,
    ..STREAMED
};

fn read(body: &Value) -> Prompt {
    let mut said = vec![Said::new(Who::Other, &body["systemInstruction"]["parts"])];
    for content in body["contents"].as_array().into_iter().flatten() {
        let parts = content["parts"].as_array().into_iter().flatten();
        match content["role"].as_str() {
            Some("model") => said.push(Said::new(Who::Other, &content["parts"])),
            _ => said.extend(parts.map(read_part)),
        }
    }
    Prompt::common(body, said)
}

fn read_part(part: &Value) -> Said {
    let response = &part["functionResponse"]["response"];
    match response {
        Value::Null => Said::new(Who::User, part),
        response if response["output"].is_string() => Said::new(Who::Tool, response),
        response => Said::new(Who::Tool, &Value::String(response.to_string())),
    }
}

fn encode(answer: &Answer, _request: &Value) -> Vec<Event> {
    let chunks = parts(answer)
        .into_iter()
        .map(|part| chunk(answer, vec![part], None));
    let mut chunks: Vec<_> = chunks.collect();
    chunks.push(match &answer.end {
        End::Finish(finish) => {
            let empty = json!({"text": ""});
            let mut last = chunk(answer, vec![empty], Some(finish_reason(finish)));
            last["usageMetadata"] = usage(&answer.usage);
            last
        }
        End::Error(message) => error(500, message),
    });
    chunks.iter().map(Event::data).collect()
}

fn encode_whole(answer: &Answer) -> Value {
    let reason = match &answer.end {
        End::Finish(finish) => Some(finish_reason(finish)),
        End::Error(_) => None,
    };
    let mut whole = chunk(answer, whole_parts(answer), reason);
    whole["usageMetadata"] = usage(&answer.usage);
    whole
}

fn chunk(answer: &Answer, parts: Vec<Value>, reason: Option<&str>) -> Value {
    let candidate = json!({"content": {"parts": parts, "role": "model"}, "index": 0});
    json!({
        "candidates": [with(candidate, "finishReason", reason)],
        "modelVersion": answer.model,
        "responseId": format!("response-{}", answer.number),
    })
}

/// Everything in the order a model writes it, as it is streamed.
fn parts(answer: &Answer) -> Vec<Value> {
    let reasoning = answer.reasoning.iter();
    let text = answer.text.iter();
    reasoning
        .map(|piece| json!({"text": piece, "thought": true}))
        .chain(text.map(|piece| json!({"text": piece})))
        .chain(calls(answer))
        .collect()
}

fn whole_parts(answer: &Answer) -> Vec<Value> {
    let thought = answer.reasoning.concat();
    let thought = (!thought.is_empty()).then(|| json!({"text": thought, "thought": true}));
    let text = answer.text.concat();
    let text = (!text.is_empty()).then(|| json!({"text": text}));
    thought
        .into_iter()
        .chain(text)
        .chain(calls(answer))
        .collect()
}

/// Calls always come whole. The first one that thinking led to is signed.
fn calls(answer: &Answer) -> impl Iterator<Item = Value> {
    let signature = format!("signature-{}", answer.number);
    let signature = (!answer.reasoning.is_empty()).then(|| STANDARD.encode(signature));
    let calls = answer.calls.iter().enumerate();
    calls.map(move |(index, call)| {
        let signature = signature.clone().filter(|_| index == 0);
        with(function_call(call), "thoughtSignature", signature)
    })
}

fn function_call(call: &Call) -> Value {
    let arguments = call.arguments.concat();
    // What isn't JSON can't be said here; so it is at least not lost.
    let arguments = serde_json::from_str(&arguments).unwrap_or(Value::String(arguments));
    let function = json!({"name": call.name, "args": arguments});
    let id = match &call.id {
        CallId::Given(id) => Some(id.clone()),
        _ => None,
    };
    json!({"functionCall": with(function, "id", id)})
}

fn finish_reason(finish: &Finish) -> &str {
    match finish {
        Finish::Stop | Finish::ToolCalls => "STOP",
        Finish::Length => "MAX_TOKENS",
        Finish::ContentFilter => "SAFETY",
        Finish::Other(word) => word,
    }
}

fn usage(usage: &Usage) -> Value {
    let prompt = usage.input + usage.cache_read + usage.cache_write;
    json!({
        "promptTokenCount": prompt,
        "cachedContentTokenCount": usage.cache_read,
        "candidatesTokenCount": usage.output.saturating_sub(usage.reasoning),
        "thoughtsTokenCount": usage.reasoning,
        "totalTokenCount": prompt + usage.output,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": prompt}],
    })
}

fn error(status: u16, message: &str) -> Value {
    let kind = match status {
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        503 => "UNAVAILABLE",
        504 => "DEADLINE_EXCEEDED",
        400..500 => "INVALID_ARGUMENT",
        _ => "INTERNAL",
    };
    json!({"error": {"code": status, "message": message, "status": kind}})
}

/// `GET …/models`, with whatever else the script says of a model.
pub(crate) fn models(models: &[Value]) -> Value {
    let list = models.iter().map(|model| {
        let id = model["id"].as_str().unwrap_or_default();
        json!({
            "name": format!("models/{id}"),
            "version": "001",
            "displayName": id,
            "inputTokenLimit": model["context_length"].as_u64().unwrap_or(131_072),
            "outputTokenLimit": 8192,
            "supportedGenerationMethods": ["generateContent", "countTokens"],
        })
    });
    json!({"models": list.collect::<Vec<_>>()})
}
