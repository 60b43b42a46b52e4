//! Asking the owner: a question becomes an event, the first answer to it wins.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use hermes_agent::Events;
use hermes_types::{AgentEvent, Answer, Asker, Countdown, Question, Scope};
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, sleep_until};

/// Whether somebody is there to be asked. Set when the session opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asking {
    /// A person watches, and sees one question at a time.
    Interactive,
    /// Nobody is there; questions are answered with that.
    Nobody,
}

/// How long a question without its own limit waits.
const PATIENCE: Duration = Duration::from_secs(120);

pub struct SessionAsker {
    policy: Asking,
    events: Events,
    next: AtomicU64,
    /// Questions without an answer.
    open: Mutex<HashMap<u64, Waiting>>,
    /// One question at a time: the time of the others does not run while nobody sees them.
    turn: tokio::sync::Mutex<()>,
}

/// Whoever waits for an answer.
struct Waiting {
    answer: oneshot::Sender<Answer>,
    /// Somebody is at the question.
    attended: Arc<Notify>,
}

impl SessionAsker {
    pub fn new(policy: Asking, events: Events) -> Self {
        Self {
            policy,
            events,
            next: AtomicU64::new(1),
            open: Mutex::default(),
            turn: tokio::sync::Mutex::default(),
        }
    }

    /// Hands an answer to whoever waits for it; false if nobody does.
    pub fn answer(&self, id: u64, answer: Answer) -> bool {
        let waiting = self.open().remove(&id);
        waiting.is_some_and(|waiting| waiting.answer.send(answer).is_ok())
    }

    /// Somebody is at a question: its time stands still for a moment.
    pub fn attend(&self, id: u64) {
        if let Some(waiting) = self.open().get(&id) {
            waiting.attended.notify_one();
        }
    }

    fn open(&self) -> std::sync::MutexGuard<'_, HashMap<u64, Waiting>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Asker for SessionAsker {
    fn ask<'a>(&'a self, question: Question, scope: &'a Scope) -> BoxFuture<'a, Answer> {
        async move {
            if self.policy == Asking::Nobody {
                return Answer::Nobody;
            }
            tokio::select! {
                given = self.in_turn(question) => given,
                () = scope.cancel.cancelled() => Answer::Cancelled,
            }
        }
        .boxed()
    }
}

impl SessionAsker {
    /// Asks when no other question is open.
    async fn in_turn(&self, question: Question) -> Answer {
        let _turn = self.turn.lock().await;
        let limit = match &question {
            Question::Approve { timeout, .. } | Question::Elicit { timeout, .. } => *timeout,
            _ => PATIENCE,
        };
        let (answer, given) = oneshot::channel();
        let attended = Arc::new(Notify::new());
        let waiting = Waiting {
            answer,
            attended: attended.clone(),
        };
        let open = Open::new(self, waiting);
        let id = open.id;
        self.events.send(AgentEvent::Asked { id, question });
        in_time(limit, given, &attended).await
    }
}

/// A question as long as it waits. Everybody hears when it doesn't any more, also when nobody waits for the answer.
struct Open<'a> {
    asker: &'a SessionAsker,
    id: u64,
}

impl<'a> Open<'a> {
    fn new(asker: &'a SessionAsker, waiting: Waiting) -> Self {
        let id = asker.next.fetch_add(1, Ordering::Relaxed);
        asker.open().insert(id, waiting);
        Self { asker, id }
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.asker.open().remove(&self.id);
        self.asker.events.send(AgentEvent::Answered { id: self.id });
    }
}

async fn in_time(
    limit: Duration,
    mut given: oneshot::Receiver<Answer>,
    attended: &Notify,
) -> Answer {
    let mut countdown = Countdown::new(limit, Instant::now().into_std());
    loop {
        tokio::select! {
            biased;
            answer = &mut given => return answer.unwrap_or(Answer::Cancelled),
            () = attended.notified() => countdown.attend(Instant::now().into_std()),
            () = sleep_until(countdown.until().into()) => return Answer::TimedOut,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn approve(timeout: Duration) -> Question {
        Question::Approve {
            command: "rm -r x".to_owned(),
            warnings: Vec::new(),
            longest: hermes_types::Consent::Once,
            timeout,
        }
    }

    #[tokio::test]
    async fn who_is_at_a_question_has_more_time() {
        let limit = Duration::from_millis(50);
        for (there, expected) in [(false, Answer::TimedOut), (true, Answer::Once)] {
            let (answer, given) = oneshot::channel();
            let attended = Notify::new();
            if there {
                attended.notify_one();
            }
            let owner = async {
                tokio::time::sleep(4 * limit).await;
                // Nobody waits for it in the first case.
                let _ = answer.send(Answer::Once);
            };
            let (told, ()) = tokio::join!(in_time(limit, given, &attended), owner);
            assert_eq!(told, expected);
        }
    }

    #[tokio::test]
    async fn questions_wait_their_turn_and_so_does_their_time() {
        let (told, mut heard) = tokio::sync::mpsc::unbounded_channel();
        let events = Events::new(move |event| drop(told.send(event)));
        let asker = SessionAsker::new(Asking::Interactive, events);
        let scope = Scope::new("s".into());
        let (short, long) = (Duration::from_millis(50), Duration::from_secs(60));
        let asks = async {
            let (first, second) = (approve(short), approve(long));
            tokio::join!(asker.ask(first, &scope), asker.ask(second, &scope))
        };
        let owner = async {
            let mut seen = Vec::new();
            while let Some(event) = heard.recv().await {
                match event {
                    AgentEvent::Asked { id: 2, .. } => {
                        seen.push("asked again");
                        assert!(asker.answer(2, Answer::Once));
                    }
                    AgentEvent::Asked { .. } => seen.push("asked"),
                    AgentEvent::Answered { id: 1 } => seen.push("over"),
                    AgentEvent::Answered { .. } => break,
                    other => panic!("{other:?}"),
                }
            }
            seen
        };
        let (answers, seen) = tokio::join!(asks, owner);
        assert_eq!(answers, (Answer::TimedOut, Answer::Once));
        assert_eq!(seen, ["asked", "over", "asked again"]);
    }
}
