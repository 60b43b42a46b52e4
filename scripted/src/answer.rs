//! What a model says, before any dialect puts it into its own words.

use std::num::NonZeroUsize;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Deserialize;
use serde_json::Value;

use crate::prompt::Prompt;

/// What a step wants said, as the script has it.
#[derive(Clone, Debug)]
pub(crate) struct Say {
    pub words: Words,
    pub reasoning: Option<Pieces>,
    pub calls: Vec<ToolCall>,
    pub usage: Option<Usage>,
    pub finish: Option<Finish>,
    /// The stream breaks off with an error event that says this.
    pub stream_error: Option<String>,
    /// Characters per delta; without it a text is one delta.
    pub chunk: Option<NonZeroUsize>,
}

#[derive(Clone, Debug)]
pub(crate) enum Words {
    Text(Pieces),
    /// This prefix and the last user message.
    Echo(String),
}

/// A text, or the very deltas it comes in.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "expected a text or a list of texts")]
pub(crate) enum Pieces {
    Text(String),
    List(Vec<String>),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToolCall {
    pub name: String,
    /// A text is sent as it is, JSON or not; anything else is written as JSON.
    #[serde(default)]
    pub arguments: Value,
    pub id: Option<String>,
    /// The call has no id at all.
    #[serde(default)]
    pub no_id: bool,
    /// Chat streams only: the index it claims, its place among the calls if not given.
    pub index: Option<usize>,
    /// Chat streams only: the name comes again with every delta.
    #[serde(default)]
    pub resend_name: bool,
    /// Chat streams only: name and arguments come in one delta.
    #[serde(default)]
    pub whole: bool,
}

/// Tokens. The three kinds of input don't overlap; `reasoning` is a part of `output`.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Usage {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub reasoning: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub(crate) enum Finish {
    Stop,
    Length,
    ToolCalls,
    ContentFilter,
    /// A word of the dialect's own, sent as it is.
    Other(String),
}

/// One reply, ready to be encoded.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The request's number, from 1: makes ids that differ and can be foretold.
    pub number: usize,
    /// Seconds since 1970.
    pub created: u64,
    pub model: String,
    /// Each of the texts as the deltas it comes in.
    pub reasoning: Vec<String>,
    pub text: Vec<String>,
    pub calls: Vec<Call>,
    pub usage: Usage,
    pub end: End,
}

#[derive(Debug)]
pub(crate) struct Call {
    pub name: String,
    pub arguments: Vec<String>,
    pub id: CallId,
    pub index: usize,
    pub resend_name: bool,
    pub whole: bool,
}

#[derive(Debug)]
pub(crate) enum CallId {
    Given(String),
    /// To be made up from this.
    Number(String),
    Missing,
}

#[derive(Debug)]
pub(crate) enum End {
    Finish(Finish),
    Error(String),
}

impl Answer {
    pub fn new(say: &Say, prompt: &Prompt, number: usize) -> Self {
        let text = match &say.words {
            Words::Text(pieces) => pieces.split(say.chunk),
            Words::Echo(prefix) => split(&format!("{prefix}{}", prompt.last_user()), say.chunk),
        };
        let calls: Vec<_> = say
            .calls
            .iter()
            .enumerate()
            .map(|(place, call)| call.resolve(place, number, say.chunk))
            .collect();
        let end = match (&say.stream_error, &say.finish) {
            (Some(message), _) => End::Error(message.clone()),
            (None, Some(finish)) => End::Finish(finish.clone()),
            (None, None) if calls.is_empty() => End::Finish(Finish::Stop),
            (None, None) => End::Finish(Finish::ToolCalls),
        };
        let written: usize = text.iter().map(String::len).sum();
        Self {
            number,
            created: now(),
            model: prompt.model.clone(),
            reasoning: say
                .reasoning
                .as_ref()
                .map_or(vec![], |r| r.split(say.chunk)),
            text,
            calls,
            usage: say.usage.unwrap_or(Usage {
                input: rough_tokens(prompt.size),
                output: rough_tokens(written),
                ..Usage::default()
            }),
            end,
        }
    }
}

impl Pieces {
    fn split(&self, chunk: Option<NonZeroUsize>) -> Vec<String> {
        match self {
            Self::Text(text) => split(text, chunk),
            Self::List(pieces) => pieces.clone(),
        }
    }
}

impl ToolCall {
    fn resolve(&self, place: usize, number: usize, chunk: Option<NonZeroUsize>) -> Call {
        let arguments = match &self.arguments {
            Value::Null => "{}".to_owned(),
            Value::String(text) => text.clone(),
            value => value.to_string(),
        };
        Call {
            name: self.name.clone(),
            arguments: split(&arguments, chunk),
            id: match &self.id {
                _ if self.no_id => CallId::Missing,
                Some(id) => CallId::Given(id.clone()),
                None => CallId::Number(format!("{number}_{}", place + 1)),
            },
            index: self.index.unwrap_or(place),
            resend_name: self.resend_name,
            whole: self.whole,
        }
    }
}

impl CallId {
    /// The id as the wire has it; `prefix` is the vendor's, for those we make up.
    pub fn text(&self, prefix: &str) -> Option<String> {
        match self {
            Self::Given(id) => Some(id.clone()),
            Self::Number(number) => Some(format!("{prefix}{number}")),
            Self::Missing => None,
        }
    }
}

impl From<String> for Finish {
    fn from(word: String) -> Self {
        match word.as_str() {
            "stop" => Self::Stop,
            "length" => Self::Length,
            "tool_calls" => Self::ToolCalls,
            "content_filter" => Self::ContentFilter,
            _ => Self::Other(word),
        }
    }
}

/// Cuts by characters, so that a delta may end within what a reader sees as one sign.
fn split(text: &str, chunk: Option<NonZeroUsize>) -> Vec<String> {
    let Some(chunk) = chunk else {
        return if text.is_empty() {
            vec![]
        } else {
            vec![text.to_owned()]
        };
    };
    let chars: Vec<_> = text.chars().collect();
    chars.chunks(chunk.get()).map(String::from_iter).collect()
}

fn rough_tokens(chars: usize) -> u64 {
    chars.div_ceil(4) as u64
}

fn now() -> u64 {
    // A clock before 1970 is nobody's problem here.
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}
