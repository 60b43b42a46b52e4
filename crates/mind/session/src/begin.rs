//! The beginning of a conversation: a new one, or where a stored one was left.

use std::sync::Arc;

use hermes_agent::Conversation;
use hermes_home::clock;
use hermes_store::{NewSession, Reach};
use hermes_types::SessionId;

use crate::actor::{Opening, Which};
use crate::journal::StoreJournal;

pub(crate) async fn begin(opening: &Opening) -> hermes_store::Result<(SessionId, Conversation)> {
    let info = opening.model.info();
    let (id, system, messages) = match &opening.which {
        Which::New => (new_id(), opening.system.clone(), Vec::new()),
        Which::Existing(id) => {
            let stored = opening
                .store
                .session(id)
                .await?
                .and_then(|session| session.system_prompt);
            let messages = opening.store.conversation(id, Reach::Session).await?;
            if let Err(error) = opening.store.reopen_session(id).await {
                // It can be read, so it can be gone on with; the first message will say that nothing is saved.
                tracing::warn!("{id}: {error}");
            }
            (
                id.clone(),
                stored
                    .filter(|text| !text.is_empty())
                    .unwrap_or_else(|| opening.system.clone()),
                messages,
            )
        }
    };
    let row = NewSession {
        model: Some(info.model.clone()),
        system_prompt: Some(system.clone()),
        ..NewSession::new(id.clone(), opening.source.clone())
    };
    let journal = Arc::new(StoreJournal::new(opening.store.clone(), row));
    Ok((id, Conversation::resume(system, messages, journal)))
}

pub(crate) fn new_id() -> SessionId {
    SessionId::from_stamp(
        &clock::now().strftime("%Y%m%d_%H%M%S").to_string(),
        fastrand::u32(..),
    )
}
