//! The script as it is written: flat JSON, checked as a whole before anything runs.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::answer::{Finish, Pieces, Say, ToolCall, Usage, Words};
use crate::prompt::When;
use crate::script::{Repeat, Reply, Script, Step};
use crate::wire::{Ending, Garbage, Wire};

/// What is wrong with a script.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    #[error("the script isn't JSON: {0}")]
    Json(#[source] serde_json::Error),
    #[error("the script can't be read: {0}")]
    Script(#[source] serde_json::Error),
    #[error("{place} can't be read: {error}")]
    Step {
        place: String,
        error: serde_json::Error,
    },
    #[error("{place} {problem}")]
    Sense { place: String, problem: String },
}

impl Script {
    pub fn from_json(text: &str) -> Result<Self, ScriptError> {
        Self::from_value(serde_json::from_str(text).map_err(ScriptError::Json)?)
    }

    /// A script object, or just its list of steps.
    pub fn from_value(script: Value) -> Result<Self, ScriptError> {
        let script = match script {
            Value::Array(steps) => json!({ "steps": steps }),
            script => script,
        };
        let fields: ScriptFields = serde_json::from_value(script).map_err(ScriptError::Script)?;
        let steps = fields.steps.into_iter().enumerate();
        Ok(Self {
            models: fields
                .models
                .into_iter()
                .map(model)
                .collect::<Result<_, _>>()?,
            ollama: fields.ollama,
            get: fields.get,
            steps: steps
                .map(|(index, step)| read_step(step, format!("step {}", index + 1)))
                .collect::<Result<_, _>>()?,
            otherwise: fields
                .otherwise
                .map(|step| read_step(step, "otherwise".to_owned()))
                .transpose()?,
        })
    }
}

/// Steps are read one by one, so that an error can name the step.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptFields {
    steps: Vec<Value>,
    otherwise: Option<Value>,
    #[serde(default = "default_models")]
    models: Vec<Value>,
    #[serde(default)]
    ollama: BTreeMap<String, Value>,
    #[serde(default)]
    get: BTreeMap<String, Value>,
}

/// Everything a step can have; the README says what each is for.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct StepFields {
    when: When,
    repeat: Option<RepeatField>,

    text: Option<Pieces>,
    echo: Option<String>,
    reasoning: Option<Pieces>,
    tool_calls: Vec<ToolCall>,
    empty: bool,
    usage: Option<Usage>,
    finish: Option<Finish>,
    stream_error: Option<String>,
    chunk: Option<NonZeroUsize>,

    raw_sse: Option<Vec<Value>>,
    status: Option<u16>,
    body: Option<Value>,
    headers: BTreeMap<String, String>,

    delay_ms: u64,
    between_ms: u64,
    bytes_per_write: Option<NonZeroUsize>,
    garbage: Option<Garbage>,
    cut_after_chunks: Option<usize>,
    cut_after_bytes: Option<usize>,
    stall_after_chunks: Option<usize>,
    end_after_chunks: Option<usize>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(untagged, expecting = "expected true or a number of times")]
enum RepeatField {
    Forever(bool),
    Times(u32),
}

fn read_step(step: Value, place: String) -> Result<Step, ScriptError> {
    match serde_json::from_value::<StepFields>(step) {
        Ok(fields) => fields
            .check()
            .map_err(|problem| ScriptError::Sense { place, problem }),
        Err(error) => Err(ScriptError::Step { place, error }),
    }
}

impl StepFields {
    fn check(self) -> Result<Step, String> {
        let repeat = match self.repeat {
            None | Some(RepeatField::Forever(false)) => Repeat::Times(1),
            Some(RepeatField::Forever(true)) => Repeat::Forever,
            Some(RepeatField::Times(times)) => Repeat::Times(times),
        };
        Ok(Step {
            repeat,
            headers: headers(&self.headers)?,
            wire: Wire {
                delay: Duration::from_millis(self.delay_ms),
                between: Duration::from_millis(self.between_ms),
                bytes_per_write: self.bytes_per_write,
                garbage: self.garbage.clone(),
                ending: self.ending()?,
            },
            when: self.when.clone(),
            reply: self.reply()?,
        })
    }

    fn ending(&self) -> Result<Ending, String> {
        let endings = [
            self.cut_after_chunks.map(Ending::CutAfterChunks),
            self.cut_after_bytes.map(Ending::CutAfterBytes),
            self.stall_after_chunks.map(Ending::StallAfterChunks),
            self.end_after_chunks.map(Ending::EndAfterChunks),
        ];
        match endings.into_iter().flatten().collect::<Vec<_>>()[..] {
            [] => Ok(Ending::Whole),
            [ending] => Ok(ending),
            _ => Err(
                "can end in one way only, but has several of cut_after_chunks, \
                      cut_after_bytes, stall_after_chunks and end_after_chunks"
                    .to_owned(),
            ),
        }
    }

    fn reply(self) -> Result<Reply, String> {
        let says = self.text.is_some()
            || self.echo.is_some()
            || self.reasoning.is_some()
            || !self.tool_calls.is_empty();
        let kinds = [
            says,
            self.empty,
            self.raw_sse.is_some(),
            self.status.is_some(),
        ];
        match kinds.iter().filter(|kind| **kind).count() {
            0 => Err(
                "replies nothing: give it text, echo, reasoning, tool_calls, raw_sse, \
                      status, or \"empty\": true"
                    .to_owned(),
            ),
            1 => self.the_reply(),
            _ => Err(
                "replies in several ways: empty, raw_sse and status exclude each other and \
                      anything said"
                    .to_owned(),
            ),
        }
    }

    fn the_reply(self) -> Result<Reply, String> {
        if self.body.is_some() && self.status.is_none() {
            return Err("has a body without a status".to_owned());
        }
        if let Some(status) = self.status {
            let status = StatusCode::from_u16(status)
                .ok()
                .filter(|status| !status.is_informational())
                .ok_or_else(|| format!("has no possible status: {status}"))?;
            let body = self.body;
            return Ok(Reply::Status { status, body });
        }
        if let Some(events) = self.raw_sse {
            return Ok(Reply::Raw(events.into_iter().map(raw_event).collect()));
        }
        let words = match (self.text, self.echo) {
            (Some(_), Some(_)) => return Err("has both text and echo".to_owned()),
            (None, Some(prefix)) => Words::Echo(prefix),
            (text, None) => Words::Text(text.unwrap_or(Pieces::List(vec![]))),
        };
        Ok(Reply::Say(Say {
            words,
            reasoning: self.reasoning,
            calls: self.tool_calls,
            usage: self.usage,
            finish: self.finish,
            stream_error: self.stream_error,
            chunk: self.chunk,
        }))
    }
}

/// A text is sent as it is; any other JSON becomes a data event.
fn raw_event(event: Value) -> String {
    match event {
        Value::String(text) => text,
        value => format!("data: {value}\n\n"),
    }
}

fn headers(fields: &BTreeMap<String, String>) -> Result<HeaderMap, String> {
    let header = |(name, value): (&String, &String)| {
        let parsed = (name.parse::<HeaderName>(), value.parse::<HeaderValue>());
        match parsed {
            (Ok(name), Ok(value)) => Ok((name, value)),
            _ => Err(format!("has no possible header: {name}: {value}")),
        }
    };
    fields.iter().map(header).collect()
}

fn default_models() -> Vec<Value> {
    vec![json!({"id": "scripted-1", "context_length": 131_072})]
}

/// A model is an object with an id, or just the id.
fn model(model: Value) -> Result<Value, ScriptError> {
    match model {
        Value::String(id) => Ok(json!({ "id": id })),
        model if model["id"].is_string() => Ok(model),
        model => Err(ScriptError::Sense {
            place: "models:".to_owned(),
            problem: format!("{model} has no id"),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_error(script: Value, expected: &str) {
        let error = Script::from_value(script).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }

    #[test]
    fn errors_name_the_step_and_the_key() {
        check_error(
            json!({"step": []}),
            "the script can't be read: unknown field `step`",
        );
        check_error(
            json!([{"text": "a"}, {"txt": "b"}]),
            "step 2 can't be read: unknown field `txt`, expected one of `when`, `repeat`",
        );
        check_error(
            json!([{"text": "a", "when": {"usr": "x"}}]),
            "step 1 can't be read: unknown field `usr`",
        );
        check_error(
            json!([{"tool_calls": [{"name": "f", "args": {}}]}]),
            "step 1 can't be read: unknown field `args`",
        );
        check_error(
            json!({"steps": [], "otherwise": {"usage": {"in": 1}, "text": ""}}),
            "otherwise can't be read: unknown field `in`",
        );
        check_error(
            json!([{"text": 1}]),
            "step 1 can't be read: expected a text or a list of texts",
        );
        check_error(
            json!([{"text": "a", "repeat": "x"}]),
            "step 1 can't be read: expected true or a number of times",
        );
        let error = Script::from_json("[").unwrap_err().to_string();
        assert!(error.starts_with("the script isn't JSON: EOF"), "{error}");
    }

    #[test]
    fn steps_must_make_sense() {
        check_error(json!([{}]), "step 1 replies nothing");
        check_error(
            json!([{"text": "a", "empty": true}]),
            "step 1 replies in several ways",
        );
        check_error(
            json!([{"text": "a", "status": 200}]),
            "step 1 replies in several ways",
        );
        check_error(
            json!([{"text": "a", "echo": "b"}]),
            "step 1 has both text and echo",
        );
        check_error(
            json!([{"text": "a", "body": "b"}]),
            "step 1 has a body without a status",
        );
        check_error(json!([{"status": 99}]), "step 1 has no possible status: 99");
        check_error(
            json!([{"status": 101}]),
            "step 1 has no possible status: 101",
        );
        check_error(
            json!([{"status": 200, "headers": {"a b": "c"}}]),
            "step 1 has no possible header: a b: c",
        );
        check_error(
            json!([{"text": "a", "cut_after_chunks": 1, "end_after_chunks": 1}]),
            "step 1 can end in one way only",
        );
        check_error(json!({"steps": [], "models": [{}]}), "models: {} has no id");
    }
}
