//! The protocol around the tools.

use std::time::{Duration, Instant};

use hermes_testkit::TempHome;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::Client;

const META: &str = "io.modelcontextprotocol";

fn modern(version: &str) -> Value {
    json!({"_meta": {
        format!("{META}/protocolVersion"): version,
        format!("{META}/clientCapabilities"): {},
    }})
}

#[tokio::test]
async fn a_client_with_a_handshake() {
    let temp = TempHome::new();
    let mut client = Client::new(&temp);
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
    let hello = client.request("initialize", params).await["result"].take();
    assert_eq!(hello["protocolVersion"], "2025-06-18");
    assert_eq!(hello["serverInfo"]["name"], "hermes");
    assert_eq!(hello["capabilities"], json!({"tools": {}}));
    assert!(
        hello["instructions"]
            .as_str()
            .unwrap()
            .contains("messaging bridge")
    );
    assert_eq!(hello.get("resultType"), None);
    client
        .write(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        .await;
    assert_eq!(
        client.request("ping", Value::Null).await["result"],
        json!({})
    );
    let list = client.request("tools/list", json!({})).await["result"].take();
    assert_eq!(list.get("ttlMs"), None);
    client.end().await;
}

#[tokio::test]
async fn a_client_without_one() {
    let temp = TempHome::new();
    let mut client = Client::new(&temp);
    let found = client
        .request("server/discover", modern("2026-07-28"))
        .await["result"]
        .take();
    assert_eq!(found["supportedVersions"][0], "2026-07-28");
    assert_eq!(
        found["_meta"][format!("{META}/serverInfo")]["name"],
        "hermes"
    );
    assert_eq!(
        (&found["resultType"], &found["cacheScope"]),
        (&json!("complete"), &json!("public"))
    );
    let mut params = modern("2026-07-28");
    params["name"] = "channels_list".into();
    let answer = client.request("tools/call", params).await;
    assert_eq!(answer["result"]["resultType"], "complete");
    let ping = client.request("ping", modern("2026-07-28")).await;
    assert_eq!(ping["error"]["code"], -32601);
    let refused = client.request("tools/list", modern("2030-01-01")).await;
    assert_eq!(refused["error"]["code"], -32022);
    assert_eq!(refused["error"]["data"]["requested"], "2030-01-01");
    assert_eq!(refused["error"]["data"]["supported"][0], "2026-07-28");
}

#[tokio::test]
async fn ten_tools_say_what_they_want() {
    let temp = TempHome::new();
    let mut client = Client::new(&temp);
    let list = client.request("tools/list", Value::Null).await;
    let tools = list["result"]["tools"].as_array().unwrap();
    let shown: Vec<_> = tools
        .iter()
        .map(|tool| {
            let schema = &tool["inputSchema"];
            let names: Vec<_> = schema["properties"].as_object().unwrap().keys().collect();
            let required = schema["required"].as_array().unwrap().len();
            format!("{} {names:?} {required}", tool["name"].as_str().unwrap())
        })
        .collect();
    let expected = [
        r#"conversations_list ["platform", "limit", "search"] 0"#,
        r#"conversation_get ["session_key"] 1"#,
        r#"messages_read ["session_key", "limit"] 1"#,
        r#"attachments_fetch ["session_key", "message_id"] 2"#,
        r#"events_poll ["after_cursor", "session_key", "limit"] 0"#,
        r#"events_wait ["after_cursor", "session_key", "timeout_ms"] 0"#,
        r#"messages_send ["target", "message"] 2"#,
        r#"channels_list ["platform"] 0"#,
        r#"permissions_list_open [] 0"#,
        r#"permissions_respond ["id", "decision"] 2"#,
    ];
    assert_eq!(shown, expected);
    let defaults =
        |tool: usize, name: &str| tools[tool]["inputSchema"]["properties"][name]["default"].clone();
    assert_eq!(defaults(0, "limit"), 50);
    assert_eq!(defaults(4, "limit"), 20);
    assert_eq!(defaults(5, "timeout_ms"), 30_000);
}

#[tokio::test]
async fn what_is_wrong_is_refused_and_the_rest_goes_on() {
    let temp = TempHome::new();
    let mut client = Client::new(&temp);
    let mut check = async |line: &str, id: Value, code: i64| {
        client.write(line).await;
        let answer = client.read().await;
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&id, &json!(code)),
            "{answer}"
        );
    };
    check("{\"jsonrpc\":", Value::Null, -32700).await;
    check("[]", Value::Null, -32600).await;
    check(
        r#"{"id":"a","method":"resources/list"}"#,
        json!("a"),
        -32601,
    )
    .await;
    check(
        r#"{"id":2,"method":"tools/call","params":{"name":"rm"}}"#,
        json!(2),
        -32602,
    )
    .await;
    check(r#"{"id":3,"method":"tools/call"}"#, json!(3), -32602).await;
    check(r#"{"id":4,"method":"server/discover"}"#, json!(4), -32602).await;
    let long = format!(
        r#"{{"id":5,"method":"ping","params":"{}"}}"#,
        "x".repeat(5 << 20)
    );
    check(&long, Value::Null, -32600).await;
    client.write("").await;
    client.write(r#"{"id":1,"result":{}}"#).await;
    assert_eq!(client.request("ping", json!({})).await["result"], json!({}));
}

#[tokio::test]
async fn too_many_requests_are_refused_not_lost() {
    let temp = TempHome::new();
    let mut client = Client::new(&temp);
    let wait = json!({"name": "events_wait", "arguments": {"timeout_ms": 300_000}});
    for _ in 0..64 {
        client.send("tools/call", wait.clone()).await;
    }
    let answer = client.request("tools/call", wait).await;
    assert_eq!(answer["error"]["code"], -32000);
    let note = json!({"method": "notifications/cancelled", "params": {"requestId": 1}});
    client.write(&note.to_string()).await;
    // The cancelled one is cleared away some time after it was told to end.
    while client
        .request("ping", json!({}))
        .await
        .get("error")
        .is_some()
    {}
    let start = Instant::now();
    client.end().await;
    assert!(start.elapsed() < Duration::from_secs(1));
}

#[tokio::test]
async fn what_was_asked_before_the_end_is_answered() {
    let temp = TempHome::new();
    let mut client = Client::new(&temp);
    for _ in 0..3 {
        client.send("tools/list", json!({})).await;
    }
    client.input = None;
    for _ in 0..3 {
        assert!(client.read().await["result"]["tools"].is_array());
    }
    assert_eq!(client.output.next_line().await.unwrap(), None);
}
