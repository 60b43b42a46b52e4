//! Commands that change how a session works, copy it, or start something beside it.

use std::sync::atomic::AtomicBool;

use futures::stream::BoxStream;
use hermes_session::{Controls, Losing};
use hermes_testkit::TempHome;
use hermes_types::{Effort, ModelClient, ModelEvent, ModelInfo, ModelRequest, Scope, Speed};
use pretty_assertions::assert_eq;

use super::audit::home_at;
use super::*;

/// Gives commands one after another; what each of them said.
async fn commands(session: &Session, feed: &Feed, lines: &[&str]) -> Vec<String> {
    let mut said = Vec::new();
    for line in lines {
        session.send(command(line)).await;
        said.push(notice(feed).await);
    }
    said
}

fn command(line: &str) -> Input {
    match slash::read(line) {
        slash::Typed::Command { slash, rest } => Input::Command(slash, rest.to_owned()),
        other => panic!("{line}: {other:?}"),
    }
}

#[tokio::test]
async fn choices_hold_at_once_and_are_written_down() {
    let bench = Bench::new([Canned::text("one")]).await;
    let place = TempHome::new();
    std::fs::create_dir_all(place.hermes()).unwrap();
    let (session, live, feed) = bench.open(Which::New, Busy::Queue).await;
    let yolo = AtomicBool::new(false);
    let live = live.with_controls(Controls {
        home: home_at(&place),
        yolo: Arc::new(move || !yolo.fetch_xor(true, Ordering::Relaxed)),
        losing: Losing::Asked,
    });
    let face = async {
        let said = commands(
            &session,
            &feed,
            &[
                "/reasoning HIGH",
                "/reasoning deep",
                "/busy steer",
                "/busy",
                "/yolo",
                "/yolo",
            ],
        );
        let said = said.await;
        session.send(Input::Prompt(Message::user("go"))).await;
        turn_end(&feed).await;
        session.send(Input::Close).await;
        said
    };
    let (said, ()) = tokio::join!(face, live.run());
    assert_eq!(said[0], "reasoning: high");
    assert!(said[1].contains("no level 'deep'"), "{}", said[1]);
    assert_eq!(said[2..4], ["while a turn runs: steer"; 2]);
    assert!(said[4].starts_with("yolo: "), "{}", said[4]);
    assert!(said[5].starts_with("yolo is off"), "{}", said[5]);
    assert_eq!(bench.model.requests()[0].effort, Effort::High);
    let written = std::fs::read_to_string(place.hermes().join("config.yaml")).unwrap();
    assert!(written.contains("reasoning_effort: high"), "{written}");
    assert!(written.contains("busy_input_mode: steer"), "{written}");
}

/// A model whose answers can be had sooner.
struct Hurrying(Arc<CannedModel>);

impl ModelClient for Hurrying {
    fn info(&self) -> &ModelInfo {
        self.0.info()
    }

    fn stream(
        &self,
        request: ModelRequest,
        scope: Scope,
    ) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        self.0.stream(request, scope)
    }

    fn can_hurry(&self) -> bool {
        true
    }
}

#[tokio::test]
async fn answers_come_sooner_where_that_is_sold() {
    let place = TempHome::new();
    std::fs::create_dir_all(place.hermes()).unwrap();
    let controls = || Controls {
        home: home_at(&place),
        yolo: Arc::new(|| false),
        losing: Losing::Asked,
    };
    let bench = Bench::new([Canned::text("one"), Canned::text("two")]).await;
    let mut opening = bench.opening(Which::New, Busy::Queue);
    opening.model = Arc::new(Hurrying(bench.model.clone()));
    let (session, live, feed) = Session::open(opening).await.unwrap();
    let live = live.with_controls(controls());
    let face = async {
        let mut said = commands(&session, &feed, &["/fast", "/fast soon", "/fast on"]).await;
        session.send(Input::Prompt(Message::user("go"))).await;
        turn_end(&feed).await;
        let written = std::fs::read_to_string(place.hermes().join("config.yaml")).unwrap();
        assert!(written.contains("service_tier: fast"), "{written}");
        said.extend(commands(&session, &feed, &["/fast status", "/fast normal"]).await);
        session.send(Input::Prompt(Message::user("on"))).await;
        turn_end(&feed).await;
        session.send(Input::Close).await;
        said
    };
    let (said, ()) = tokio::join!(face, live.run());
    assert_eq!(said[0], "speed: normal");
    assert!(said[1].contains("not 'soon'"), "{}", said[1]);
    assert!(said[2].starts_with("speed: fast"), "{}", said[2]);
    assert_eq!((&said[3], said[4].as_str()), (&said[2], "speed: normal"));
    let speeds: Vec<Speed> = bench.model.requests().iter().map(|r| r.speed).collect();
    assert_eq!(speeds, [Speed::Fast, Speed::Normal]);
    let written = std::fs::read_to_string(place.hermes().join("config.yaml")).unwrap();
    assert!(written.contains("service_tier: normal"), "{written}");

    // Where it is not sold, nothing is promised and nothing written.
    let bench = Bench::new([]).await;
    let (session, live, feed) = bench.open(Which::New, Busy::Queue).await;
    let live = live.with_controls(controls());
    let face = async {
        let said = commands(&session, &feed, &["/fast fast"]).await;
        session.send(Input::Close).await;
        said
    };
    let (said, ()) = tokio::join!(face, live.run());
    assert!(
        said[0].contains("canned-1 (canned) has no other"),
        "{said:?}"
    );
    let after = std::fs::read_to_string(place.hermes().join("config.yaml")).unwrap();
    assert_eq!(after, written);
}

#[tokio::test]
async fn a_branch_is_a_copy_with_a_title_of_its_own() {
    let bench = Bench::new([Canned::text("one"), Canned::text("two")]).await;
    let (session, live, feed) = bench.open(Which::New, Busy::Queue).await;
    let first = session.id();
    let face = async {
        session.send(Input::Prompt(Message::user("go"))).await;
        turn_end(&feed).await;
        let said = commands(&session, &feed, &["/title plan", "/branch"]).await;
        session.send(Input::Prompt(Message::user("on"))).await;
        turn_end(&feed).await;
        let second = session.id();
        session.send(Input::Close).await;
        (said, second)
    };
    let ((said, second), ()) = tokio::join!(face, live.run());
    assert!(said[1].contains(first.as_str()) && said[1].contains(second.as_str()));
    let count = async |id: &SessionId| {
        let stored = bench.store.conversation(id, Reach::Session).await.unwrap();
        stored.len()
    };
    assert_eq!((count(&first).await, count(&second).await), (2, 4));
    let title = bench.store.session(&second).await.unwrap().unwrap().title;
    assert_eq!(title.as_deref(), Some("plan #2"));
    // Neither is the continuation of the other.
    assert_eq!(bench.store.resume_target(&first).await.unwrap(), first);
}

#[tokio::test]
async fn a_background_task_has_a_conversation_of_its_own() {
    let bench = Bench::new([Canned::text("done beside")]).await;
    let (session, live, feed) = bench.open(Which::New, Busy::Queue).await;
    let face = async {
        let said = commands(&session, &feed, &["/background count things"]).await;
        let end = loop {
            match feed.next().await {
                Some(AgentEvent::Background(task)) => {
                    if let AgentEvent::TurnEnded(end) = *task.event {
                        break (task.number, task.goal, end.text);
                    }
                }
                other => assert!(other.is_some()),
            }
        };
        session.send(Input::Close).await;
        (said, end)
    };
    let ((said, end), ()) = tokio::join!(face, live.run());
    assert!(
        said[0].starts_with("background #1 started (bg_"),
        "{}",
        said[0]
    );
    let (number, goal, text) = end;
    assert_eq!(
        (number, goal.as_str(), text.as_str()),
        (1, "count things", "done beside")
    );
    // The conversation itself has heard nothing.
    assert!(bench.store.session(&session.id()).await.unwrap().is_none());
    assert_eq!(bench.model.requests()[0].messages.len(), 1);
}

#[tokio::test]
async fn queue_and_steer_are_prompts_while_nothing_runs() {
    let bench = Bench::new([Canned::text("one"), Canned::text("two")]).await;
    let (session, live, feed) = bench.open(Which::New, Busy::Interrupt).await;
    let face = async {
        let empty = commands(&session, &feed, &["/queue"]).await;
        session.send(command("/queue first")).await;
        let first = turn_end(&feed).await.text;
        session.send(command("/steer second")).await;
        let second = turn_end(&feed).await.text;
        session.send(Input::Close).await;
        (empty, first, second)
    };
    let ((empty, first, second), ()) = tokio::join!(face, live.run());
    assert_eq!(empty, ["/queue needs something to say"]);
    assert_eq!((first.as_str(), second.as_str()), ("one", "two"));
}
