//! A reply of Gemini's own API, streamed or whole: both are made of the same chunks.

use hermes_net::sse::Event;
use hermes_types::{Finish, Usage};
use serde_json::{Value, json};

use crate::dialect::calls::{Calls, Piece};
use crate::dialect::{Delta, Ending, Fault, parse, take};
use crate::usage;

/// Collects a streamed reply.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    calls: Calls,
    /// Every call comes whole; this tells them apart.
    count: u64,
    finish: Option<String>,
    /// The prompt was refused, and there is no reply at all.
    is_blocked: bool,
    usage: Usage,
    has_candidate: bool,
}

impl Decoder {
    pub fn push(&mut self, event: &Event) -> Result<Vec<Delta>, Fault> {
        match event.data.trim() {
            "" | "[DONE]" => Ok(Vec::new()),
            data => self.take(parse(data)?),
        }
    }

    fn take(&mut self, mut chunk: Value) -> Result<Vec<Delta>, Fault> {
        if !chunk["error"].is_null() {
            return Err(Fault::Reported(take(&mut chunk, "/error")));
        }
        if chunk["usageMetadata"].is_object() {
            self.usage = usage::gemini(&chunk["usageMetadata"]);
        }
        self.is_blocked |= chunk["promptFeedback"]["blockReason"].is_string();
        // Nobody asked for several.
        let mut candidate = take(&mut chunk, "/candidates/0");
        if candidate.is_null() {
            return Ok(Vec::new());
        }
        self.has_candidate = true;
        if let Some(reason) = candidate["finishReason"].as_str() {
            self.finish = Some(reason.to_owned());
        }
        let Value::Array(parts) = take(&mut candidate, "/content/parts") else {
            return Ok(Vec::new());
        };
        Ok(parts
            .into_iter()
            .filter_map(|part| self.part(part))
            .collect())
    }

    fn part(&mut self, mut part: Value) -> Option<Delta> {
        if part["functionCall"].is_object() {
            let signature = take(&mut part, "/thoughtSignature");
            return self.call(&part["functionCall"], &signature);
        }
        let text = part["text"].as_str().filter(|text| !text.is_empty())?;
        match part["thought"].as_bool() {
            Some(true) => Some(Delta::Reasoning(text.to_owned())),
            _ => Some(Delta::Text(text.to_owned())),
        }
    }

    fn call(&mut self, call: &Value, signature: &Value) -> Option<Delta> {
        let arguments = match &call["args"] {
            Value::Null => json!({}),
            arguments => arguments.clone(),
        };
        let signature = signature.as_str().filter(|text| !text.is_empty());
        let extra_content = signature.map(|text| json!({"google": {"thought_signature": text}}));
        self.count += 1;
        let begun = self.calls.add(Piece {
            index: self.count,
            id: call["id"].as_str().unwrap_or_default(),
            name: call["name"].as_str().unwrap_or_default(),
            arguments: &arguments.to_string(),
            extra_content,
        });
        begun.map(Delta::Call)
    }

    pub fn finish(self) -> Result<Ending, Fault> {
        if !self.has_candidate && !self.is_blocked {
            let complaint = "the reply has no candidates";
            return Err(Fault::Malformed(complaint.to_owned()));
        }
        let has_calls = !self.calls.is_empty();
        let finish = match self.finish.as_deref() {
            None if self.is_blocked => Some(Finish::ContentFilter),
            reason => reason.map(|reason| finish(reason, has_calls)),
        };
        Ok(Ending {
            finish,
            calls: self.calls.finish(),
            usage: self.usage,
            ..Ending::default()
        })
    }
}

pub(crate) fn decode_whole(body: &str) -> Result<(Vec<Delta>, Ending), Fault> {
    let mut decoder = Decoder::default();
    let mut deltas = Vec::new();
    // A stream that was not asked for as events is a list of chunks.
    let chunks = match parse(body)? {
        Value::Array(chunks) => chunks,
        chunk => vec![chunk],
    };
    for chunk in chunks {
        deltas.extend(decoder.take(chunk)?);
    }
    Ok((deltas, decoder.finish()?))
}

fn finish(reason: &str, has_calls: bool) -> Finish {
    match reason {
        "MAX_TOKENS" => Finish::Length,
        "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "IMAGE_SAFETY" => {
            Finish::ContentFilter
        }
        _ if has_calls => Finish::ToolCalls,
        _ => Finish::Stop,
    }
}
