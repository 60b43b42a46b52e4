//! A memory outside: asked before a turn, told afterwards, never in the way.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use hermes_agent::Toolbox;
use hermes_session::{Busy, Feed, Input, Live, OutsideMemory, Patience, Session, Which, slash};
use hermes_store::Reach;
use hermes_testkit::doubles::{Canned, CannedMemory, Heard};
use hermes_types::{
    AgentEvent, Args, CallCx, Content, Exchange, MemoryNews, MemoryWrite, Message, Parallel,
    SwitchedBy, Tool, ToolOutput, ToolSpec, WriteOrigin,
};
use pretty_assertions::assert_eq;
use serde_json::json;

use super::{Bench, notice, turn_end};

/// A tool that says who it is.
struct Named(ToolSpec);

impl Tool for Named {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(&'a self, _: Args, _: &'a CallCx) -> BoxFuture<'a, ToolOutput> {
        async { ToolOutput::done(self.0.description.clone()) }.boxed()
    }
}

fn named(name: &str, whose: &str) -> Arc<dyn Tool> {
    Arc::new(Named(ToolSpec {
        name: name.to_owned(),
        toolset: "test",
        description: whose.to_owned(),
        parameters: json!({"type": "object", "properties": {}}),
        emoji: "",
        parallel: Parallel::Never,
        idempotent: false,
        housekeeping: false,
        refundable: false,
        paths: |_| Vec::new(),
        digest: |_, _| String::new(),
        max_output: None,
    }))
}

async fn open(bench: &Bench, memory: &Arc<CannedMemory>) -> (Session, Live, Feed) {
    open_in(bench, memory, Which::New).await
}

async fn open_in(bench: &Bench, memory: &Arc<CannedMemory>, which: Which) -> (Session, Live, Feed) {
    let mut opening = bench.opening(which, Busy::Queue);
    let toolbox = Toolbox::new([named("memory", "ours")]);
    opening.tools = Arc::new(move || toolbox.clone());
    let (session, live, feed) = Session::open(opening).await.unwrap();
    let outside = OutsideMemory::new(memory.clone(), "/home".into()).waiting(Patience {
        recall: Duration::from_millis(50),
        hear: Duration::from_secs(30),
        farewell: Duration::from_millis(50),
    });
    (session, live.with_outside_memory(Some(outside)), feed)
}

/// What was said to the model in its requests, the newest message of each.
fn asked(bench: &Bench) -> Vec<String> {
    let newest = |message: &Message| message.content.as_ref().unwrap().plain();
    let requests = bench.model.requests();
    requests
        .iter()
        .map(|request| newest(request.messages.last().unwrap()))
        .collect()
}

async fn say(session: &Session, feed: &Feed, text: &str) {
    session.send(Input::Prompt(Message::user(text))).await;
    turn_end(feed).await;
}

#[tokio::test]
async fn it_recalls_before_a_turn_and_is_told_afterwards() {
    let bench = Bench::new([Canned::text("one"), Canned::text("two")]).await;
    let memory = Arc::new(CannedMemory::recalling(Ok("likes tea")));
    let (session, live, feed) = open(&bench, &memory).await;
    let id = session.id();
    let face = async {
        say(&session, &feed, "first").await;
        say(&session, &feed, "second").await;
        session.send(Input::Close).await;
    };
    tokio::join!(face, live.run());
    // The copy that goes out has it, once; what is stored has not.
    let requests = asked(&bench);
    for (request, text) in requests.iter().zip(["first", "second"]) {
        let (said, recalled) = request.split_once("\n\n<memory-context>\n").unwrap();
        assert_eq!(said, text);
        assert!(
            recalled.ends_with("\n\nlikes tea\n</memory-context>"),
            "{recalled}"
        );
    }
    let stored = bench.store.conversation(&id, Reach::Session).await.unwrap();
    let stored: Vec<String> = stored
        .iter()
        .map(|message| message.content.as_ref().map(Content::plain).unwrap())
        .collect();
    assert_eq!(stored, ["first", "one", "second", "two"]);
    let later = bench.model.requests()[1].messages[0].clone();
    assert_eq!(
        later,
        Message::user("first"),
        "only its own turn carries it"
    );
    // In order, and all of it before the session is over.
    let turn = |turn, user: &str, assistant: &str| {
        [
            Heard::News(MemoryNews::TurnStarted {
                turn,
                words: user.to_owned(),
            }),
            Heard::Asked(user.to_owned()),
            Heard::Kept(Exchange {
                session: id.clone(),
                user: user.to_owned(),
                assistant: assistant.to_owned(),
            }),
            Heard::News(MemoryNews::Ahead {
                words: user.to_owned(),
            }),
        ]
    };
    let mut heard = memory.heard();
    let began = |heard: &Heard| matches!(heard, Heard::News(MemoryNews::Began(_)));
    assert_eq!(heard.iter().filter(|heard| began(heard)).count(), 1);
    heard.retain(|heard| !began(heard));
    let last = heard.pop().unwrap();
    assert!(
        matches!(last, Heard::News(MemoryNews::Ended { .. })),
        "{last:?}"
    );
    // The next turn may begin before the last one was told.
    let of = |kind: fn(&Heard) -> bool, all: &[Heard]| -> Vec<Heard> {
        all.iter().filter(|heard| kind(heard)).cloned().collect()
    };
    let both = [turn(1, "first", "one"), turn(2, "second", "two")].concat();
    let before: fn(&Heard) -> bool = |heard| {
        matches!(
            heard,
            Heard::Asked(_) | Heard::News(MemoryNews::TurnStarted { .. })
        )
    };
    let after: fn(&Heard) -> bool = |heard| {
        matches!(
            heard,
            Heard::Kept(_) | Heard::News(MemoryNews::Ahead { .. })
        )
    };
    assert_eq!(of(before, &heard), of(before, &both));
    assert_eq!(of(after, &heard), of(after, &both));
}

#[tokio::test]
async fn one_that_fails_is_told_of_once_and_changes_nothing() {
    let bench = Bench::new([Canned::text("one"), Canned::text("two")]).await;
    let memory = Arc::new(CannedMemory::recalling(Err("no connection")));
    let (session, live, feed) = open(&bench, &memory).await;
    let face = async {
        let mut notices = Vec::new();
        for text in ["first", "second"] {
            session.send(Input::Prompt(Message::user(text))).await;
            loop {
                match feed.next().await.unwrap() {
                    AgentEvent::Notice(text) => notices.push(text),
                    AgentEvent::TurnEnded(end) => {
                        assert!(end.answered());
                        break;
                    }
                    _ => {}
                }
            }
        }
        session.send(Input::Close).await;
        notices
    };
    let (notices, ()) = tokio::join!(face, live.run());
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert!(
        notices[0].contains("canned does not work: no connection"),
        "{notices:?}"
    );
    assert_eq!(asked(&bench), ["first", "second"]);
}

#[tokio::test]
async fn one_that_hangs_delays_a_turn_for_a_moment_and_can_be_interrupted() {
    let bench = Bench::new([Canned::text("one")]).await;
    let memory = Arc::new(CannedMemory::hanging());
    let (session, live, feed) = open(&bench, &memory).await;
    let face = async {
        session.send(Input::Prompt(Message::user("first"))).await;
        while feed.next().await != Some(AgentEvent::TurnStarted) {}
        session.send(Input::Interrupt).await;
        assert!(turn_end(&feed).await.interrupted);
        // What was cut short is not told.
        let kept = |heard: &Heard| matches!(heard, Heard::Kept(_));
        assert!(!memory.heard().iter().any(kept));
        say(&session, &feed, "second").await;
        assert_eq!(asked(&bench), ["first\n\nsecond"]);
        session.send(Input::Close).await;
    };
    let both = async { tokio::join!(face, live.run()) };
    tokio::time::timeout(Duration::from_secs(20), both)
        .await
        .expect("leaving waits for a moment only");
}

#[tokio::test]
async fn its_tools_are_offered_unless_their_name_is_taken() {
    let bench = Bench::new([Canned::calls(&[("memory", "{}")]), Canned::text("done")]).await;
    let tools = [named("memory", "theirs"), named("canned_search", "theirs")];
    let memory = Arc::new(CannedMemory::recalling(Ok("")).with_tools(tools));
    let (session, live, feed) = open(&bench, &memory).await;
    let face = async {
        say(&session, &feed, "go").await;
        session.send(Input::Close).await;
    };
    tokio::join!(face, live.run());
    let requests = bench.model.requests();
    let offered: Vec<&str> = requests[0].tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(offered, ["canned_search", "memory"]);
    assert_eq!(asked(&bench), ["go", "ours"]);
}

#[tokio::test]
async fn it_hears_of_another_conversation_and_of_what_is_written() {
    let bench = Bench::new([Canned::text("one")]).await;
    let memory = Arc::new(CannedMemory::recalling(Ok("")));
    let opening = bench.opening(Which::New, Busy::Queue);
    let (session, live, feed) = Session::open(opening).await.unwrap();
    let outside = OutsideMemory::new(memory.clone(), "/home".into());
    let writes = outside.writes();
    let live = live.with_outside_memory(Some(outside));
    let first = session.id();
    let write = MemoryWrite {
        action: "add",
        target: "user",
        content: "Name: Ada".to_owned(),
        origin: WriteOrigin::BackgroundReview,
        session: first.clone(),
        call_id: "call_0".to_owned(),
    };
    let face = async {
        say(&session, &feed, "hi").await;
        writes(write.clone());
        let new = slash::TABLE
            .iter()
            .find(|slash| slash.name == "new")
            .unwrap();
        session.send(Input::Command(new, String::new())).await;
        notice(&feed).await;
        session.send(Input::Close).await;
    };
    tokio::join!(face, live.run());
    let news: Vec<MemoryNews> = memory
        .heard()
        .into_iter()
        .filter_map(|heard| match heard {
            Heard::News(news) => Some(news),
            _ => None,
        })
        .collect();
    assert!(news.contains(&MemoryNews::Written(write)), "{news:?}");
    let ended = news.iter().position(|news| match news {
        MemoryNews::Ended { session, messages } => *session == first && messages.len() == 2,
        _ => false,
    });
    let switched = MemoryNews::Switched {
        from: first.clone(),
        to: session.id(),
        why: SwitchedBy::Owner,
    };
    let switched = news.iter().position(|news| *news == switched);
    assert!(ended.is_some() && ended < switched, "{news:?}");
}

#[tokio::test]
async fn what_it_adds_stands_before_whoever_writes_the_summary() {
    let bench = Bench::new(["the notes", "one"].map(Canned::text)).await;
    let root = crate::compact::stored(&bench).await;
    let memory = CannedMemory::recalling(Ok("")).adding("the deadline is on Friday");
    let memory = Arc::new(memory);
    let (session, live, feed) = open_in(&bench, &memory, Which::Existing(root)).await;
    let face = async {
        say(&session, &feed, "and now?").await;
        session.send(Input::Close).await;
    };
    tokio::join!(face, live.run());
    let requests = asked(&bench);
    assert!(
        requests[0].contains("<memory>\nthe deadline is on Friday\n</memory>"),
        "{}",
        &requests[0][requests[0].len() - 600..]
    );
    assert_eq!(requests[1], "and now?");
    let gone = memory.heard().into_iter().find_map(|heard| match heard {
        Heard::Going(messages) => Some(messages),
        _ => None,
    });
    // Those that go, not those that stay.
    assert!(
        gone.is_some_and(|gone| (20..80).contains(&gone)),
        "{gone:?}"
    );
}

#[tokio::test]
async fn a_summary_does_not_wait_for_one_that_hangs() {
    let bench = Bench::new(["the notes", "one"].map(Canned::text)).await;
    let root = crate::compact::stored(&bench).await;
    let memory = Arc::new(CannedMemory::hanging());
    let (session, live, feed) = open_in(&bench, &memory, Which::Existing(root)).await;
    let face = async {
        say(&session, &feed, "and now?").await;
        session.send(Input::Close).await;
    };
    let both = async { tokio::join!(face, live.run()) };
    tokio::time::timeout(Duration::from_secs(20), both)
        .await
        .expect("it goes on without");
    assert!(!asked(&bench)[0].contains("<memory>"));
}
