//! Interrupting: answered at once, and nothing stays alive.

use std::time::{Duration, Instant};

use hermes_types::{Outcome, Tool};
use serde_json::{Value, json};

use super::{Desk, Session, args_of, eventually, processes};

/// On an idle machine it is a tenth of a second; the two seconds a kill can take are what this excludes.
const AT_ONCE: Duration = Duration::from_secs(1);

/// Runs `command` until it has made the file `up`, then interrupts it; how long the answer took.
async fn interrupted(session: &Session, command: &str) -> (Value, Outcome, Duration) {
    let mark = session.cwd.get().join("up");
    let args = args_of(json!({"command": format!("echo begun; {command}")}));
    let call = session.terminal.call(args, &session.cx);
    let interrupt = async {
        eventually("the command runs", Duration::from_secs(5), || mark.exists()).await;
        let start = Instant::now();
        session.cx.scope.cancel.cancel();
        start
    };
    let (output, start) = tokio::join!(call, interrupt);
    let result = serde_json::from_str(&output.text).unwrap();
    (result, output.outcome, start.elapsed())
}

// spec: terminal-and-safety §13.4
#[tokio::test]
async fn an_interrupt_is_answered_at_once() {
    let session = Desk::new().session("one");
    let (result, outcome, took) = interrupted(&session, "touch up; sleep 42.1").await;
    assert_eq!(result["exit_code"], 130);
    assert_eq!(result["output"], "begun\n[Command interrupted]");
    assert_eq!(outcome, Outcome::Cancelled);
    assert!(took < AT_ONCE, "{took:?}");
    eventually("it is gone", Duration::from_secs(3), || {
        processes("sleep 42.1").is_empty()
    })
    .await;
}

#[tokio::test]
async fn a_deaf_tree_is_gone_soon_after() {
    let desk = Desk::new();
    let session = desk.session("one");
    let command = "trap '' TERM; touch up; sleep 42.2 | sleep 42.2; sleep 42.2";
    let start = Instant::now();
    let (result, _, took) = interrupted(&session, command).await;
    assert_eq!(result["exit_code"], 130);
    assert!(took < AT_ONCE, "{took:?}");
    assert!(!processes("sleep 42.2").is_empty());
    eventually("the tree is gone", Duration::from_secs(3), || {
        processes("sleep 42.2").is_empty()
    })
    .await;
    desk.services.shell.close().await;
    assert!(start.elapsed() < Duration::from_secs(8));
}

// spec: terminal-and-safety §13.3
#[tokio::test]
async fn a_timeout_takes_the_whole_tree() {
    let session = Desk::new().session("one");
    let command = "bash -c 'sleep 42.3 & sleep 42.3' | (trap '' TERM; sleep 42.3; sleep 42.3)";
    let (result, _) = session
        .call(json!({"command": command, "timeout": 1}))
        .await;
    assert_eq!(result["exit_code"], 124);
    assert!(processes("sleep 42.3").is_empty());
}

#[tokio::test]
async fn a_call_that_is_dropped_leaves_nothing() {
    let session = Desk::new().session("one");
    let mark = session.cwd.get().join("up");
    let args = args_of(json!({"command": "touch up; trap '' TERM; sleep 42.4; sleep 42.4"}));
    tokio::select! {
        _ = session.terminal.call(args, &session.cx) => panic!("it ended"),
        () = eventually("it runs", Duration::from_secs(5), || mark.exists()) => {}
    }
    eventually("it is gone", Duration::from_secs(2), || {
        processes("sleep 42.4").is_empty()
    })
    .await;
}

#[tokio::test]
async fn an_interrupt_before_the_start_counts() {
    let session = Desk::new().session("one");
    session.cx.scope.cancel.cancel();
    let (result, outcome) = session.call(json!({"command": "sleep 42.5"})).await;
    assert_eq!(
        (&result["exit_code"], outcome),
        (&json!(130), Outcome::Cancelled)
    );
}
