//! Owners who answer by message: questions wait in a line until somebody answers the first, or all.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use hermes_gate::{Allowlist, DeniedBy, Gate, Policy, Surface};
use hermes_home::redact::Redactor;
use hermes_testkit::doubles::cx_with;
use hermes_types::{Answer, Asker, CallCx, Question, Scope};
use tokio::sync::oneshot;

use super::policy;

/// Questions in the order they came.
#[derive(Default)]
struct Line(Mutex<VecDeque<oneshot::Sender<Answer>>>);

impl Line {
    async fn holds(&self, count: usize) {
        while self.0.lock().unwrap().len() < count {
            tokio::task::yield_now().await;
        }
    }

    /// `/approve`, `/deny`: the first question.
    fn answer(&self, answer: Answer) {
        let first = self.0.lock().unwrap().pop_front();
        first.unwrap().send(answer).unwrap();
    }
}

impl Asker for Line {
    fn ask<'a>(&'a self, _: Question, _: &'a Scope) -> BoxFuture<'a, Answer> {
        let (sender, receiver) = oneshot::channel();
        self.0.lock().unwrap().push_back(sender);
        async { receiver.await.unwrap_or(Answer::Nobody) }.boxed()
    }
}

fn chat() -> (Gate, Arc<Line>, CallCx) {
    let policy = Policy {
        surface: Surface::Messages,
        timeout: Duration::from_secs(1),
        ..policy()
    };
    let gate = Gate::new(policy, Allowlist::new([], |_| {}), Redactor::default());
    let line = Arc::new(Line::default());
    let cx = cx_with(line.clone());
    (gate, line, cx)
}

// spec: terminal-and-safety §13.11
#[tokio::test]
async fn each_command_waits_for_its_own_answer() {
    let (gate, line, cx) = chat();
    let commands = ["rm -rf build", "git push --force"];
    let owner = async {
        line.holds(2).await;
        line.answer(Answer::Once);
        line.answer(Answer::Deny);
    };
    let [one, two] = commands.map(|command| gate.permit(command, &cx));
    let (one, two, ()) = tokio::join!(one, two, owner);
    assert_eq!(one.unwrap().command(), commands[0]);
    assert_eq!(two.unwrap_err().by, DeniedBy::Owner);

    // All at once.
    let owner = async {
        line.holds(2).await;
        line.answer(Answer::Once);
        line.answer(Answer::Once);
    };
    let [one, two] = commands.map(|command| gate.permit(command, &cx));
    let (one, two, ()) = tokio::join!(one, two, owner);
    assert!(one.is_ok() && two.is_ok());

    // The first only: the other is over when its time is.
    let owner = async {
        line.holds(2).await;
        line.answer(Answer::Once);
    };
    let [one, two] = commands.map(|command| gate.permit(command, &cx));
    let (one, two, ()) = tokio::join!(one, two, owner);
    assert!(one.is_ok());
    let two = two.unwrap_err();
    assert_eq!(two.by, DeniedBy::Silence);
    assert!(two.reason.contains("timed out"), "{}", two.reason);
}
