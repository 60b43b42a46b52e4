//! Broken replies arrive exactly as broken as the script says.

use std::io::Read;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::raw::{End, ask, chat, post, read, read_until_silence, send, start};

#[test]
fn cut_between_and_within_events() {
    let server = start(json!([
        {"text": "Hello", "chunk": 1, "cut_after_chunks": 3},
        {"text": "Hello", "cut_after_bytes": 20},
        {"text": "Hello", "cut_after_chunks": 0},
    ]));
    let seen = chat(&server, "hi");
    assert_eq!((seen.status, seen.end), (200, End::Cut));
    assert_eq!(seen.chunks.len(), 3);
    let seen = chat(&server, "hi");
    assert_eq!(seen.end, End::Cut);
    assert_eq!(seen.body(), r#"data: {"id":"chatcmp"#);
    let seen = chat(&server, "hi");
    assert_eq!(
        (seen.status, seen.end, seen.chunks.len()),
        (200, End::Cut, 0)
    );
}

#[test]
fn cut_of_a_whole_body() {
    let server = start(json!([{"text": "Hello", "cut_after_bytes": 10}]));
    let seen = post(
        &server,
        "/v1/messages",
        &json!({"model": "m", "messages": []}),
    );
    assert_eq!(seen.end, End::Cut);
    assert_eq!(seen.body(), r#"{"id":"msg"#);
}

#[test]
fn stall_keeps_the_connection_open() {
    let server = start(json!([{"text": "Hello", "chunk": 1, "stall_after_chunks": 2}]));
    let stream = send(
        &server,
        "POST",
        "/v1/chat/completions",
        &ask("hi").to_string(),
    );
    let seen = read_until_silence(stream, Duration::from_secs(1));
    assert_eq!((seen.end, seen.chunks.len()), (End::Silent, 2));
}

#[test]
fn end_without_a_finish_looks_complete() {
    let server = start(json!([{"text": "Hello", "end_after_chunks": 2}, {"raw_sse": []}]));
    let seen = chat(&server, "hi");
    assert_eq!((seen.end, seen.chunks.len()), (End::Complete, 2));
    let seen = chat(&server, "hi");
    assert_eq!(
        (seen.status, seen.end, seen.body()),
        (200, End::Complete, String::new())
    );
}

#[test]
fn garbage_is_injected() {
    let server = start(json!([{
        "raw_sse": ["data: 1\r\n\r\n", {"two": 2}],
        "garbage": {"after_chunks": 1, "text": "<nonsense>\n", "bytes": [255, 0]},
    }]));
    let expected = b"data: 1\r\n\r\n<nonsense>\n\xff\0data: {\"two\":2}\n\n";
    assert_eq!(chat(&server, "hi").chunks.concat(), expected);
}

#[test]
fn writes_cut_characters_in_the_middle() {
    let server = start(json!([{"raw_sse": ["data: \"é\"\n\n"], "bytes_per_write": 8}]));
    let seen = chat(&server, "hi");
    assert_eq!(seen.chunks, [&b"data: \"\xc3"[..], b"\xa9\"\n\n"]);
}

#[test]
fn deltas_cut_between_the_characters_of_one_sign() {
    let server = start(json!([{"text": "👩‍🚀", "chunk": 1}]));
    let events = chat(&server, "hi").events();
    let deltas: Vec<_> = events
        .iter()
        .filter_map(|event| event["choices"][0]["delta"]["content"].as_str())
        .collect();
    assert_eq!(deltas, ["", "👩", "\u{200d}", "🚀"]);
}

#[test]
fn status_and_body() {
    let server = start(json!([
        {"status": 429},
        {"status": 502, "body": "<html>Bad gateway</html>"},
        {"status": 400, "body": {"error": {"code": "x"}}},
        {"status": 529},
    ]));
    let seen = chat(&server, "hi");
    let message = &seen.json()["error"]["message"];
    assert_eq!((seen.status, message), (429, &json!("Too Many Requests")));
    let seen = chat(&server, "hi");
    assert_eq!(
        (seen.status, &*seen.body()),
        (502, "<html>Bad gateway</html>")
    );
    assert!(
        seen.head.contains("content-type: text/html"),
        "{}",
        seen.head
    );
    let seen = chat(&server, "hi");
    assert_eq!(
        (seen.status, seen.json()),
        (400, json!({"error": {"code": "x"}}))
    );
    let seen = post(&server, "/v1/messages", &ask("hi"));
    let kind = &seen.json()["error"]["type"];
    assert_eq!((seen.status, kind), (529, &json!("overloaded_error")));
}

#[test]
fn headers_are_added_or_replaced() {
    let server = start(json!([
        {"status": 429, "headers": {"Retry-After": "3"}},
        {"text": "ok", "headers": {"content-type": "text/odd"}},
    ]));
    let head = chat(&server, "hi").head;
    assert!(head.contains("retry-after: 3"), "{head}");
    let head = chat(&server, "hi").head;
    assert!(head.contains("content-type: text/odd"), "{head}");
    assert_eq!(head.matches("content-type").count(), 1, "{head}");
}

#[test]
fn errors_in_the_stream_and_without_one() {
    let server = start(json!([{"text": "So far", "stream_error": "Overloaded", "repeat": true}]));
    let seen = chat(&server, "hi");
    assert_eq!((seen.status, seen.end), (200, End::Complete));
    assert_eq!(seen.events()[2]["error"]["message"], "Overloaded");
    assert!(!seen.body().contains("[DONE]"));
    let whole = json!({"model": "m", "messages": []});
    let seen = post(&server, "/v1/chat/completions", &whole);
    assert_eq!(
        (seen.status, &seen.json()["error"]["message"]),
        (500, &json!("Overloaded"))
    );
}

#[test]
fn pace() {
    let server = start(json!([
        {"text": "Hello", "delay_ms": 100},
        {"raw_sse": ["a", "b", "c"], "between_ms": 50},
    ]));
    for step in 1..=2 {
        let start = Instant::now();
        assert_eq!(chat(&server, "hi").end, End::Complete);
        assert!(start.elapsed() >= Duration::from_millis(100), "step {step}");
    }
}

#[test]
fn dropping_the_server_closes_connections() {
    let server = start(json!([{"text": "Hello", "stall_after_chunks": 1}]));
    let mut stream = send(
        &server,
        "POST",
        "/v1/chat/completions",
        &ask("hi").to_string(),
    );
    // Once its first byte is there, it stalls.
    stream.read_exact(&mut [0]).unwrap();
    drop(server);
    stream
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    stream.read_to_end(&mut Vec::new()).unwrap();
}

#[test]
fn one_stalled_client_does_not_hold_up_another() {
    let server = start(json!([
        {"text": "Hello", "stall_after_chunks": 1},
        {"text": "Hello"},
    ]));
    let stalled = send(
        &server,
        "POST",
        "/v1/chat/completions",
        &ask("hi").to_string(),
    );
    server.wait_for_calls(1, Duration::from_secs(10));
    assert_eq!(chat(&server, "hi").end, End::Complete);
    drop(server);
    assert_eq!(read(stalled).end, End::Cut);
}
