//! A reply of Responses, streamed or whole.

use std::collections::{BTreeMap, BTreeSet};

use hermes_net::sse::Event;
use hermes_types::{Finish, Usage};
use serde_json::{Value, json};

use crate::dialect::calls::{Calls, Piece};
use crate::dialect::{Delta, Ending, Fault, parse, take};
use crate::usage;

/// Collects a streamed reply.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    /// Complete items by their place in the output.
    items: BTreeMap<u64, Value>,
    /// Places of items somebody has already seen the text or the name of.
    shown: BTreeSet<u64>,
    has_text: bool,
    status: Option<String>,
    reason: Option<String>,
    usage: Usage,
    pub is_done: bool,
}

impl Decoder {
    pub fn push(&mut self, event: &Event) -> Result<Vec<Delta>, Fault> {
        let data = event.data.trim();
        if data.is_empty() || data == "[DONE]" {
            return Ok(Vec::new());
        }
        let mut said: Value = parse(data)?;
        let kind = said["type"].as_str().unwrap_or(&event.name).to_owned();
        let place = said["output_index"].as_u64().unwrap_or_default();
        let delta = match kind.as_str() {
            "response.output_text.delta" | "response.refusal.delta" => {
                self.shown.insert(place);
                self.has_text = true;
                text(&said["delta"]).map(Delta::Text)
            }
            "response.reasoning_summary_part.added" => {
                // Parts of a summary are paragraphs.
                let is_next = said["summary_index"]
                    .as_u64()
                    .is_some_and(|index| index > 0);
                is_next.then(|| Delta::Reasoning("\n\n".to_owned()))
            }
            kind if kind.contains("reasoning") && kind.ends_with("delta") => {
                self.shown.insert(place);
                text(&said["delta"]).map(Delta::Reasoning)
            }
            "response.output_item.added" => self.begun(place, &said["item"]),
            "response.output_item.done" => return Ok(self.item(place, take(&mut said, "/item"))),
            "response.completed" | "response.incomplete" | "response.done" => {
                return self.over(take(&mut said, "/response"));
            }
            "response.failed" | "response.cancelled" => {
                return Err(Fault::Reported(reported(take(&mut said, "/response"))));
            }
            "error" => return Err(Fault::Reported(reported(said))),
            // Told again by what is complete, or of no interest.
            _ => None,
        };
        Ok(delta.into_iter().collect())
    }

    fn begun(&mut self, place: u64, item: &Value) -> Option<Delta> {
        let is_call = item["type"] == "function_call";
        let name = item["name"]
            .as_str()
            .filter(|name| is_call && !name.is_empty())?;
        self.shown.insert(place);
        Some(Delta::Call(name.to_owned()))
    }

    /// A complete item. What nobody has seen of it comes now.
    fn item(&mut self, place: u64, item: Value) -> Vec<Delta> {
        if self.items.contains_key(&place) {
            return Vec::new();
        }
        let unseen = !self.shown.contains(&place);
        let delta = match item["type"].as_str().filter(|_| unseen) {
            Some("message") => {
                let text = message_text(&item);
                self.has_text |= !text.is_empty();
                (!text.is_empty()).then_some(Delta::Text(text))
            }
            Some("reasoning") => {
                let text = summary(&item);
                (!text.is_empty()).then_some(Delta::Reasoning(text))
            }
            Some("function_call") => self.begun(place, &item),
            _ => None,
        };
        self.items.insert(place, item);
        delta.into_iter().collect()
    }

    /// The whole response, when it is over. Some servers leave its output empty, and what was collected counts.
    fn over(&mut self, mut response: Value) -> Result<Vec<Delta>, Fault> {
        let status = response["status"]
            .as_str()
            .unwrap_or("completed")
            .to_owned();
        if matches!(status.as_str(), "failed" | "cancelled") {
            return Err(Fault::Reported(reported(response)));
        }
        self.is_done = true;
        self.status = Some(status);
        let reason = response["incomplete_details"]["reason"].as_str();
        self.reason = reason.map(str::to_owned);
        if response["usage"].is_object() {
            self.usage = usage::responses(&response["usage"]);
        }
        let Value::Array(output) = take(&mut response, "/output") else {
            return Ok(Vec::new());
        };
        let items = (0..).zip(output);
        Ok(items
            .flat_map(|(place, item)| self.item(place, item))
            .collect())
    }

    pub fn finish(self) -> Result<Ending, Fault> {
        if self.status.is_none() && self.items.is_empty() && self.shown.is_empty() {
            return Err(Fault::Malformed("the reply has no output".to_owned()));
        }
        let is_cut = self.reason.as_deref() == Some("max_output_tokens");
        let calls = calls(
            self.items
                .values()
                .filter(|item| is_cut || is_complete(item)),
        );
        let finish = self.status.as_deref().map(|status| {
            let has_calls = !calls.is_empty();
            self.finish_of(status, has_calls)
        });
        let of_kind =
            |kind: &'static str| self.items.values().filter(move |item| item["type"] == kind);
        let reasoning: Vec<Value> = of_kind("reasoning").filter_map(kept_reasoning).collect();
        let messages: Vec<Value> = of_kind("message").map(kept_message).collect();
        Ok(Ending {
            finish,
            calls,
            usage: self.usage,
            reasoning_items: (!reasoning.is_empty()).then(|| reasoning.into()),
            message_items: (!messages.is_empty()).then(|| messages.into()),
            ..Ending::default()
        })
    }

    fn finish_of(&self, status: &str, has_calls: bool) -> Finish {
        let messages = || self.items.values().filter(|item| item["type"] == "message");
        let is_comment = |item: &Value| item["phase"].as_str().is_some_and(|p| p == "commentary");
        let has_thought = self.items.values().any(|item| item["type"] == "reasoning");
        match (status, self.reason.as_deref()) {
            (_, Some("max_output_tokens")) => Finish::Length,
            (_, Some("content_filter")) => Finish::ContentFilter,
            _ if has_calls => Finish::ToolCalls,
            ("queued" | "in_progress" | "incomplete", _) => Finish::Incomplete,
            _ if messages().next().is_some() && messages().all(is_comment) => Finish::Incomplete,
            _ if has_thought && !self.has_text => Finish::Incomplete,
            _ => Finish::Stop,
        }
    }
}

pub(crate) fn decode_whole(body: &str) -> Result<(Vec<Delta>, Ending), Fault> {
    let response: Value = parse(body)?;
    if !response["error"].is_null() {
        return Err(Fault::Reported(reported(response)));
    }
    if !response["output"].is_array() {
        return Err(Fault::Malformed("the reply has no output".to_owned()));
    }
    let mut decoder = Decoder::default();
    let deltas = decoder.over(response)?;
    Ok((deltas, decoder.finish()?))
}

/// The error within a response or an event, or what there is instead of one.
fn reported(mut said: Value) -> Value {
    match take(&mut said, "/error") {
        Value::Null if said["message"].is_string() => {
            json!({"message": said["message"], "code": said["code"]})
        }
        Value::Null => {
            let status = said["status"].as_str().unwrap_or("failed");
            json!({"message": format!("the response has {status}")})
        }
        error => error,
    }
}

fn calls<'a>(items: impl Iterator<Item = &'a Value>) -> Vec<hermes_types::ToolCall> {
    let mut calls = Calls::default();
    let mut item_ids = Vec::new();
    let items = items.filter(|item| item["type"] == "function_call");
    for (index, item) in (0..).zip(items) {
        let field = |name: &str| item[name].as_str().unwrap_or_default();
        let arguments = match &item["arguments"] {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            object => object.to_string(),
        };
        calls.add(Piece {
            index,
            id: field("call_id"),
            name: field("name"),
            arguments: &arguments,
            extra_content: None,
        });
        item_ids.push(field("id").to_owned());
    }
    let mut calls = calls.finish();
    for (call, id) in calls.iter_mut().zip(item_ids) {
        if id.starts_with("fc_") {
            call.extra.insert("response_item_id".to_owned(), id.into());
        }
    }
    calls
}

/// A call that isn't complete must not run.
fn is_complete(item: &Value) -> bool {
    !matches!(
        item["status"].as_str(),
        Some("in_progress" | "incomplete" | "queued")
    )
}

/// What has to go back: only what is sealed is of use to the server.
fn kept_reasoning(item: &Value) -> Option<Value> {
    let is_sealed = item["encrypted_content"]
        .as_str()
        .is_some_and(|text| !text.is_empty());
    let fields = ["type", "id", "encrypted_content", "summary"];
    is_sealed.then(|| some_of(item, &fields))
}

fn kept_message(item: &Value) -> Value {
    let mut kept = some_of(item, &["type", "role", "status", "id", "phase"]);
    let parts = item["content"].as_array().into_iter().flatten();
    let parts = parts.map(|part| some_of(part, &["type", "text", "refusal"]));
    kept["content"] = parts.collect();
    kept
}

fn some_of(object: &Value, fields: &[&str]) -> Value {
    let known = fields.iter().filter(|name| !object[**name].is_null());
    known
        .map(|name| ((*name).to_owned(), object[*name].clone()))
        .collect()
}

fn message_text(item: &Value) -> String {
    let parts = item["content"].as_array().into_iter().flatten();
    let texts = parts.filter_map(|part| part["text"].as_str().or(part["refusal"].as_str()));
    texts.collect()
}

fn summary(item: &Value) -> String {
    let texts = |field: &str| {
        let parts = item[field].as_array().into_iter().flatten();
        let texts: Vec<_> = parts.filter_map(|part| part["text"].as_str()).collect();
        texts.join("\n\n")
    };
    match texts("summary") {
        text if text.is_empty() => texts("content"),
        text => text,
    }
}

fn text(value: &Value) -> Option<String> {
    let text = value.as_str().filter(|text| !text.is_empty());
    text.map(str::to_owned)
}
