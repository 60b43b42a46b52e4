//! Converse, Amazon's API for all models: what comes back. What goes out is next door.

use hermes_net::sse::Event;
use hermes_types::{Finish, Usage};
use serde_json::{Value, json};

use super::exception;
use crate::dialect::calls::{Calls, Piece};
use crate::dialect::{Delta, Ending, Fault, parse};
use crate::usage;

pub(crate) use super::converse_encode::encode;

/// Collects a streamed reply.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    calls: Calls,
    stop_reason: Option<String>,
    usage: Usage,
    pub is_done: bool,
    has_started: bool,
}

impl Decoder {
    pub fn push(&mut self, event: &Event) -> Result<Vec<Delta>, Fault> {
        if let Some(fault) = exception(event) {
            return Err(fault);
        }
        if event.data.trim().is_empty() {
            return Ok(Vec::new());
        }
        let said: Value = parse(&event.data)?;
        let index = said["contentBlockIndex"].as_u64().unwrap_or_default();
        let delta = match event.name.as_str() {
            "messageStart" => {
                self.has_started = true;
                None
            }
            "contentBlockStart" => self.begin(index, &said["start"]["toolUse"]),
            "contentBlockDelta" => self.extend(index, &said["delta"]),
            "messageStop" => {
                self.stop_reason = said["stopReason"].as_str().map(str::to_owned);
                None
            }
            // The last of all events.
            "metadata" => {
                self.usage = usage::converse(&said["usage"]);
                self.is_done = true;
                None
            }
            _ => None,
        };
        Ok(delta.into_iter().collect())
    }

    fn begin(&mut self, index: u64, tool: &Value) -> Option<Delta> {
        let begun = self.calls.add(Piece {
            index,
            id: tool["toolUseId"].as_str()?,
            name: tool["name"].as_str().unwrap_or_default(),
            ..Piece::default()
        });
        begun.map(Delta::Call)
    }

    fn extend(&mut self, index: u64, delta: &Value) -> Option<Delta> {
        if let Some(arguments) = delta["toolUse"]["input"].as_str() {
            self.calls.add(Piece {
                index,
                arguments,
                ..Piece::default()
            });
            return None;
        }
        let thought = delta["reasoningContent"]["text"].as_str();
        let thought = thought.map(|text| Delta::Reasoning(text.to_owned()));
        let text = delta["text"].as_str();
        thought.or_else(|| text.map(|text| Delta::Text(text.to_owned())))
    }

    /// A block of a whole reply.
    fn block(&mut self, index: u64, block: &Value) -> Option<Delta> {
        let tool = &block["toolUse"];
        if tool.is_object() {
            let begun = self.begin(index, tool);
            let input = match &tool["input"] {
                Value::Null => json!({}),
                input => input.clone(),
            };
            self.calls.add(Piece {
                index,
                arguments: &input.to_string(),
                ..Piece::default()
            });
            return begun;
        }
        let thought = block["reasoningContent"]["reasoningText"]["text"].as_str();
        let thought = thought.map(|text| Delta::Reasoning(text.to_owned()));
        let text = block["text"].as_str().filter(|text| !text.is_empty());
        thought.or_else(|| text.map(|text| Delta::Text(text.to_owned())))
    }

    pub fn finish(self) -> Result<Ending, Fault> {
        if !self.has_started {
            let complaint = "the reply has no message";
            return Err(Fault::Malformed(complaint.to_owned()));
        }
        let mut calls = self.calls.finish();
        for call in &mut calls {
            if call.function.arguments.trim().is_empty() {
                call.function.arguments = "{}".to_owned();
            }
        }
        let reason = self.stop_reason.as_deref();
        Ok(Ending {
            finish: reason.map(|reason| finish(reason, !calls.is_empty())),
            calls,
            usage: self.usage,
            ..Ending::default()
        })
    }
}

pub(crate) fn decode_whole(body: &str) -> Result<(Vec<Delta>, Ending), Fault> {
    let body: Value = parse(body)?;
    let Some(blocks) = body["output"]["message"]["content"].as_array() else {
        return Err(Fault::Malformed("the reply has no message".to_owned()));
    };
    let mut decoder = Decoder {
        has_started: true,
        stop_reason: Some(body["stopReason"].as_str().unwrap_or_default().to_owned()),
        usage: usage::converse(&body["usage"]),
        ..Decoder::default()
    };
    let blocks = (0..).zip(blocks);
    let deltas = blocks
        .filter_map(|(index, block)| decoder.block(index, block))
        .collect();
    Ok((deltas, decoder.finish()?))
}

fn finish(reason: &str, has_calls: bool) -> Finish {
    match reason {
        "max_tokens" | "model_context_window_exceeded" => Finish::Length,
        "guardrail_intervened" | "content_filtered" => Finish::ContentFilter,
        _ if has_calls => Finish::ToolCalls,
        _ => Finish::Stop,
    }
}
