//! A server's questions to the owner, asked where the call that made it ask came from.

mod field;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use hermes_mcp::Elicitor;
use hermes_types::{Answer, Asker, Question, Scope};
use serde_json::{Map, Value, json};

use field::Field;

/// How often a value that doesn't fit its field is asked for.
const TRIES: usize = 3;
/// How much of a server's message is shown.
const MESSAGE: usize = 2000;

/// Asks the owner of one call. What isn't a clear yes is a no.
#[derive(Clone)]
pub struct OwnerElicitor {
    pub asker: Arc<dyn Asker>,
    /// Of the call: its end is the end of the question.
    pub scope: Scope,
    pub timeout: Duration,
}

/// The same, remembering how its last question ended: for the record of the call.
#[derive(Clone, Debug)]
pub(crate) struct Noted {
    inner: OwnerElicitor,
    decision: Arc<Mutex<&'static str>>,
}

impl Noted {
    pub fn new(inner: OwnerElicitor) -> Self {
        let decision = Arc::default();
        Self { inner, decision }
    }

    /// Empty if the owner was not asked.
    pub fn decision(&self) -> &'static str {
        *lock(&self.decision)
    }
}

impl Elicitor for Noted {
    fn elicit<'a>(&'a self, server: &'a str, params: Value) -> BoxFuture<'a, Value> {
        async move {
            let answer = self.inner.elicit(server, params).await;
            *lock(&self.decision) = match answer["action"].as_str() {
                Some("accept") => "elicitation: accepted",
                Some("decline") => "elicitation: declined",
                _ => "elicitation: cancelled",
            };
            answer
        }
        .boxed()
    }
}

/// Only ever one word is written: a panic elsewhere doesn't make it wrong.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Why there is no content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refusal {
    Decline,
    Cancel,
}

impl Elicitor for OwnerElicitor {
    fn elicit<'a>(&'a self, server: &'a str, params: Value) -> BoxFuture<'a, Value> {
        async move {
            let asked = tokio::time::timeout(self.timeout, self.form(server, &params));
            match asked.await.unwrap_or(Err(Refusal::Cancel)) {
                Ok(content) => json!({"action": "accept", "content": content}),
                Err(Refusal::Decline) => json!({"action": "decline"}),
                Err(Refusal::Cancel) => json!({"action": "cancel"}),
            }
        }
        .boxed()
    }
}

impl OwnerElicitor {
    async fn form(&self, server: &str, params: &Value) -> Result<Map<String, Value>, Refusal> {
        let is_form = params.get("mode").is_none_or(|mode| mode == "form");
        if !is_form || params.get("url").is_some() {
            return Err(Refusal::Decline);
        }
        let fields = Field::all(params.get("requestedSchema").unwrap_or(&Value::Null));
        let message = params.get("message").and_then(Value::as_str);
        let question = Question::Elicit {
            server: server.to_owned(),
            message: shown(message.unwrap_or_default(), MESSAGE),
            fields: fields.iter().map(Field::line).collect(),
            timeout: self.timeout,
        };
        let mut given = match self.asker.ask(question, &self.scope).await {
            Answer::Once | Answer::Session | Answer::Always => Map::new(),
            Answer::Text(text) => serde_json::from_str(&text).map_err(|_| Refusal::Decline)?,
            Answer::Deny | Answer::Nobody => return Err(Refusal::Decline),
            Answer::TimedOut | Answer::Cancelled => return Err(Refusal::Cancel),
        };
        let mut content = Map::new();
        for field in fields {
            let value = match given.remove(&field.name).or_else(|| field.default.clone()) {
                Some(value) => Some(value),
                None if field.required => Some(self.value(server, &field).await?),
                None => None,
            };
            content.extend(value.map(|value| (field.name, value)));
        }
        Ok(content)
    }

    /// A value the server must have and nobody has given yet.
    async fn value(&self, server: &str, field: &Field) -> Result<Value, Refusal> {
        for _ in 0..TRIES {
            let question = Question::Clarify {
                question: format!("{server} needs {}", field.line()),
                choices: field.choices.clone(),
            };
            match self.asker.ask(question, &self.scope).await {
                Answer::Text(text) => {
                    if let Some(value) = field.read(&text) {
                        return Ok(value);
                    }
                }
                Answer::Deny | Answer::Nobody => return Err(Refusal::Decline),
                _ => return Err(Refusal::Cancel),
            }
        }
        Err(Refusal::Cancel)
    }
}

/// What a server wrote, without what could drive a terminal.
fn shown(text: &str, most: usize) -> String {
    let clean = text.chars().filter(|c| !c.is_control() || *c == '\n');
    clean.take(most).collect()
}

impl fmt::Debug for OwnerElicitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnerElicitor")
            .field("scope", &self.scope)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use hermes_testkit::doubles::FixedAsker;
    use pretty_assertions::assert_eq;
    use std::collections::VecDeque;

    use super::*;

    /// Gives one answer after the other.
    struct Says(Mutex<VecDeque<Answer>>);

    impl Asker for Says {
        fn ask<'a>(&'a self, _: Question, _: &'a Scope) -> BoxFuture<'a, Answer> {
            let next = self.0.lock().unwrap().pop_front();
            async move { next.unwrap_or(Answer::TimedOut) }.boxed()
        }
    }

    fn elicitor(asker: Arc<dyn Asker>) -> OwnerElicitor {
        OwnerElicitor {
            asker,
            scope: Scope::new("s".into()),
            timeout: Duration::from_secs(300),
        }
    }

    fn form() -> Value {
        json!({"message": "Who\u{7} are you?", "requestedSchema": {"type": "object", "required": ["name"],
        "properties": {
            "name": {"type": "string", "title": "Your name"},
            "age": {"type": "integer", "default": 7},
            "note": {"type": "string"},
        }}})
    }

    async fn check(answers: &[Answer], params: Value, expected: Value) {
        let says = Says(Mutex::new(answers.iter().cloned().collect()));
        assert_eq!(
            elicitor(Arc::new(says)).elicit("srv", params).await,
            expected
        );
    }

    fn text(text: &str) -> Answer {
        Answer::Text(text.to_owned())
    }

    #[tokio::test]
    async fn only_a_yes_is_a_yes() {
        let decline = || json!({"action": "decline"});
        let cancel = || json!({"action": "cancel"});
        check(&[Answer::Deny], form(), decline()).await;
        check(&[Answer::Nobody], form(), decline()).await;
        check(&[text("well, yes")], form(), decline()).await;
        check(&[Answer::TimedOut], form(), cancel()).await;
        check(&[Answer::Cancelled], form(), cancel()).await;
        check(
            &[Answer::Once],
            json!({"mode": "url", "url": "https://x"}),
            decline(),
        )
        .await;
        check(&[Answer::Once, Answer::TimedOut], form(), cancel()).await;
        check(
            &[Answer::Once],
            json!({"message": "ok?"}),
            json!({"action": "accept", "content": {}}),
        )
        .await;
    }

    #[tokio::test]
    async fn how_a_question_ended_is_remembered() {
        for (answer, expected) in [
            (Answer::Session, "elicitation: accepted"),
            (Answer::Deny, "elicitation: declined"),
            (Answer::TimedOut, "elicitation: cancelled"),
        ] {
            let noted = Noted::new(elicitor(FixedAsker::new(answer)));
            assert_eq!(noted.decision(), "");
            noted.elicit("srv", json!({"message": "ok?"})).await;
            assert_eq!(noted.decision(), expected);
        }
    }

    #[tokio::test]
    async fn what_is_missing_comes_from_the_schema_or_is_asked_for() {
        check(
            &[Answer::Once, text("Ada")],
            form(),
            json!({"action": "accept", "content": {"name": "Ada", "age": 7}}),
        )
        .await;
        check(
            &[text(r#"{"name": "Ada", "age": 36, "other": 1}"#)],
            form(),
            json!({"action": "accept", "content": {"name": "Ada", "age": 36}}),
        )
        .await;
        let number = json!({"requestedSchema": {"required": ["n"], "properties": {"n": {"type": "integer"}}}});
        check(
            &[Answer::Once, text("many"), text(" 5 ")],
            number.clone(),
            json!({"action": "accept", "content": {"n": 5}}),
        )
        .await;
        let never = [Answer::Once, text("a"), text("b"), text("c"), text("1")];
        check(&never, number, json!({"action": "cancel"})).await;
    }

    #[tokio::test]
    async fn the_owner_sees_who_asks_for_what() {
        let asker = FixedAsker::new(Answer::Deny);
        elicitor(asker.clone()).elicit("srv", form()).await;
        let expected = Question::Elicit {
            server: "srv".to_owned(),
            message: "Who are you?".to_owned(),
            fields: vec![
                "Your name (string, required)".to_owned(),
                "age (integer, default 7)".to_owned(),
                "note (string)".to_owned(),
            ],
            timeout: Duration::from_secs(300),
        };
        assert_eq!(asker.asked(), [expected]);
    }

    #[tokio::test]
    async fn an_owner_who_never_answers_ends_with_a_cancel() {
        struct Silent;
        impl Asker for Silent {
            fn ask<'a>(&'a self, _: Question, _: &'a Scope) -> BoxFuture<'a, Answer> {
                futures::future::pending().boxed()
            }
        }
        let mut elicitor = elicitor(Arc::new(Silent));
        elicitor.timeout = Duration::from_millis(5);
        assert_eq!(
            elicitor.elicit("srv", form()).await,
            json!({"action": "cancel"})
        );
    }
}
