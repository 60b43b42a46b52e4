//! Whoever types the title of a conversation means that one.

use hermes_store::{ErrorKind, Hit, Session};

use super::{HIDDEN, SessionSearch, is_speech};

/// What people put around a title.
const QUOTES: [char; 7] = ['"', '\'', '`', '“', '”', '«', '»'];

impl SessionSearch {
    /// The conversation that has the query for its title.
    pub(super) async fn titled(&self, query: &str) -> hermes_store::Result<Option<Session>> {
        let title = query.trim_matches(|c: char| c.is_whitespace() || QUOTES.contains(&c));
        if title.is_empty() {
            return Ok(None);
        }
        let id = match self.store.find_by_title(title).await {
            Ok(id) => id,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let session = self.store.session(&id).await?;
        Ok(session.filter(|session| !HIDDEN.contains(&session.source.as_str())))
    }

    /// These hits, with one of the conversation first: where its words match, or how it began.
    pub(super) async fn first_of(
        &self,
        session: Session,
        mut hits: Vec<Hit>,
    ) -> hermes_store::Result<Vec<Hit>> {
        let root = self.store.root(&session.id).await?;
        for (place, hit) in hits.iter().enumerate() {
            if self.store.root(&hit.session).await? == root {
                hits[..=place].rotate_right(1);
                return Ok(hits);
            }
        }
        let messages = self.store.messages(&session.id).await?;
        let begun = messages.iter().find(|stored| is_speech(stored));
        let hit = begun.map(|stored| Hit {
            message: stored.id,
            role: stored.message.role.clone(),
            snippet: format!(">>>{}<<<", session.title.as_deref().unwrap_or_default()),
            at: stored.at,
            tool_name: None,
            source: session.source,
            model: session.model,
            session_started_at: session.started_at,
            session: session.id,
            context: Vec::new(),
        });
        Ok(hit.into_iter().chain(hits).collect())
    }
}
