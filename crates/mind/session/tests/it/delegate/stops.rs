//! Children that are stopped: by the owner, by the clock, or by what they cost.

use std::time::{Duration, Instant};

use hermes_session::{Input, Timing};
use hermes_testkit::doubles::Canned;
use hermes_types::{AgentEvent, Finish, Message};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::world::{Act, Hands, World, delegating, end, events_of_turn, first};

fn quick() -> Timing {
    Timing {
        timeout: Some(Duration::from_secs(1)),
        grace: Duration::from_millis(100),
        ..Timing::default()
    }
}

/// Says something beside a call, then nothing more.
fn half_done(messages: usize) -> Act {
    let Canned::Reply(reply) = Canned::calls(&[("read_file", "{}")]) else {
        panic!("calls are a reply");
    };
    let message = Message {
        tool_calls: reply.message.tool_calls,
        ..Message::assistant("found the file")
    };
    Act::Say(match messages {
        1 => Canned::reply(message, Finish::ToolCalls),
        _ => Canned::Hang,
    })
}

#[tokio::test]
async fn an_interrupt_ends_all_children_at_once() {
    let world = World::new(|request| match first(request).as_str() {
        "a" | "b" => half_done(request.messages.len()),
        _ => delegating(request, &json!({"tasks": [{"goal": "a"}, {"goal": "b"}]})),
    })
    .await;
    let (session, live, feed) = world.open().await;
    let face = async {
        session.send(Input::Prompt(Message::user("go"))).await;
        while world.mind.asked("a").len() + world.mind.asked("b").len() < 4 {
            tokio::task::yield_now().await;
        }
        let stopped = Instant::now();
        session.send(Input::Interrupt).await;
        let events = events_of_turn(&feed).await;
        session.send(Input::Close).await;
        (events, stopped.elapsed())
    };
    let ((events, took), ()) = tokio::join!(face, live.run());
    assert!(end(&events).interrupted);
    assert!(took < Duration::from_secs(1), "{took:?}");
    world.tasks.close();
    world.tasks.wait().await;
    assert_eq!(world.farewells.lock().unwrap().len(), 2);
    let id = session.id();
    let stored = world.store.conversation(&id, hermes_store::Reach::Session);
    let stored = stored.await.unwrap();
    let result: Value = serde_json::from_str(&super::text(stored.last().unwrap())).unwrap();
    for told in result["results"].as_array().unwrap() {
        assert_eq!(
            (&told["status"], &told["summary"]),
            (&json!("interrupted"), &json!("found the file"))
        );
        assert_eq!(told["api_calls"], 2);
    }
}

#[tokio::test]
async fn a_child_that_takes_too_long_hands_over_what_it_has() {
    let world = World::new(|request| match first(request).as_str() {
        "slow" => half_done(request.messages.len()),
        "quick" => Act::Say(Canned::text("done")),
        _ => delegating(
            request,
            &json!({"tasks": [{"goal": "slow"}, {"goal": "quick"}]}),
        ),
    })
    .await
    .timing(quick());
    let result = world.delegated("go").await;
    let told = &result["results"][0];
    assert_eq!(
        (&told["status"], &told["exit_reason"]),
        (&json!("timeout"), &json!("timeout"))
    );
    assert_eq!(told["summary"], "found the file");
    assert_eq!(told["tool_trace"][0]["tool"], "read_file");
    assert_eq!(told["error"], "Timed out after 1 s, after 2 API calls.");
    assert_eq!(told["tokens"], json!({"input": 10, "output": 5}));
    assert_eq!(result["results"][1]["status"], "completed");
}

// spec: tools §8.30
#[tokio::test]
async fn a_child_that_never_got_going_leaves_a_file_about_it() {
    let args =
        json!({"goal": "find the needle with sk-abcdefghijklmnopqrstuvwx", "toolsets": ["file"]});
    let mut world = World::new(move |request| delegating(request, &args))
        .await
        .timing(quick());
    world.hands = Hands::Never;
    let result = world.delegated("go").await;
    let told = &result["results"][0];
    assert_eq!(
        (&told["status"], &told["api_calls"]),
        (&json!("timeout"), &json!(0))
    );
    let logs = world.logs();
    assert_eq!(told["diagnostic_path"], json!(logs[0]));
    let path = logs[0].to_str().unwrap();
    assert!(told["error"].as_str().unwrap().contains(path));
    assert!(
        logs[0]
            .file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .starts_with("subagent-timeout-")
    );
    let text = std::fs::read_to_string(&logs[0]).unwrap();
    for part in [
        "find the needle",
        "canned-1",
        "https://x.test/v1",
        "time limit       1 s",
        "leaf",
        "1 of 1",
        "toolsets         file",
        "waiting for      its tools",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(
        !text.contains("sk-abcdefghijk") && !text.contains("sk-secret"),
        "{text}"
    );

    // An endpoint that never answers: the call was made.
    let world = World::new(|request| match first(request).as_str() {
        "work" => Act::Say(Canned::Hang),
        _ => delegating(request, &json!({"goal": "work"})),
    })
    .await
    .timing(quick());
    let result = world.delegated("go").await;
    let told = &result["results"][0];
    assert_eq!(
        (&told["status"], &told["api_calls"]),
        (&json!("timeout"), &json!(1))
    );
    assert_eq!(told["error"], "Timed out after 1 s, after 1 API call.");
    assert!(told["diagnostic_path"].is_null() && world.logs().is_empty());
}

#[tokio::test]
async fn a_call_gives_signs_of_life_until_nothing_moves() {
    let timing = Timing {
        beat: Duration::from_millis(5),
        idle_beats: 4,
        timeout: Some(Duration::from_millis(400)),
        ..quick()
    };
    let world = World::new(|request| match first(request).as_str() {
        "work" => Act::Say(Canned::Hang),
        _ => delegating(request, &json!({"goal": "work"})),
    })
    .await
    .timing(timing);
    let (_, events) = world.turn("go").await;
    let signs = events.iter().filter(|event| match event {
        AgentEvent::ToolProgress { text, .. } => text == "1. work: thinking",
        _ => false,
    });
    let signs = signs.count();
    assert!((3..40).contains(&signs), "{signs}");
}
