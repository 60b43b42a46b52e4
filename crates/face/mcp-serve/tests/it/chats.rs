//! What can be read: conversations, messages, channels.

use hermes_testkit::TempHome;
use hermes_types::{Message, SessionId};
use jiff::Timestamp;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::{Client, chats};

const ADA: &str = "agent:main:telegram:dm:7";
const TEAM: &str = "agent:main:slack:channel:C1:T1";

fn keys(document: &Value) -> Vec<&str> {
    let list = document["conversations"].as_array().unwrap();
    assert_eq!(document["count"], list.len());
    list.iter()
        .map(|chat| chat["session_key"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn an_empty_home_has_nothing_to_tell() {
    let temp = TempHome::new();
    let mut client = Client::new(&temp);
    let list = client.call("conversations_list", json!({})).await;
    assert_eq!(list, json!({"count": 0, "conversations": []}));
    let channels = client.call("channels_list", Value::Null).await;
    assert_eq!(channels, json!({"count": 0, "channels": []}));
    let open = client.call("permissions_list_open", json!({})).await;
    assert_eq!(open, json!({"count": 0, "approvals": []}));
    let events = client.call("events_poll", json!({"after_cursor": 3})).await;
    assert_eq!(events, json!({"events": [], "next_cursor": 3}));
    for (tool, arguments) in [
        ("conversation_get", json!({"session_key": "x"})),
        ("messages_read", json!({"session_key": "x"})),
        (
            "attachments_fetch",
            json!({"session_key": "x", "message_id": "1"}),
        ),
    ] {
        let answer = client.call(tool, arguments).await;
        assert_eq!(
            answer,
            json!({"error": "Conversation not found: x"}),
            "{tool}"
        );
    }
    client.end().await;
    assert!(!temp.exists(""), "looking leaves nothing behind");
}

#[tokio::test]
async fn conversations_are_listed_newest_first() {
    let temp = TempHome::new();
    chats(&temp).await;
    let mut client = Client::new(&temp);
    let mut check = async |arguments: Value, expected: &[&str]| {
        let list = client.call("conversations_list", arguments.clone()).await;
        assert_eq!(keys(&list), expected, "{arguments}");
    };
    check(json!({}), &[TEAM, ADA]).await;
    check(json!({"limit": "1"}), &[TEAM]).await;
    check(json!({"limit": -4}), &[TEAM]).await;
    check(json!({"platform": "Telegram"}), &[ADA]).await;
    check(json!({"platform": "irc"}), &[]).await;
    check(json!({"search": "LOVE"}), &[ADA]).await;
    check(json!({"search": "channel:c1"}), &[TEAM]).await;
    check(json!({"search": "nobody", "platform": null}), &[]).await;

    let chat = client
        .call("conversation_get", json!({"session_key": ADA}))
        .await;
    let expected = json!({
        "session_key": ADA, "session_id": "ada", "platform": "telegram", "chat_type": "dm",
        "display_name": "Ada", "chat_name": "Ada Lovelace", "user_name": "ada",
        "updated_at": "2026-01-02T10:00:00", "chat_id": "7", "thread_id": null,
        "created_at": "2026-01-01T10:00:00", "input_tokens": 5, "output_tokens": 6, "total_tokens": 11,
    });
    assert_eq!(chat, expected);
    let chat = client
        .call("conversation_get", json!({"session_key": TEAM}))
        .await;
    assert_eq!(
        (&chat["platform"], &chat["thread_id"]),
        (&json!("slack"), &json!("T1"))
    );
    let missing = client.call("conversation_get", json!({})).await;
    assert!(
        missing["error"]
            .as_str()
            .unwrap()
            .starts_with("session_key is required")
    );
}

#[tokio::test]
async fn messages_are_read_with_what_they_carry() {
    let temp = TempHome::new();
    let store = chats(&temp).await;
    let ada = SessionId::new("ada");
    let at = Timestamp::from_second(1_800_000_000).unwrap();
    let image = json!({"role": "user", "content": [
        {"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "https://a/b.png"}},
    ]});
    let image = store
        .append(&ada, &serde_json::from_value(image).unwrap(), at)
        .await
        .unwrap();
    for message in [
        Message::tool("1", "terminal", "hidden"),
        Message::assistant("é".repeat(3000)),
    ] {
        store.append(&ada, &message, at).await.unwrap();
    }
    let mut client = Client::new(&temp);
    let read = client
        .call("messages_read", json!({"session_key": ADA}))
        .await;
    assert_eq!(
        (&read["count"], &read["total_in_session"]),
        (&json!(2), &json!(2))
    );
    let first = &read["messages"][0];
    let expected = json!({
        "id": image.to_string(), "role": "user", "content": "look\n[image]", "timestamp": 1_800_000_000.0,
    });
    assert_eq!(*first, expected);
    assert_eq!(read["messages"][1]["content"], "é".repeat(2000));
    let last = client
        .call("messages_read", json!({"session_key": ADA, "limit": 1}))
        .await;
    assert_eq!(
        (&last["count"], &last["total_in_session"]),
        (&json!(1), &json!(2))
    );
    assert_eq!(last["messages"][0]["role"], "assistant");

    let mut fetch = async |message: Value| {
        let arguments = json!({"session_key": ADA, "message_id": message});
        client.call("attachments_fetch", arguments).await
    };
    let attached = json!([{"type": "image", "url": "https://a/b.png"}]);
    for id in [json!(image), json!(image.to_string())] {
        let expected =
            json!({"message_id": image.to_string(), "count": 1, "attachments": attached});
        assert_eq!(fetch(id).await, expected);
    }
    for id in ["999", "x"] {
        let expected = json!({"error": format!("Message not found: {id}")});
        assert_eq!(fetch(json!(id)).await, expected);
    }
}

#[tokio::test]
async fn channels_come_from_the_directory_or_the_chats() {
    let temp = TempHome::new();
    chats(&temp).await;
    let mut client = Client::new(&temp);
    let team =
        json!({"target": "slack:C1", "platform": "slack", "name": "Team", "chat_type": "channel"});
    let ada =
        json!({"target": "telegram:7", "platform": "telegram", "name": "Ada", "chat_type": "dm"});
    let list = client.call("channels_list", json!({})).await;
    assert_eq!(list, json!({"count": 2, "channels": [team, ada]}));

    let directory = json!({"updated_at": "x", "platforms": {
        "discord": [{"id": "12", "name": "general", "type": "channel", "guild": "G"}, "odd"],
        "signal": [{"name": "home"}],
    }});
    temp.write("channel_directory.json", directory.to_string());
    let general = json!({"target": "discord:12", "platform": "discord", "name": "general", "chat_type": "channel"});
    let list = client
        .call("channels_list", json!({"platform": "DISCORD"}))
        .await;
    assert_eq!(list, json!({"count": 1, "channels": [general]}));
    let list = client.call("channels_list", json!({})).await;
    assert_eq!(list["channels"][1]["target"], "signal");

    temp.write("channel_directory.json", "{ not json");
    let list = client.call("channels_list", json!({})).await;
    assert_eq!(list["count"], 2);
}

#[tokio::test]
async fn nothing_can_be_sent_or_decided_yet() {
    let temp = TempHome::new();
    let mut client = Client::new(&temp);
    let mut error = async |tool: &str, arguments: Value| {
        let answer = client.call(tool, arguments).await;
        answer["error"].as_str().unwrap().to_owned()
    };
    let sent = error(
        "messages_send",
        json!({"target": "slack:C1", "message": "hi"}),
    )
    .await;
    assert!(
        sent.contains("no messaging platform is configured"),
        "{sent}"
    );
    let sent = error(
        "messages_send",
        json!({"target": "slack:C1", "message": ""}),
    )
    .await;
    assert!(sent.starts_with("message is required"), "{sent}");
    let bad = error(
        "permissions_respond",
        json!({"id": "1", "decision": "maybe"}),
    )
    .await;
    for decision in ["maybe", "allow-once", "allow-always", "deny"] {
        assert!(bad.contains(decision), "{bad}");
    }
    let gone = error(
        "permissions_respond",
        json!({"id": "1", "decision": "deny"}),
    )
    .await;
    assert_eq!(gone, "Approval not found: 1");
}
