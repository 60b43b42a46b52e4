//! News: what is said while somebody asks or waits.

use std::time::{Duration, Instant};

use hermes_store::{NewSession, Store};
use hermes_testkit::TempHome;
use hermes_types::{Message, SessionId};
use jiff::Timestamp;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::{Client, chats, document, store};

const ADA: &str = "agent:main:telegram:dm:7";

async fn say(store: &Store, session: &str, text: &str) -> i64 {
    let at = Timestamp::from_second(1_800_000_000).unwrap();
    let message = Message::user(text);
    store
        .append(&SessionId::new(session), &message, at)
        .await
        .unwrap()
}

fn texts(document: &Value) -> Vec<&str> {
    let events = document["events"].as_array().unwrap();
    events
        .iter()
        .map(|event| event["content"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn what_is_said_after_the_start_is_news() {
    let temp = TempHome::new();
    let store = chats(&temp).await;
    say(&store, "ada", "long ago").await;
    let mut client = Client::new(&temp);
    let poll = client.call("events_poll", json!({})).await;
    assert_eq!(poll, json!({"events": [], "next_cursor": 0}));

    let id = say(&store, "ada", &"x".repeat(600)).await;
    say(&store, "terminal", "no chat of a platform").await;
    say(&store, "team", "two").await;
    let poll = client.call("events_poll", json!({})).await;
    assert_eq!(texts(&poll), ["x".repeat(500).as_str(), "two"]);
    let (first, second) = (&poll["events"][0], &poll["events"][1]);
    let expected = json!({
        "cursor": first["cursor"], "type": "message", "session_key": ADA, "role": "user",
        "content": "x".repeat(500), "timestamp": 1_800_000_000.0, "message_id": id.to_string(),
    });
    assert_eq!(*first, expected);
    assert_eq!(poll["next_cursor"], second["cursor"]);
    assert!(first["cursor"].as_u64() < second["cursor"].as_u64());

    let after = json!({"after_cursor": first["cursor"], "limit": 5});
    assert_eq!(texts(&client.call("events_poll", after).await), ["two"]);
    let one = client.call("events_poll", json!({"limit": 1})).await;
    assert_eq!(one["next_cursor"], first["cursor"]);
    let ada = client
        .call("events_poll", json!({"session_key": ADA}))
        .await;
    assert_eq!(ada["events"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn the_oldest_events_give_way() {
    let temp = TempHome::new();
    let store = chats(&temp).await;
    let mut client = Client::new(&temp);
    client.call("events_poll", json!({})).await;
    for part in 0..2 {
        for number in 0..600 {
            say(&store, "ada", &format!("{part} {number}")).await;
        }
        client.call("events_poll", json!({})).await;
    }
    let poll = client.call("events_poll", json!({"limit": 1})).await;
    assert_eq!(texts(&poll), ["0 200"]);
}

#[tokio::test]
async fn waiting_ends_with_an_event_or_in_time() {
    let temp = TempHome::new();
    let store = chats(&temp).await;
    let mut client = Client::new(&temp);
    let nothing = json!({"event": null, "reason": "timeout"});
    let start = Instant::now();
    let wait = client.call("events_wait", json!({"timeout_ms": 100})).await;
    assert_eq!(wait, nothing);
    assert!(start.elapsed() >= Duration::from_millis(100));
    assert_eq!(
        client.call("events_wait", json!({"timeout_ms": 0})).await,
        nothing
    );

    let arguments = json!({"session_key": ADA, "timeout_ms": 60_000});
    let params = json!({"name": "events_wait", "arguments": arguments});
    let id = client.send("tools/call", params).await;
    // Others are answered meanwhile.
    let list = client.call("conversations_list", json!({})).await;
    assert_eq!(list["count"], 2);
    say(&store, "team", "for others").await;
    say(&store, "ada", "hello").await;
    let answer = client.read().await;
    assert_eq!(answer["id"], id);
    assert_eq!(document(&answer)["event"]["content"], "hello");
}

#[tokio::test]
async fn a_database_made_later_is_found() {
    let temp = TempHome::new();
    let mut client = Client::new(&temp);
    client.call("events_poll", json!({})).await;
    let store = store(&temp).await;
    let new = NewSession::new("s", "telegram");
    store.ensure_session(new).await.unwrap();
    say(&store, "s", "the chat is not known yet").await;
    assert_eq!(
        client.call("events_poll", json!({})).await["events"],
        json!([])
    );
    let entry = json!({"k": {"session_id": "s", "platform": "telegram"}});
    temp.write("sessions/sessions.json", entry.to_string());
    say(&store, "s", "now it is").await;
    let poll = client.call("events_poll", json!({})).await;
    assert_eq!(texts(&poll), ["the chat is not known yet", "now it is"]);
}

#[tokio::test]
async fn a_cancelled_wait_is_not_answered() {
    let temp = TempHome::new();
    let store = chats(&temp).await;
    let mut client = Client::new(&temp);
    client.call("events_poll", json!({})).await;
    let params = json!({"name": "events_wait", "arguments": {}});
    let id = client.send("tools/call", params).await;
    let note =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
    client.write(&note.to_string()).await;
    say(&store, "ada", "too late").await;
    let poll = client.call("events_poll", json!({})).await;
    assert_eq!(texts(&poll), ["too late"]);
    // A wait that was still on would be answered now, before the server is gone.
    client.input = None;
    assert_eq!(client.output.next_line().await.unwrap(), None);
}
