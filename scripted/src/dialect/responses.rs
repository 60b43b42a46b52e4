//! OpenAI Responses: typed events about output items, numbered in sequence.

use serde_json::{Value, json};

use super::{Dialect, Event, Framing, Streams, chat, with};
use crate::answer::{Answer, Call, End, Finish, Usage};
use crate::prompt::{Prompt, Said, Who};

pub(super) const DIALECT: Dialect = Dialect {
    path: "/responses",
    request_id: "x-request-id",
    streams: Streams::IfAsked,
    framing: Framing::ServerSentEvents,
    read,
    encode,
    encode_whole,
    error: chat::error,
    error_kind: None,
};

fn read(body: &Value) -> Prompt {
    let mut said = vec![Said::new(Who::Other, &body["instructions"])];
    match &body["input"] {
        Value::Array(items) => said.extend(items.iter().map(read_item)),
        text => said.push(Said::new(Who::User, text)),
    }
    Prompt::common(body, said)
}

fn read_item(item: &Value) -> Said {
    match (item["type"].as_str(), item["role"].as_str()) {
        (Some("function_call_output"), _) => Said::new(Who::Tool, &item["output"]),
        (_, Some("user")) => Said::new(Who::User, &item["content"]),
        _ => Said::new(Who::Other, &item["content"]),
    }
}

fn encode(answer: &Answer, _request: &Value) -> Vec<Event> {
    let begun = response(answer, "in_progress", vec![]);
    let mut events = vec![
        json!({"type": "response.created", "response": begun}),
        json!({"type": "response.in_progress", "response": begun}),
    ];
    events.extend(items(answer).into_iter().flat_map(|item| item.events));
    events.push(match &answer.end {
        End::Error(message) => {
            json!({"type": "error", "code": "server_error", "message": message, "param": null})
        }
        End::Finish(finish) => {
            let kind = format!("response.{}", status(finish));
            json!({"type": kind, "response": encode_whole(answer)})
        }
    });
    let number = |(number, event)| Event::typed(&with(event, "sequence_number", Some(number)));
    events.into_iter().enumerate().map(number).collect()
}

fn encode_whole(answer: &Answer) -> Value {
    let status = match &answer.end {
        End::Finish(finish) => status(finish),
        End::Error(_) => "failed",
    };
    let items = items(answer).into_iter().map(|item| item.done).collect();
    let mut response = response(answer, status, items);
    response["usage"] = usage(&answer.usage);
    match &answer.end {
        End::Finish(Finish::Length) => {
            response["incomplete_details"] = json!({"reason": "max_output_tokens"});
        }
        End::Finish(Finish::ContentFilter) => {
            response["incomplete_details"] = json!({"reason": "content_filter"});
        }
        _ => {}
    }
    response
}

fn response(answer: &Answer, status: &str, output: Vec<Value>) -> Value {
    json!({
        "id": format!("resp_{}", answer.number),
        "object": "response",
        "created_at": answer.created,
        "status": status,
        "background": false,
        "error": null,
        "incomplete_details": null,
        "instructions": null,
        "max_output_tokens": null,
        "max_tool_calls": null,
        "model": answer.model,
        "output": output,
        "parallel_tool_calls": true,
        "previous_response_id": null,
        "prompt_cache_key": null,
        "reasoning": {"effort": null, "summary": null},
        "safety_identifier": null,
        "service_tier": "default",
        "store": false,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}, "verbosity": "medium"},
        "tool_choice": "auto",
        "tools": [],
        "top_logprobs": 0,
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": null,
        "user": null,
        "metadata": {},
    })
}

fn status(finish: &Finish) -> &str {
    match finish {
        Finish::Stop | Finish::ToolCalls => "completed",
        Finish::Length | Finish::ContentFilter => "incomplete",
        Finish::Other(status) => status,
    }
}

/// One output item: as it is in the end, and the events that tell how it came about.
struct Item {
    done: Value,
    events: Vec<Value>,
}

/// A place in the output.
struct Place<'a> {
    index: usize,
    id: String,
    answer: &'a Answer,
}

fn items(answer: &Answer) -> Vec<Item> {
    let mut items: Vec<Item> = vec![];
    let place = |items: &Vec<Item>, prefix| Place {
        index: items.len(),
        id: format!("{prefix}_{}_{}", answer.number, items.len()),
        answer,
    };
    if !answer.reasoning.is_empty() {
        items.push(place(&items, "rs").reasoning());
    }
    if !answer.text.is_empty() {
        items.push(place(&items, "msg").message());
    }
    for call in &answer.calls {
        items.push(place(&items, "fc").call(call));
    }
    items
}

impl Place<'_> {
    fn reasoning(&self) -> Item {
        let text = self.answer.reasoning.concat();
        let item = |summary: Value, sealed: &str| {
            json!({"id": self.id, "type": "reasoning", "encrypted_content": sealed,
                "summary": summary})
        };
        let part = |text: &str| json!({"type": "summary_text", "text": text});
        let event = |kind: &str, key: &str, value: Value| {
            let kind = format!("response.reasoning_summary_{kind}");
            json!({"type": kind, "item_id": self.id, "output_index": self.index,
                "summary_index": 0, key: value})
        };
        let mut events = vec![event("part.added", "part", part(""))];
        let deltas = self.answer.reasoning.iter();
        events.extend(deltas.map(|delta| event("text.delta", "delta", json!(delta))));
        events.push(event("text.done", "text", json!(text)));
        events.push(event("part.done", "part", part(&text)));
        let sealed = format!("sealed-{}", self.id);
        self.item(
            item(json!([]), ""),
            events,
            item(json!([part(&text)]), &sealed),
        )
    }

    fn message(&self) -> Item {
        let text = self.answer.text.concat();
        let item = |status: &str, content: Value| {
            json!({"id": self.id, "type": "message", "status": status, "content": content,
                "role": "assistant"})
        };
        let part = |text: &str| json!({"type": "output_text", "annotations": [], "logprobs": [], "text": text});
        let event = |kind: &str, key: &str, value: Value| {
            json!({"type": format!("response.{kind}"), "item_id": self.id,
                "output_index": self.index, "content_index": 0, key: value})
        };
        let mut events = vec![event("content_part.added", "part", part(""))];
        let bare = || Some(json!([]));
        events.extend(self.answer.text.iter().map(|delta| {
            let delta = event("output_text.delta", "delta", json!(delta));
            with(delta, "logprobs", bare())
        }));
        let done = event("output_text.done", "text", json!(text));
        events.push(with(done, "logprobs", bare()));
        events.push(event("content_part.done", "part", part(&text)));
        let status = match &self.answer.end {
            End::Finish(finish) if status(finish) == "incomplete" => "incomplete",
            _ => "completed",
        };
        let done = item(status, json!([part(&text)]));
        self.item(item("in_progress", json!([])), events, done)
    }

    fn call(&self, call: &Call) -> Item {
        let arguments = call.arguments.concat();
        let item = |status: &str, arguments: &str| {
            let item = json!({"id": self.id, "type": "function_call", "status": status,
                "arguments": arguments, "name": call.name});
            with(item, "call_id", call.id.text("call_"))
        };
        let event = |kind: &str, key: &str, value: &str| {
            let kind = format!("response.function_call_arguments.{kind}");
            json!({"type": kind, "item_id": self.id, "output_index": self.index, key: value})
        };
        let deltas = call.arguments.iter();
        let mut events: Vec<_> = deltas.map(|piece| event("delta", "delta", piece)).collect();
        events.push(event("done", "arguments", &arguments));
        self.item(
            item("in_progress", ""),
            events,
            item("completed", &arguments),
        )
    }

    fn item(&self, begun: Value, mut events: Vec<Value>, done: Value) -> Item {
        let event = |kind: &str, item: &Value| {
            let kind = format!("response.output_item.{kind}");
            json!({"type": kind, "output_index": self.index, "item": item})
        };
        events.insert(0, event("added", &begun));
        events.push(event("done", &done));
        Item { done, events }
    }
}

fn usage(usage: &Usage) -> Value {
    let input = usage.input + usage.cache_read + usage.cache_write;
    json!({
        "input_tokens": input,
        "input_tokens_details": {
            "cached_tokens": usage.cache_read,
            "cache_write_tokens": usage.cache_write,
        },
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": input + usage.output,
    })
}
