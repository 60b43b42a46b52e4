//! A chat-completions reply, streamed or whole.

use std::borrow::Cow;

use hermes_net::sse::Event;
use hermes_types::{Finish, Usage};
use serde::Deserialize;
use serde_json::Value;

use crate::dialect::calls::{Calls, Piece};
use crate::dialect::{Delta, Ending, Fault, content, parse};
use crate::usage;

/// Collects a streamed reply.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    calls: Calls,
    details: Vec<Value>,
    finish: Option<String>,
    usage: Usage,
    /// `[DONE]` came.
    pub is_done: bool,
    has_choice: bool,
}

/// What we read of a chunk; skipping the rest is most of what makes reading cheap.
#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow, default)]
    choices: Option<Vec<Choice<'a>>>,
    #[serde(default)]
    usage: Value,
    #[serde(default)]
    error: Value,
}

#[derive(Deserialize)]
struct Choice<'a> {
    /// A whole reply calls it `message`.
    #[serde(borrow, default, alias = "message")]
    delta: Option<Said<'a>>,
    #[serde(borrow, default)]
    finish_reason: Option<Cow<'a, str>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Said<'a> {
    content: Value,
    refusal: Value,
    reasoning: Value,
    reasoning_content: Value,
    thinking: Value,
    reasoning_details: Value,
    #[serde(borrow)]
    tool_calls: Option<Vec<CallPiece<'a>>>,
}

#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct CallPiece<'a> {
    index: Option<u64>,
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    function: Option<Function<'a>>,
    extra_content: Option<Value>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Function<'a> {
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    arguments: Value,
}

impl Decoder {
    pub fn push(&mut self, event: &Event) -> Result<Vec<Delta>, Fault> {
        let data = event.data.trim();
        if data == "[DONE]" {
            self.is_done = true;
            return Ok(Vec::new());
        }
        if data.is_empty() {
            return Ok(Vec::new());
        }
        self.take(parse(data)?)
    }

    fn take(&mut self, chunk: Chunk<'_>) -> Result<Vec<Delta>, Fault> {
        if !chunk.error.is_null() {
            return Err(Fault::Reported(chunk.error));
        }
        if chunk.usage.is_object() {
            self.usage = usage::chat(&chunk.usage);
        }
        // Nobody asked for several.
        let Some(choice) = chunk.choices.unwrap_or_default().into_iter().next() else {
            return Ok(Vec::new());
        };
        self.has_choice = true;
        if let Some(finish) = choice.finish_reason {
            self.finish = Some(finish.into_owned());
        }
        Ok(self.said(choice.delta.unwrap_or_default()))
    }

    fn said(&mut self, said: Said<'_>) -> Vec<Delta> {
        let mut deltas = Vec::new();
        if let Some(text) = reasoning_text(&said) {
            deltas.push(Delta::Reasoning(text));
        }
        merge_details(&mut self.details, said.reasoning_details);
        deltas.extend(content::deltas(said.content));
        deltas.extend(content::deltas(said.refusal));
        for (position, call) in said.tool_calls.unwrap_or_default().into_iter().enumerate() {
            deltas.extend(self.call(call, position).map(Delta::Call));
        }
        deltas
    }

    /// `position` is its place in a whole reply, where calls have no index.
    fn call(&mut self, call: CallPiece<'_>, position: usize) -> Option<String> {
        let function = call.function.unwrap_or_default();
        let arguments = match function.arguments {
            Value::Null => String::new(),
            Value::String(text) => text,
            // Some servers send the object itself.
            object => object.to_string(),
        };
        self.calls.add(Piece {
            index: call.index.unwrap_or(position as u64),
            id: call.id.as_deref().unwrap_or_default(),
            name: function.name.as_deref().unwrap_or_default(),
            arguments: &arguments,
            extra_content: call.extra_content,
        })
    }

    pub fn finish(self) -> Result<Ending, Fault> {
        if !self.has_choice {
            let complaint = "the reply has no choices";
            return Err(Fault::Malformed(complaint.to_owned()));
        }
        let is_over = self.is_done || self.finish.is_some();
        let has_calls = !self.calls.is_empty();
        Ok(Ending {
            finish: is_over.then(|| finish(self.finish.as_deref(), has_calls)),
            calls: self.calls.finish(),
            usage: self.usage,
            reasoning_details: (!self.details.is_empty()).then(|| self.details.into()),
            ..Ending::default()
        })
    }
}

pub(crate) fn decode_whole(body: &str) -> Result<(Vec<Delta>, Ending), Fault> {
    let chunk: Chunk<'_> = parse(body)?;
    let mut decoder = Decoder {
        is_done: true,
        ..Decoder::default()
    };
    let deltas = decoder.take(chunk)?;
    Ok((deltas, decoder.finish()?))
}

fn finish(reason: Option<&str>, has_calls: bool) -> Finish {
    match reason {
        Some("length") => Finish::Length,
        Some("content_filter") => Finish::ContentFilter,
        // Whatever the word, a reply with calls wants them run.
        _ if has_calls => Finish::ToolCalls,
        _ => Finish::Stop,
    }
}

/// The first field that has any; the same text often comes in several.
fn reasoning_text(said: &Said<'_>) -> Option<String> {
    let fields = [&said.reasoning, &said.reasoning_content, &said.thinking];
    let field = fields
        .into_iter()
        .find_map(|field| field.as_str().filter(|text| !text.is_empty()));
    field.map(str::to_owned).or_else(|| {
        let blocks = said.reasoning_details.as_array().into_iter().flatten();
        let texts: String = blocks.filter_map(block_text).collect();
        (!texts.is_empty()).then_some(texts)
    })
}

fn block_text(block: &Value) -> Option<&str> {
    let keys = ["summary", "thinking", "content", "text"];
    keys.iter().find_map(|key| block[*key].as_str())
}

/// Adds streamed pieces of reasoning blocks to the blocks they continue.
fn merge_details(details: &mut Vec<Value>, pieces: Value) {
    let Value::Array(pieces) = pieces else { return };
    for piece in pieces {
        let continues = |block: &&mut Value| {
            !piece["index"].is_null()
                && block["index"] == piece["index"]
                && block["type"] == piece["type"]
        };
        match details.last_mut().filter(continues) {
            Some(block) => merge_block(block, piece),
            None => details.push(piece),
        }
    }
}

fn merge_block(block: &mut Value, piece: Value) {
    let (Value::Object(block), Value::Object(piece)) = (block, piece) else {
        return;
    };
    for (name, value) in piece {
        match (block.get_mut(&name), value) {
            (Some(Value::String(text)), Value::String(more))
                if matches!(&*name, "text" | "summary" | "data") =>
            {
                text.push_str(&more);
            }
            (_, Value::Null) => {}
            (_, value) => {
                block.insert(name, value);
            }
        }
    }
}
