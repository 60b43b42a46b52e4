//! What happens in a session, as everybody who watches it sees it.

use std::sync::Arc;
use std::time::Duration;

use crate::{Message, ModelInfo, Outcome, Question, Retrying, SessionId, Shown, Switched, Usage};

/// One stream of these feeds every face. If a face needs something that isn't here, the event is missing.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentEvent {
    /// Another conversation from here on, the first one included.
    Opened(Arc<Opened>),
    /// Another model from here on, by the owner's wish.
    Model(ModelInfo),
    /// Whether dangerous commands run unasked from here on.
    Yolo(bool),
    /// The owner took this back: it can be said in other words.
    TookBack(String),
    /// The owner wants an empty screen.
    Cleared,
    TurnStarted,
    /// More of the visible answer.
    Text(String),
    /// More of the thinking.
    Reasoning(String),
    /// The model is writing a call of this tool; large ones take a while.
    Preparing(String),
    ToolStarted {
        id: String,
        name: String,
        /// What the call is about, in one line.
        about: String,
    },
    ToolProgress {
        id: String,
        text: String,
    },
    ToolFinished {
        id: String,
        name: String,
        outcome: Outcome,
        about: String,
        took: Duration,
        shown: Shown,
    },
    /// The owner is asked; the first answer to this id wins.
    Asked {
        id: u64,
        question: Question,
    },
    Answered {
        id: u64,
    },
    Retrying(Retrying),
    /// Another route answers from here on.
    Switched(Switched),
    /// The conversation is being made shorter; what it has now.
    Compacting {
        messages: usize,
        tokens: u64,
    },
    Compacted(Compacted),
    /// Something happened in a conversation that a running call started.
    Child(Child),
    /// Something happened in a task that goes on beside the conversation.
    Background(Background),
    /// Tokens and money of one reply.
    Usage {
        usage: Usage,
        usd: Option<f64>,
    },
    /// Something the owner should know; not part of the conversation.
    Notice(String),
    TurnEnded(Box<TurnEnd>),
}

/// A conversation somebody begins or goes on with.
#[derive(Clone, Debug, PartialEq)]
pub struct Opened {
    pub session: SessionId,
    pub title: Option<String>,
    pub model: ModelInfo,
    /// The last of what was said before.
    pub earlier: Vec<Message>,
    /// How many messages there are before those.
    pub hidden: usize,
}

/// What became of a conversation that was too long.
#[derive(Clone, Debug, PartialEq)]
pub struct Compacted {
    /// Messages before and now.
    pub messages: (usize, usize),
    /// Tokens before and now, roughly.
    pub tokens: (u64, u64),
    /// The session it goes on in, if that is another one now.
    pub session: Option<SessionId>,
    /// What the owner should know about it: nobody could write a summary, a side model failed, …
    pub note: Option<String>,
}

/// One event of a child's turn.
#[derive(Clone, Debug, PartialEq)]
pub struct Child {
    /// The call that started it.
    pub call_id: String,
    /// Its place among the call's tasks.
    pub index: usize,
    /// What it was asked to do, in one line.
    pub goal: String,
    pub event: Box<AgentEvent>,
}

/// One event of a task that the owner started beside the conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Background {
    pub number: usize,
    /// What it was asked to do.
    pub goal: String,
    pub event: Box<AgentEvent>,
}

/// How a turn ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TurnEnd {
    /// The answer; empty if there is none.
    pub text: String,
    /// Why there is no (whole) answer.
    pub error: Option<String>,
    pub interrupted: bool,
    /// For logs: `text_response(finish_reason=stop)`, `interrupted_by_user`, …
    pub reason: String,
    pub api_calls: u32,
    pub usage: Usage,
    /// What the turn cost with its children and side tasks; `None`: no price is known.
    pub usd: Option<f64>,
    /// Why this is not in the record; told once per conversation.
    pub unsaved: Option<String>,
    /// Guidance that came too late for this turn; it belongs to the next one.
    pub pending_steer: Option<String>,
}

impl TurnEnd {
    /// Whether somebody who waits for an answer got one.
    pub fn answered(&self) -> bool {
        self.error.is_none() && !self.interrupted && !self.text.trim().is_empty()
    }
}
