//! HTTP+SSE: answers come on the stream, and so do faults.

use hermes_scripted::mcp::Flaky;
use serde_json::{Value, json};

use super::link::{End, Link, PATIENCE, Reply, armed, start};

/// A stream, and the connection its messages are sent on.
struct Session {
    stream: Link,
    posts: Link,
    path: String,
}

impl Session {
    fn new(flaky: &Flaky) -> Self {
        let mut stream = Link::open(flaky);
        stream.request("GET", "/sse", "");
        let line = stream.line_with("data: /messages");
        let path = line.trim_start_matches("data: ").to_owned();
        let posts = Link::open(flaky);
        let mut session = Self {
            stream,
            posts,
            path,
        };
        assert_eq!(session.post(1, "initialize").status, 202);
        let greeting = session.answer();
        assert_eq!(greeting["result"]["serverInfo"]["name"], "flaky");
        session
    }

    fn post(&mut self, id: u32, method: &str) -> Reply {
        let params = json!({"name": "write", "arguments": {}});
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.posts.post(&self.path, &message.to_string());
        self.posts.reply(PATIENCE)
    }

    fn answer(&mut self) -> Value {
        let line = self.stream.line_with("data: {");
        serde_json::from_str(&line[6..]).unwrap()
    }
}

#[test]
fn answers_come_on_the_stream() {
    let flaky = start();
    let mut session = Session::new(&flaky);
    assert_eq!(session.post(2, "tools/call").status, 202);
    let answer = session.answer();
    assert_eq!(
        (&answer["id"], &answer["result"]["isError"]),
        (&json!(2), &json!(false))
    );
    let Session {
        stream,
        mut posts,
        path,
        ..
    } = session;
    drop(stream);
    flaky.wait_for(PATIENCE, |counters| counters.streams_now == 0);
    posts.post(&path, r#"{"jsonrpc": "2.0", "id": 3, "method": "ping"}"#);
    assert_eq!(posts.reply(PATIENCE).status, 404);
}

#[test]
fn faults_of_the_post() {
    let check = |fault: &str, status| {
        let flaky = start();
        let mut session = Session::new(&flaky);
        armed(&flaky, fault);
        assert_eq!(session.post(2, "tools/call").status, status, "{fault}");
    };
    check("F01", 404);
    check("F02", 400);
    check("F12", 500);
    check("F13", 502);
    check("F14", 503);
    check("F16", 429);
    check("F44", 307);
}

#[test]
fn faults_of_the_stream() {
    let check = |fault: &str, end, text: &str| {
        let flaky = start();
        let mut session = Session::new(&flaky);
        armed(&flaky, fault);
        assert_eq!(session.post(2, "tools/call").status, 202, "{fault}");
        let mut rest = session.stream.rest();
        assert_eq!(rest.1, end, "{fault}");
        rest.0.retain(|byte| byte != &b'\r');
        let seen = String::from_utf8(rest.0).unwrap();
        assert!(
            seen.contains(text) && !seen.contains("written"),
            "{fault}: {seen}"
        );
        assert_eq!(flaky.counters().executions["write"], 1, "{fault}");
    };
    check("F10", End::Reset, "");
    check("F11", End::Reset, "");
    check("F19", End::Closed, "data: {");
    check("F20", End::Silent, "<<<not json");
    check("F22:202", End::Silent, "");
}

#[test]
fn f22_somebody_elses_answer() {
    let flaky = start();
    let mut session = Session::new(&flaky);
    armed(&flaky, "F22");
    session.post(2, "tools/call");
    assert_eq!(session.answer()["id"], "somebody-else");
}
