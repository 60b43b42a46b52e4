//! Several routes: who answers when one of them can't.

use std::time::{Duration, Instant};

use hermes_model::{Chain, Route, Timing};
use hermes_scripted::{Script, ScriptedModel};
use hermes_types::{
    ModelClient, ModelErrorKind as Kind, ModelEvent, ModelRequest, Pot, Purse, Scope, Switched,
    Whom,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::support::{Outcome, client, collect, hi, quick, route};

/// Servers with one script each, and a chain over them in this order.
struct Row {
    servers: Vec<ScriptedModel>,
    chain: Chain,
}

impl Row {
    fn new(scripts: impl IntoIterator<Item = Value>) -> Self {
        Self::timed(scripts, &quick())
    }

    fn timed(scripts: impl IntoIterator<Item = Value>, timing: &Timing) -> Self {
        let start = |script| ScriptedModel::start(Script::from_value(script).unwrap()).unwrap();
        let servers: Vec<_> = scripts.into_iter().map(start).collect();
        let routes = servers.iter().enumerate();
        let routes = routes.map(|(index, server)| named(index + 1, &server.url()));
        let chain = chain(routes.collect(), timing);
        Self { servers, chain }
    }

    async fn ask(&self, whom: Whom) -> Outcome {
        let request = ModelRequest { whom, ..hi() };
        collect(&self.chain, request, Scope::new("test".into())).await
    }

    /// How often each was asked.
    fn counts(&self) -> Vec<usize> {
        let counts = self.servers.iter().map(|server| server.calls().len());
        counts.collect()
    }
}

fn named(number: usize, url: &str) -> Route {
    Route {
        model: format!("mock-{number}"),
        ..route(url)
    }
}

fn chain(routes: Vec<Route>, timing: &Timing) -> Chain {
    let mut clients = routes
        .into_iter()
        .map(|route| client(route, timing.clone()));
    Chain::new(clients.next().unwrap(), clients.collect(), timing)
}

fn switches(outcome: &Outcome) -> Vec<&Switched> {
    let switched = outcome.events.iter().filter_map(|event| match event {
        ModelEvent::Switched(switched) => Some(switched),
        _ => None,
    });
    switched.collect()
}

fn answers() -> Value {
    json!([{"text": "Hi", "repeat": true}])
}

#[tokio::test]
async fn while_the_first_works_nobody_else_is_asked() {
    let row = Row::new([answers(), json!([])]);
    let outcome = row.ask(Whom::Usual).await;
    assert_eq!(outcome.content(), "Hi");
    assert_eq!(switches(&outcome).len(), 0);
    assert_eq!(row.counts(), [1, 0]);
    assert_eq!(outcome.reply().cost.to.model, "mock-1");
}

/// Every kind of trouble of the first: how often it is asked, and why it is left.
#[tokio::test]
async fn trouble_is_left_as_soon_as_it_is_worth() {
    let check = async |step: Value, asked: usize, reason: &str| {
        let row = Row::new([json!([step.clone()]), answers()]);
        let began = Instant::now();
        let outcome = row.ask(Whom::Usual).await;
        assert_eq!(outcome.content(), "Hi", "{step}");
        assert_eq!(row.counts(), [asked, 1], "{step}");
        let told = switches(&outcome);
        assert_eq!(told.len(), 1, "{step}");
        assert_eq!(
            (&*told[0].from, &*told[0].to),
            ("mock-1 (custom)", "mock-2 (custom)")
        );
        assert!(told[0].reason.contains(reason), "{}", told[0].reason);
        assert!(began.elapsed() < Duration::from_secs(5), "{step}");
        assert_eq!(outcome.reply().cost.to.model, "mock-2");
        // The same conversation, under the other one's name.
        let mut bodies = row
            .servers
            .iter()
            .map(|server| server.calls().remove(0).body);
        let (first, second) = (bodies.next().unwrap(), bodies.next().unwrap());
        assert_eq!(first["messages"], second["messages"]);
        assert_eq!(second["model"], "mock-2");
    };
    let again = |step: Value| {
        let mut step = step;
        step["repeat"] = true.into();
        step
    };
    // The wait the server asks for is not waited.
    let storm = json!({"status": 429, "headers": {"retry-after": "60"}});
    check(again(storm), 1, "rate limit").await;
    check(again(json!({"status": 402})), 1, "credit").await;
    let quota = json!({"error": {"message": "session usage limit reached, try again in 2 hours"}});
    check(
        again(json!({"status": 429, "body": quota})),
        1,
        "rate limit",
    )
    .await;
    check(again(json!({"status": 503})), 2, "overloaded (HTTP 503)").await;
    check(again(json!({"status": 500})), 2, "server error").await;
    check(again(json!({"status": 401})), 1, "key").await;
    check(again(json!({"status": 404})), 1, "no such model").await;
    check(again(json!({"status": 200, "body": "<html>no</html>", "headers": {"content-type": "text/html"}})), 1, "none").await;
}

#[tokio::test]
async fn a_dead_server_gets_three_chances_and_a_silent_one_gets_one() {
    let row = Row::new([answers()]);
    let mut routes = vec![named(1, "http://127.0.0.1:9")];
    routes.push(named(2, &row.servers[0].url()));
    let dead = chain(routes, &quick());
    let outcome = collect(&dead, hi(), Scope::new("test".into())).await;
    assert_eq!(
        (outcome.content(), outcome.retries().len()),
        ("Hi".to_owned(), 2)
    );
    assert!(switches(&outcome)[0].reason.contains("connection"));

    let timing = Timing {
        stale: Some(Duration::from_millis(200)),
        read: Some(Duration::from_millis(200)),
        ..quick()
    };
    let slow = json!([{"text": "late", "delay_ms": 60_000, "repeat": true}]);
    let row = Row::timed([slow, answers()], &timing);
    let outcome = row.ask(Whom::Usual).await;
    assert_eq!(outcome.content(), "Hi");
    assert_eq!(row.counts(), [1, 1]);
}

/// `agent.api_max_retries: 1` (agent-loop §25.14).
#[tokio::test]
async fn one_attempt_means_one() {
    let once = Timing {
        attempts: 1,
        ..quick()
    };
    let dead = json!([{"status": 503, "repeat": true}]);
    let row = Row::timed([dead.clone(), dead], &once);
    let outcome = row.ask(Whom::Usual).await;
    outcome.check_error(Kind::Overloaded, &["mock-1", "mock-2"]);
    assert_eq!(row.counts(), [1, 1]);
    assert_eq!(outcome.retries().len(), 0);
}

#[tokio::test]
async fn when_all_are_dead_the_error_names_all() {
    let row = Row::new([
        json!([{"status": 401, "repeat": true}]),
        json!([{"status": 404, "repeat": true}]),
        json!([{"status": 503, "repeat": true}]),
    ]);
    let outcome = row.ask(Whom::Usual).await;
    let urls: Vec<_> = row.servers.iter().map(ScriptedModel::url).collect();
    let mut parts = vec!["401", "404", "503", "mock-1", "mock-2", "mock-3"];
    parts.extend(urls.iter().map(String::as_str));
    outcome.check_error(Kind::Overloaded, &parts);
    assert_eq!(switches(&outcome).len(), 2);
    // The last one is alone: it gets every attempt.
    assert_eq!(row.counts(), [1, 1, 3]);
}

#[tokio::test]
async fn what_another_route_would_not_change_stays() {
    let check = async |step: Value, kind: Kind| {
        let row = Row::new([json!([step]), answers()]);
        row.ask(Whom::Usual).await.check_error(kind, &["mock-1"]);
        assert_eq!(row.counts(), [1, 0], "{kind:?}");
    };
    let told = |text: &str| json!({"status": 400, "body": {"error": {"message": text}}});
    check(
        told("maximum context length is 70000 tokens"),
        Kind::ContextOverflow {
            limit: Some(70_000),
        },
    )
    .await;
    check(
        told("Only 'text' content type is supported."),
        Kind::ImagesRejected,
    )
    .await;
    check(json!({"status": 413}), Kind::PayloadTooLarge).await;
}

#[tokio::test]
async fn nobody_begins_an_answer_that_somebody_else_has_begun() {
    // The connection breaks after visible text: what was said is the answer.
    let broken = json!([{"text": "Hello world", "chunk": 6, "cut_after_chunks": 3}]);
    let row = Row::new([broken, answers()]);
    assert_eq!(row.ask(Whom::Usual).await.content(), "Hello world");
    assert_eq!(row.counts(), [1, 0]);
    // Or while a call was being written, and then the key is refused.
    let cut = json!({"text": "Let me.", "tool_calls": [{"name": "f", "arguments": {"a": "x"}}],
        "chunk": 2, "cut_after_chunks": 8});
    let row = Row::new([json!([cut, {"status": 401}]), answers()]);
    row.ask(Whom::Usual).await.check_error(Kind::Auth, &["401"]);
    assert_eq!(row.counts(), [2, 0]);
}

#[tokio::test]
async fn a_turn_stays_where_it_is_and_the_next_begins_with_the_first() {
    let shaky = json!([{"status": 500}, {"status": 500}, {"text": "back", "repeat": true}]);
    let row = Row::new([shaky, answers()]);
    assert_eq!(row.ask(Whom::Usual).await.content(), "Hi");
    let stays = row.ask(Whom::Stay).await;
    assert_eq!(
        (stays.content(), switches(&stays).len()),
        ("Hi".to_owned(), 0)
    );
    assert_eq!(row.ask(Whom::Usual).await.content(), "back");
}

#[tokio::test]
async fn who_has_had_enough_is_left_alone_for_a_while() {
    let limited = || json!([{"status": 429}, {"text": "back", "repeat": true}]);
    let row = Row::new([limited(), answers()]);
    assert_eq!(row.ask(Whom::Usual).await.content(), "Hi");
    let next = row.ask(Whom::Usual).await;
    assert_eq!(
        (next.content(), switches(&next).len()),
        ("Hi".to_owned(), 0)
    );
    assert_eq!(row.counts(), [1, 2]);

    // Later it is tried again.
    let short = Timing {
        cooldown: Duration::ZERO,
        ..quick()
    };
    let row = Row::timed([limited(), answers()], &short);
    assert_eq!(row.ask(Whom::Usual).await.content(), "Hi");
    assert_eq!(row.ask(Whom::Usual).await.content(), "back");
}

#[tokio::test]
async fn whose_answers_are_of_no_use_is_left_until_there_is_nobody() {
    let row = Row::new([answers(), json!([{"text": "Ho", "repeat": true}])]);
    row.ask(Whom::Usual).await.reply();
    let outcome = row.ask(Whom::Next).await;
    assert_eq!(
        (outcome.content(), switches(&outcome).len()),
        ("Ho".to_owned(), 1)
    );
    assert_eq!(row.ask(Whom::Stay).await.content(), "Ho");
    let none = row.ask(Whom::Next).await;
    none.check_error(Kind::NotConfigured, &["hermes fallback add"]);
    assert_eq!(row.counts(), [1, 2]);
}

#[tokio::test]
async fn the_same_under_another_name_is_not_tried_twice() {
    let row = Row::new([json!([{"status": 401, "repeat": true}]), answers()]);
    let (one, two) = (row.servers[0].url(), row.servers[1].url());
    let routes = vec![named(1, &one), named(1, &one), named(2, &two)];
    let chain = chain(routes, &quick());
    let outcome = collect(&chain, hi(), Scope::new("test".into())).await;
    assert_eq!(outcome.content(), "Hi");
    assert_eq!(row.counts(), [1, 1]);
}

#[tokio::test]
async fn an_empty_purse_sends_nothing_to_anybody() {
    let row = Row::new([answers(), answers()]);
    let mut scope = Scope::new("test".into());
    scope.purse = Purse::new(Pot {
        name: "this turn",
        limit: Some(0.5),
        spent: 0.625,
    });
    let outcome = collect(&row.chain, hi(), scope).await;
    let parts = ["this turn", "0.6250", "0.50", "limits.max_cost_usd"];
    outcome.check_error(Kind::Spent, &parts);
    assert_eq!(row.counts(), [0, 0]);
}

/// A route whose prices are known.
fn priced(url: &str) -> Route {
    let mut route = Route {
        model: "gpt-4o".to_owned(),
        ..route(url)
    };
    route.quirks.list_prices = true;
    route
}

#[tokio::test]
async fn every_reply_is_paid_once() {
    let usage = json!({"input": 1_000_000, "output": 100_000});
    let check = async |first: Value, expected: (f64, bool)| {
        let server = ScriptedModel::start(Script::from_value(first.clone()).unwrap()).unwrap();
        let chain = chain(vec![priced(&server.url())], &quick());
        let scope = Scope::new("test".into());
        collect(&chain, hi(), scope.clone()).await.reply();
        let purse = &scope.purse;
        assert_eq!((purse.spent(), purse.is_unpriced()), expected, "{first}");
    };
    check(json!([{"text": "Hi", "usage": usage}]), (3.5, false)).await;
    // As one body, and after a failure.
    let whole = json!({"status": 400, "body": {"error": {"message": "stream is not supported"}}});
    check(json!([whole, {"text": "Hi", "usage": usage}]), (3.5, false)).await;
    check(
        json!([{"status": 500}, {"text": "Hi", "usage": usage}]),
        (3.5, false),
    )
    .await;
    // Broken off: nobody knows what it cost.
    let broken = json!([{"text": ["Hello ", "world"], "usage": usage, "cut_after_chunks": 3}]);
    check(broken, (0.0, true)).await;
}

#[tokio::test]
async fn a_refused_field_is_left_out() {
    let refused = |text: &str| json!({"status": 400, "body": {"error": {"message": text}}});
    let check = async |text: &str, field: &str| {
        let script = json!([refused(text), {"text": "Hi", "repeat": true}]);
        let row = Row::new([script]);
        let request = || ModelRequest {
            temperature: Some(0.25),
            max_output: Some(77),
            ..hi()
        };
        let scope = || Scope::new("test".into());
        assert_eq!(
            collect(&row.chain, request(), scope()).await.content(),
            "Hi"
        );
        collect(&row.chain, request(), scope()).await.reply();
        let bodies: Vec<_> = row.servers[0].calls().into_iter().map(|c| c.body).collect();
        let has = bodies.iter().map(|body| body.get(field).is_some());
        assert_eq!(has.collect::<Vec<_>>(), [true, false, false], "{text}");
    };
    check(
        "Unsupported value: 'temperature' does not support 0.25 with this model. Only the default (1) value is supported.",
        "temperature",
    )
    .await;
    check(
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        "max_tokens",
    )
    .await;
    check(
        "Unrecognized request argument supplied: max_tokens",
        "max_tokens",
    )
    .await;
}

#[tokio::test]
async fn what_a_server_says_about_its_limits_is_known() {
    let headers = json!({"x-ratelimit-limit-requests": "100", "x-ratelimit-remaining-requests": "99",
        "x-ratelimit-reset-requests": "30"});
    let row = Row::new([json!([{"text": "Hi", "headers": headers}])]);
    assert_eq!(row.chain.rate_limits(), None);
    row.ask(Whom::Usual).await.reply();
    let said = row.chain.rate_limits().unwrap();
    let bucket = &said.buckets[0];
    let known = (bucket.name, bucket.remaining, bucket.limit);
    assert_eq!(known, ("requests per minute", 99, 100));
    assert!(said.until_reset(bucket) > Duration::from_secs(20));
}

#[tokio::test]
async fn a_cancelled_request_asks_nobody_else() {
    let hang = json!([{"text": "late", "delay_ms": 60_000}]);
    let row = Row::new([hang, answers()]);
    let scope = Scope::new("test".into());
    let cancel = scope.cancel.clone();
    let asked = collect(&row.chain, hi(), scope);
    let stop = async {
        while row.servers[0].calls().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(asked, stop);
    outcome.check_error(Kind::Cancelled, &[]);
    assert_eq!(row.counts(), [1, 0]);
}

#[test]
fn a_chain_is_known_by_its_first() {
    let row = Row::new([answers(), answers()]);
    assert_eq!(row.chain.info().model, "mock-1");
}
