//! The beginning of a conversation: a new one, or where a stored one was left.

use std::sync::Arc;

use hermes_agent::Conversation;
use hermes_home::clock;
use hermes_store::{NewSession, Reach};
use hermes_types::{AgentEvent, Message, Opened, SessionId};
use tokio::sync::watch;

use crate::actor::{Opening, Which};
use crate::journal::StoreJournal;

/// Messages a face gets to show of a conversation somebody goes on with.
const EARLIER: usize = 200;

/// Which conversation a session is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Current {
    /// Where it is stored; another one once it was made shorter.
    pub row: SessionId,
    /// What files, task lists and background jobs know it by: the first of its rows, for good.
    pub task: SessionId,
}

/// A conversation before anything is said in it.
pub(crate) struct Beginning {
    pub current: Current,
    title: Option<String>,
    system: String,
    messages: Vec<Message>,
}

impl Beginning {
    pub async fn of(opening: &Opening) -> hermes_store::Result<Self> {
        match &opening.which {
            Which::New => {
                let row = new_id();
                Ok(Self {
                    current: Current {
                        task: row.clone(),
                        row,
                    },
                    title: None,
                    system: built(opening),
                    messages: Vec::new(),
                })
            }
            Which::Existing(id) => Self::stored(opening, id).await,
        }
    }

    async fn stored(opening: &Opening, id: &SessionId) -> hermes_store::Result<Self> {
        let store = &opening.store;
        let (title, stored) = match store.session(id).await? {
            Some(session) => (session.title, session.system_prompt),
            None => (None, None),
        };
        let messages = store.conversation(id, Reach::Session).await?;
        let task = store.root(id).await?;
        if let Err(error) = store.reopen_session(id).await {
            // It can be read, so it can be gone on with; the first message will say that nothing is saved.
            tracing::warn!("{id}: {error}");
        }
        Ok(Self {
            current: Current {
                row: id.clone(),
                task,
            },
            title,
            system: stored
                .filter(|text| !text.is_empty())
                .unwrap_or_else(|| built(opening)),
            messages,
        })
    }

    /// What a face shows of it.
    pub fn opened(&self, opening: &Opening) -> AgentEvent {
        let hidden = self.messages.len().saturating_sub(EARLIER);
        AgentEvent::Opened(Arc::new(Opened {
            session: self.current.row.clone(),
            title: self.title.clone(),
            model: opening.model.info().clone(),
            earlier: self.messages[hidden..].to_vec(),
            hidden,
        }))
    }

    /// The conversation; whoever watches `current` learns when it goes on in another row.
    pub fn conversation(self, opening: &Opening, current: watch::Sender<Current>) -> Conversation {
        let row = NewSession {
            model: Some(opening.model.info().model.clone()),
            system_prompt: Some(self.system.clone()),
            ..NewSession::new(self.current.row.clone(), opening.source.clone())
        };
        let continuation = opening.limits.compaction.continuation;
        let journal = StoreJournal::new(opening.store.clone(), row, continuation, current);
        Conversation::resume(self.system, self.messages, Arc::new(journal))
    }
}

/// The prompt as it is now.
fn built(opening: &Opening) -> String {
    opening
        .system
        .build(opening.model.info())
        .unwrap_or_default()
}

pub(crate) fn new_id() -> SessionId {
    SessionId::from_stamp(
        &clock::now().strftime("%Y%m%d_%H%M%S").to_string(),
        fastrand::u32(..),
    )
}
