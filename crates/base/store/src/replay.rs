//! A stored conversation made ready to be continued.

use std::collections::HashSet;

use hermes_types::{Content, Message, Role, SessionId};

use crate::{Store, chain, error::Result, messages};

/// How far back a replay goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// What the model is sent: this session only.
    Session,
    /// What a person wants to see: also the sessions this one continues.
    Ancestors,
}

impl Store {
    /// The messages to resume `session` with: injected memory removed, and what background reviews
    /// of older versions left behind.
    pub async fn conversation(&self, session: &SessionId, reach: Reach) -> Result<Vec<Message>> {
        let session = session.clone();
        self.read(move |db| {
            let ids = match reach {
                Reach::Session => vec![session.as_str().to_owned()],
                Reach::Ancestors => chain::lineage(db, session.as_str())?,
            };
            let mut rows = Vec::new();
            for id in ids {
                rows.extend(messages::of_session(db, &id)?);
            }
            rows.sort_by_key(|row| row.id);
            let rows = rows.into_iter().map(|row| row.message);
            Ok(match reach {
                Reach::Session => clean(rows),
                Reach::Ancestors => without_repeats(clean(rows)),
            })
        })
        .await
    }
}

fn clean(rows: impl Iterator<Item = Message>) -> Vec<Message> {
    let mut kept = Vec::new();
    let mut answers_review = false;
    for mut message in rows {
        if is_review_prompt(&message) {
            answers_review = true;
            continue;
        }
        if std::mem::take(&mut answers_review) && message.role == Role::Assistant {
            continue;
        }
        if matches!(message.role, Role::User | Role::Assistant)
            && let Some(Content::Text(text)) = &mut message.content
        {
            *text = without_memory(text);
        }
        kept.push(message);
    }
    kept
}

/// Older versions let the background reviewer write into the user's session. Its prompts begin with
/// these words; replayed, they would make the agent take up the reviewer's role.
const REVIEW_PROMPTS: [&str; 2] = [
    "Review the conversation above and update the skill library",
    "Review the conversation above and consider saving to memory",
];

fn is_review_prompt(message: &Message) -> bool {
    let Some(Content::Text(text)) = &message.content else {
        return false;
    };
    matches!(message.role, Role::User | Role::System)
        && REVIEW_PROMPTS
            .iter()
            .any(|prompt| text.trim_start().starts_with(prompt))
}

/// A continued session repeats the user's last words, so they would appear twice.
fn without_repeats(messages: Vec<Message>) -> Vec<Message> {
    let mut kept: Vec<Message> = Vec::with_capacity(messages.len());
    // What the user has said since the last reply.
    let mut unanswered: HashSet<String> = HashSet::new();
    for message in messages {
        let says = message.content.as_ref().map(Content::plain);
        let says = says.filter(|text| !text.is_empty());
        if message.role == Role::Assistant && (says.is_some() || !message.tool_calls.is_empty()) {
            unanswered.clear();
        }
        let repeated =
            message.role == Role::User && says.is_some_and(|question| !unanswered.insert(question));
        if repeated {
            continue;
        }
        kept.push(message);
    }
    kept
}

/// Takes out `<memory-context>` blocks, the note that introduces them, and stray tags.
fn without_memory(text: &str) -> String {
    // Only ASCII letters change, so places in `lower` are places in `text`.
    let lower = text.to_ascii_lowercase();
    if !lower.contains("memory-context") && !lower.contains(NOTE) {
        return text.trim().to_owned();
    }
    let mut kept = String::with_capacity(text.len());
    let mut place = 0;
    while let Some(offset) = lower[place..].find(['<', '[']) {
        let start = place + offset;
        let end = match tag_at(&lower, start) {
            Some((Tag::Open, end)) => block_end(&lower, end).unwrap_or(end),
            Some((Tag::Close, end)) => end,
            None => note_at(&lower, start).unwrap_or(start),
        };
        kept.push_str(&text[place..start]);
        if end == start {
            kept.push_str(&text[start..=start]); // one ASCII bracket
        }
        place = end.max(start + 1);
    }
    kept.push_str(&text[place..]);
    kept.trim().to_owned()
}

#[derive(PartialEq)]
enum Tag {
    Open,
    Close,
}

/// A memory tag that begins at `start`, and where it ends.
fn tag_at(lower: &str, start: usize) -> Option<(Tag, usize)> {
    let inner = lower[start..].strip_prefix('<')?;
    let (tag, inner) = match inner.strip_prefix('/') {
        Some(rest) => (Tag::Close, rest),
        None => (Tag::Open, inner),
    };
    let rest = inner.trim_start().strip_prefix("memory-context")?;
    let rest = rest.trim_start().strip_prefix('>')?;
    Some((tag, lower.len() - rest.len()))
}

/// The end of the block whose opening tag ends at `from`.
fn block_end(lower: &str, from: usize) -> Option<usize> {
    lower[from..].match_indices('<').find_map(|(offset, _)| {
        let (tag, end) = tag_at(lower, from + offset)?;
        (tag == Tag::Close).then_some(end)
    })
}

const NOTE: &str = "[system note:";

/// The note that says "this is recalled memory", if it begins at `start`, and where it ends.
fn note_at(lower: &str, start: usize) -> Option<usize> {
    let body = lower[start..].strip_prefix(NOTE)?;
    let (body, rest) = body.split_once(']')?;
    let words: Vec<&str> = body.split_whitespace().collect();
    words
        .join(" ")
        .starts_with("the following is recalled memory context, not new user input. treat as")
        .then(|| lower.len() - rest.trim_start().len())
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn injected_memory_is_taken_out() {
        let check = |text: &str, expected: &str| assert_eq!(without_memory(text), expected);
        check("  plain < text > [x] ", "plain < text > [x]");
        check("<memory-context>secret</memory-context>\nhello", "hello");
        check("a <Memory-Context >\nx\n</ memory-context> b", "a  b");
        check("stray </memory-context> tag <memory-context>", "stray  tag");
        check(
            "[System note: The following is recalled memory context,\nNOT new user input. Treat as \
             informational background data.]\n\nhi <b>",
            "hi <b>",
        );
        check(
            "[System note: keep me] <memory-context>x</memory-context>é",
            "[System note: keep me] é",
        );
        check("ünï <memory-context>ü</memory-context> <", "ünï  <");
    }

    #[test]
    fn reviews_and_their_replies_are_left_out() {
        let review = format!("{} now.", REVIEW_PROMPTS[0]);
        let rows = vec![
            Message::user("one"),
            Message::assistant("two"),
            Message::user(review),
            Message::assistant("I am the curator"),
            Message::user("three"),
            Message::assistant("four"),
        ];
        let texts: Vec<_> = clean(rows.into_iter())
            .iter()
            .map(|m| m.content.as_ref().unwrap().plain())
            .collect();
        assert_eq!(texts, ["one", "two", "three", "four"]);
    }

    #[test]
    fn an_unanswered_question_appears_once() {
        let check = |rows: &[(&str, &str)], expected: &[&str]| {
            let rows = rows
                .iter()
                .map(|(role, text)| Message::text(Role::from(*role), *text))
                .collect();
            let texts: Vec<_> = without_repeats(rows)
                .iter()
                .map(|m| m.content.as_ref().unwrap().plain())
                .collect();
            assert_eq!(texts, expected);
        };
        check(
            &[("user", "a"), ("user", "a"), ("assistant", "b")],
            &["a", "b"],
        );
        check(
            &[("user", "a"), ("assistant", "b"), ("user", "a")],
            &["a", "b", "a"],
        );
        check(
            &[("user", "a"), ("assistant", ""), ("user", "a")],
            &["a", ""],
        );
        check(&[("user", "a"), ("user", "b"), ("user", "a")], &["a", "b"]);
    }
}
