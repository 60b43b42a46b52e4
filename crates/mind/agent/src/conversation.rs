//! The messages of one session, owned by whoever runs its turns.

use std::sync::Arc;

use hermes_types::{
    Content, Cost, Journal, KnownPart, Message, Part, Role, SessionId, Shorter, Usage,
};

use crate::compact::Load;
use crate::{recalled, request};

/// What was said, and where it is written down.
pub struct Conversation {
    /// Built once; sent with every request byte for byte.
    pub system: String,
    /// Follows the system prompt as long as it is wanted; never stored.
    pub overlay: String,
    messages: Vec<Message>,
    /// Messages only for the next request; never stored, gone with the next real one.
    scaffold: Vec<Message>,
    journal: Arc<dyn Journal>,
    /// The first failure to write something down; the conversation goes on without.
    lost: Option<String>,
    load: Load,
}

impl Conversation {
    /// Takes up a conversation where it was left.
    pub fn resume(system: String, mut messages: Vec<Message>, journal: Arc<dyn Journal>) -> Self {
        request::mend(&mut messages);
        Self {
            load: Load::of(&messages),
            system,
            overlay: String::new(),
            messages,
            scaffold: Vec::new(),
            journal,
            lost: None,
        }
    }

    /// The conversation to run a turn on. What stays behind can be looked at but is not written to.
    #[must_use]
    pub fn hand_over(&self) -> Self {
        Self {
            system: self.system.clone(),
            overlay: self.overlay.clone(),
            messages: self.messages.clone(),
            scaffold: Vec::new(),
            journal: self.journal.clone(),
            lost: self.lost.clone(),
            load: self.load.clone(),
        }
    }

    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// The system message of the next request.
    pub fn instructions(&self) -> String {
        match self.overlay.as_str() {
            "" => self.system.clone(),
            overlay => format!("{}\n\n{overlay}", self.system),
        }
    }

    /// The messages of the next request.
    pub fn outgoing(&self) -> Vec<Message> {
        request::outgoing(&self.messages, &self.scaffold)
    }

    /// Adds a message and waits until it is safe.
    pub async fn push(&mut self, message: Message) {
        self.scaffold.clear();
        let written = self.journal.append(&message).await;
        self.note(written);
        self.messages.push(message);
        // Two user messages in a row become one, in memory as on the wire.
        request::mend(&mut self.messages);
    }

    /// The turn is over: nothing goes out with its message any more.
    pub(crate) fn forget_recalled(&mut self) {
        recalled::forget(&mut self.messages);
    }

    /// Goes on with fewer messages, and with another prompt if there is one. The session it goes on in, if that
    /// is another one.
    pub(crate) async fn shorten(
        &mut self,
        system: Option<String>,
        mut messages: Vec<Message>,
    ) -> Option<SessionId> {
        request::mend(&mut messages);
        self.scaffold.clear();
        self.messages = messages;
        self.system = system.unwrap_or_else(|| std::mem::take(&mut self.system));
        let shorter = Shorter {
            system: &self.system,
            messages: &self.messages,
        };
        let kept = self.journal.compact(shorter).await;
        kept.unwrap_or_else(|reason| {
            self.note(Err(reason));
            None
        })
    }

    /// How full it is.
    pub fn load(&self) -> &Load {
        &self.load
    }

    /// Stays as it is as long as it fits: its owner has just brought back what was left out.
    pub fn stay_whole(&mut self) {
        self.load.hold();
    }

    pub(crate) fn load_mut(&mut self) -> &mut Load {
        &mut self.load
    }

    /// Takes note of what the provider counted for the request that was just answered.
    pub(crate) fn heard(&mut self, usage: &Usage) {
        self.load.heard(usage, self.messages.len() + 1);
    }

    /// Adds messages for the next request only.
    pub fn prop_up(&mut self, messages: impl IntoIterator<Item = Message>) {
        self.scaffold.extend(messages);
    }

    /// Takes back everything from `len` on.
    pub async fn truncate(&mut self, len: usize) {
        self.scaffold.clear();
        if len < self.messages.len() {
            self.messages.truncate(len);
            let written = self.journal.rewrite(&self.messages).await;
            self.note(written);
        }
    }

    /// Calls whose turn failed would be taken up by the next one; they go, with their results.
    pub(crate) async fn take_back_dangling(&mut self) {
        let is_result = |message: &&Message| message.role == Role::Tool;
        let results = self.messages.iter().rev().take_while(is_result).count();
        let len = self.messages.len() - results;
        let asked = self.messages[..len]
            .last()
            .is_some_and(|message| !message.tool_calls.is_empty());
        if results > 0 && asked {
            self.truncate(len - 1).await;
        }
    }

    /// Replaces images by a note, for a model that can't see; false if there were none. Only what is sent
    /// changes: the stored messages keep theirs.
    pub fn drop_images(&mut self) -> bool {
        let mut dropped = false;
        for content in self
            .messages
            .iter_mut()
            .filter_map(|message| message.content.as_mut())
        {
            if let Content::Parts(parts) = content
                && parts
                    .iter()
                    .any(|part| matches!(part, Part::Known(KnownPart::ImageUrl { .. })))
            {
                *content = Content::Text(content.plain());
                dropped = true;
            }
        }
        dropped
    }

    pub async fn count(&mut self, usage: &Usage, cost: &Cost) {
        let written = self.journal.usage(usage, cost).await;
        self.note(written);
    }

    /// Counts what a side task used.
    pub async fn count_aside(&mut self, task: &'static str, usage: &Usage, cost: &Cost) {
        let written = self.journal.side_usage(task, usage, cost).await;
        self.note(written);
    }

    /// Why the conversation is no longer being saved; told once.
    pub fn take_loss(&mut self) -> Option<String> {
        self.lost
            .take_if(|reason| !reason.is_empty())
            .inspect(|_| self.lost = Some(String::new()))
    }

    fn note(&mut self, written: Result<(), String>) {
        if let Err(reason) = written {
            self.lost.get_or_insert(reason);
        }
    }
}

impl std::fmt::Debug for Conversation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Conversation")
            .field("messages", &self.messages.len())
            .finish_non_exhaustive()
    }
}
