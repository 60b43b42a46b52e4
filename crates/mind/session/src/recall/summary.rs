//! What a conversation came to, told by a side model: for those who ask for it.

use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use futures::stream::{self, StreamExt};
use hermes_store::{Hit, StoredMessage};
use hermes_types::{
    CallCx, Content, Message, ModelError, ModelEvent, ModelRequest, Purpose, Role, Scope,
};
use serde_json::{Value, json};

use super::{SessionSearch, when};

const TASK: &str = "session_search";
/// What the side model gets of one conversation.
const TRANSCRIPT: usize = 100_000;
/// Of a long result its beginning and its end.
const RESULT: usize = 500;
const RESULT_END: usize = 250;
const PREVIEW: usize = 500;
const MAX_OUTPUT: u64 = 10_000;
const TEMPERATURE: f64 = 0.1;
/// For all conversations together.
const PATIENCE: Duration = Duration::from_secs(60);
/// How near to each other the words of a query must be to count as one match.
const NEAR: usize = 200;

impl SessionSearch {
    /// A summary for each of these conversations; where nobody can write one, how it began.
    pub(super) async fn summarised(&self, query: &str, hits: &[Hit], cx: &CallCx) -> Vec<Value> {
        let scope = cx.scope.within(PATIENCE);
        let told: Vec<BoxFuture<'_, Value>> = hits
            .iter()
            .map(|hit| self.told(query, hit, cx, &scope).boxed())
            .collect();
        // In order, so many at a time.
        stream::iter(told)
            .buffered(self.at_once.max(1))
            .collect()
            .await
    }

    async fn told(&self, query: &str, hit: &Hit, cx: &CallCx, scope: &Scope) -> Value {
        let messages = self.store.messages(&hit.session).await.unwrap_or_default();
        let transcript = transcript(&messages);
        let part = part(&transcript, query, TRANSCRIPT);
        let summary = match summary(query, &part, cx, scope).await {
            Ok(text) => text,
            Err(error) => {
                let preview: String = part.chars().take(PREVIEW).collect();
                format!("[No summary ({error}); this is how the matching part begins]\n{preview}")
            }
        };
        json!({
            "session_id": hit.session, "when": when(hit.session_started_at), "source": hit.source,
            "model": hit.model, "summary": summary,
        })
    }
}

async fn summary(
    query: &str,
    transcript: &str,
    cx: &CallCx,
    scope: &Scope,
) -> Result<String, ModelError> {
    let client = cx.models.client(&Purpose::Aux(TASK))?;
    let request = ModelRequest {
        system: include_str!("../prompts/recall.md").trim().to_owned(),
        messages: vec![Message::user(format!(
            "Looked for: {query}\n\n<conversation>\n{transcript}\n</conversation>"
        ))],
        max_output: Some(MAX_OUTPUT),
        temperature: Some(TEMPERATURE),
        ..ModelRequest::default()
    };
    let mut stream = client.stream(request, scope.child());
    while let Some(event) = stream.next().await {
        if let ModelEvent::Done(reply) = event? {
            let text = reply.message.content.as_ref().map(Content::plain);
            let text = text.unwrap_or_default().trim().to_owned();
            if !text.is_empty() {
                return Ok(text);
            }
        }
    }
    Err(ModelError::new(
        hermes_types::ModelErrorKind::Unknown,
        "the side model said nothing",
    ))
}

/// A conversation as text: `[ROLE]: …`.
fn transcript(messages: &[StoredMessage]) -> String {
    let line = |stored: &StoredMessage| {
        let message = &stored.message;
        let text = message.content.as_ref().map(Content::plain);
        let text = text.unwrap_or_default();
        let text = match message.role {
            Role::Tool => shortened(&text),
            _ => text,
        };
        let calls: Vec<&str> = message
            .tool_calls
            .iter()
            .map(|call| call.function.name.as_str())
            .collect();
        let calls = match calls.is_empty() {
            true => String::new(),
            false => format!(" [calls: {}]", calls.join(", ")),
        };
        let role = message.role.as_str().to_uppercase();
        (!text.is_empty() || !calls.is_empty()).then(|| format!("[{role}]: {text}{calls}"))
    };
    let lines: Vec<String> = messages.iter().filter_map(line).collect();
    lines.join("\n\n")
}

fn shortened(text: &str) -> String {
    let count = text.chars().count();
    if count <= RESULT {
        return text.to_owned();
    }
    let head: String = text.chars().take(RESULT_END).collect();
    let tail: String = text.chars().skip(count - RESULT_END).collect();
    format!("{head}\n[…]\n{tail}")
}

/// At most `most` characters of a text: where most of the matches are, beginning a quarter before them.
fn part(text: &str, query: &str, most: usize) -> String {
    let chars: Vec<char> = text.chars().collect();
    if chars.len() <= most {
        return text.to_owned();
    }
    let places = places(&chars, query);
    let start = |place: &usize| place.saturating_sub(most / 4).min(chars.len() - most);
    let covers = |start: usize| {
        let inside = places
            .iter()
            .filter(|place| (start..start + most).contains(place));
        inside.count()
    };
    // Of equal ones the first.
    let best = places
        .iter()
        .map(start)
        .rev()
        .max_by_key(|start| covers(*start));
    let start = best.unwrap_or_default();
    chars[start..start + most].iter().collect()
}

/// Where the query stands: as a phrase, else all its words near each other, else any of them.
fn places(text: &[char], query: &str) -> Vec<usize> {
    let lower: Vec<char> = text
        .iter()
        .map(|c| c.to_lowercase().next().unwrap_or(*c))
        .collect();
    let query = query.to_lowercase().replace('"', "");
    let phrase = found(&lower, query.trim());
    if !phrase.is_empty() {
        return phrase;
    }
    let words = query.split_whitespace();
    let words: Vec<Vec<usize>> = words
        .filter(|word| !matches!(*word, "and" | "or" | "not"))
        .map(|word| found(&lower, word.trim_matches('*')))
        .collect();
    let is_near = |place: usize, other: &Vec<usize>| {
        let next = other.partition_point(|at| *at + NEAR < place);
        other.get(next).is_some_and(|at| *at <= place + NEAR)
    };
    let together: Vec<usize> = words.first().map_or_else(Vec::new, |first| {
        let places = first.iter().copied();
        let near = places.filter(|place| words.iter().all(|other| is_near(*place, other)));
        near.collect()
    });
    match together.is_empty() {
        true => words.concat(),
        false => together,
    }
}

fn found(text: &[char], part: &str) -> Vec<usize> {
    let part: Vec<char> = part.chars().collect();
    if part.is_empty() || part.len() > text.len() {
        return Vec::new();
    }
    let windows = text.windows(part.len()).enumerate();
    let hits = windows.filter(|(_, window)| *window == part.as_slice());
    hits.map(|(at, _)| at).collect()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn the_part_with_most_matches_is_kept() {
        let check = |text: &str, query: &str, expected: &str| {
            assert_eq!(part(text, query, 8), expected, "{query}");
        };
        check("short", "x", "short");
        check("..z..........z.z..", "z", "...z.z..");
        check("aa..............bb..cc..", "bb cc", "..bb..cc");
        check("aa..............bb......", "aa missing", "aa......");
        check("0123456789abcdef", "nothing", "01234567");
    }

    #[test]
    fn long_results_are_cut_in_the_middle() {
        let cut = shortened(&format!("{}{}", "a".repeat(400), "b".repeat(400)));
        assert!(cut.starts_with("aaa") && cut.ends_with("bbb") && cut.chars().count() < 520);
        assert_eq!(shortened("short"), "short");
    }
}
