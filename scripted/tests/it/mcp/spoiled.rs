//! F10 to F22, F35, F36, F42 to F45: answers that are none.

use hermes_scripted::mcp::{Fault, Flaky, Times};
use serde_json::json;

use super::link::{End, Link, PATIENCE, Reply, armed, start};

/// What a fault makes of a call, and how often the tool ran. The call after it is fine.
fn hit(fault: &str) -> (Reply, u64) {
    let flaky = start();
    let mut link = Link::new(&flaky);
    armed(&flaky, fault);
    assert_eq!(
        link.ask("ping", json!({})).status,
        200,
        "only operations are hit"
    );
    let reply = link.tool("write");
    let executions = flaky.counters().executions.get("write").copied();
    assert_eq!(flaky.counters().hits[&fault[..3]], 1);
    assert_eq!(
        link.again(&flaky).tool("read").said(),
        "read done",
        "{fault}"
    );
    (reply, executions.unwrap_or_default())
}

#[test]
fn connections_are_reset() {
    let (before, executions) = hit("F10");
    assert_eq!((before.end, before.status, executions), (End::Reset, 0, 1));
    let (within, executions) = hit("F11");
    assert_eq!((within.end, executions), (End::Reset, 1));
    // Linux may drop what wasn't read when the reset comes.
    assert!(!within.text().contains("written"), "{within:?}");
}

#[test]
fn other_statuses() {
    let check = |fault, status, header: &str, value: &str, executions| {
        let (reply, executed) = hit(fault);
        assert_eq!((reply.status, executed), (status, executions), "{fault}");
        assert_eq!(reply.header(header), value, "{fault}");
    };
    check("F12", 500, "content-type", "application/json", 0);
    check(
        "F12:html",
        500,
        "content-type",
        "text/html; charset=utf-8",
        0,
    );
    check("F13", 502, "content-type", "text/html; charset=utf-8", 1);
    check(
        "F13:504",
        504,
        "content-type",
        "text/html; charset=utf-8",
        1,
    );
    check("F14", 503, "retry-after", "2", 0);
    check("F15", 429, "retry-after", "2", 0);
    check("F16", 429, "retry-after", "3600", 0);
    check("F21", 200, "content-type", "text/html; charset=utf-8", 0);
    check("F22:202", 202, "content-length", "0", 1);
    check("F26", 401, "www-authenticate", "", 0);
    let scope = "bearer error=\"insufficient_scope\", scope=\"files:write\"";
    check("F27", 403, "www-authenticate", scope, 0);
}

#[test]
fn f17_bytes_come_one_by_one() {
    let flaky = start();
    let mut link = Link::new(&flaky);
    armed(&flaky, "F17:20");
    let begun = std::time::Instant::now();
    let reply = link.tool("write");
    assert_eq!(reply.said(), "written 1");
    assert!(begun.elapsed().as_millis() >= 20 * reply.body.len() as u128);
}

#[test]
fn f18_a_cut_stream_can_be_resumed() {
    let flaky = start();
    let mut link = Link::new(&flaky);
    armed(&flaky, "F18:70");
    let cut = link.tool("write");
    assert_eq!((cut.status, cut.end), (200, End::Closed));
    let text = cut.text();
    assert!(
        text.contains("retry: 70\n") && !text.contains("written"),
        "{text}"
    );
    let id = text
        .lines()
        .find_map(|line| line.strip_prefix("id: "))
        .unwrap();
    let rest = link
        .again(&flaky)
        .get("/mcp", &format!("last-event-id: {id}\r\n"));
    assert_eq!(
        (rest.said().as_str(), &rest.json()["id"]),
        ("written 1", &json!(2))
    );
    assert_eq!(flaky.counters().executions["write"], 1);
    assert_eq!(flaky.counters().resumed, 1);
}

#[test]
fn f19_a_cut_stream_without_ids() {
    let (cut, executions) = hit("F19");
    assert_eq!((cut.status, cut.end, executions), (200, End::Closed, 1));
    let text = cut.text();
    assert!(
        text.contains("data: {") && !text.contains("id: ") && !text.contains("written"),
        "{text}"
    );
}

#[test]
fn wrong_answers() {
    let (garbage, executions) = hit("F20");
    assert_eq!((garbage.status, executions), (200, 1));
    assert!(serde_json::from_slice::<serde_json::Value>(&garbage.body).is_err());
    let (foreign, executions) = hit("F22");
    assert_eq!(
        (foreign.json()["id"].as_str(), executions),
        (Some("somebody-else"), 1)
    );
}

#[test]
fn large_answers_are_valid() {
    for fault in ["F35:3000000", "F35:3000000,sse", "F36:3000000"] {
        let (large, executions) = hit(fault);
        assert_eq!((large.said().len(), executions), (3_000_000, 1), "{fault}");
    }
    let flaky = start();
    let mut link = Link::new(&flaky);
    armed(&flaky, "F36:1000");
    let list = link.ask("resources/list", json!({})).json();
    assert_eq!(
        list["result"]["resources"].as_array().unwrap().len(),
        1,
        "lists aren't hit"
    );
    let read = link
        .ask("resources/read", json!({"uri": "file:///notes.txt"}))
        .json();
    assert_eq!(
        read["result"]["contents"][0]["text"]
            .as_str()
            .unwrap()
            .len(),
        1000
    );
}

#[test]
fn f42_a_held_call_ends_when_cancelled() {
    let flaky = start();
    let mut link = Link::new(&flaky);
    armed(&flaky, "F42");
    link.send("tools/call", json!({"name": "write"}));
    flaky.wait_for(PATIENCE, |counters| counters.hits.contains_key("F42"));
    let cancel = link
        .again(&flaky)
        .notify("notifications/cancelled", json!({"requestId": 2}));
    assert_eq!(cancel.status, 202);
    assert_eq!(
        link.reply(PATIENCE).json()["error"]["message"],
        "Request cancelled"
    );
    // Or its client goes away.
    armed(&flaky, "F42");
    link.send("tools/call", json!({"name": "write"}));
    flaky.wait_for(PATIENCE, |counters| counters.hits["F42"] == 2);
    drop(link);
    let counters = flaky.wait_for(PATIENCE, |counters| counters.abandoned == 1);
    assert_eq!((counters.abandoned, counters.cancelled), (1, 1));
    assert!(counters.executions.is_empty());
}

#[test]
fn f43_ping_is_unknown() {
    let flaky = start();
    let mut link = Link::new(&flaky);
    flaky.arm(Fault::NoPing, Times::Always);
    for _ in 0..3 {
        assert_eq!(link.ask("ping", json!({})).json()["error"]["code"], -32601);
    }
    assert_eq!(link.tool("write").said(), "written 1");
}

#[test]
fn f44_another_origin_takes_down_what_it_gets() {
    let flaky = start();
    let mut link = Link::new(&flaky);
    armed(&flaky, "F44");
    let redirect = link.tool("write");
    assert_eq!(redirect.status, 307);
    assert_eq!(
        redirect.header("location"),
        format!("{}/mcp", flaky.elsewhere())
    );
    let addr = flaky.elsewhere().strip_prefix("http://").unwrap();
    let other = std::net::TcpStream::connect(addr).unwrap();
    let head = "POST /mcp HTTP/1.1\r\nauthorization: Bearer x\r\ncontent-length: 0\r\n\r\n";
    std::io::Write::write_all(&mut &other, head.as_bytes()).unwrap();
    let counters = flaky.wait_for(PATIENCE, |counters| counters.elsewhere == 1);
    assert_eq!(counters.authorized["elsewhere"], 1);
    assert!(!counters.authorized.contains_key("here"));
}

#[test]
fn f45_tools_say_they_failed() {
    let flaky: Flaky = start();
    let mut link = Link::new(&flaky);
    flaky.arm(Fault::ToolError, Times::Count(3));
    for _ in 0..3 {
        assert_eq!(link.ask("prompts/list", json!({})).status, 200);
        assert_eq!(link.tool("write").json()["result"]["isError"], true);
    }
    assert_eq!(link.tool("write").said(), "written 1");
}
