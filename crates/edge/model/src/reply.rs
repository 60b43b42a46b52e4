//! A reply as it grows: events for whoever watches, and in the end a message for the history.

use hermes_types::{Cost, Finish, Message, ModelEvent, ModelReply, Usage};

use crate::dialect::{Delta, Ending};
use crate::scrub::{self, Piece, Scrubber};

#[derive(Debug, Default)]
pub(crate) struct Draft {
    scrubber: Scrubber,
    text: String,
    /// Thinking the server sent as such.
    reasoning: String,
    /// Thinking found between tags; counts if there is no other.
    inline: String,
    calls: Vec<String>,
    /// Somebody has seen a part of the answer.
    is_shown: bool,
}

impl Draft {
    pub fn add(&mut self, delta: Delta, events: &mut Vec<ModelEvent>) {
        match delta {
            Delta::Text(text) => {
                let mut pieces = Vec::new();
                self.scrubber.push(&text, &mut pieces);
                self.take(pieces, events);
            }
            Delta::Reasoning(text) => {
                self.reasoning.push_str(&text);
                think(text, events);
            }
            Delta::Call(name) => {
                self.calls.push(name.clone());
                events.push(ModelEvent::ToolCall(name));
            }
        }
    }

    fn take(&mut self, pieces: Vec<Piece>, events: &mut Vec<ModelEvent>) {
        for piece in pieces {
            match piece {
                Piece::Thought(text) => {
                    self.inline.push_str(&text);
                    think(text, events);
                }
                Piece::Text(text) => {
                    self.text.push_str(&text);
                    // Text beside a call is kept but not shown: it is rarely meant for people.
                    if self.calls.is_empty() {
                        self.is_shown |= !text.trim().is_empty();
                        say(text, events);
                    }
                }
            }
        }
    }

    /// Somebody has seen text, and no call was being written.
    pub fn is_worth_keeping(&self) -> bool {
        self.is_shown && self.calls.is_empty()
    }

    /// Anything at all was seen of it.
    pub fn was_seen(&self) -> bool {
        self.is_shown || !self.calls.is_empty()
    }

    /// The complete reply; its cost is somebody else's business.
    pub fn finish(mut self, ending: Ending, events: &mut Vec<ModelEvent>) -> ModelReply {
        self.flush(events);
        self.text = scrub::strip(&self.text);
        let mut message = self.message();
        message.tool_calls = ending.calls;
        message.reasoning_details = ending.reasoning_details;
        message.codex_reasoning_items = ending.reasoning_items;
        message.codex_message_items = ending.message_items;
        let finish = ending.finish.unwrap_or(Finish::Stop);
        message.finish_reason = Some(finish_word(finish).to_owned());
        ModelReply {
            message,
            finish,
            usage: ending.usage,
            cost: Cost::default(),
        }
    }

    /// What had arrived when the connection broke for good. Calls are never part of it: nobody knows whether
    /// their arguments were complete.
    pub fn dropped(mut self, events: &mut Vec<ModelEvent>) -> ModelReply {
        self.flush(events);
        if let Some(name) = self.calls.last() {
            let gap = if self.text.is_empty() { "" } else { "\n\n" };
            let note = format!(
                "{gap}[The connection broke while the model was calling {name}. The call was not executed.]"
            );
            self.text.push_str(&note);
            events.push(ModelEvent::Text(note));
        }
        let mut message = self.message();
        message.finish_reason = Some(finish_word(Finish::Dropped).to_owned());
        ModelReply {
            message,
            finish: Finish::Dropped,
            usage: Usage::default(),
            cost: Cost::default(),
        }
    }

    fn flush(&mut self, events: &mut Vec<ModelEvent>) {
        let mut pieces = Vec::new();
        self.scrubber.finish(&mut pieces);
        self.take(pieces, events);
    }

    fn message(&self) -> Message {
        let reasoning = match self.reasoning.is_empty() {
            true => self.inline.trim(),
            false => self.reasoning.as_str(),
        };
        let mut message = Message::assistant(self.text.as_str());
        if !reasoning.is_empty() {
            message.reasoning = Some(reasoning.to_owned());
            message.reasoning_content = Some(reasoning.to_owned());
        }
        message
    }
}

/// Pieces that arrived together are shown together.
fn say(text: String, events: &mut Vec<ModelEvent>) {
    match events.last_mut() {
        Some(ModelEvent::Text(said)) => said.push_str(&text),
        _ => events.push(ModelEvent::Text(text)),
    }
}

fn think(text: String, events: &mut Vec<ModelEvent>) {
    match events.last_mut() {
        Some(ModelEvent::Reasoning(thought)) => thought.push_str(&text),
        _ => events.push(ModelEvent::Reasoning(text)),
    }
}

/// As the history on disk calls it.
fn finish_word(finish: Finish) -> &'static str {
    match finish {
        Finish::Stop | Finish::Dropped => "stop",
        Finish::ToolCalls => "tool_calls",
        Finish::Length => "length",
        Finish::ContentFilter => "content_filter",
        Finish::Incomplete => "incomplete",
    }
}
