//! What a caller gets when a call fails.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use pretty_assertions::assert_eq;
use tokio::time::Instant;

use super::double::{Reaction, World, call, fail, text, tool, well};
use crate::failure::{Class, Failure};
use crate::operation::Operation;
use crate::server::{CallContext, Cause, State};

const SECOND: Duration = Duration::from_secs(1);

/// A server whose first connection answers calls with a failure of that class.
fn first_fails(class: Class) -> std::sync::Arc<World> {
    World::new(
        move |connection, request| match (connection, request.method) {
            (1, "tools/call" | "resources/list" | "ping") => fail(class.clone(), "gone"),
            _ => well(),
        },
    )
}

#[tokio::test(start_paused = true)]
async fn a_lost_session_is_replaced_and_the_call_repeated() {
    let world = first_fails(Class::SessionLost);
    let server = world.serve(|_| {});
    let reply = call(&server, &tool("write")).await.unwrap();
    assert_eq!(
        (text(&reply), reply.retries, reply.generation),
        ("done", 1, 2)
    );
    assert_eq!(
        (world.count("tools/call"), world.count("initialize")),
        (2, 2)
    );
}

#[tokio::test(start_paused = true)]
async fn an_unsafe_call_is_never_made_twice() {
    for class in [Class::Cut, Class::Gateway, Class::Protocol] {
        let world = first_fails(class.clone());
        let server = world.serve(|_| {});
        let error = call(&server, &tool("write")).await.unwrap_err();
        assert!(
            matches!(error.cause, Cause::Ambiguous(_)),
            "{class:?}: {error:?}"
        );
        assert_eq!(world.count("tools/call"), 1, "{class:?}");
        let reply = call(&server, &tool("write")).await.unwrap();
        assert_eq!(
            (reply.retries, reply.generation),
            (0, 2),
            "healed meanwhile: {class:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn what_only_reads_is_repeated() {
    for operation in [tool("read"), Operation::ListResources] {
        let world = first_fails(Class::Cut);
        let server = world.serve(|_| {});
        let reply = call(&server, &operation).await.unwrap();
        assert_eq!((reply.retries, reply.generation), (1, 2), "{operation:?}");
    }
}

// spec: mcp §15.3
#[tokio::test(start_paused = true)]
async fn an_answer_that_is_an_error_is_the_answer() {
    let world = World::new(|_, request| match request.method {
        "tools/call" => fail(Class::App, "Tool execution failed — unrelated error"),
        _ => well(),
    });
    let server = world.serve(|_| {});
    for _ in 0..5 {
        let error = call(&server, &tool("write")).await.unwrap_err();
        assert!(
            matches!(error.cause, Cause::Failed(_)),
            "the breaker stays closed: {error:?}"
        );
    }
    assert_eq!(
        (world.count("tools/call"), world.count("initialize")),
        (5, 1)
    );
}

// spec: mcp §15.4
#[tokio::test(start_paused = true)]
async fn the_second_failure_is_the_one_reported() {
    let world = World::new(|connection, request| match (connection, request.method) {
        (1, "tools/call") => fail(Class::SessionLost, "session expired"),
        (_, "tools/call") => fail(Class::App, "retry blew up too"),
        _ => well(),
    });
    let server = world.serve(|_| {});
    let error = call(&server, &tool("write")).await.unwrap_err();
    assert!(
        matches!(&error.cause, Cause::Failed(failure) if failure.message == "retry blew up too")
    );
    assert_eq!(world.count("tools/call"), 2);

    server.stop().await;
    let start = Instant::now();
    let error = call(&server, &tool("write")).await.unwrap_err();
    assert!(
        matches!(error.cause, Cause::NotConnected { .. }),
        "{error:?}"
    );
    assert!(start.elapsed() < SECOND / 10);
    assert_eq!(world.count("tools/call"), 2);
}

// spec: mcp §15.5
#[tokio::test(start_paused = true)]
async fn nobody_waits_longer_than_fifteen_seconds_for_a_new_session() {
    let world = World::new(|connection, request| match (connection, request.method) {
        (1, "tools/call") => fail(Class::SessionLost, "session expired"),
        (1, _) => well(),
        _ => Reaction::Hang,
    });
    let server = world.serve(|_| {});
    let start = Instant::now();
    let error = call(&server, &tool("write")).await.unwrap_err();
    assert!(matches!(error.cause, Cause::Failed(_)), "{error:?}");
    let waited = start.elapsed();
    assert!(waited >= 14 * SECOND && waited <= 16 * SECOND, "{waited:?}");
    assert_eq!(
        (world.count("tools/call"), world.count("initialize")),
        (1, 2)
    );
}

// spec: mcp §15.10
#[tokio::test(start_paused = true)]
async fn a_dead_server_is_left_alone_and_one_caller_finds_it_back() {
    let world = World::new(|_, _| well());
    let server = world.serve(|_| {});
    server.settled().await;
    world.refuse(Some(Failure::new(Class::NotSent, "Connection refused", "")));
    world.hang_up();
    for _ in 0..3 {
        call(&server, &tool("read")).await.unwrap_err();
    }
    let start = Instant::now();
    let error = call(&server, &tool("read")).await.unwrap_err();
    let Cause::Unreachable {
        failures: 3,
        retry_in,
        ..
    } = error.cause
    else {
        panic!("{error:?}");
    };
    assert!(start.elapsed() < SECOND / 20 && retry_in > 50 * SECOND);

    tokio::time::sleep(retry_in).await;
    world.refuse(None);
    let operation = tool("read");
    let callers = (0..5).map(|_| call(&server, &operation));
    let answers = futures::future::join_all(callers).await;
    let served = answers.iter().filter(|answer| answer.is_ok()).count();
    assert_eq!(
        served, 1,
        "one finds out, the others are told to wait: {answers:?}"
    );
    assert_eq!(world.count("tools/call"), 1);
    call(&server, &tool("read")).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_server_that_refuses_fresh_sessions_does_not_spin() {
    let world = World::new(|_, request| match request.method {
        "tools/call" => fail(Class::SessionLost, "session expired"),
        _ => well(),
    });
    let server = world.serve(|_| {});
    for _ in 0..20 {
        call(&server, &tool("write")).await.unwrap_err();
    }
    assert!(
        world.count("initialize") <= 6,
        "{}",
        world.count("initialize")
    );
}

// spec: mcp §15.16
#[tokio::test(start_paused = true)]
async fn an_interrupt_ends_the_call_and_nothing_else() {
    let world = World::new(|_, request| match request.method {
        "tools/call" => Reaction::Hang,
        _ => well(),
    });
    let server = world.serve(|_| {});
    server.settled().await;
    let context = CallContext::default();
    let operation = tool("write");
    let (start, cancel) = (Instant::now(), context.cancel.clone());
    let interrupt = async {
        tokio::time::sleep(3 * SECOND).await;
        cancel.cancel();
    };
    let (answer, ()) = tokio::join!(server.call(&operation, &context), interrupt);
    assert_eq!(answer.unwrap_err().cause, Cause::Cancelled);
    assert!(start.elapsed() < 3 * SECOND + SECOND / 2);
    tokio::time::sleep(SECOND).await;
    assert_eq!(world.count("notifications/cancelled"), 1);
    assert_eq!(
        (server.status().state, server.status().generation),
        (State::Ready, 1)
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_without_an_answer_ends_in_time() {
    let world = World::new(|_, request| match request.method {
        "tools/call" => Reaction::Hang,
        _ => well(),
    });
    let server = world.serve(|config| config.timeout = 7 * SECOND);
    let error = call(&server, &tool("write")).await.unwrap_err();
    let Cause::TimedOut {
        elapsed,
        limit,
        is_ambiguous,
    } = error.cause
    else {
        panic!("{error:?}");
    };
    assert!(elapsed >= limit && elapsed < limit + SECOND && is_ambiguous);
    tokio::time::sleep(SECOND).await;
    assert_eq!(
        (
            world.count("tools/call"),
            world.count("notifications/cancelled")
        ),
        (1, 1)
    );
}

#[tokio::test(start_paused = true)]
async fn a_short_wait_is_sat_out_and_a_long_one_reported() {
    let calls = AtomicUsize::new(0);
    let world = World::new(move |_, request| match request.method {
        "tools/call" => match calls.fetch_add(1, Ordering::Relaxed) {
            0 => fail(Class::Throttled(Some(2 * SECOND)), "busy"),
            1 => well(),
            _ => fail(Class::Throttled(Some(3600 * SECOND)), "busy"),
        },
        _ => well(),
    });
    let server = world.serve(|_| {});
    let start = Instant::now();
    assert_eq!(call(&server, &tool("write")).await.unwrap().retries, 1);
    assert_eq!(start.elapsed().as_secs(), 2);
    let error = call(&server, &tool("write")).await.unwrap_err();
    assert_eq!(
        error.cause,
        Cause::Throttled {
            wait: 3600 * SECOND
        }
    );
    assert_eq!(start.elapsed().as_secs(), 2);
}

#[tokio::test(start_paused = true)]
async fn many_who_lose_a_session_share_its_replacement() {
    let world = first_fails(Class::SessionLost);
    let server = world.serve(|_| {});
    server.settled().await;
    let operation = tool("write");
    let callers = (0..20).map(|_| call(&server, &operation));
    for answer in futures::future::join_all(callers).await {
        assert_eq!(answer.unwrap().generation, 2);
    }
    assert_eq!(
        (world.count("initialize"), world.count("tools/call")),
        (2, 40)
    );
}
