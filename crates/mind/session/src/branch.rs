//! `/branch`: the same conversation once more, to go on with differently.

use hermes_store::NewSession;
use hermes_types::SessionId;
use jiff::Timestamp;
use serde_json::json;

use crate::actor::{Live, Which};
use crate::begin::new_id;

impl Live {
    pub(crate) async fn branch(&mut self, title: &str) -> String {
        if self.conversation.messages().is_empty() {
            return "nothing has been said yet that could go two ways".to_owned();
        }
        let before = self.id.clone();
        let copied = match self.copy(title).await {
            Ok(id) => id,
            Err(error) => return format!("the conversation was not copied: {error}"),
        };
        self.end_with("branched").await;
        if let Err(error) = self.open(Which::Existing(copied)).await {
            return error.to_string();
        }
        format!(
            "branched from {before}: this is {} now, /resume {before} goes back",
            self.id
        )
    }

    /// A session of its own with all that was said, under the next free title.
    async fn copy(&self, title: &str) -> hermes_store::Result<SessionId> {
        let (store, id) = (&self.opening.store, new_id());
        let old = store.session(&self.id).await?;
        let (old_title, prompt) = match old {
            Some(session) => (session.title, session.system_prompt),
            None => (None, None),
        };
        store
            .ensure_session(NewSession {
                model: Some(self.opening.model.info().model.clone()),
                system_prompt: prompt,
                model_config: Some(json!({"_branched_from": self.id})),
                parent: Some(self.id.clone()),
                ..NewSession::new(id.clone(), self.opening.source.clone())
            })
            .await?;
        store
            .replace_messages(&id, self.conversation.messages(), Timestamp::now())
            .await?;
        let title = match (title, old_title) {
            ("", Some(old)) => store.next_title(&old).await?,
            ("", None) => return Ok(id),
            (title, _) => title.to_owned(),
        };
        store.set_title(&id, &title).await?;
        Ok(id)
    }
}
