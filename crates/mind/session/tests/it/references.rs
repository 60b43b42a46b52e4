//! What a person's words refer to, as the session has it attached.

use std::sync::Arc;

use futures::FutureExt;
use hermes_session::{Attach, Attached, Busy, Feed, Input, Live, Session, Which, slash};
use hermes_testkit::doubles::Canned;
use hermes_types::{AgentEvent, Content, Message};
use pretty_assertions::assert_eq;

use crate::{Bench, turn_end};

/// Attaches the size of the window, and says so.
fn attach() -> Attach {
    Arc::new(|text, window| {
        let notices = vec![format!("read for {text}")];
        let text = format!("{text} + {window}");
        std::future::ready(Attached { text, notices }).boxed()
    })
}

/// What the model got as the person's last words.
fn asked(bench: &Bench) -> String {
    let requests = bench.model.requests();
    let last = requests.last().unwrap().messages.last().unwrap();
    last.content.as_ref().map(Content::plain).unwrap()
}

/// Sends each and waits for the turn to end.
async fn say(
    bench: &Bench,
    (session, live, feed): (Session, Live, Feed),
    inputs: Vec<Input>,
) -> Vec<String> {
    let face = async {
        let mut seen = Vec::new();
        for input in inputs {
            session.send(input).await;
            turn_end(&feed).await;
            seen.push(asked(bench));
        }
        session.send(Input::Close).await;
        seen
    };
    tokio::join!(face, live.run()).0
}

#[tokio::test]
async fn only_what_a_person_typed_just_now_is_read() {
    let answers = ["one", "two", "three", "four"].map(Canned::text);
    let bench = Bench::new(answers).await;
    let (session, live, feed) = bench.open(Which::New, Busy::Queue).await;
    let live = live
        .with_references(attach())
        .with_preface("[first] ".to_owned());
    let retry = match slash::read("/retry") {
        slash::Typed::Command { slash, rest } => Input::Command(slash, rest.to_owned()),
        other => panic!("{other:?}"),
    };
    let inputs = vec![
        Input::Prompt(Message::user("typed")),
        retry,
        Input::Steer("news of a job".to_owned()),
        Input::Prompt(Message::user("again")),
    ];
    let window = bench
        .opening(Which::New, Busy::Queue)
        .model
        .info()
        .context_length;
    assert_eq!(
        say(&bench, (session, live, feed), inputs).await,
        [
            format!("[first] typed + {window}"),
            format!("[first] typed + {window}"),
            "news of a job".to_owned(),
            format!("again + {window}"),
        ]
    );
}

#[tokio::test]
async fn what_waits_is_read_in_its_turn() {
    let bench = Bench::new([Canned::text("one"), Canned::text("two")]).await;
    let (session, live, feed) = bench.open(Which::New, Busy::Queue).await;
    let live = live.with_references(attach());
    let face = async {
        session.send(Input::Prompt(Message::user("a"))).await;
        session.send(Input::Prompt(Message::user("b"))).await;
        let mut told = Vec::new();
        for _ in 0..2 {
            while let Some(event) = feed.next().await {
                match event {
                    AgentEvent::Notice(text) => told.push(text),
                    AgentEvent::TurnStarted => told.push("begins".to_owned()),
                    AgentEvent::TurnEnded(_) => break,
                    _ => {}
                }
            }
        }
        session.send(Input::Close).await;
        told
    };
    let told = tokio::join!(face, live.run()).0;
    assert_eq!(told, ["begins", "read for a", "begins", "read for b"]);
}

#[tokio::test]
async fn reading_can_be_interrupted() {
    let bench = Bench::new([Canned::text("never")]).await;
    let (session, live, feed) = bench.open(Which::New, Busy::Queue).await;
    let live = live.with_references(Arc::new(|_, _| std::future::pending().boxed()));
    let face = async {
        session.send(Input::Prompt(Message::user("slow"))).await;
        session.send(Input::Interrupt).await;
        let end = turn_end(&feed).await;
        session.send(Input::Close).await;
        end
    };
    let end = tokio::join!(face, live.run()).0;
    assert!(end.interrupted);
    assert_eq!(bench.model.requests().len(), 0);
}
