//! What a person's words refer to, attached before the model sees them. Whoever can read it is given from outside;
//! the session knows which words are a person's.

use std::future::Future;
use std::sync::Arc;

use futures::future::BoxFuture;
use hermes_types::{AgentEvent, Content, KnownPart, Message, Part, Scope};

use crate::actor::Live;

/// Reads what a text refers to; the number is how many tokens the model can hold.
pub type Attach = Arc<dyn Fn(String, u64) -> BoxFuture<'static, Attached> + Send + Sync>;

/// What is sent instead of what was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attached {
    pub text: String,
    /// What the person is told about it.
    pub notices: Vec<String>,
}

/// A message on its way to the model.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    pub message: Message,
    /// Where the person's own words begin. A reference anywhere else is nobody's wish.
    words_at: Option<usize>,
}

impl Said {
    /// All of it is the person's.
    pub fn typed(message: Message) -> Self {
        Self {
            message,
            words_at: Some(0),
        }
    }

    /// Only what it ends with is.
    pub fn ending_with(message: Message, words: &str) -> Self {
        let text = match &message.content {
            Some(Content::Text(text)) => text.as_str(),
            _ => "",
        };
        let words_at = text.strip_suffix(words.trim()).map(str::len);
        Self { message, words_at }
    }
}

/// What nobody has just typed.
impl From<Message> for Said {
    fn from(message: Message) -> Self {
        Self {
            message,
            words_at: None,
        }
    }
}

impl Live {
    /// With somebody who reads what messages refer to.
    #[must_use]
    pub fn with_references(mut self, attach: Attach) -> Self {
        self.attach = Some(attach);
        self
    }

    /// With something the first message must begin with.
    #[must_use]
    pub fn with_preface(mut self, preface: String) -> Self {
        self.preface = preface;
        self
    }

    /// The message as it is sent. Cancelled work attaches nothing.
    pub(crate) fn attaching(
        &mut self,
        said: Said,
        scope: &Scope,
    ) -> impl Future<Output = Message> + use<> {
        let preface = std::mem::take(&mut self.preface);
        self.switch_note = None;
        let (attach, events) = (self.attach.clone(), self.events.clone());
        let window = self.opening.model.info().context_length;
        let cancel = scope.cancel.clone();
        async move {
            let (mut message, words_at) = (said.message, said.words_at);
            let Some(text) = message.content.as_mut().and_then(text) else {
                return message;
            };
            let at = words_at.filter(|at| text.is_char_boundary(*at));
            if let (Some(attach), Some(at)) = (attach, at) {
                let typed = text.split_off(at);
                let attached = tokio::select! {
                    attached = attach(typed.clone(), window) => attached,
                    () = cancel.cancelled() => Attached { text: typed, notices: Vec::new() },
                };
                text.push_str(&attached.text);
                for notice in attached.notices {
                    events.send(AgentEvent::Notice(notice));
                }
            }
            text.insert_str(0, &preface);
            message
        }
    }
}

/// What a message says in words.
fn text(content: &mut Content) -> Option<&mut String> {
    match content {
        Content::Text(text) => Some(text),
        Content::Parts(parts) => parts.iter_mut().find_map(|part| match part {
            Part::Known(KnownPart::Text { text, .. }) => Some(text),
            _ => None,
        }),
        Content::Other(_) => None,
    }
}
