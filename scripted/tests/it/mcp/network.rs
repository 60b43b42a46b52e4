//! F05, F06, F08, F09, F34, F38, F41: what happens to connections.

use std::net::TcpStream;

use hermes_scripted::mcp::Flaky;
use serde_json::json;

use super::link::{End, Link, PATIENCE, armed, start};

fn refused(flaky: &Flaky) -> bool {
    TcpStream::connect(flaky.addr()).is_err()
}

#[test]
fn f05_a_restart_refuses_then_knows_nothing() {
    let flaky = start();
    let mut link = Link::new(&flaky);
    armed(&flaky, "F05:200");
    assert!(refused(&flaky));
    assert_eq!(link.tool("write").status, 0);
    while refused(&flaky) {
        std::thread::yield_now();
    }
    assert_eq!(link.again(&flaky).tool("write").status, 404);
}

#[test]
fn f06_a_rotated_pod_answers_at_once() {
    let flaky = start();
    let mut link = Link::new(&flaky);
    armed(&flaky, "F06");
    assert_ne!(link.tool("write").end, End::Complete);
    assert_eq!(link.again(&flaky).tool("write").status, 404);
}

#[test]
fn f08_old_connections_are_silent() {
    let flaky = start();
    let mut link = Link::new(&flaky);
    armed(&flaky, "F08");
    assert_eq!(link.ask_in_vain("tools/call"), End::Silent);
    assert_eq!(link.again(&flaky).tool("write").said(), "written 1");
}

#[test]
fn f09_nothing_is_answered_until_healed() {
    let flaky = start();
    let mut link = Link::new(&flaky);
    armed(&flaky, "F09");
    assert_eq!(link.ask_in_vain("tools/call"), End::Silent);
    assert_eq!(link.again(&flaky).ask_in_vain("tools/call"), End::Silent);
    flaky.heal();
    assert_eq!(link.again(&flaky).tool("write").said(), "written 1");
}

#[test]
fn f38_after_a_suspend_everything_is_gone() {
    let flaky = start();
    let mut link = Link::new(&flaky);
    armed(&flaky, "F38");
    assert_eq!(link.ask_in_vain("tools/call"), End::Silent);
    assert_eq!(link.again(&flaky).tool("write").status, 404);
}

#[test]
fn f41_down_until_healed() {
    let flaky = start();
    armed(&flaky, "F41");
    assert!(refused(&flaky));
    flaky.heal();
    assert_eq!(Link::new(&flaky).tool("write").said(), "written 1");
}

#[test]
fn f34_a_storm_of_changes() {
    let flaky = start();
    let mut link = Link::new(&flaky);
    let mut stream = link.again(&flaky);
    stream.request("GET", "/mcp", "");
    flaky.wait_for(PATIENCE, |counters| counters.streams_now == 1);
    armed(&flaky, "F34:1000x1");
    for _ in 0..1000 {
        stream.line_with("notifications/tools/list_changed");
    }
    assert_eq!(link.tool("write").said(), "written 1");
}

#[test]
fn a_dropped_server_is_gone() {
    let flaky = start();
    let mut link = Link::new(&flaky);
    let addr = flaky.addr();
    link.send(
        "tools/call",
        json!({"name": "slow", "arguments": {"ms": 60_000}}),
    );
    flaky.wait_for(PATIENCE, |counters| {
        counters.executions.contains_key("slow")
    });
    drop(flaky);
    assert_ne!(link.reply(PATIENCE).end, End::Complete);
    assert!(TcpStream::connect(addr).is_err());
}
