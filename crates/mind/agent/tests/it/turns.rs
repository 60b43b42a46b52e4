//! Answers, budgets, interrupts, steering.

use std::time::{Duration, Instant};

use hermes_agent::with_recalled;
use hermes_testkit::doubles::Canned;
use hermes_types::{AgentEvent, Content, Message, ModelErrorKind, Role};
use pretty_assertions::assert_eq;

use crate::{Bench, text, with_picture};

#[tokio::test]
async fn a_plain_answer_is_stored_and_counted() {
    let mut bench = Bench::new([Canned::text("Hello world")]);
    let end = bench.turn("hi").await;
    assert!(end.answered());
    assert_eq!(
        (end.text.as_str(), end.api_calls, end.usage.input),
        ("Hello world", 1, 10)
    );
    let stored: Vec<_> = bench
        .journal
        .messages()
        .iter()
        .map(|m| (m.role.clone(), text(m)))
        .collect();
    assert_eq!(
        stored,
        [
            (Role::User, "hi".to_owned()),
            (Role::Assistant, "Hello world".to_owned())
        ]
    );
    assert_eq!(bench.journal.usage().len(), 1);
    let request = &bench.model.requests()[0];
    assert_eq!(request.system, "system");
    assert!(request.tools.iter().map(|tool| &tool.name).is_sorted());
}

#[tokio::test]
async fn an_interrupted_summary_is_an_interrupt() {
    let mut bench = Bench::new([Canned::calls(&[("echo", "{}")]), Canned::Hang]);
    bench.limits.iterations = 1;
    let (cancel, model) = (bench.scope.cancel.clone(), bench.model.clone());
    let (end, ()) = tokio::join!(bench.turn("go"), async move {
        while model.requests().len() < 2 {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    });
    assert!(end.interrupted && end.error.is_none(), "{end:?}");
}

#[tokio::test]
async fn the_step_limit_ends_in_a_summary_without_tools() {
    let mut bench = Bench::new([
        Canned::calls(&[("echo", "{\"n\": 1}")]),
        Canned::calls(&[("echo", "{\"n\": 2}")]),
        Canned::text("did two things"),
    ]);
    bench.limits.iterations = 2;
    let end = bench.turn("go").await;
    assert!(end.answered());
    assert_eq!(end.text, "did two things");
    let requests = bench.model.requests();
    assert_eq!(requests.len(), 3);
    assert!(requests[2].tools.is_empty());
    assert!(text(requests[2].messages.last().unwrap()).contains("sum up"));
}

#[tokio::test]
async fn an_error_of_the_model_is_the_turns_error() {
    let mut bench = Bench::new([Canned::error(ModelErrorKind::Auth)]);
    let end = bench.turn("hi").await;
    assert_eq!(end.error.as_deref(), Some("Auth"));
    assert!(!end.answered());
}

#[tokio::test]
async fn what_a_model_minds_is_changed_once() {
    for kind in [
        ModelErrorKind::ImagesRejected,
        ModelErrorKind::ImageTooLarge,
    ] {
        let mut bench = Bench::new([
            Canned::error(kind),
            Canned::text("I see"),
            Canned::error(kind),
        ]);
        let end = bench.message(with_picture("look")).await;
        assert_eq!(end.text, "I see");
        let requests = bench.model.requests();
        let sent = |at: usize| requests[at].messages[0].content.clone().unwrap();
        assert!(matches!(sent(0), Content::Parts(_)));
        assert_eq!(sent(1), Content::Text("look\n[image]".to_owned()));
        let told = |event: &AgentEvent| matches!(event, AgentEvent::Notice(text) if text.contains("picture"));
        assert!(bench.events.lock().unwrap().iter().any(told));
        // Without pictures there is nothing to change.
        assert!(bench.turn("again").await.error.is_some());
        assert_eq!(bench.model.requests().len(), 3);
    }

    let too_large = Canned::error(ModelErrorKind::OutputTooLarge { available: 5_000 });
    let mut bench = Bench::new([
        too_large.clone(),
        Canned::text("short"),
        too_large.clone(),
        too_large,
    ]);
    assert_eq!(bench.turn("go").await.text, "short");
    assert_eq!(bench.model.requests()[1].max_output, Some(4_936));
    assert!(bench.turn("go").await.error.is_some());
    assert_eq!(bench.model.requests().len(), 4);
}

#[tokio::test]
async fn an_interrupt_ends_a_hanging_stream_at_once() {
    let mut bench = Bench::new([Canned::Hang]);
    let cancel = bench.scope.cancel.clone();
    let started = Instant::now();
    let (end, ()) = tokio::join!(bench.turn("hi"), async move {
        tokio::time::sleep(Duration::from_millis(20)).await;
        cancel.cancel();
    });
    assert!(end.interrupted && started.elapsed() < Duration::from_secs(1));
    assert_eq!(bench.model.requests().len(), 1);
}

#[tokio::test]
async fn an_interrupted_tool_leaves_a_valid_history() {
    let mut bench = Bench::new([Canned::calls(&[("hang", "{}"), ("echo", "{\"n\": 1}")])]);
    let cancel = bench.scope.cancel.clone();
    let started = Instant::now();
    let (end, ()) = tokio::join!(bench.turn("hi"), async move {
        tokio::time::sleep(Duration::from_millis(20)).await;
        cancel.cancel();
    });
    assert!(end.interrupted && started.elapsed() < Duration::from_secs(1));
    let stored = bench.journal.messages();
    let results: Vec<_> = stored
        .iter()
        .filter(|m| m.role == Role::Tool)
        .map(text)
        .collect();
    assert_eq!(results.len(), 2, "{stored:?}");
    assert!(
        results[0].contains("interrupted") && results[1].contains("before it started"),
        "{results:?}"
    );
}

#[tokio::test]
async fn guidance_rides_on_the_next_tool_result() {
    let mut bench = Bench::new([Canned::calls(&[("echo", "{\"n\": 1}")]), Canned::text("ok")]);
    bench.steer.push("focus on X");
    let end = bench.turn("go").await;
    assert_eq!(end.pending_steer, None);
    assert!(bench.results()[0].contains("focus on X"));

    let mut late = Bench::new([Canned::text("no tools needed")]);
    late.steer.push("too late");
    assert_eq!(
        late.turn("go").await.pending_steer.as_deref(),
        Some("too late")
    );
}

#[tokio::test]
async fn a_second_turn_extends_the_first_request() {
    let mut bench = Bench::new([
        Canned::calls(&[("echo", "{\"n\": 1}")]),
        Canned::text("one"),
        Canned::calls(&[("nosuch_thing", "{}")]),
        Canned::text("two"),
    ]);
    bench.turn("first").await;
    bench.turn("second").await;
    let requests = bench.model.requests();
    for pair in requests.windows(2) {
        assert!(
            pair[1].messages.starts_with(&pair[0].messages),
            "{:#?}",
            pair[1].messages
        );
        assert_eq!(pair[0].system, pair[1].system);
    }
}

#[tokio::test]
async fn everything_that_happens_is_an_event() {
    let mut bench = Bench::new([
        Canned::calls(&[("echo", "{\"path\": \"p\"}")]),
        Canned::text("done"),
    ]);
    bench.turn("go").await;
    let names: Vec<&str> = bench
        .events
        .lock()
        .unwrap()
        .iter()
        .map(|event| match event {
            AgentEvent::TurnStarted => "started",
            AgentEvent::ToolStarted { .. } => "tool",
            AgentEvent::ToolFinished { .. } => "tool done",
            AgentEvent::Text(_) => "text",
            AgentEvent::Usage { .. } => "usage",
            AgentEvent::TurnEnded(_) => "ended",
            _ => "other",
        })
        .collect();
    assert_eq!(
        names,
        [
            "started",
            "usage",
            "tool",
            "tool done",
            "text",
            "usage",
            "ended"
        ]
    );
}

#[tokio::test]
async fn what_was_recalled_goes_out_with_its_turn_and_is_kept_nowhere() {
    let mut bench = Bench::new([
        Canned::calls(&[("echo", "{}")]),
        Canned::calls(&[("echo", "{\"n\": 2}")]),
        Canned::text("one"),
        Canned::text("two"),
    ]);
    let recalled = "<memory-context>tea</memory-context>";
    bench
        .message(with_recalled(Message::user("first"), recalled))
        .await;
    bench.turn("second").await;
    let requests = bench.model.requests();
    let first = format!("first\n\n{recalled}");
    for request in &requests[..3] {
        assert_eq!(text(&request.messages[0]), first);
    }
    // Within the turn every request extends the one before.
    for pair in requests[..3].windows(2) {
        let before = &pair[0].messages;
        assert_eq!(&pair[1].messages[..before.len()], &before[..]);
    }
    assert_eq!(text(&requests[3].messages[0]), "first");
    let mut kept = bench.conversation.messages().iter();
    assert!(kept.clone().all(|message| !text(message).contains("tea")));
    assert!(kept.all(|message| message.extra.is_empty()));
}
