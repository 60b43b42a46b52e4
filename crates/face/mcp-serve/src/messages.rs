//! What was said in a chat, and what hangs on it.

use hermes_store::StoredMessage;
use hermes_types::{Content, KnownPart, Part};
use serde_json::{Value, json};

use crate::records::Records;

/// Characters of a message in a list.
const READ_LENGTH: usize = 2000;

pub(crate) async fn read(records: &Records, key: &str, limit: usize) -> Result<Value, String> {
    let conversation = records.conversation(key).await?;
    let store = records.messages().await?;
    let said = async {
        let session = store.tip(&conversation.session()).await?;
        store.said(&session, limit).await
    };
    let said = said.await.map_err(|error| error.to_string())?;
    let messages: Vec<Value> = said.messages.iter().map(shown).collect();
    Ok(json!({
        "session_key": key,
        "count": messages.len(),
        "total_in_session": said.total,
        "messages": messages,
    }))
}

pub(crate) async fn attachments(
    records: &Records,
    key: &str,
    message_id: &str,
) -> Result<Value, String> {
    let conversation = records.conversation(key).await?;
    let unknown = || format!("Message not found: {message_id}");
    let id: i64 = message_id.trim().parse().map_err(|_| unknown())?;
    let store = records.messages().await?;
    let found = async {
        let session = store.tip(&conversation.session()).await?;
        store.messages_around(&session, id, 0).await
    };
    let found = found.await.map_err(|error| error.to_string())?;
    let message = found.first().ok_or_else(unknown)?;
    let attached = attached(message.message.content.as_ref());
    Ok(json!({"message_id": message_id, "count": attached.len(), "attachments": attached}))
}

fn shown(stored: &StoredMessage) -> Value {
    json!({
        "id": stored.id.to_string(),
        "role": stored.message.role.as_str(),
        "content": text(stored, READ_LENGTH),
        "timestamp": seconds(stored),
    })
}

/// The first `length` characters of what a message says.
pub(crate) fn text(stored: &StoredMessage, length: usize) -> String {
    let mut text = stored
        .message
        .content
        .as_ref()
        .map(Content::plain)
        .unwrap_or_default();
    if let Some((end, _)) = text.char_indices().nth(length) {
        text.truncate(end);
    }
    text
}

/// When it was said, in seconds since 1970 as in the database.
pub(crate) fn seconds(stored: &StoredMessage) -> f64 {
    stored.at.as_duration().as_secs_f64()
}

/// Everything that is not text: parts of the message, and files it names.
fn attached(content: Option<&Content>) -> Vec<Value> {
    let Some(content) = content else {
        return Vec::new();
    };
    let mut found = Vec::new();
    if let Content::Parts(parts) = content {
        found.extend(parts.iter().filter_map(part));
    }
    let text = content.plain();
    found.extend(media(&text).map(|path| json!({"type": "media", "path": path})));
    found
}

fn part(part: &Part) -> Option<Value> {
    let image = |url: &str| json!({"type": "image", "url": url});
    match part {
        Part::Known(KnownPart::Text { .. }) => None,
        Part::Known(KnownPart::ImageUrl { image_url, .. }) => Some(image(&image_url.url)),
        Part::Other(other) => {
            let kind = other["type"].as_str()?;
            let url = other["url"].as_str().or(other["source"]["url"].as_str());
            match (kind, url) {
                ("text", _) => None,
                ("image", Some(url)) => Some(image(url)),
                _ => Some(json!({"type": kind, "data": other})),
            }
        }
    }
}

const MEDIA: &str = "MEDIA:";

/// The paths that follow `MEDIA:`, in quotes if they have spaces.
fn media(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices(MEDIA).filter_map(|(at, _)| {
        let rest = text[at + MEDIA.len()..].trim_start();
        let quoted = ['"', '\'', '`']
            .into_iter()
            .find_map(|quote| rest.strip_prefix(quote)?.split(quote).next());
        let path = quoted.or_else(|| rest.split_whitespace().next())?;
        Some(path).filter(|path| !path.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn parts_and_named_files_are_attachments() {
        let check = |content: Value, expected: Value| {
            let content: Content = serde_json::from_value(content).unwrap();
            assert_eq!(json!(attached(Some(&content))), expected);
        };
        check(json!("nothing"), json!([]));
        check(
            json!("see MEDIA:/a/b.png and MEDIA: `/c d.ogg` MEDIA:"),
            json!([{"type": "media", "path": "/a/b.png"}, {"type": "media", "path": "/c d.ogg"}]),
        );
        let file = json!({"type": "file", "file": {"name": "x"}});
        check(
            json!([
                {"type": "text", "text": "MEDIA:/x.mp3"},
                {"type": "image_url", "image_url": {"url": "https://a/1.png"}},
                {"type": "image", "source": {"url": "https://a/2.png"}},
                {"type": "image", "source": {"data": "AA"}},
                file,
                "bare",
            ]),
            json!([
                {"type": "image", "url": "https://a/1.png"},
                {"type": "image", "url": "https://a/2.png"},
                {"type": "image", "data": {"type": "image", "source": {"data": "AA"}}},
                {"type": "file", "data": file},
                {"type": "media", "path": "/x.mp3"},
            ]),
        );
        assert_eq!(attached(None), Vec::<Value>::new());
    }
}
