//! Looking back after some turns.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use hermes_agent::Toolbox;
use hermes_session::{Busy, Feed, Input, Opening, Review, Reviewer, Session, Told, Which};
use hermes_testkit::doubles::{Canned, CannedModel};
use hermes_types::{
    AgentEvent, Args, CallCx, Message, ModelClient, ModelError, ModelErrorKind, ModelEvent,
    ModelInfo, ModelRequest, Models, Parallel, Purpose, Role, Scope, Tool, ToolOutput, ToolSpec,
};
use pretty_assertions::assert_eq;
use serde_json::json;

use super::{Bench, turn_end};

/// Notes its calls under a name.
struct Noting {
    spec: ToolSpec,
    whose: &'static str,
    calls: Arc<Mutex<Vec<String>>>,
}

impl Tool for Noting {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, _: Args, _: &'a CallCx) -> BoxFuture<'a, ToolOutput> {
        let call = format!("{} {}", self.whose, self.spec.name);
        self.calls.lock().unwrap().push(call);
        async { ToolOutput::json(&json!({"success": true})) }.boxed()
    }
}

fn tool(name: &str, whose: &'static str, calls: &Arc<Mutex<Vec<String>>>) -> Arc<dyn Tool> {
    let spec = ToolSpec {
        name: name.to_owned(),
        toolset: "test",
        description: "a tool".to_owned(),
        parameters: json!({"type": "object", "properties": {}}),
        emoji: "",
        parallel: Parallel::Never,
        idempotent: false,
        housekeeping: true,
        refundable: false,
        paths: |_| Vec::new(),
        digest: |_, _| "add user".to_owned(),
        max_output: None,
    };
    Arc::new(Noting {
        spec,
        whose,
        calls: calls.clone(),
    })
}

struct Reviewed {
    bench: Bench,
    calls: Arc<Mutex<Vec<String>>>,
}

impl Reviewed {
    async fn new(canned: impl IntoIterator<Item = Canned>) -> Self {
        Self {
            bench: Bench::new(canned).await,
            calls: Arc::default(),
        }
    }

    async fn open(&self, which: Which) -> (Session, hermes_session::Live, Feed) {
        self.open_with(which, self.bench.model.clone(), Reviewer::Same)
            .await
    }

    async fn open_with(
        &self,
        which: Which,
        models: Arc<dyn Models>,
        reviewer: Reviewer,
    ) -> (Session, hermes_session::Live, Feed) {
        let mut opening = self.opening(which);
        opening.models = models;
        let (session, live, feed) = Session::open(opening).await.unwrap();
        (session, live.with_review(self.review(reviewer)), feed)
    }

    fn opening(&self, which: Which) -> Opening {
        let mut opening = self.bench.opening(which, Busy::Queue);
        let tools = ["memory", "skill_manage", "terminal"];
        let toolbox = Toolbox::new(tools.map(|name| tool(name, "owner's", &self.calls)));
        opening.tools = Arc::new(move || toolbox.clone());
        opening
    }

    fn review(&self, reviewer: Reviewer) -> Review {
        let own = ["memory", "skill_manage"].map(|name| tool(name, "reviewer's", &self.calls));
        Review {
            memory_every: 2,
            skills_every: 0,
            tools: Arc::new(move || own.to_vec()),
            told: Told::Yes,
            reviewer,
        }
    }
}

/// Says something and waits for the end of the turn.
async fn say(session: &Session, feed: &Feed, text: &str) {
    session.send(Input::Prompt(Message::user(text))).await;
    turn_end(feed).await;
}

async fn told(feed: &Feed) -> String {
    loop {
        match feed.next().await {
            Some(AgentEvent::Notice(text)) => return text,
            Some(_) => {}
            None => panic!("the session is over"),
        }
    }
}

// spec: learning §13.7
#[tokio::test]
async fn after_some_turns_what_was_said_is_looked_at_once_more() {
    let reviewed = Reviewed::new([
        Canned::text("one"),
        Canned::text("two"),
        Canned::calls(&[("memory", "{}"), ("terminal", "{}")]),
        Canned::text("Saved."),
        Canned::text("three"),
    ])
    .await;
    let (session, live, feed) = reviewed.open(Which::New).await;
    let face = async {
        say(&session, &feed, "first").await;
        assert_eq!(reviewed.bench.model.requests().len(), 1);
        say(&session, &feed, "second").await;
        assert_eq!(
            told(&feed).await,
            "💾 Self-improvement review: User profile updated"
        );
        say(&session, &feed, "third").await;
        session.send(Input::Close).await;
    };
    tokio::join!(face, live.run());
    let calls = reviewed.calls.lock().unwrap().clone();
    assert_eq!(calls, ["reviewer's memory"]);
    let requests = reviewed.bench.model.requests();
    let [_, second, review, refused, third] = requests.as_slice() else {
        panic!("{} requests", requests.len());
    };
    // The same bytes as the parent's, so that its cache counts.
    assert_eq!(
        (&review.system, &review.tools),
        (&second.system, &second.tools)
    );
    assert_eq!(review.messages[..3], second.messages[..3]);
    let results = refused
        .messages
        .iter()
        .filter(|message| message.role == Role::Tool);
    let results: Vec<String> = results
        .map(|message| message.content.as_ref().unwrap().plain())
        .collect();
    assert!(
        results[1].contains("only memory and skill tools"),
        "{results:?}"
    );
    let said: Vec<_> = third
        .messages
        .iter()
        .map(|message| message.content.as_ref().unwrap().plain())
        .collect();
    assert_eq!(said, ["first", "one", "second", "two", "third"]);
    let stored = reviewed
        .bench
        .store
        .session(&session.id())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(stored.message_count, 6);
}

#[tokio::test]
async fn whoever_has_just_remembered_needs_no_reminder() {
    let reviewed = Reviewed::new([
        Canned::calls(&[("memory", "{}")]),
        Canned::text("one"),
        Canned::text("two"),
        Canned::text("Nothing to save."),
    ])
    .await;
    let (session, live, feed) = reviewed.open(Which::New).await;
    let face = async {
        say(&session, &feed, "first").await;
        say(&session, &feed, "second").await;
        session.send(Input::Close).await;
    };
    tokio::join!(face, live.run());
    assert_eq!(reviewed.bench.model.requests().len(), 3);
}

#[tokio::test]
async fn turns_of_an_earlier_process_count() {
    let texts = ["one", "two", "Nothing to save.", "three"].map(Canned::text);
    let reviewed = Reviewed::new(texts).await;
    let (session, live, feed) = reviewed.open(Which::New).await;
    let id = session.id();
    let first = async {
        say(&session, &feed, "first").await;
        session.send(Input::Close).await;
    };
    tokio::join!(first, live.run());
    let (session, live, feed) = reviewed.open(Which::Existing(id)).await;
    let second = async {
        say(&session, &feed, "second").await;
        while reviewed.bench.model.requests().len() < 3 {
            tokio::task::yield_now().await;
        }
        session.send(Input::Close).await;
    };
    tokio::join!(second, live.run());
}

/// A model for reviews that is not there at first.
struct Late {
    model: Arc<CannedModel>,
    asked: AtomicBool,
}

impl Models for Late {
    fn client(&self, _: &Purpose) -> Result<Arc<dyn ModelClient>, ModelError> {
        match self.asked.swap(true, Ordering::Relaxed) {
            true => Ok(self.model.clone()),
            false => Err(ModelError::new(ModelErrorKind::NotConfigured, "not yet")),
        }
    }
}

#[tokio::test]
async fn when_nobody_can_review_the_next_time_is_another_chance() {
    let texts = ["one", "two", "three", "four", "Nothing to save."].map(Canned::text);
    let reviewed = Reviewed::new(texts).await;
    let late = Arc::new(Late {
        model: reviewed.bench.model.clone(),
        asked: AtomicBool::default(),
    });
    let (session, live, feed) = reviewed.open_with(Which::New, late, Reviewer::Other).await;
    let face = async {
        for text in ["1", "2", "3", "4"] {
            say(&session, &feed, text).await;
        }
        let reviewing = async {
            while reviewed.bench.model.requests().len() < 5 {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        let seen = tokio::time::timeout(Duration::from_secs(10), reviewing).await;
        session.send(Input::Close).await;
        seen.unwrap();
    };
    tokio::join!(face, live.run());
}

/// A model that looks, with every request, at what the face has got by then.
struct Observing {
    model: Arc<CannedModel>,
    feed: Mutex<Option<Feed>>,
    order: Arc<Mutex<Vec<&'static str>>>,
    reviewed: tokio::sync::Notify,
}

impl ModelClient for Observing {
    fn info(&self) -> &ModelInfo {
        self.model.info()
    }

    fn stream(
        &self,
        request: ModelRequest,
        scope: Scope,
    ) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let newest = request.messages.last().unwrap();
        let is_review = newest
            .content
            .as_ref()
            .unwrap()
            .plain()
            .starts_with("[Review of the conversation");
        let mut order = self.order.lock().unwrap();
        let feed = self.feed.lock().unwrap();
        let delivered =
            std::iter::from_fn(|| feed.as_ref().unwrap().next().now_or_never().flatten());
        let ends = delivered.filter(|event| matches!(event, AgentEvent::TurnEnded(_)));
        order.extend(ends.map(|_| "the turn has ended"));
        order.push(if is_review { "review" } else { "turn" });
        if is_review {
            self.reviewed.notify_one();
        }
        self.model.stream(request, scope)
    }
}

#[tokio::test]
async fn a_turn_is_over_for_the_face_before_the_review_asks_anything() {
    let texts = ["one", "two", "Nothing to save."].map(Canned::text);
    let reviewed = Reviewed::new(texts).await;
    let model = Arc::new(Observing {
        model: reviewed.bench.model.clone(),
        feed: Mutex::default(),
        order: Arc::default(),
        reviewed: tokio::sync::Notify::new(),
    });
    let mut opening = reviewed.opening(Which::New);
    opening.model = model.clone();
    let (session, live, feed) = Session::open(opening).await.unwrap();
    let live = live.with_review(reviewed.review(Reviewer::Same));
    *model.feed.lock().unwrap() = Some(feed);
    let face = async {
        for text in ["first", "second"] {
            session.send(Input::Prompt(Message::user(text))).await;
        }
        let asked = tokio::time::timeout(Duration::from_secs(20), model.reviewed.notified()).await;
        session.send(Input::Close).await;
        asked.expect("there is a review");
    };
    tokio::join!(face, live.run());
    let (turn, over) = ("turn", "the turn has ended");
    assert_eq!(
        *model.order.lock().unwrap(),
        [turn, over, turn, over, "review"]
    );
}
