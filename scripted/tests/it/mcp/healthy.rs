//! Without a fault. What the vendor's clients see is checked by `cargo xtask real clients`.

use hermes_scripted::mcp::{Capability, Flaky, Options};
use serde_json::json;

use super::link::{Link, start};

#[test]
fn sessions_begin_and_end() {
    let flaky = start();
    let mut link = Link::open(&flaky);
    let greeting = link.initialize();
    assert_eq!(greeting.json()["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(
        link.notify("notifications/initialized", json!({})).status,
        202
    );
    assert_eq!(link.tool("write").said(), "written 1");
    link.request("DELETE", "/mcp", "");
    assert_eq!(link.reply(super::link::PATIENCE).status, 200);
    assert_eq!(link.tool("write").status, 404);
    link.session.clear();
    assert_eq!(link.tool("write").status, 400);
    let counters = flaky.counters();
    assert_eq!(counters.sessions_deleted, 1);
    assert_eq!(counters.executions["write"], 1);
    assert_eq!(counters.requests["tools/call"], 3);
    assert_eq!(counters.connections, 1);
    let initialize = &flaky.requests()[0];
    assert_eq!(initialize.rpc(), "initialize");
    assert!(!initialize.headers.contains_key("mcp-session-id"));
}

#[test]
fn capabilities_and_answers_are_as_wished() {
    let flaky = Flaky::start(Options {
        capabilities: vec![Capability::Prompts],
        answers: [(
            "prompts/list".to_owned(),
            json!({"result": {"prompts": []}}),
        )]
        .into(),
        ..Options::default()
    })
    .unwrap();
    let mut link = Link::open(&flaky);
    let offered = link.initialize().json();
    let offered = offered["result"]["capabilities"]
        .as_object()
        .unwrap()
        .clone();
    assert_eq!(offered.keys().collect::<Vec<_>>(), ["prompts"]);
    let none = link.ask("tools/list", json!({})).json();
    assert_eq!(none["error"]["code"], -32601);
    let empty = link.ask("prompts/list", json!({})).json();
    assert_eq!(empty["result"], json!({"prompts": []}));
    flaky.change(|options| {
        let error = json!({"error": {"code": -32000, "message": "unrelated"}});
        options.answers.insert("prompts/list".to_owned(), error);
    });
    let error = link.ask("prompts/list", json!({})).json();
    assert_eq!(error["error"]["message"], "unrelated");
}

#[test]
fn idle_sessions_are_forgotten() {
    let flaky = Flaky::start(Options {
        session_idle_ms: Some(0),
        ..Options::default()
    })
    .unwrap();
    let mut link = Link::new(&flaky);
    // Any time at all is longer than none.
    assert_eq!(link.ask("ping", json!({})).status, 404);
}

#[test]
fn the_stateless_protocol_checks_its_headers() {
    let flaky = start();
    let mut link = Link::open(&flaky);
    let meta = json!({"_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }});
    let refused = link.ask("server/discover", meta.clone());
    assert_eq!(
        (refused.status, &refused.json()["error"]["code"]),
        (400, &json!(-32020))
    );
    link.headers = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: server/discover\r\n".to_owned();
    let found = link.ask("server/discover", meta).json();
    assert_eq!(found["result"]["supportedVersions"][0], "2026-07-28");
    assert_eq!(found["result"]["resultType"], "complete");
    assert_eq!(flaky.counters().sessions_created, 0);
}
