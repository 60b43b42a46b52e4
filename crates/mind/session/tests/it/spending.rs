//! Limits that stop, and what is told about money.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use hermes_agent::Toolbox;
use hermes_home::clock;
use hermes_session::{Busy, Feed, Input, Live, Session, Spending, Titles, Which, slash};
use hermes_store::{OpenOptions, Reach, Store};
use hermes_testkit::doubles::{Canned, CannedModel};
use hermes_types::{
    AgentEvent, Args, CallCx, Message, ModelClient, ModelError, Models, Parallel, Pot, Purpose,
    Role, SessionId, Tool, ToolOutput, ToolSpec, TurnEnd,
};
use pretty_assertions::assert_eq;

use crate::{Bench, turn_end};

/// A tool that has somebody else think, for thirty cents.
struct Thinking(ToolSpec);

impl Thinking {
    fn tool() -> Arc<dyn Tool> {
        Arc::new(Self(ToolSpec {
            name: "think".to_owned(),
            toolset: "test",
            description: "for a test".to_owned(),
            parameters: serde_json::json!({"type": "object", "properties": {}}),
            emoji: "⚡",
            parallel: Parallel::Never,
            idempotent: false,
            housekeeping: false,
            refundable: false,
            paths: |_| Vec::new(),
            digest: |_, _| String::new(),
            max_output: None,
        }))
    }
}

impl Tool for Thinking {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(&'a self, _: Args, cx: &'a CallCx) -> BoxFuture<'a, ToolOutput> {
        cx.scope.purse.inside(Pot::default()).pay(Some(0.3));
        std::future::ready(ToolOutput::done("thought about it")).boxed()
    }
}

type Opened = (Session, Live, Feed);

async fn open(bench: &Bench, which: Which, spending: Spending) -> Opened {
    let mut opening = bench.opening(which, Busy::Queue);
    opening.tools = Arc::new(|| Toolbox::new([Thinking::tool()]));
    let (session, live, feed) = Session::open(opening).await.unwrap();
    (session, live.with_spending(spending), feed)
}

/// Says each line after what came before is over; how the turns ended, and what was noticed.
async fn talk(
    (session, live, feed): Opened,
    lines: &[&str],
) -> (SessionId, Vec<TurnEnd>, Vec<String>) {
    let id = session.id();
    let face = async {
        let (mut ends, mut notices) = (Vec::new(), Vec::new());
        for line in lines {
            let command = match slash::read(line) {
                slash::Typed::Command { slash, rest } => {
                    Some(Input::Command(slash, rest.to_owned()))
                }
                _ => None,
            };
            let is_command = command.is_some();
            let input = command.unwrap_or_else(|| Input::Prompt(Message::user(*line)));
            session.send(input).await;
            loop {
                match feed.next().await.unwrap() {
                    AgentEvent::TurnEnded(end) => {
                        ends.push(*end);
                        break;
                    }
                    AgentEvent::Notice(text) => {
                        notices.push(text);
                        if is_command {
                            break;
                        }
                    }
                    _ => {}
                }
            }
        }
        session.send(Input::Close).await;
        (ends, notices)
    };
    let ((ends, notices), ()) = tokio::join!(face, live.run());
    (id, ends, notices)
}

fn calling(text: &str) -> Canned {
    let Canned::Reply(mut reply) = Canned::calls(&[("think", "{}")]) else {
        panic!("a reply");
    };
    reply.message.content = Some(hermes_types::Content::Text(text.to_owned()));
    Canned::Reply(reply)
}

#[tokio::test]
async fn a_turn_that_costs_too_much_ends_between_its_requests() {
    let steps = [
        calling("Let me think.").costing(0.15),
        calling("Once more.").costing(0.15),
        Canned::text("never").costing(0.15),
        Canned::text("on we go").costing(0.01),
    ];
    let bench = Bench::new(steps).await;
    let spending = Spending {
        turn: Some(0.5),
        ..Spending::default()
    };
    let (id, ends, _) = talk(
        open(&bench, Which::New, spending).await,
        &["go", "and now?"],
    )
    .await;
    let end = &ends[0];
    let error = end.error.as_deref().unwrap();
    assert!(
        error.contains("this turn") && error.contains("$0.9000 of $0.5000"),
        "{error}"
    );
    assert!(
        error.contains("/usage") && error.contains("limits.max_cost_usd.turn"),
        "{error}"
    );
    assert_eq!(
        (end.text.as_str(), end.reason.as_str()),
        ("Once more.", "spending_limit")
    );
    assert_eq!(
        (end.api_calls, end.usd, end.interrupted),
        (2, Some(0.9), false)
    );
    // The next turn has a purse of its own, and a history any provider takes.
    assert_eq!(ends[1].error, None, "the canned model goes on where it was");
    let requests = bench.model.requests();
    let roles: Vec<&Role> = requests[2]
        .messages
        .iter()
        .map(|message| &message.role)
        .collect();
    let (user, assistant, tool) = (&Role::User, &Role::Assistant, &Role::Tool);
    assert_eq!(roles, [user, assistant, tool, assistant, tool, user]);
    let stored = bench.store.conversation(&id, Reach::Session).await.unwrap();
    assert_eq!(stored.len(), 7);
}

#[tokio::test]
async fn a_session_over_its_limit_asks_nobody() {
    let steps = ["one", "two", "three"].map(|text| Canned::text(text).costing(0.2));
    let bench = Bench::new(steps).await;
    let spending = Spending {
        session: Some(0.4),
        ..Spending::default()
    };
    let opened = open(&bench, Which::New, spending).await;
    let (id, ends, notices) = talk(opened, &["a", "b", "c", "/usage", "d"]).await;
    let errors: Vec<bool> = ends.iter().map(|end| end.error.is_some()).collect();
    assert_eq!(errors, [false, false, true, true]);
    let error = ends[2].error.as_deref().unwrap();
    assert!(
        error.contains("this session is reached: $0.4000 of $0.4000"),
        "{error}"
    );
    assert_eq!((&ends[2].error, ends[2].api_calls), (&ends[3].error, 0));
    assert!(
        notices[0].contains("session   $0.4000 of $0.4000"),
        "{}",
        notices[0]
    );
    assert_eq!(bench.model.requests().len(), 2);
    // What was refused was never said.
    assert_eq!(
        bench
            .store
            .conversation(&id, Reach::Session)
            .await
            .unwrap()
            .len(),
        4
    );

    // Taken up again by somebody else; another conversation is another purse.
    let (_, ends, _) = talk(open(&bench, Which::Existing(id), spending).await, &["e"]).await;
    assert!(ends[0].error.is_some());
    let (_, ends, _) = talk(open(&bench, Which::New, spending).await, &["f"]).await;
    assert_eq!(ends[0].text, "three");
}

#[tokio::test]
async fn a_days_limit_is_for_everybody() {
    let steps = ["one", "two", "three"].map(|text| Canned::text(text).costing(0.2));
    let bench = Bench::new(steps).await;
    let spending = Spending {
        day: Some(0.3),
        ..Spending::default()
    };
    let first = open(&bench, Which::New, spending).await;
    let second = open(&bench, Which::New, spending).await;
    let (_, ends, _) = talk(first, &["a"]).await;
    assert_eq!(ends[0].text, "one");
    let (_, ends, _) = talk(second, &["b", "c"]).await;
    assert_eq!(ends[0].text, "two");
    let error = ends[1].error.as_deref().unwrap();
    assert!(
        error.contains("today is reached: $0.4000 of $0.3000"),
        "{error}"
    );

    // Another process, as it were.
    let path = bench.store.path().to_owned();
    bench.store.close().await;
    let store = Store::open(path, OpenOptions::default()).await.unwrap();
    assert_eq!(store.spent_on(&clock::now()).await.unwrap(), 0.4);
    let mut opening = bench.opening(Which::New, Busy::Queue);
    opening.store = store;
    let (session, live, feed) = Session::open(opening).await.unwrap();
    let (_, ends, _) = talk((session, live.with_spending(spending), feed), &["d"]).await;
    assert_eq!(ends[0].error.as_deref(), Some(error));
    assert_eq!(bench.model.requests().len(), 2);
}

#[tokio::test]
async fn a_limit_on_something_without_a_price_is_said_once() {
    let bench = Bench::new(["one", "two", "three"].map(Canned::text)).await;
    let spending = Spending {
        session: Some(1.0),
        ..Spending::default()
    };
    let lines = ["a", "b", "/new", "c"];
    let (_, ends, notices) = talk(open(&bench, Which::New, spending).await, &lines).await;
    assert!(
        ends.iter()
            .all(|end| end.error.is_none() && end.usd.is_none())
    );
    let told: Vec<bool> = notices
        .iter()
        .map(|text| text.contains("canned-1"))
        .collect();
    assert_eq!(told, [true, false, true], "{notices:?}");
    let bench = Bench::new([Canned::text("one")]).await;
    let opened = open(&bench, Which::New, Spending::default()).await;
    assert_eq!(talk(opened, &["a"]).await.2, Vec::<String>::new());
}

/// The main model, and another one for everything beside it.
struct Both {
    side: Arc<CannedModel>,
}

impl Models for Both {
    fn client(&self, _: &Purpose) -> Result<Arc<dyn ModelClient>, ModelError> {
        Ok(self.side.clone())
    }
}

#[tokio::test]
async fn a_title_is_paid_for_and_counted_by_its_name() {
    let bench = Bench::new([Canned::text("hi").costing(0.25)]).await;
    let mut opening = bench.opening(Which::New, Busy::Queue);
    opening.titles = Titles::Suggested;
    let side = CannedModel::new([Canned::text("A greeting").costing(0.125)]);
    opening.models = Arc::new(Both { side });
    let (session, live, feed) = Session::open(opening).await.unwrap();
    let id = session.id();
    let face = async {
        session.send(Input::Prompt(Message::user("hello"))).await;
        let end = turn_end(&feed).await;
        let titled = async || bench.store.session(&id).await.unwrap().unwrap().title;
        while titled().await.is_none() {
            tokio::task::yield_now().await;
        }
        session.send(Input::Command(usage(), String::new())).await;
        let told = loop {
            if let Some(AgentEvent::Notice(text)) = feed.next().await {
                break text;
            }
        };
        session.send(Input::Close).await;
        (end, told)
    };
    let ((end, told), ()) = tokio::join!(face, live.run());
    assert_eq!((end.usd, end.usage.input), (Some(0.25), 10));
    let row = bench.store.session(&id).await.unwrap().unwrap().usage;
    assert_eq!((row.estimated_cost_usd, row.api_calls), (Some(0.375), 2));
    let account = bench.store.account(&id).await.unwrap();
    let shares: Vec<_> = account
        .shares
        .iter()
        .map(|share| (share.task.as_str(), share.usd))
        .collect();
    assert_eq!(shares, [("", 0.25), ("title_generation", 0.125)]);
    assert!(told.contains("$0.1250 of it for side tasks"), "{told}");
    assert!(
        told.contains("turn      $0.2500\nsession   $0.3750"),
        "{told}"
    );
}

fn usage() -> &'static slash::Slash {
    match slash::read("/usage") {
        slash::Typed::Command { slash, .. } => slash,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn usage_fits_forty_columns_and_works_before_anything_was_said() {
    let Canned::Reply(mut reply) = Canned::text("one").costing(123.456_789) else {
        panic!("a reply");
    };
    reply.usage.input = 123_456_789;
    reply.usage.cache_read = 987_654_321;
    reply.cost.to.model = "vendor/a-model-with-a-rather-long-name".to_owned();
    let bench = Bench::new([Canned::Reply(reply), Canned::text("two").costing(0.0001)]).await;
    let spending = Spending {
        turn: Some(1000.0),
        session: Some(10_000.0),
        day: Some(100_000.0),
    };
    let lines = ["/usage", "a", "b", "/usage"];
    let (_, _, told) = talk(open(&bench, Which::New, spending).await, &lines).await;
    assert!(told[0].contains("nothing has been used yet"), "{}", told[0]);
    assert!(told[0].contains("$0.00 of $100000.00"), "{}", told[0]);
    assert!(
        told[1].contains("123.5M fresh · 987.7M cached"),
        "{}",
        told[1]
    );
    assert!(
        told[1].contains("context   15 of 131.1k (0 %)"),
        "{}",
        told[1]
    );
    for line in told.iter().flat_map(|text| text.lines()) {
        assert!(line.chars().count() <= 40, "{line}");
    }
}

// spec: learning §13.18
#[tokio::test]
async fn insights_of_a_conversation() {
    let bench = Bench::new([Canned::text("one").costing(0.5)]).await;
    let lines = ["/insights --days 7", "a", "/insights 7", "/insights soon"];
    let opened = open(&bench, Which::New, Spending::default()).await;
    let (_, _, told) = talk(opened, &lines).await;
    assert_eq!(told[0], "No sessions found in the last 7 days.");
    assert!(
        told[1].starts_with("The last 7 days\nsessions  1 · 2 messages"),
        "{}",
        told[1]
    );
    assert!(
        told[1].contains("cost      $0.5000") && told[1].contains("cli: 1"),
        "{}",
        told[1]
    );
    assert_eq!(told[2], "/insights [days] [--source S]");
}
