//! An Anthropic reply, streamed or whole.

use std::collections::BTreeMap;

use hermes_net::sse::Event;
use hermes_types::{Finish, Usage};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::dialect::calls::{Calls, Piece};
use crate::dialect::{Delta, Ending, Fault, parse, take};
use crate::usage;

/// Collects a streamed reply.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    calls: Calls,
    /// Thinking blocks by their index, to be sent back as they came.
    thinking: BTreeMap<u64, Value>,
    stop_reason: Option<String>,
    usage: Usage,
    pub is_done: bool,
    has_started: bool,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Said {
    MessageStart {
        message: Started,
    },
    ContentBlockStart {
        index: u64,
        content_block: Value,
    },
    ContentBlockDelta {
        index: u64,
        delta: Piecemeal,
    },
    MessageDelta {
        delta: Stop,
        #[serde(default)]
        usage: Value,
    },
    MessageStop,
    Error {
        #[serde(default)]
        error: Value,
    },
    /// Pings, the ends of blocks, and whatever comes later.
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Started {
    #[serde(default)]
    usage: Value,
}

#[derive(Deserialize)]
struct Stop {
    #[serde(default)]
    stop_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Piecemeal {
    TextDelta {
        text: String,
    },
    ThinkingDelta {
        thinking: String,
    },
    SignatureDelta {
        signature: String,
    },
    InputJsonDelta {
        partial_json: String,
    },
    #[serde(other)]
    Other,
}

impl Decoder {
    pub fn push(&mut self, event: &Event) -> Result<Vec<Delta>, Fault> {
        if event.data.trim().is_empty() {
            return Ok(Vec::new());
        }
        let delta = match parse(&event.data)? {
            Said::MessageStart { message } => {
                self.has_started = true;
                usage::anthropic(&mut self.usage, &message.usage);
                None
            }
            Said::ContentBlockStart {
                index,
                content_block,
            } => self.begin(index, content_block),
            Said::ContentBlockDelta { index, delta } => self.extend(index, delta),
            Said::MessageDelta { delta, usage } => {
                usage::anthropic(&mut self.usage, &usage);
                self.stop_reason = delta.stop_reason.or(self.stop_reason.take());
                None
            }
            Said::MessageStop => {
                self.is_done = true;
                None
            }
            Said::Error { error } => return Err(Fault::Reported(error)),
            Said::Other => None,
        };
        Ok(delta.into_iter().collect())
    }

    fn begin(&mut self, index: u64, mut block: Value) -> Option<Delta> {
        match block["type"].as_str() {
            Some("text") => text(block["text"].take()).map(Delta::Text),
            Some("thinking" | "redacted_thinking") => {
                let begun = text(block["thinking"].clone());
                self.thinking.insert(index, block);
                begun.map(Delta::Reasoning)
            }
            Some("tool_use") => {
                // Whole replies, and a few servers' streams, have the input right here.
                let whole = block["input"]
                    .as_object()
                    .is_some_and(|input| !input.is_empty());
                let arguments = match &block["input"] {
                    Value::String(odd) => odd.clone(),
                    input if whole => input.to_string(),
                    _ => String::new(),
                };
                let begun = self.calls.add(Piece {
                    index,
                    id: block["id"].as_str().unwrap_or_default(),
                    name: block["name"].as_str().unwrap_or_default(),
                    arguments: &arguments,
                    extra_content: None,
                });
                begun.map(Delta::Call)
            }
            _ => None,
        }
    }

    fn extend(&mut self, index: u64, delta: Piecemeal) -> Option<Delta> {
        match delta {
            Piecemeal::TextDelta { text } => Some(Delta::Text(text)),
            Piecemeal::ThinkingDelta { thinking } => {
                self.extend_thinking(index, "thinking", &thinking);
                Some(Delta::Reasoning(thinking))
            }
            Piecemeal::SignatureDelta { signature } => {
                self.extend_thinking(index, "signature", &signature);
                None
            }
            Piecemeal::InputJsonDelta { partial_json } => {
                self.calls.add(Piece {
                    index,
                    arguments: &partial_json,
                    ..Piece::default()
                });
                None
            }
            Piecemeal::Other => None,
        }
    }

    fn extend_thinking(&mut self, index: u64, field: &str, more: &str) {
        let block = self.thinking.entry(index);
        let block = block.or_insert_with(|| json!({"type": "thinking", "thinking": ""}));
        match &mut block[field] {
            Value::String(text) => text.push_str(more),
            missing => *missing = more.into(),
        }
    }

    pub fn finish(self) -> Result<Ending, Fault> {
        if !self.has_started {
            let complaint = "the reply has no message";
            return Err(Fault::Malformed(complaint.to_owned()));
        }
        let is_over = self.is_done || self.stop_reason.is_some();
        let mut calls = self.calls.finish();
        for call in &mut calls {
            if call.function.arguments.trim().is_empty() {
                call.function.arguments = "{}".to_owned();
            }
        }
        let thinking: Vec<_> = self.thinking.into_values().collect();
        Ok(Ending {
            finish: is_over.then(|| finish(self.stop_reason.as_deref(), !calls.is_empty())),
            calls,
            usage: self.usage,
            reasoning_details: (!thinking.is_empty()).then(|| thinking.into()),
            ..Ending::default()
        })
    }
}

pub(crate) fn decode_whole(body: &str) -> Result<(Vec<Delta>, Ending), Fault> {
    let mut body: Value = parse(body)?;
    if body["type"] == "error" {
        return Err(Fault::Reported(take(&mut body, "/error")));
    }
    let Value::Array(blocks) = take(&mut body, "/content") else {
        return Err(Fault::Malformed("the reply has no content".to_owned()));
    };
    let mut decoder = Decoder {
        has_started: true,
        is_done: true,
        stop_reason: body["stop_reason"].as_str().map(str::to_owned),
        ..Decoder::default()
    };
    usage::anthropic(&mut decoder.usage, &body["usage"]);
    let blocks = (0..).zip(blocks);
    let deltas = blocks
        .filter_map(|(index, block)| decoder.begin(index, block))
        .collect();
    Ok((deltas, decoder.finish()?))
}

fn text(value: Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text),
        _ => None,
    }
}

fn finish(reason: Option<&str>, has_calls: bool) -> Finish {
    match reason {
        Some("max_tokens" | "model_context_window_exceeded") => Finish::Length,
        Some("refusal") => Finish::ContentFilter,
        Some("pause_turn") => Finish::Incomplete,
        _ if has_calls => Finish::ToolCalls,
        _ => Finish::Stop,
    }
}
