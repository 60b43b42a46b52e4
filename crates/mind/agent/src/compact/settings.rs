//! How the owner wants it: `compression.*` and `auxiliary.compression.*`.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use hermes_types::{Message, ModelInfo, Scope};

/// Settings, and what the agent cannot know itself.
#[derive(Clone, Debug)]
pub struct Compaction {
    /// Whether it happens by itself.
    pub enabled: bool,
    /// The share of the window from which on a conversation is too long.
    pub threshold: f64,
    /// The share of the threshold that stays as it is at the end.
    pub target_ratio: f64,
    /// Messages at the beginning that stay.
    pub protect_first: usize,
    /// Messages at the end whose tool results stay as they are.
    pub protect_last: usize,
    pub on_failure: OnFailure,
    pub continuation: Continuation,
    /// The side model's window, if the owner knows better.
    pub side_window: Option<u64>,
    /// Beyond this the side model could not read what it is to sum up.
    pub ceiling: Option<u64>,
    /// How long one summary may take.
    pub timeout: Duration,
    /// Between an overflow and the next request.
    pub pause: Duration,
    pub redact: Redact,
    pub prompt: Prompt,
    pub besides: Besides,
}

/// What happens if nobody can write a summary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// One is put together without a model.
    #[default]
    Local,
    /// The conversation stays as it is: `compression.abort_on_summary_failure`.
    Keep,
}

/// Where the shorter conversation goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Continuation {
    /// In a session of its own that continues the old one.
    #[default]
    Split,
    /// In the same session: `compression.in_place`.
    InPlace,
}

impl Default for Compaction {
    fn default() -> Self {
        Self {
            enabled: true,
            threshold: 0.50,
            target_ratio: 0.20,
            protect_first: 3,
            protect_last: 20,
            on_failure: OnFailure::Local,
            continuation: Continuation::Split,
            side_window: None,
            ceiling: None,
            timeout: Duration::from_secs(120),
            pause: Duration::from_secs(2),
            redact: Redact::default(),
            prompt: Prompt::default(),
            besides: Besides::default(),
        }
    }
}

/// Takes secrets out of a text.
#[derive(Clone)]
pub struct Redact(Arc<dyn Fn(&str) -> String + Send + Sync>);

impl Redact {
    pub fn new(redact: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        Self(Arc::new(redact))
    }

    pub(super) fn apply(&self, text: &str) -> String {
        (self.0)(text)
    }
}

impl Default for Redact {
    fn default() -> Self {
        Self::new(str::to_owned)
    }
}

impl fmt::Debug for Redact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Redact")
    }
}

/// Builds the system prompt as it would be now, for this model.
#[derive(Clone, Default)]
pub struct Prompt(Option<Arc<Build>>);

type Build = dyn Fn(&ModelInfo) -> String + Send + Sync;

impl Prompt {
    pub fn new(build: impl Fn(&ModelInfo) -> String + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(build)))
    }

    /// `None`: there is no other than the one the conversation has.
    pub fn build(&self, info: &ModelInfo) -> Option<String> {
        self.0.as_ref().map(|build| build(info))
    }
}

impl fmt::Debug for Prompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Prompt")
    }
}

/// Asks whoever remembers what should be known besides the messages that are summed up.
#[derive(Clone, Default)]
pub struct Besides(Option<Arc<Ask>>);

type Ask = dyn Fn(Vec<Message>, Scope) -> BoxFuture<'static, String> + Send + Sync;

impl Besides {
    pub fn new(
        ask: impl Fn(Vec<Message>, Scope) -> BoxFuture<'static, String> + Send + Sync + 'static,
    ) -> Self {
        Self(Some(Arc::new(ask)))
    }

    /// Empty if there is nothing.
    pub(super) async fn ask<'m>(
        &self,
        messages: impl Iterator<Item = &'m Message>,
        scope: &Scope,
    ) -> String {
        match &self.0 {
            Some(ask) => ask(messages.cloned().collect(), scope.clone()).await,
            None => String::new(),
        }
    }
}

impl fmt::Debug for Besides {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Besides")
    }
}
