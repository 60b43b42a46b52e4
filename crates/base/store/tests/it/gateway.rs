//! The gateway's conversations, as others may look at them.

use hermes_types::Message;
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::support::{Home, at, begin, id, say};

/// A file with the columns a newer version adds.
async fn newer() -> (Home, hermes_store::Store) {
    let home = Home::new();
    home.open().await.close().await;
    home.sql()
        .execute_batch(
            "ALTER TABLE sessions ADD COLUMN session_key TEXT;
             ALTER TABLE sessions ADD COLUMN chat_id TEXT;
             ALTER TABLE sessions ADD COLUMN display_name TEXT;
             ALTER TABLE sessions ADD COLUMN origin_json TEXT;
             ALTER TABLE sessions ADD COLUMN archived INTEGER NOT NULL DEFAULT 0;
             ALTER TABLE messages ADD COLUMN active INTEGER NOT NULL DEFAULT 1;",
        )
        .unwrap();
    let store = home.open().await;
    (home, store)
}

fn key(home: &Home, session: &str, key: &str) {
    let set = "UPDATE sessions SET session_key = ?2 WHERE id = ?1";
    home.sql().execute(set, [session, key]).unwrap();
}

#[tokio::test]
async fn each_chat_has_one_open_session() {
    let (home, store) = newer().await;
    for (session, start) in [("old", 1), ("new", 2), ("switched", 3), ("mute", 4)] {
        begin(&store, session, "telegram", start).await;
    }
    begin(&store, "cli", "cli", 5).await;
    begin(&store, "hidden", "slack", 6).await;
    for session in ["old", "new"] {
        key(&home, session, "a");
    }
    key(&home, "switched", "a");
    key(&home, "mute", "b");
    key(&home, "hidden", "c");
    home.sql()
        .execute_batch(
            "UPDATE sessions SET archived = 1 WHERE id = 'hidden';
             UPDATE sessions SET display_name = 'Ada', chat_id = 7, input_tokens = 3,
                 origin_json = '{\"chat_name\": \"Ada L\"}' WHERE id = 'new';",
        )
        .unwrap();
    store
        .end_session(&id("switched"), "session_switch", at(9))
        .await
        .unwrap();
    say(&store, &id("new"), "hello", 20).await;

    let found = store.gateway_sessions().await.unwrap();
    let shown: Vec<_> = found
        .iter()
        .map(|s| (s.key.as_str(), s.id.as_str(), s.last_active.as_second()))
        .collect();
    assert_eq!(shown, [("a", "new", 20), ("b", "mute", 4)]);
    let ada = &found[0];
    assert_eq!(ada.display_name.as_deref(), Some("Ada"));
    assert_eq!(ada.chat_id.as_deref(), Some("7"));
    assert_eq!(ada.origin, Some(json!({"chat_name": "Ada L"})));
    assert_eq!((ada.input_tokens, ada.thread_id.as_deref()), (3, None));
}

#[tokio::test]
async fn a_compressed_chat_goes_on_in_its_child() {
    let (home, store) = newer().await;
    begin(&store, "parent", "telegram", 1).await;
    key(&home, "parent", "a");
    store
        .end_session(&id("parent"), "compression", at(5))
        .await
        .unwrap();
    crate::support::begin_child(&store, "child", "parent", 6).await;
    let found = store.gateway_sessions().await.unwrap();
    assert_eq!((found.len(), found[0].id.as_str()), (1, "child"));
}

#[tokio::test]
async fn a_file_without_keys_has_no_chats() {
    let home = Home::new();
    let store = home.open().await;
    begin(&store, "s", "telegram", 1).await;
    assert_eq!(store.gateway_sessions().await.unwrap(), []);
}

#[tokio::test]
async fn what_was_said_leaves_out_tools_and_what_was_taken_back() {
    let (home, store) = newer().await;
    let session = begin(&store, "s", "telegram", 1).await;
    let other = begin(&store, "t", "cli", 1).await;
    let first = say(&store, &session, "one", 2).await;
    for message in [
        Message::assistant(""),
        Message::tool("1", "terminal", "out"),
        Message::assistant("two"),
    ] {
        store.append(&session, &message, at(3)).await.unwrap();
    }
    let gone = say(&store, &session, "gone", 4).await;
    let set = format!("UPDATE messages SET active = 0 WHERE id = {gone}");
    home.sql().execute_batch(&set).unwrap();
    let last = say(&store, &other, "elsewhere", 5).await;

    let texts = |messages: &[hermes_store::StoredMessage]| -> Vec<String> {
        let contents = messages.iter().map(|m| m.message.content.as_ref().unwrap());
        contents.map(|content| content.plain()).collect()
    };
    let said = store.said(&session, 1).await.unwrap();
    assert_eq!((said.total, texts(&said.messages)), (2, vec!["two".into()]));
    let said = store.said(&session, 10).await.unwrap();
    assert_eq!(texts(&said.messages), ["one", "two"]);

    let news = store.said_since(first, 10).await.unwrap();
    let from: Vec<_> = news.messages.iter().map(|(s, _)| s.as_str()).collect();
    assert_eq!((news.last_id, from), (last, vec!["s", "t"]));
    let news = store.said_since(first, 1).await.unwrap();
    assert_eq!(news.messages[0].1.id, last);
    let news = store.said_since(last + 5, 1).await.unwrap();
    assert_eq!((news.last_id, news.messages.len()), (last, 0));
}
