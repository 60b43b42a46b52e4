//! `hermes sessions browse`: all conversations in one list, with a look into the one under the cursor.

use hermes_store::Listed;
use hermes_types::{Content, Message, Role, SessionId};
use jiff::{Timestamp, Zoned, tz::TimeZone};

use crate::pick::{Item, List, Search};
use crate::text::{cut, one_line};

/// No message is looked into further.
const MAX_MESSAGE: usize = 600;
/// Messages a look into a conversation shows.
const MAX_MESSAGES: usize = 6;

/// The list. `look` gives a conversation's messages; it is asked for the one under the cursor.
pub fn list(
    sessions: &[Listed],
    now: Timestamp,
    look: impl Fn(&SessionId) -> Vec<Message> + Send + Sync + 'static,
) -> List<SessionId> {
    let items = sessions.iter().map(|session| item(session, now)).collect();
    List::new("Conversations", items)
        .header(&["Title / Preview", "Active", "Src", "ID"])
        .unit("sessions")
        .search(Search::LettersButQ)
        .extra('r', "rename")
        .extra('d', "delete")
        .preview(move |id| preview(&look(id)))
}

fn item(session: &Listed, now: Timestamp) -> Item<SessionId> {
    let label = name(session);
    let cells = [
        active(session.last_active, now),
        session.source.clone(),
        session.id.to_string(),
    ];
    Item::new(session.id.clone(), label)
        .cells(cells)
        .also(&session.preview)
}

/// Its title, or how it begins.
pub fn name(session: &Listed) -> &str {
    let title = session.title.as_deref().filter(|title| !title.is_empty());
    match title.unwrap_or(&session.preview) {
        text if text.trim().is_empty() => "(empty)",
        text => text,
    }
}

/// `just now`, `5m ago`, `3h ago`, `yesterday`, `4d ago`, then the date.
pub fn active(then: Timestamp, now: Timestamp) -> String {
    let seconds = now.as_second() - then.as_second();
    match seconds {
        ..60 => "just now".to_owned(),
        60..3_600 => format!("{}m ago", seconds / 60),
        3_600..86_400 => format!("{}h ago", seconds / 3_600),
        86_400..172_800 => "yesterday".to_owned(),
        172_800..604_800 => format!("{}d ago", seconds / 86_400),
        _ => Zoned::new(then, TimeZone::system())
            .strftime("%Y-%m-%d")
            .to_string(),
    }
}

/// The latest of what was said.
fn preview(messages: &[Message]) -> String {
    let said = messages.iter().filter_map(|message| {
        let who = match message.role {
            Role::User => "you",
            Role::Assistant => "hermes",
            _ => return None,
        };
        let text = message.content.as_ref().map(Content::plain)?;
        let text = one_line(&text);
        (!text.is_empty()).then(|| format!("{who}: {}", cut(&text, MAX_MESSAGE)))
    });
    let said: Vec<String> = said.collect();
    let first = said.len().saturating_sub(MAX_MESSAGES);
    said[first..].join("\n")
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn how_long_ago() {
        let now: Timestamp = "2026-11-16T12:00:00Z".parse().unwrap();
        let check = |then: &str, expected: &str| {
            assert_eq!(active(then.parse().unwrap(), now), expected, "{then}");
        };
        check("2026-11-16T11:59:30Z", "just now");
        check("2026-11-16T11:30:00Z", "30m ago");
        check("2026-11-16T03:00:00Z", "9h ago");
        check("2026-11-15T09:00:00Z", "yesterday");
        check("2026-11-12T09:00:00Z", "4d ago");
        check("2026-10-01T12:00:00Z", "2026-10-01");
        check("2026-11-16T12:00:05Z", "just now");
    }
}
