//! How a connection lives, dies and comes back without anybody calling.

use std::time::Duration;

use pretty_assertions::assert_eq;

use super::double::{Reaction, World, call, fail, tool, well};
use crate::failure::{Class, Failure};
use crate::server::State;

const SECOND: Duration = Duration::from_secs(1);

fn refused() -> Option<Failure> {
    Some(Failure::new(Class::NotSent, "Connection refused", ""))
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_dies_comes_back_by_itself() {
    let world = World::new(|_, _| well());
    let server = world.serve(|_| {});
    assert_eq!(server.settled().await, State::Ready);
    world.hang_up();
    tokio::time::sleep(SECOND).await;
    assert_eq!(
        (server.status().state, server.status().generation),
        (State::Ready, 2)
    );
}

#[tokio::test(start_paused = true)]
async fn a_server_that_starts_late_is_found() {
    let world = World::new(|_, _| well());
    world.refuse(refused());
    let server = world.serve(|_| {});
    tokio::time::sleep(8 * SECOND).await;
    assert_eq!(server.status().state, State::Parked);
    assert_eq!(world.dials(), 4);
    world.refuse(None);
    tokio::time::sleep(30 * SECOND).await;
    assert_eq!(server.status().state, State::Ready);
}

#[tokio::test(start_paused = true)]
async fn a_call_wakes_a_parked_server() {
    let world = World::new(|_, _| well());
    world.refuse(refused());
    let server = world.serve(|_| {});
    tokio::time::sleep(100 * SECOND).await;
    world.refuse(None);
    let start = tokio::time::Instant::now();
    call(&server, &tool("read")).await.unwrap();
    assert!(start.elapsed() < SECOND);
}

#[tokio::test(start_paused = true)]
async fn tools_stay_listed_while_a_server_is_away_for_less_than_a_day() {
    let world = World::new(|_, _| well());
    let server = world.serve(|_| {});
    server.settled().await;
    world.refuse(refused());
    world.hang_up();
    tokio::time::sleep(23 * 3600 * SECOND).await;
    assert_eq!(
        (server.status().state, server.status().tools),
        (State::Parked, 2)
    );
    tokio::time::sleep(2 * 3600 * SECOND).await;
    assert_eq!(server.status().tools, 0);
    world.refuse(None);
    tokio::time::sleep(301 * SECOND).await;
    assert_eq!(
        (server.status().state, server.status().tools),
        (State::Ready, 2)
    );
}

#[tokio::test(start_paused = true)]
async fn silence_is_probed_and_zero_never() {
    for (keepalive, pings) in [(Some(5 * SECOND), 12), (None, 0)] {
        let world = World::new(|_, _| well());
        let server = world.serve(|config| config.keepalive = keepalive);
        server.settled().await;
        tokio::time::sleep(61 * SECOND).await;
        assert_eq!(world.count("ping"), pings);
        assert_eq!(world.dials(), 1);
    }
}

// spec: mcp §15.9
#[tokio::test(start_paused = true)]
async fn a_server_without_ping_is_asked_something_else() {
    let world = World::new(|_, request| match request.method {
        "ping" => Reaction::Fail(
            Failure::new(Class::App, "Server error", "Method not found").with_code(-32601),
        ),
        _ => well(),
    });
    let server = world.serve(|config| config.keepalive = Some(5 * SECOND));
    server.settled().await;
    tokio::time::sleep(31 * SECOND).await;
    assert_eq!((server.status().generation, world.dials()), (1, 1));
    assert_eq!((world.count("ping"), world.count("tools/list")), (1, 6));
}

#[tokio::test(start_paused = true)]
async fn a_probe_without_an_answer_replaces_the_connection() {
    let world = World::new(|connection, request| match (connection, request.method) {
        (1, "ping") => Reaction::Hang,
        _ => well(),
    });
    let server = world.serve(|config| config.keepalive = Some(5 * SECOND));
    server.settled().await;
    tokio::time::sleep(16 * SECOND).await;
    assert_eq!(
        (server.status().state, server.status().generation),
        (State::Ready, 2)
    );
}

#[tokio::test(start_paused = true)]
async fn what_cannot_work_is_not_tried_again() {
    let world = World::new(|_, _| well());
    world.refuse(Some(Failure::new(Class::Setup, "Bad address", "no host")));
    let server = world.serve(|_| {});
    assert_eq!(server.settled().await, State::Failed);
    tokio::time::sleep(3600 * SECOND).await;
    assert_eq!(world.dials(), 1);
    assert_eq!(
        server.status().last_error.as_deref(),
        Some("Bad address: no host")
    );
}

#[tokio::test(start_paused = true)]
async fn a_handshake_that_hangs_is_given_up() {
    let world = World::new(|_, _| Reaction::Hang);
    let server = world.serve(|_| {});
    tokio::time::sleep(59 * SECOND).await;
    assert_eq!(server.status().state, State::Connecting);
    tokio::time::sleep(2 * SECOND).await;
    assert_eq!(world.dials(), 1);
    tokio::time::sleep(SECOND).await;
    assert_eq!(world.dials(), 2);
    server.stop().await;
    assert_eq!(server.status().state, State::Stopped);
}

#[tokio::test(start_paused = true)]
async fn dropping_the_last_handle_ends_everything() {
    let world = World::new(|_, _| well());
    let server = world.serve(|config| config.keepalive = Some(5 * SECOND));
    server.settled().await;
    drop(server);
    tokio::time::sleep(60 * SECOND).await;
    assert_eq!(world.count("ping"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_failed_call_never_parks_a_server() {
    let world = World::new(|_, request| match request.method {
        "tools/call" => fail(Class::Protocol, "garbage"),
        _ => well(),
    });
    let server = world.serve(|_| {});
    for _ in 0..10 {
        call(&server, &tool("write")).await.unwrap_err();
    }
    tokio::time::sleep(60 * SECOND).await;
    assert_eq!(
        (server.status().state, server.status().tools),
        (State::Ready, 2)
    );
}

/// A server that forgets a session nobody used for 15 seconds.
fn forgetful() -> std::sync::Arc<World> {
    let used = std::sync::Mutex::new((0, tokio::time::Instant::now()));
    World::new(move |connection, request| {
        let mut used = crate::calls::locked(&used);
        let is_known = used.0 == connection && used.1.elapsed() < 15 * SECOND;
        *used = (connection, tokio::time::Instant::now());
        match is_known || request.method == "initialize" {
            true => well(),
            false => fail(Class::SessionLost, "Session not found"),
        }
    })
}

// spec: mcp §15.8
#[tokio::test(start_paused = true)]
async fn probes_keep_a_session_alive_and_without_them_a_call_recovers() {
    let world = forgetful();
    let server = world.serve(|config| config.keepalive = Some(5 * SECOND));
    server.settled().await;
    tokio::time::sleep(60 * SECOND).await;
    let reply = call(&server, &tool("write")).await.unwrap();
    assert_eq!((reply.retries, world.count("initialize")), (0, 1));
    assert_eq!(world.count("tools/call"), 1);

    let world = forgetful();
    let server = world.serve(|config| config.keepalive = None);
    server.settled().await;
    tokio::time::sleep(60 * SECOND).await;
    assert_eq!((world.count("ping"), world.count("tools/list")), (0, 1));
    let reply = call(&server, &tool("write")).await.unwrap();
    assert_eq!((reply.retries, world.count("initialize")), (1, 2));
}
