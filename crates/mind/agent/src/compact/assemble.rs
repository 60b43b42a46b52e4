//! A shorter conversation from its parts, and how a summary in one is known again.

use hermes_types::{Content, KnownPart, Message, Part, Role};

use super::plan::Plan;
use crate::{ladder, request, todo, turn};

/// What a summary begins with; also in conversations of other versions.
pub const MARKER: &str = "[CONTEXT COMPACTION — REFERENCE ONLY]";
const LEGACY: &str = "[CONTEXT SUMMARY]:";
/// What the line after a summary begins with, whoever wrote it.
const END: &str = "--- END OF CONTEXT SUMMARY";
const END_LINE: &str =
    "--- END OF CONTEXT SUMMARY: the conversation goes on below, and what is said there counts ---";

/// Beginning, summary, the latest request if it would have gone, end.
pub fn assemble(messages: &[Message], plan: &Plan, summary: &str) -> Vec<Message> {
    let mut out = messages[..plan.middle.start].to_vec();
    let asked = plan.asked.map(|at| own_words(&messages[at]));
    let mut rest: Vec<Message> = asked
        .into_iter()
        .chain(messages[plan.middle.end..].iter().cloned())
        .collect();
    let before = out.last().map(|message| message.role.clone());
    let after = rest.first().map(|message| message.role.clone());
    let free = [Role::User, Role::Assistant]
        .into_iter()
        .find(|role| before.as_ref() != Some(role) && after.as_ref() != Some(role));
    // A conversation begins with a user, whoever comes next.
    let free = match before {
        None => (after != Some(Role::User)).then_some(Role::User),
        Some(_) => free,
    };
    match (free, rest.first_mut()) {
        (Some(role), _) => out.push(summary_message(role, summary)),
        (None, None) => out.push(summary_message(Role::User, summary)),
        (None, Some(first)) => put_before(first, &framed(summary)),
    }
    out.append(&mut rest);
    request::mend(&mut out);
    out
}

pub fn summary_message(role: Role, summary: &str) -> Message {
    Message::text(role, framed(summary))
}

fn framed(summary: &str) -> String {
    let note = include_str!("../prompts/reference.md").trim();
    format!("{MARKER} {note}\n\n{}\n\n{END_LINE}", summary.trim())
}

fn put_before(message: &mut Message, text: &str) {
    let said = message.content.take();
    message.content = Some(match said {
        Some(Content::Parts(mut parts)) => {
            parts.insert(
                0,
                Part::Known(KnownPart::Text {
                    text: text.to_owned(),
                    extra: serde_json::Map::new(),
                }),
            );
            Content::Parts(parts)
        }
        Some(content) => Content::Text(format!("{text}\n\n{}", content.plain())),
        None => Content::Text(text.to_owned()),
    });
}

/// Whether a message is, or begins with, a summary.
pub fn is_summary(message: &Message) -> bool {
    matches!(message.role, Role::User | Role::Assistant) && text_of(message).is_some_and(begins)
}

fn begins(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with(MARKER) || text.starts_with(LEGACY)
}

/// Whether a message is something its owner asked for, not a note of ours.
pub fn is_asked(message: &Message) -> bool {
    if message.role != Role::User {
        return false;
    }
    match text_of(message) {
        Some(text) if begins(text) => !after_summary(text).is_empty(),
        Some(text) => ![todo::KEPT, ladder::CONTINUE, turn::SUMMARISE]
            .iter()
            .any(|note| text.starts_with(note)),
        None => true,
    }
}

/// The summary in a text that begins with one, without its frame.
pub fn summary_in(text: &str) -> &str {
    let text = text.trim_start();
    let body = text.strip_prefix(LEGACY).unwrap_or_else(|| {
        // The note after the marker is one paragraph.
        let after = text.strip_prefix(MARKER).unwrap_or(text);
        after.split_once("\n\n").map_or(after, |(_, body)| body)
    });
    body.find(END).map_or(body, |end| &body[..end]).trim()
}

/// What follows the summary in the same message.
pub fn after_summary(text: &str) -> &str {
    let Some(end) = text.find(END) else {
        return "";
    };
    let rest = &text[end..];
    rest.find('\n').map_or("", |line| rest[line..].trim())
}

/// A message without a summary that may stand before its own words.
fn own_words(message: &Message) -> Message {
    match text_of(message) {
        Some(text) if begins(text) => Message {
            content: Some(Content::Text(after_summary(text).to_owned())),
            ..message.clone()
        },
        _ => message.clone(),
    }
}

fn text_of(message: &Message) -> Option<&str> {
    match &message.content {
        Some(Content::Text(text)) => Some(text),
        Some(Content::Parts(parts)) => match parts.first() {
            Some(Part::Known(KnownPart::Text { text, .. })) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn said(messages: &[Message]) -> Vec<String> {
        let one = |message: &Message| {
            let text = message.content.as_ref().unwrap().plain();
            let text = if begins(&text) {
                match after_summary(&text) {
                    "" => "S".to_owned(),
                    rest => format!("S+{rest}"),
                }
            } else {
                text
            };
            format!("{}:{text}", message.role.as_str())
        };
        messages.iter().map(one).collect()
    }

    fn check(messages: &[Message], plan: Plan, expected: &[&str]) {
        assert_eq!(said(&assemble(messages, &plan, "what was")), expected);
    }

    #[test]
    fn the_summary_speaks_as_whoever_is_not_beside_it() {
        let (u, a, t) = (
            Message::user("u"),
            Message::assistant("a"),
            Message::tool("1", "f", "t"),
        );
        let gone = Message::assistant("gone");
        let all = |first: &Message, last: &Message| [first.clone(), gone.clone(), last.clone()];
        let plan = || Plan {
            middle: 1..2,
            asked: None,
        };
        check(&all(&u, &u), plan(), &["user:u", "assistant:S", "user:u"]);
        check(
            &all(&a, &a),
            plan(),
            &["assistant:a", "user:S", "assistant:a"],
        );
        check(&all(&a, &u), plan(), &["assistant:a", "user:S+u"]);
        check(&all(&u, &a), plan(), &["user:u", "assistant:S+a"]);
        let plan = Plan {
            middle: 0..1,
            asked: None,
        };
        check(&[gone.clone(), u.clone()], plan.clone(), &["user:S+u"]);
        check(&[gone.clone(), a.clone()], plan, &["user:S", "assistant:a"]);
        let plan = Plan {
            middle: 2..3,
            asked: None,
        };
        check(
            &[u.clone(), t.clone(), gone.clone(), u.clone()],
            plan,
            &["user:u", "assistant:S", "user:u"],
        );
    }

    #[test]
    fn the_latest_request_follows_the_summary() {
        let messages = [
            Message::user("first"),
            Message::assistant("a"),
            Message::user("do it"),
            Message::assistant("gone"),
            Message::assistant("end"),
        ];
        let plan = Plan {
            middle: 1..4,
            asked: Some(2),
        };
        check(
            &messages,
            plan,
            &["user:first", "assistant:S", "user:do it", "assistant:end"],
        );
    }

    #[test]
    fn summaries_are_known_again_and_come_apart() {
        let message = summary_message(Role::User, "## Goal\nbuild");
        assert!(is_summary(&message) && !is_asked(&message));
        let text = message.content.as_ref().unwrap().plain();
        assert_eq!(summary_in(&text), "## Goal\nbuild");
        assert_eq!(after_summary(&format!("{text}\n\nand now?")), "and now?");
        assert_eq!(summary_in("[CONTEXT SUMMARY]: old"), "old");
        assert!(is_summary(&Message::assistant("[CONTEXT SUMMARY]: old")));
        let theirs = "[CONTEXT COMPACTION — REFERENCE ONLY] Earlier turns\n\n## Goal\nx\n\n--- END OF CONTEXT SUMMARY — go on ---\n\nhello";
        assert_eq!(
            (summary_in(theirs), after_summary(theirs)),
            ("## Goal\nx", "hello")
        );
        assert!(is_asked(&Message::user(theirs)));
    }
}
