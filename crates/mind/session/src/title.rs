//! A title for a new conversation, thought up by a side model while the person goes on.

use std::sync::Arc;

use futures::StreamExt;
use hermes_store::Store;
use hermes_types::{
    Content, Message, ModelEvent, ModelRequest, Models, Purpose, Role, Scope, SessionId,
};

use crate::journal::count;

const TASK: &str = "title_generation";

/// How much of the question and of the answer the side model sees.
const SEEN_CHARS: usize = 500;
const TITLE_CHARS: usize = 80;

const ASK: &str = "Write a title of three to seven words for this conversation, in its language. \
                   Only the title: no quotes, no prefix, no full stop.";

/// What a conversation began with, if it is still young enough for a title.
pub fn beginning(messages: &[Message]) -> Option<(String, String)> {
    let said = |role: Role| {
        messages
            .iter()
            .filter(move |message| message.role == role)
            .map(|message| {
                message
                    .content
                    .as_ref()
                    .map(Content::plain)
                    .unwrap_or_default()
            })
            .filter(|text| !text.trim().is_empty())
    };
    let question = said(Role::User).next()?;
    let answer = said(Role::Assistant).next()?;
    (said(Role::User).count() <= 2).then(|| (cut(&question), cut(&answer)))
}

/// Asks for a title and stores it, unless there is one by then.
pub async fn give(
    store: &Store,
    id: &SessionId,
    models: &Arc<dyn Models>,
    (question, answer): (String, String),
    scope: Scope,
) -> Result<(), String> {
    let titled = store.session(id).await.map_err(|error| error.to_string())?;
    if titled.is_none_or(|session| session.title.is_some()) {
        return Ok(());
    }
    let client = models
        .client(&Purpose::Aux(TASK))
        .map_err(|error| error.to_string())?;
    let request = ModelRequest {
        system: ASK.to_owned(),
        messages: vec![Message::user(format!(
            "User: {question}\n\nAssistant: {answer}"
        ))],
        ..ModelRequest::default()
    };
    let mut stream = client.stream(request, scope);
    while let Some(event) = stream.next().await {
        if let ModelEvent::Done(reply) = event.map_err(|error| error.to_string())? {
            if let Err(reason) = count(store, id, TASK, (&reply.usage, &reply.cost)).await {
                tracing::warn!("the title of {id} was not counted: {reason}");
            }
            let text = reply
                .message
                .content
                .as_ref()
                .map(Content::plain)
                .unwrap_or_default();
            return store_title(store, id, &tidy(&text)).await;
        }
    }
    Err("the side model said nothing".to_owned())
}

async fn store_title(store: &Store, id: &SessionId, title: &str) -> Result<(), String> {
    if title.is_empty() {
        return Err("the side model gave no title".to_owned());
    }
    store
        .set_title_if_none(id, title)
        .await
        .map(|_| ())
        .map_err(|error| error.to_string())
}

/// The first line without the decoration models like.
fn tidy(text: &str) -> String {
    let line = text
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or_default();
    let plain: String = line
        .chars()
        .filter(|c| !matches!(c, '#' | '*' | '`' | '"' | '“' | '”' | '«' | '»'))
        .collect();
    let plain = plain.trim();
    let title = plain
        .strip_prefix("Title:")
        .or_else(|| plain.strip_prefix("title:"))
        .unwrap_or(plain);
    title
        .trim()
        .trim_end_matches('.')
        .chars()
        .take(TITLE_CHARS)
        .collect()
}

fn cut(text: &str) -> String {
    text.chars().take(SEEN_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_come_without_decoration() {
        let check = |text: &str, expected: &str| assert_eq!(tidy(text), expected);
        check("Deploying the blog", "Deploying the blog");
        check(
            "\n# **Title: \"Deploying the blog.\"**\nmore",
            "Deploying the blog",
        );
        check("Title: A plan", "A plan");
        check("  ", "");
        check(&"x".repeat(200), &"x".repeat(80));
    }

    #[test]
    fn only_young_conversations_get_one() {
        let talk = |users: usize| -> Vec<Message> {
            (0..users)
                .flat_map(|n| {
                    [
                        Message::user(format!("q{n}")),
                        Message::assistant(format!("a{n}")),
                    ]
                })
                .collect()
        };
        assert_eq!(
            beginning(&talk(1)),
            Some(("q0".to_owned(), "a0".to_owned()))
        );
        assert!(beginning(&talk(2)).is_some());
        assert_eq!(beginning(&talk(3)), None);
        assert_eq!(beginning(&[Message::user("q")]), None);
    }
}
