//! Thinking: what is asked of a model, what comes back, and what can go wrong.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::BoxStream;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Message, RateLimits, Scope};

/// One model behind one route. Retries, keys and other routes are its own business: whoever calls it sends a
/// conversation once.
pub trait ModelClient: Send + Sync {
    fn info(&self) -> &ModelInfo;

    /// Streams the reply. The last event is [`ModelEvent::Done`], or the stream ends with an error. What the
    /// reply costs is paid from the scope's purse.
    fn stream(
        &self,
        request: ModelRequest,
        scope: Scope,
    ) -> BoxStream<'static, Result<ModelEvent, ModelError>>;

    /// What the server last said about how much more it will take; `None`: it doesn't say.
    fn rate_limits(&self) -> Option<RateLimits> {
        None
    }

    /// Whether [`Speed::Fast`] means something to whoever is asked first.
    fn can_hurry(&self) -> bool {
        false
    }
}

/// Gives out clients by what they are needed for.
pub trait Models: Send + Sync {
    fn client(&self, purpose: &Purpose) -> Result<Arc<dyn ModelClient>, ModelError>;
}

/// What a model is needed for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    Main,
    /// A side task by its name under `auxiliary.` in the settings: `title_generation`, `compression`, …
    Aux(&'static str),
    /// A task handed to a child: `delegation.` in the settings, or the main model.
    Child,
    /// The model somebody names: `provider:model`, an alias, or just its name.
    Named(String),
}

/// What is known about a model before it is asked anything.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelInfo {
    pub provider: String,
    pub model: String,
    pub base_url: String,
    /// How many tokens a request and its reply may have together.
    pub context_length: u64,
}

/// A conversation as it is now, and what the model may do next. Nothing in it is specific to a route.
#[derive(Clone, Debug, Default)]
pub struct ModelRequest {
    pub system: String,
    pub messages: Vec<Message>,
    pub tools: Vec<ToolDef>,
    /// `None`: the route's own limit.
    pub max_output: Option<u64>,
    pub effort: Effort,
    pub speed: Speed,
    /// `None`: as the provider sees fit.
    pub temperature: Option<f64>,
    pub whom: Whom,
}

/// Which of a client's routes is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Whom {
    /// The first of the chain, unless it was left a moment ago: how a turn begins.
    #[default]
    Usual,
    /// Whoever answered last: how a turn goes on.
    Stay,
    /// The present one's answers are of no use: the next in the chain. Fails with
    /// [`ModelErrorKind::NotConfigured`] if there is none.
    Next,
}

/// A tool as the model is told about it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolDef {
    pub name: String,
    pub description: String,
    /// A JSON Schema object.
    pub parameters: Value,
}

/// How hard to think: `agent.reasoning_effort`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effort {
    /// As the provider sees fit.
    #[default]
    Default,
    None,
    Minimal,
    Low,
    Medium,
    High,
    XHigh,
}

/// How soon an answer is wanted: `agent.service_tier`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Speed {
    /// As the settings have it for the route.
    #[default]
    AsSet,
    Normal,
    /// Before others and for more money, where somebody sells that.
    Fast,
}

impl From<&str> for Speed {
    fn from(word: &str) -> Self {
        match word.trim().to_lowercase().as_str() {
            "fast" | "priority" => Self::Fast,
            _ => Self::AsSet,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum ModelEvent {
    /// More of the visible answer; never part of a think tag.
    Text(String),
    /// More of the thinking.
    Reasoning(String),
    /// The model has begun to write a call of this tool.
    ToolCall(String),
    /// The same request is sent again, after this wait.
    Retrying(Retrying),
    /// Another route is asked from here on.
    Switched(Switched),
    /// The reply is complete.
    Done(ModelReply),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Retrying {
    pub attempt: u32,
    pub of: u32,
    pub wait: Duration,
    /// For people, without secrets.
    pub reason: String,
}

/// From one route to the next in the chain.
#[derive(Clone, Debug, PartialEq)]
pub struct Switched {
    /// `model (provider)`, both.
    pub from: String,
    pub to: String,
    /// For people, without secrets.
    pub reason: String,
}

/// A complete reply: an assistant message and how it ended.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelReply {
    /// Content without think tags, reasoning in its fields, tool calls as the model wrote them.
    pub message: Message,
    pub finish: Finish,
    pub usage: Usage,
    pub cost: Cost,
}

/// Why a reply ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    Stop,
    ToolCalls,
    /// The output limit was reached.
    Length,
    ContentFilter,
    /// The model has more to say without being asked.
    Incomplete,
    /// The connection broke after visible text had arrived; what had arrived is the reply.
    Dropped,
}

/// Tokens of one reply. `input` counts only what was neither read from nor written to a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub reasoning: u64,
}

impl Usage {
    /// Everything that was sent.
    pub fn prompt(&self) -> u64 {
        self.input + self.cache_read + self.cache_write
    }

    pub fn total(&self) -> u64 {
        self.prompt() + self.output
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, more: Self) {
        self.input += more.input;
        self.output += more.output;
        self.cache_read += more.cache_read;
        self.cache_write += more.cache_write;
        self.reasoning += more.reasoning;
    }
}

/// What a reply cost, as far as that is known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cost {
    pub usd: Option<f64>,
    /// `estimated`, `included`, `unknown`.
    pub status: String,
    /// Where the price came from.
    pub source: String,
    pub to: Payee,
}

/// Who is paid for a reply; empty where nobody knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Payee {
    pub provider: String,
    pub base_url: String,
    pub model: String,
}

/// Why a model did not answer. `kind` decides what happens next; the text is for people.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    pub kind: ModelErrorKind,
    /// Without secrets: what, where, and what to do about it.
    pub message: String,
    pub status: Option<u16>,
    pub retry_after: Option<Duration>,
}

impl ModelError {
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            status: None,
            retry_after: None,
        }
    }
}

/// The part of a [`ModelError`] policy looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelErrorKind {
    /// No key, no model, an unknown provider: nothing was sent.
    NotConfigured,
    Auth,
    Billing,
    RateLimit,
    Overloaded,
    Server,
    Timeout,
    /// The connection broke before anything was delivered.
    Transport,
    /// The conversation is too long; the limit, if the server named it.
    ContextOverflow {
        limit: Option<u64>,
    },
    PayloadTooLarge,
    /// The asked-for output doesn't fit beside the conversation; what would.
    OutputTooLarge {
        available: u64,
    },
    LongContextTier,
    ModelNotFound,
    PolicyBlocked,
    ImagesRejected,
    ImageTooLarge,
    /// Signed thinking blocks were not accepted.
    ThinkingSignature,
    /// A local server cannot turn the tool schemas into a grammar.
    Grammar,
    BetaForbidden,
    Format,
    /// An answer that is no answer: no choices, no JSON.
    Malformed,
    /// The owner's spending limit is reached; nothing was sent.
    Spent,
    Cancelled,
    Unknown,
}

impl fmt::Display for Effort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Default => "",
            Self::None => "none",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::XHigh => "xhigh",
        })
    }
}

impl From<&str> for Effort {
    /// What isn't a level means the provider's default.
    fn from(text: &str) -> Self {
        match text.trim().to_lowercase().as_str() {
            "none" | "off" => Self::None,
            "minimal" => Self::Minimal,
            "low" => Self::Low,
            "medium" => Self::Medium,
            "high" => Self::High,
            "xhigh" => Self::XHigh,
            _ => Self::Default,
        }
    }
}
