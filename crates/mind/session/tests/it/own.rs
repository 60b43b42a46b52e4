//! What the owner decides about: what may be lost, which model answers, commands of their own.

use hermes_home::config::Settings;
use hermes_home::{Env, Home};
use hermes_session::{Controls, Losing, QuickCommands, QuickShell};
use hermes_testkit::TempHome;
use hermes_types::{Answer, Question};
use pretty_assertions::assert_eq;

use super::audit::home_at;
use super::*;

fn place() -> TempHome {
    let place = TempHome::new();
    std::fs::create_dir_all(place.hermes()).unwrap();
    place
}

fn controls(place: &TempHome, losing: Losing) -> Controls {
    Controls {
        home: home_at(place),
        yolo: Arc::new(|| false),
        losing,
    }
}

fn command(line: &str) -> Input {
    match slash::read(line) {
        slash::Typed::Command { slash, rest } => Input::Command(slash, rest.to_owned()),
        other => panic!("{line}: {other:?}"),
    }
}

/// What happens until a command is answered; questions get the answer that is next.
async fn heard(session: &Session, feed: &Feed, line: &str, answers: &[Answer]) -> Vec<AgentEvent> {
    session.send(command(line)).await;
    let (mut events, mut answers) = (Vec::new(), answers.iter());
    loop {
        let event = feed.next().await.unwrap();
        let over = matches!(event, AgentEvent::Notice(_));
        if let AgentEvent::Asked { id, question } = &event {
            let Question::Confirm { .. } = question else {
                panic!("{question:?}");
            };
            let answer = answers.next().unwrap().clone();
            session.send(Input::Answer { id: *id, answer }).await;
        }
        events.push(event);
        if over {
            return events;
        }
    }
}

fn asked(events: &[AgentEvent]) -> usize {
    let asked = |event: &&AgentEvent| matches!(event, AgentEvent::Asked { .. });
    events.iter().filter(asked).count()
}

#[tokio::test]
async fn what_would_be_lost_is_asked_about() {
    let bench = Bench::new([Canned::text("one"), Canned::text("two")]).await;
    let place = place();
    let mut opening = bench.opening(Which::New, Busy::Queue);
    opening.asking = Asking::Interactive;
    let (session, live, feed) = Session::open(opening).await.unwrap();
    let live = live.with_controls(controls(&place, Losing::Asked));
    let first = session.id();
    let face = async {
        // Nothing was said: nothing is asked.
        assert_eq!(asked(&heard(&session, &feed, "/undo", &[]).await), 0);
        session.send(Input::Prompt(Message::user("my words"))).await;
        turn_end(&feed).await;
        let kept = heard(&session, &feed, "/clear", &[Answer::Deny]).await;
        assert_eq!(asked(&kept), 1);
        assert!(!kept.contains(&AgentEvent::Cleared));
        let undone = heard(&session, &feed, "/undo", &[Answer::Once]).await;
        assert!(undone.contains(&AgentEvent::TookBack("my words".to_owned())));
        session.send(Input::Prompt(Message::user("again"))).await;
        turn_end(&feed).await;
        let cleared = heard(&session, &feed, "/clear", &[Answer::Always]).await;
        assert!(cleared.contains(&AgentEvent::Cleared));
        let second = session.id();
        session.send(Input::Close).await;
        second
    };
    let (second, ()) = tokio::join!(face, live.run());
    assert!(first != second);
    let written = std::fs::read_to_string(place.hermes().join("config.yaml")).unwrap();
    assert!(
        written.contains("destructive_slash_confirm: false"),
        "{written}"
    );
    let ended = bench.store.session(&first).await.unwrap().unwrap();
    assert_eq!(ended.end_reason.as_deref(), Some("new_session"));
}

#[tokio::test]
async fn several_questions_are_taken_back_at_once() {
    let bench = Bench::new(["one", "two", "three", "four"].map(Canned::text)).await;
    let place = place();
    let mut opening = bench.opening(Which::New, Busy::Queue);
    opening.asking = Asking::Interactive;
    let (session, live, feed) = Session::open(opening).await.unwrap();
    let live = live.with_controls(controls(&place, Losing::Asked));
    let face = async {
        for words in ["first", "second", "third"] {
            session.send(Input::Prompt(Message::user(words))).await;
            turn_end(&feed).await;
        }
        // What is no number and what is too much change nothing, and nobody is asked about it.
        for (line, answer) in [
            ("/undo 4", "only 3 questions"),
            ("/undo 0", "takes a number"),
            ("/undo all", "takes a number"),
        ] {
            let events = heard(&session, &feed, line, &[]).await;
            let Some(AgentEvent::Notice(said)) = events.last() else {
                panic!("{events:?}");
            };
            assert!(said.contains(answer), "{line}: {said}");
        }
        let undone = heard(&session, &feed, "/undo 2", &[Answer::Once]).await;
        assert!(undone.contains(&AgentEvent::TookBack("second".to_owned())));
        let Some(AgentEvent::Notice(said)) = undone.last() else {
            panic!("{undone:?}");
        };
        assert_eq!(said, "took back 4 messages, from: second");
        session.send(Input::Prompt(Message::user("other"))).await;
        turn_end(&feed).await;
        let all = heard(&session, &feed, "/undo 2 now", &[]).await;
        assert!(all.contains(&AgentEvent::TookBack("first".to_owned())));
        session.send(Input::Close).await;
    };
    tokio::join!(face, live.run());
    let last = bench.model.requests().pop().unwrap();
    let texts = last.messages.iter().filter_map(|m| m.content.as_ref());
    let texts: Vec<String> = texts.map(hermes_types::Content::plain).collect();
    assert_eq!(texts, ["first", "one", "other"]);
}

#[tokio::test]
async fn nothing_is_asked_of_those_who_have_decided() {
    let bench = Bench::new([Canned::text("one"), Canned::text("two")]).await;
    let place = place();
    let mut opening = bench.opening(Which::New, Busy::Queue);
    opening.asking = Asking::Interactive;
    let (session, live, feed) = Session::open(opening).await.unwrap();
    let live = live.with_controls(controls(&place, Losing::Asked));
    let face = async {
        session.send(Input::Prompt(Message::user("a"))).await;
        turn_end(&feed).await;
        let events = heard(&session, &feed, "/new plan now", &[]).await;
        assert_eq!(asked(&events), 0);
        let Some(AgentEvent::Notice(said)) = events.last() else {
            panic!("{events:?}");
        };
        assert!(said.ends_with(": plan"), "{said}");
        session.send(Input::Close).await;
    };
    tokio::join!(face, live.run());
}

#[tokio::test]
async fn keys_and_models_are_read_again() {
    let bench = Bench::new([Canned::text("one")]).await;
    let other = CannedModel::named("other", 131_072, [Canned::text("two")]);
    let mut found = vec![
        Ok(other.clone() as Arc<dyn hermes_types::ModelClient>),
        Err(ModelError::new(ModelErrorKind::NotConfigured, "no key")),
    ];
    found.reverse();
    let found = Mutex::new(found);
    let (session, live, feed) = bench.open(Which::New, Busy::Queue).await;
    let live = live.with_reload(Arc::new(move || {
        let next = found.lock().unwrap().pop().unwrap();
        std::future::ready(next).boxed()
    }));
    let face = async {
        session.send(Input::Prompt(Message::user("a"))).await;
        turn_end(&feed).await;
        let mut said = Vec::new();
        for _ in 0..2 {
            session.send(command("/reload")).await;
            said.push(notice(&feed).await);
        }
        session.send(Input::Prompt(Message::user("b"))).await;
        turn_end(&feed).await;
        session.send(Input::Close).await;
        said
    };
    let (said, ()) = tokio::join!(face, live.run());
    assert_eq!(
        said[0],
        "keys and models are read again; model: other (canned)"
    );
    assert_eq!(said[1], "everything stays as it was: no key");
    let last = other.requests().pop().unwrap();
    let text = last
        .messages
        .last()
        .unwrap()
        .content
        .as_ref()
        .unwrap()
        .plain();
    assert!(text.contains("from canned-1 to other"), "{text}");
}

#[tokio::test]
async fn another_model_is_told_who_it_is_once() {
    let bench = Bench::new([
        Canned::text("one"),
        Canned::text("two"),
        Canned::text("three"),
    ])
    .await;
    let wishes = Arc::new(Mutex::new(Vec::new()));
    let other = CannedModel::named(
        "other",
        131_072,
        [Canned::text("two"), Canned::text("three")],
    );
    let mut opening = bench.opening(Which::New, Busy::Queue);
    opening.switch = {
        let (wishes, other) = (wishes.clone(), other.clone());
        Arc::new(move |wanted| {
            wishes.lock().unwrap().push(wanted);
            let other: Arc<dyn hermes_types::ModelClient> = other.clone();
            std::future::ready(Ok(other)).boxed()
        })
    };
    let (session, live, feed) = Session::open(opening).await.unwrap();
    let face = async {
        session.send(Input::Prompt(Message::user("a"))).await;
        turn_end(&feed).await;
        heard(&session, &feed, "/model other --provider box --global", &[]).await;
        for said in ["b", "c"] {
            session.send(Input::Prompt(Message::user(said))).await;
            turn_end(&feed).await;
        }
        session.send(Input::Close).await;
    };
    tokio::join!(face, live.run());
    let wishes = wishes.lock().unwrap();
    assert_eq!(wishes[0].model, "other");
    assert_eq!(wishes[0].provider.as_deref(), Some("box"));
    assert!(wishes[0].lasting);
    let requests = other.requests();
    let said = |request: usize| {
        let message = requests[request].messages.last().unwrap();
        message.content.as_ref().unwrap().plain()
    };
    assert!(
        said(0).starts_with("[The model was changed from "),
        "{}",
        said(0)
    );
    assert!(said(0).ends_with("to other.]\n\nb"), "{}", said(0));
    assert_eq!(said(1), "c");
}

#[tokio::test]
async fn commands_of_the_owners_run_without_the_model() {
    let bench = Bench::new([]).await;
    let place = place();
    let yaml = "quick_commands:\n  hi: {type: exec, command: 'echo hello $*'}\n  \
                bad: {type: exec, command: 'echo broken >&2; exit 3'}\n  none: {type: exec, command: 'exit 4'}\n";
    std::fs::write(place.hermes().join("config.yaml"), yaml).unwrap();
    let home: Home = home_at(&place);
    let quick = QuickShell {
        commands: QuickCommands::read(&Settings::load(&home, &Env::default())),
        env: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
    };
    let mut opening = bench.opening(Which::New, Busy::Queue);
    opening.workspace = MemoryWorkspace::at(place.hermes());
    let (session, live, feed) = Session::open(opening).await.unwrap();
    let live = live.with_quick_commands(quick);
    let face = async {
        let mut said = Vec::new();
        for (name, rest) in [("hi", "you there"), ("bad", ""), ("none", ""), ("gone", "")] {
            let (name, rest) = (name.to_owned(), rest.to_owned());
            session.send(Input::Quick { name, rest }).await;
            said.push(notice(&feed).await);
        }
        session.send(command("/help")).await;
        said.push(notice(&feed).await);
        session.send(Input::Close).await;
        said
    };
    let (said, ()) = tokio::join!(face, live.run());
    assert_eq!(said[0], "hello you there");
    assert_eq!(said[1], "broken");
    assert_eq!(said[2], "it said nothing and ended with exit code 4");
    assert!(said[3].contains("no command /gone"), "{}", said[3]);
    assert!(
        said[4].contains("Your own") && said[4].contains("/hi"),
        "{}",
        said[4]
    );
    assert!(bench.model.requests().is_empty());
}

#[tokio::test]
async fn what_this_is_can_be_asked() {
    let bench = Bench::new([Canned::text("one")]).await;
    let place = place();
    let (session, live, feed) = bench.open(Which::New, Busy::Queue).await;
    let live = live.with_controls(controls(&place, Losing::Unasked));
    let face = async {
        session.send(Input::Prompt(Message::user("a"))).await;
        turn_end(&feed).await;
        let mut said = Vec::new();
        for line in [
            "/status",
            "/config",
            "/profile",
            "/toolsets",
            "/tools disable web tts",
            "/tools disable nonsense",
            "/toolsets",
        ] {
            session.send(command(line)).await;
            said.push(notice(&feed).await);
        }
        session.send(Input::Close).await;
        said
    };
    let (said, ()) = tokio::join!(face, live.run());
    let home = place.hermes().display().to_string();
    for part in [
        "session ",
        "title ",
        "model ",
        "created ",
        "active ",
        "tokens ",
        "running   no",
        &home,
    ] {
        assert!(said[0].contains(part), "{part}: {}", said[0]);
    }
    assert!(
        said[1].contains("config.yaml") && said[1].contains("reasoning"),
        "{}",
        said[1]
    );
    assert!(said[2].starts_with("profile  default"), "{}", said[2]);
    assert!(said[3].contains("✓ web"), "{}", said[3]);
    assert_eq!(said[4], "disabled from the next start on: web, tts");
    assert!(said[5].contains("no toolset 'nonsense'"), "{}", said[5]);
    assert!(
        said[6].contains("✗ web") && said[6].contains("✓ file"),
        "{}",
        said[6]
    );
}
