//! Sessions over a real store and a canned model.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod audit;
mod compact;
mod controls;
mod delegate;
mod learned;
mod outside;
mod own;
mod recall;
mod references;
mod review;
mod spending;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;
use hermes_agent::{Limits, Prompt, Toolbox};
use hermes_session::{
    Asking, Busy, Feed, Input, Live, Opening, RolledBack, Session, Titles, Which, slash,
};
use hermes_store::{OpenOptions, Reach, Store};
use hermes_testkit::doubles::{Canned, CannedModel, MemoryWorkspace};
use hermes_types::{AgentEvent, Message, ModelError, ModelErrorKind, Role, SessionId, TurnEnd};
use pretty_assertions::assert_eq;

struct Bench {
    _dir: tempfile::TempDir,
    store: Store,
    model: Arc<CannedModel>,
    limits: Limits,
}

impl Bench {
    async fn new(canned: impl IntoIterator<Item = Canned>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path().join("state.db"), OpenOptions::default())
            .await
            .unwrap();
        Self {
            _dir: dir,
            store,
            model: CannedModel::new(canned),
            limits: Limits::default(),
        }
    }

    async fn open(&self, which: Which, busy: Busy) -> (Session, Live, Feed) {
        Session::open(self.opening(which, busy)).await.unwrap()
    }

    fn opening(&self, which: Which, busy: Busy) -> Opening {
        Opening {
            which,
            source: "cli".to_owned(),
            asking: Asking::Nobody,
            busy,
            store: self.store.clone(),
            model: self.model.clone(),
            models: self.model.clone(),
            tools: Arc::new(Toolbox::default),
            workspace: MemoryWorkspace::with(&[]),
            limits: self.limits.clone(),
            system: Prompt::new(|_| "the prompt".to_owned()),
            switch: Arc::new(|_| {
                let error = ModelError::new(ModelErrorKind::NotConfigured, "no other model");
                std::future::ready(Err(error)).boxed()
            }),
            saved_dir: self._dir.path().join("saved"),
            titles: Titles::None,
        }
    }

    /// Says each prompt after the turn before it has ended, then closes.
    async fn talk(&self, which: Which, prompts: &[&str]) -> (SessionId, Vec<TurnEnd>) {
        let (session, live, feed) = self.open(which, Busy::Queue).await;
        let id = session.id();
        let face = async {
            let mut ends = Vec::new();
            for prompt in prompts {
                session.send(Input::Prompt(Message::user(*prompt))).await;
                ends.push(turn_end(&feed).await);
            }
            session.send(Input::Close).await;
            ends
        };
        let (ends, ()) = tokio::join!(face, live.run());
        (id, ends)
    }
}

/// What a command answers; a compaction is told about before that.
async fn notice(feed: &Feed) -> String {
    loop {
        match feed.next().await {
            Some(AgentEvent::Notice(text)) => return text,
            Some(
                AgentEvent::Opened(_)
                | AgentEvent::Yolo(_)
                | AgentEvent::TookBack(_)
                | AgentEvent::Model(_)
                | AgentEvent::Compacting { .. }
                | AgentEvent::Compacted(_)
                | AgentEvent::Usage { .. },
            ) => {}
            other => panic!("{other:?}"),
        }
    }
}

async fn turn_end(feed: &Feed) -> TurnEnd {
    while let Some(event) = feed.next().await {
        if let AgentEvent::TurnEnded(end) = event {
            return *end;
        }
    }
    panic!("the session ended without ending its turn");
}

#[tokio::test]
async fn a_conversation_is_stored_and_taken_up_again() {
    let bench = Bench::new([Canned::text("one"), Canned::text("two")]).await;
    let (id, ends) = bench.talk(Which::New, &["first"]).await;
    assert_eq!(ends[0].text, "one");
    let session = bench.store.session(&id).await.unwrap().unwrap();
    assert_eq!(
        (session.end_reason.as_deref(), session.message_count),
        (Some("cli_close"), 2)
    );
    assert_eq!(session.system_prompt.as_deref(), Some("the prompt"));

    let (again, _) = bench.talk(Which::Existing(id.clone()), &["second"]).await;
    assert_eq!(again, id);
    let requests = bench.model.requests();
    assert!(requests[1].messages.starts_with(&requests[0].messages));
    assert_eq!(requests[1].messages.len(), 3);
    let stored = bench.store.conversation(&id, Reach::Session).await.unwrap();
    let roles: Vec<_> = stored.iter().map(|message| message.role.clone()).collect();
    assert_eq!(
        roles,
        [Role::User, Role::Assistant, Role::User, Role::Assistant]
    );
}

#[tokio::test]
async fn a_session_in_which_nothing_is_said_leaves_nothing() {
    let bench = Bench::new([]).await;
    bench.talk(Which::New, &[]).await;
    assert_eq!(bench.store.stats().await.unwrap().sessions, 0);
}

#[tokio::test]
async fn a_prompt_during_a_turn_interrupts_it_and_is_next() {
    let bench = Bench::new([Canned::Hang, Canned::text("switched")]).await;
    let (session, live, feed) = bench.open(Which::New, Busy::Interrupt).await;
    let face = async {
        session.send(Input::Prompt(Message::user("slow"))).await;
        while bench.model.requests().is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        session.send(Input::Prompt(Message::user("new task"))).await;
        let ends = (turn_end(&feed).await, turn_end(&feed).await);
        session.send(Input::Close).await;
        ends
    };
    let ((first, second), ()) = tokio::join!(face, live.run());
    assert!(first.interrupted);
    assert_eq!(second.text, "switched");
}

#[tokio::test]
async fn dropping_the_handle_ends_everything() {
    let bench = Bench::new([Canned::Hang]).await;
    let (session, live, feed) = bench.open(Which::New, Busy::Queue).await;
    session.send(Input::Prompt(Message::user("hi"))).await;
    drop(session);
    tokio::time::timeout(Duration::from_secs(5), live.run())
        .await
        .unwrap();
    let mut last = None;
    while let Some(event) = feed.next().await {
        last = Some(event);
    }
    assert!(matches!(last, Some(AgentEvent::TurnEnded(end)) if end.interrupted));
}

/// Sends commands and prompts (anything not beginning with a slash) and collects the notices.
async fn converse(bench: &Bench, lines: &[&str]) -> (SessionId, Vec<String>) {
    let opened = bench.open(Which::New, Busy::Queue).await;
    converse_in(opened, lines).await
}

async fn converse_in(
    (session, live, feed): (Session, Live, Feed),
    lines: &[&str],
) -> (SessionId, Vec<String>) {
    let id = session.id();
    let face = async {
        let mut notices = Vec::new();
        for line in lines {
            match slash::read(line) {
                slash::Typed::Command { slash, rest } => {
                    session.send(Input::Command(slash, rest.to_owned())).await;
                    // Retrying is answered by a turn, everything else by a notice.
                    if slash.name == "retry" {
                        turn_end(&feed).await;
                        continue;
                    }
                    notices.push(notice(&feed).await);
                }
                _ => {
                    session.send(Input::Prompt(Message::user(*line))).await;
                    turn_end(&feed).await;
                }
            }
        }
        session.send(Input::Close).await;
        notices
    };
    let (notices, ()) = tokio::join!(face, live.run());
    (id, notices)
}

#[tokio::test]
async fn commands_change_the_conversation() {
    let bench = Bench::new(["one", "two", "three", "four"].map(Canned::text)).await;
    let (first, notices) = converse(
        &bench,
        &[
            "hello",
            "/title my talk",
            "/retry",
            "/undo",
            "/new fresh",
            "again",
            "/resume my talk",
            "more",
            "/save",
        ],
    )
    .await;
    let requests = bench.model.requests();
    let lengths: Vec<usize> = requests
        .iter()
        .map(|request| request.messages.len())
        .collect();
    assert_eq!(
        lengths,
        [1, 1, 1, 1],
        "retried, undone, new, resumed after the undo"
    );
    assert_eq!(notices[0], "title: my talk");
    assert!(notices[1].starts_with("took back 2 messages, from: hello"));
    assert!(notices[3].contains(first.as_str()), "{notices:?}");
    assert!(notices[4].starts_with("saved to "));
    let stored = bench.store.session(&first).await.unwrap().unwrap();
    assert_eq!(
        (stored.title.as_deref(), stored.message_count),
        (Some("my talk"), 2)
    );
    let fresh = bench.store.find_by_title("fresh").await.unwrap();
    assert_eq!(
        bench
            .store
            .session(&fresh)
            .await
            .unwrap()
            .unwrap()
            .end_reason
            .as_deref(),
        Some("resumed_other")
    );
}

#[tokio::test]
async fn what_was_said_goes_back_with_the_files() {
    let bench = Bench::new(["one", "two"].map(Canned::text)).await;
    let (session, live, feed) = bench.open(Which::New, Busy::Queue).await;
    let live = live.with_rollback(Arc::new(|words| {
        let rolled = match words.as_str() {
            "" => RolledBack::Told("a list".to_owned()),
            _ => RolledBack::Restored(format!("back at {words}")),
        };
        std::future::ready(rolled).boxed()
    }));
    let lines = ["/rollback 1", "hello", "more", "/rollback", "/rollback 2 f"];
    let (id, notices) = converse_in((session, live, feed), &lines).await;
    let expected = "back at 2 f\ntook back 2 messages, from: more";
    assert_eq!(notices, ["back at 1", "a list", expected]);
    let stored = bench.store.session(&id).await.unwrap().unwrap();
    assert_eq!(stored.message_count, 2);

    let (_, notices) = converse(&bench, &["/rollback"]).await;
    assert_eq!(notices, ["there are no checkpoints here"]);
}

#[tokio::test]
async fn commands_that_tell() {
    let bench = Bench::new([Canned::text("hi there")]).await;
    let (id, notices) = converse(
        &bench,
        &[
            "/undo", "hello", "/status", "/usage", "/history", "/help", "/model", "/model x",
        ],
    )
    .await;
    assert_eq!(notices[0], "there is nothing to take back");
    assert!(notices[1].contains(id.as_str()) && notices[1].contains("canned-1"));
    assert!(
        notices[2].starts_with("tokens    10 fresh · 0 cached\n          5 output · 0 reasoning"),
        "{}",
        notices[2]
    );
    assert_eq!(notices[3], "user: hello\nassistant: hi there");
    assert!(notices[4].contains("/resume"));
    assert!(notices[5].contains("canned-1"));
    assert_eq!(notices[6], "no other model");
}

#[tokio::test]
async fn a_title_given_before_anything_is_said_waits() {
    let bench = Bench::new(["one", "two"].map(Canned::text)).await;
    let lines = [
        "/title my talk",
        "/title",
        "/status",
        "hello",
        "/new",
        "more",
    ];
    let (id, notices) = converse(&bench, &lines).await;
    assert_eq!(notices[..2], ["title: my talk", "title: my talk"]);
    assert!(notices[2].contains("title     my talk"), "{}", notices[2]);
    let first = bench.store.session(&id).await.unwrap().unwrap();
    assert_eq!(first.title.as_deref(), Some("my talk"));

    // Taken by now, and said at once.
    let (_, notices) = converse(&bench, &["/title my talk", "/title"]).await;
    assert!(notices[0].contains(id.as_str()), "{}", notices[0]);
    assert!(notices[1].contains("no title yet"), "{}", notices[1]);
    assert_eq!(bench.store.stats().await.unwrap().sessions, 2);
}

#[tokio::test]
async fn a_title_that_waits_is_not_for_another_conversation() {
    let bench = Bench::new([Canned::text("one")]).await;
    converse(&bench, &["/title my talk", "/new", "hello"]).await;
    assert!(bench.store.find_by_title("my talk").await.is_err());
}

// Not by `/stop`: the conversation goes on.
#[tokio::test]
async fn what_was_allowed_ends_with_the_conversation() {
    let bench = Bench::new(["one", "two", "three"].map(Canned::text)).await;
    for (lines, expected) in [
        (&["hello", "/stop", "more"][..], 0),
        (&["/new", "hello"], 1),
        (&["/new", "/resume nothing of the kind"], 1),
    ] {
        let forgotten = Arc::new(AtomicUsize::new(0));
        let (session, live, feed) = bench.open(Which::New, Busy::Queue).await;
        let count = forgotten.clone();
        let live = live.with_permissions(Arc::new(move || {
            count.fetch_add(1, Ordering::SeqCst);
        }));
        converse_in((session, live, feed), lines).await;
        assert_eq!(forgotten.load(Ordering::SeqCst), expected, "{lines:?}");
    }
}

// Background jobs end with `/stop`, and with the conversation they belong to; not with another one's.
#[tokio::test]
async fn jobs_end_with_stop_and_with_their_conversation() {
    let bench = Bench::new(["one", "two"].map(Canned::text)).await;
    let ended: Arc<Mutex<Vec<SessionId>>> = Arc::default();
    let (session, live, feed) = bench.open(Which::New, Busy::Queue).await;
    let told = ended.clone();
    let live = live.with_jobs(Arc::new(move |id| {
        let mut ended = told.lock().unwrap();
        ended.push(id);
        std::future::ready(2 - ended.len().min(2)).boxed()
    }));
    let lines = [
        "hello", "/stop", "/stop", "/new", "more", "/resume", "/stop",
    ];
    let (id, notices) = converse_in((session, live, feed), &lines).await;
    assert_eq!(notices[0], "stopped 1 background process");
    assert_eq!(notices[1], "nothing is running");
    assert!(notices[2].starts_with("new session"), "{}", notices[2]);
    let ended = ended.lock().unwrap();
    assert_eq!(ended[..3], [id.clone(), id.clone(), id.clone()]);
    assert!(ended[3] != id && ended.len() == 4, "{ended:?}");
}

#[tokio::test]
async fn stop_ends_the_turn_and_the_jobs() {
    let bench = Bench::new([Canned::Hang]).await;
    let (session, live, feed) = bench.open(Which::New, Busy::Queue).await;
    let live = live.with_jobs(Arc::new(|_| std::future::ready(2).boxed()));
    let slash::Typed::Command { slash, .. } = slash::read("/stop") else {
        panic!("/stop is a command");
    };
    let face = async {
        session.send(Input::Prompt(Message::user("slow"))).await;
        while bench.model.requests().is_empty() {
            tokio::task::yield_now().await;
        }
        session.send(Input::Command(slash, String::new())).await;
        let (mut notices, mut interrupted) = (Vec::new(), false);
        while notices.is_empty() || !interrupted {
            match feed.next().await.unwrap() {
                AgentEvent::Notice(text) => notices.push(text),
                AgentEvent::TurnEnded(end) => interrupted = end.interrupted,
                _ => {}
            }
        }
        session.send(Input::Close).await;
        notices
    };
    let (notices, ()) = tokio::join!(face, live.run());
    assert_eq!(notices, ["stopped 2 background processes"]);
}

// News that came too late for the only answer start no turn of their own.
#[tokio::test]
async fn a_session_of_one_turn_ends_with_its_answer() {
    let bench = Bench::new(["one", "two"].map(Canned::text)).await;
    let (session, live, feed) = bench.open(Which::New, Busy::Queue).await;
    session.send(Input::Prompt(Message::user("hi"))).await;
    session.send(Input::Steer("too late".to_owned())).await;
    live.for_one_turn().run().await;
    assert_eq!(turn_end(&feed).await.text, "one");
    assert_eq!(bench.model.requests().len(), 1);
    let stored = bench
        .store
        .conversation(&session.id(), Reach::Session)
        .await;
    assert_eq!(stored.unwrap().len(), 2);
}

/// A session may run on any thread: gateways and children need it.
#[tokio::test]
async fn a_session_runs_on_any_thread() {
    let bench = Bench::new([Canned::text("hello")]).await;
    let (session, live, _feed) = bench.open(Which::New, Busy::Queue).await;
    let mut threads = tokio::task::JoinSet::new();
    threads.spawn(live.run());
    assert!(session.send(Input::Close).await);
    threads.join_next().await.unwrap().unwrap();
}
