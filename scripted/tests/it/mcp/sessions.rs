//! F01 to F07, F39, F46: sessions that aren't there any more.

use hermes_scripted::mcp::{Fault, Times};
use serde_json::{Value, json};

use super::link::{End, Link, armed, start};

fn check(fault: &str, status: u16, kind: &str, expected: &Value) {
    let flaky = start();
    let mut link = Link::new(&flaky);
    armed(&flaky, fault);
    let lost = link.tool("write");
    assert_eq!(lost.status, status, "{fault}");
    assert!(lost.header("content-type").starts_with(kind), "{lost:?}");
    assert_eq!(lost.json(), *expected, "{fault}");
    link.initialize();
    assert_eq!(link.tool("write").said(), "written 1", "{fault}");
    assert_eq!(flaky.counters().sessions_missed, 1);
}

#[test]
fn losses_are_told_in_many_ways() {
    let json = "application/json";
    let not_found = json!({"code": -32001, "message": "Session not found"});
    let expected = json!({"jsonrpc": "2.0", "id": 2, "error": not_found});
    check("F01", 404, json, &expected);
    let error = json!({"code": -32000, "message": "Bad Request: No valid session ID provided"});
    check("F02", 400, json, &json!({"jsonrpc": "2.0", "error": error}));
    let error = json!({"code": -32602, "message": "Invalid params: Invalid or expired session"});
    let expected = json!({"jsonrpc": "2.0", "id": 2, "error": error});
    check("F03", 200, json, &expected);
    let events = "text/event-stream";
    check("F04", 200, events, &json!({"error": "Session not found"}));
    let error = json!({"code": -32600, "message": "Session not found"});
    let expected = json!({"jsonrpc": "2.0", "id": null, "error": error});
    check("F04:null", 200, events, &expected);
}

#[test]
fn losses_can_repeat() {
    let flaky = start();
    let mut link = Link::new(&flaky);
    flaky.arm(Fault::SessionNotFound, Times::Count(2));
    assert_eq!(link.tool("write").status, 404);
    link.initialize();
    assert_eq!(link.ask("tools/list", json!({})).status, 200);
    assert_eq!(link.tool("write").status, 404);
    link.initialize();
    assert_eq!(link.tool("write").said(), "written 1");
}

#[test]
fn f46_every_fresh_session_is_lost() {
    let flaky = start();
    flaky.arm(Fault::FreshSessionsLost, Times::Always);
    let mut link = Link::open(&flaky);
    for _ in 0..3 {
        link.initialize();
        assert_eq!(link.ask("ping", json!({})).status, 200);
        assert_eq!(link.tool("write").status, 404);
    }
    flaky.heal();
    link.initialize();
    assert_eq!(link.tool("write").said(), "written 1");
}

#[test]
fn f07_instances_take_turns() {
    let flaky = start();
    let mut link = Link::new(&flaky);
    armed(&flaky, "F07");
    let statuses: Vec<_> = (0..4).map(|_| link.tool("read").status).collect();
    assert_eq!(statuses, [404, 200, 404, 200]);
    assert_eq!(link.ask("ping", json!({})).status, 200);
}

#[test]
fn f39_initialize_is_never_answered() {
    let flaky = start();
    let mut link = Link::new(&flaky);
    armed(&flaky, "F39");
    assert_eq!(link.tool("write").status, 404);
    link.session.clear();
    assert_eq!(link.ask_in_vain("initialize"), End::Silent);
    // Once was enough.
    let mut link = Link::new(&flaky);
    assert_eq!(link.tool("write").said(), "written 1");
}
