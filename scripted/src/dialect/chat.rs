//! OpenAI chat completions, the dialect nearly every other host speaks too.

use serde_json::{Value, json};

use super::{Dialect, Event, Framing, Streams, with};
use crate::answer::{Answer, Call, End, Finish, Usage};
use crate::prompt::{Prompt, Said, Who};

pub(super) const DIALECT: Dialect = Dialect {
    path: "/chat/completions",
    request_id: "x-request-id",
    streams: Streams::IfAsked,
    framing: Framing::ServerSentEvents,
    read,
    encode,
    encode_whole,
    error,
    error_kind: None,
};

fn read(body: &Value) -> Prompt {
    let said = body["messages"].as_array().into_iter().flatten();
    let said = said.map(|message| {
        let who = match message["role"].as_str() {
            Some("user") => Who::User,
            Some("tool") => Who::Tool,
            _ => Who::Other,
        };
        Said::new(who, &message["content"])
    });
    Prompt::common(body, said.collect())
}

fn encode(answer: &Answer, request: &Value) -> Vec<Event> {
    let wants_usage = request["stream_options"]["include_usage"] == true;
    let chunk = |choices: Value| {
        let chunk = json!({
            "id": id(answer),
            "object": "chat.completion.chunk",
            "created": answer.created,
            "model": answer.model,
            "service_tier": "default",
            "system_fingerprint": "fp_scripted",
            "choices": choices,
        });
        with(chunk, "usage", wants_usage.then_some(Value::Null))
    };
    let delta = |delta: Value, finish: Option<&str>| {
        Event::data(chunk(json!([
            {"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}
        ])))
    };
    let mut events: Vec<_> = deltas(answer).into_iter().map(|d| delta(d, None)).collect();
    match &answer.end {
        End::Finish(finish) => events.push(delta(json!({}), Some(finish_reason(finish)))),
        End::Error(message) => {
            events.push(Event::data(error(500, message)));
            return events;
        }
    }
    if wants_usage {
        let last = with(chunk(json!([])), "usage", Some(usage(&answer.usage)));
        events.push(Event::data(last));
    }
    events.push(Event::data("[DONE]"));
    events
}

/// Everything but the end, in the order a model writes it.
fn deltas(answer: &Answer) -> Vec<Value> {
    let role =
        json!({"role": "assistant", "content": content(answer).map(|_| ""), "refusal": null});
    let reasoning = answer.reasoning.iter();
    let text = answer.text.iter();
    std::iter::once(role)
        .chain(reasoning.map(|piece| json!({"reasoning_content": piece})))
        .chain(text.map(|piece| json!({"content": piece})))
        .chain(answer.calls.iter().flat_map(call_deltas))
        .collect()
}

fn call_deltas(call: &Call) -> Vec<Value> {
    let first = |arguments: String| {
        let function = json!({"name": call.name, "arguments": arguments});
        let head = with(json!({"index": call.index}), "id", call.id.text("call_"));
        with(
            with(head, "type", Some("function")),
            "function",
            Some(function),
        )
    };
    let calls = if call.whole {
        vec![first(call.arguments.concat())]
    } else {
        let rest = call.arguments.iter().map(|piece| {
            let function = with(json!({}), "name", call.resend_name.then_some(&*call.name));
            let function = with(function, "arguments", Some(&**piece));
            json!({"index": call.index, "function": function})
        });
        std::iter::once(first(String::new())).chain(rest).collect()
    };
    let delta = |call| json!({"tool_calls": [call]});
    calls.into_iter().map(delta).collect()
}

fn encode_whole(answer: &Answer) -> Value {
    let message = json!({"role": "assistant", "content": content(answer), "refusal": null});
    let reasoning = (!answer.reasoning.is_empty()).then(|| answer.reasoning.concat());
    let message = with(message, "reasoning_content", reasoning);
    let calls: Vec<_> = answer.calls.iter().map(whole_call).collect();
    let message = with(message, "tool_calls", (!calls.is_empty()).then_some(calls));
    let finish = match &answer.end {
        End::Finish(finish) => Some(finish_reason(finish)),
        End::Error(_) => None,
    };
    json!({
        "id": id(answer),
        "object": "chat.completion",
        "created": answer.created,
        "model": answer.model,
        "choices": [{"index": 0, "message": message, "logprobs": null, "finish_reason": finish}],
        "usage": usage(&answer.usage),
        "service_tier": "default",
        "system_fingerprint": "fp_scripted",
    })
}

fn whole_call(call: &Call) -> Value {
    let function = json!({"name": call.name, "arguments": call.arguments.concat()});
    let head = with(json!({}), "id", call.id.text("call_"));
    with(
        with(head, "type", Some("function")),
        "function",
        Some(function),
    )
}

/// `null` when there are only tool calls.
fn content(answer: &Answer) -> Option<String> {
    let only_calls = answer.text.is_empty() && !answer.calls.is_empty();
    (!only_calls).then(|| answer.text.concat())
}

fn id(answer: &Answer) -> String {
    format!("chatcmpl-{}", answer.number)
}

fn finish_reason(finish: &Finish) -> &str {
    match finish {
        Finish::Stop => "stop",
        Finish::Length => "length",
        Finish::ToolCalls => "tool_calls",
        Finish::ContentFilter => "content_filter",
        Finish::Other(word) => word,
    }
}

fn usage(usage: &Usage) -> Value {
    let prompt = usage.input + usage.cache_read + usage.cache_write;
    json!({
        "prompt_tokens": prompt,
        "completion_tokens": usage.output,
        "total_tokens": prompt + usage.output,
        "prompt_tokens_details": {
            "cached_tokens": usage.cache_read,
            "cache_write_tokens": usage.cache_write,
            "audio_tokens": 0,
        },
        "completion_tokens_details": {
            "reasoning_tokens": usage.reasoning,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    })
}

/// OpenAI's error body, which its Responses API has too.
pub(super) fn error(status: u16, message: &str) -> Value {
    let (kind, code) = match status {
        401 => ("invalid_request_error", Some("invalid_api_key")),
        404 => ("invalid_request_error", Some("model_not_found")),
        429 => ("requests", Some("rate_limit_exceeded")),
        400..500 => ("invalid_request_error", None),
        _ => ("server_error", None),
    };
    json!({"error": {"message": message, "type": kind, "param": null, "code": code}})
}

/// `GET /v1/models`, with whatever else the script says of a model.
pub(crate) fn models(models: &[Value]) -> Value {
    let data = models.iter().map(|model| {
        let mut entry = json!({
            "id": null, "object": "model", "created": 1_700_000_000, "owned_by": "scripted"
        });
        for (key, value) in model.as_object().into_iter().flatten() {
            entry[key] = value.clone();
        }
        entry
    });
    json!({"object": "list", "data": data.collect::<Vec<_>>()})
}
