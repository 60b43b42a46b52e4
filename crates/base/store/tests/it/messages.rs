//! Messages in, the same messages out.

use hermes_store::{ErrorKind, NewSession, Reach, Usage};
use hermes_types::{Content, Message, Role};
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{Home, at, begin, begin_child, id, say, today};

fn message(value: Value) -> Message {
    serde_json::from_value(value).unwrap()
}

#[tokio::test]
async fn a_message_comes_back_as_it_was() {
    let home = Home::new();
    let store = home.open().await;
    let session = begin(&store, "s", "cli", 1).await;
    let messages = [
        json!({"role": "user", "content": "plain"}),
        json!({"role": "user", "content": [
            {"type": "text", "text": "see 图"}, {"type": "image_url", "image_url": {"url": "data:x"}}]}),
        json!({"role": "assistant", "content": null, "finish_reason": "tool_calls",
            "reasoning": "hm", "reasoning_content": "", "reasoning_details": [{"type": "x", "n": 1}],
            "codex_reasoning_items": [{"id": "rs_1"}], "codex_message_items": [{"id": "m"}],
            "tool_calls": [{"id": "c1", "type": "function", "call_id": "c1",
                "function": {"name": "搜索", "arguments": "{\"查\": \"大别山\""}}]}),
        json!({"role": "tool", "content": "out\u{0}put", "tool_call_id": "c1", "name": "搜索"}),
        json!({"role": "assistant", "content": "", "finish_reason": "stop"}),
        json!({"role": "session_meta", "content": {"odd": [1, 2.5, null]}}),
    ];
    let mut last = 0;
    for (index, value) in messages.iter().enumerate() {
        let row = store
            .append(&session, &message(value.clone()), at(10 + index as i64))
            .await
            .unwrap();
        assert!(row > last);
        last = row;
    }
    let stored = store.messages(&session).await.unwrap();
    for (stored, value) in stored.iter().zip(&messages) {
        assert_eq!(&serde_json::to_value(&stored.message).unwrap(), value);
    }
    assert_eq!(stored.len(), messages.len());
    assert_eq!(stored[2].at, at(12));
    let session = store.session(&session).await.unwrap().unwrap();
    assert_eq!((session.message_count, session.tool_call_count), (6, 1));
    // Chinese arguments lie there as they are, so that they can be found.
    let raw = home.text("SELECT tool_calls FROM messages WHERE tool_calls IS NOT NULL");
    assert!(raw.contains("大别山"), "{raw}");
    let raw = home.text("SELECT hex(content) FROM messages WHERE id = 2");
    assert!(raw.starts_with("006A736F6E3A5B7B"), "{raw}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_content_survives_the_file(texts in prop::collection::vec(any::<String>(), 1..6)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let home = Home::new();
            let store = home.open().await;
            let session = begin(&store, "s", "cli", 1).await;
            let parts: Vec<Value> =
                texts.iter().map(|t| json!({"type": "text", "text": t})).collect();
            let mut contents: Vec<Content> = texts.into_iter().map(Content::Text).collect();
            contents.push(serde_json::from_value(Value::Array(parts)).unwrap());
            for content in &contents {
                let message = Message { content: Some(content.clone()), ..Message::user("") };
                store.append(&session, &message, at(2)).await.unwrap();
            }
            let stored = store.messages(&session).await.unwrap();
            let found: Vec<Content> =
                stored.into_iter().map(|m| m.message.content.unwrap()).collect();
            assert_eq!(found, contents);
        });
    }
}

#[tokio::test]
async fn a_message_needs_its_session() {
    let home = Home::new();
    let store = home.open().await;
    let error = store
        .append(&id("nowhere"), &Message::user("x"), at(1))
        .await;
    assert_eq!(error.unwrap_err().kind(), ErrorKind::NotFound);
    let error = store.replace_messages(&id("nowhere"), &[], at(1)).await;
    assert_eq!(error.unwrap_err().kind(), ErrorKind::NotFound);
    let mut orphan = NewSession::new("orphan", "cli");
    orphan.parent = Some(id("nowhere"));
    let error = store.ensure_session(orphan).await;
    assert_eq!(error.unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(home.number("SELECT COUNT(*) FROM sessions"), 0);
}

#[tokio::test]
async fn messages_are_replaced_all_or_none() {
    let home = Home::new();
    let store = home.open().await;
    let session = begin(&store, "s", "cli", 1).await;
    for text in ["one", "two", "three"] {
        say(&store, &session, text, 2).await;
    }
    let call = message(json!({"role": "assistant", "content": null, "tool_calls":
        [{"id": "a", "function": {"name": "f"}}, {"id": "b", "function": {"name": "g"}}]}));
    let replacement = [Message::user("summary"), call.clone()];
    store
        .replace_messages(&session, &replacement, at(100))
        .await
        .unwrap();
    let stored = store.messages(&session).await.unwrap();
    let found: Vec<_> = stored.iter().map(|m| m.message.clone()).collect();
    assert_eq!(found, replacement);
    let apart = stored[1].at.as_microsecond() - stored[0].at.as_microsecond();
    assert_eq!(apart, 1);
    let row = store.session(&session).await.unwrap().unwrap();
    assert_eq!((row.message_count, row.tool_call_count), (2, 2));
    home.assert_intact();
}

#[tokio::test]
async fn the_first_end_wins() {
    let home = Home::new();
    let store = home.open().await;
    let session = begin(&store, "s", "cli", 1).await;
    let ended = async || {
        let row = store.session(&session).await.unwrap().unwrap();
        row.ended_at.zip(row.end_reason)
    };
    assert_eq!(ended().await, None);
    store
        .end_session(&session, "compression", at(5))
        .await
        .unwrap();
    store
        .end_session(&session, "cli_close", at(6))
        .await
        .unwrap();
    assert_eq!(ended().await, Some((at(5), "compression".to_owned())));
    store.reopen_session(&session).await.unwrap();
    assert_eq!(ended().await, None);
    store
        .end_session(&session, "cli_close", at(7))
        .await
        .unwrap();
    assert_eq!(ended().await, Some((at(7), "cli_close".to_owned())));
}

#[tokio::test]
async fn an_existing_session_is_left_alone() {
    let home = Home::new();
    let store = home.open().await;
    begin(&store, "s", "cli", 1).await;
    let session = begin(&store, "s", "telegram", 2).await;
    let row = store.session(&session).await.unwrap().unwrap();
    assert_eq!((row.source.as_str(), row.started_at), ("cli", at(1)));
}

#[tokio::test]
async fn usage_is_added_or_set() {
    let home = Home::new();
    let store = home.open().await;
    let call = Usage {
        input_tokens: 100,
        output_tokens: 10,
        api_calls: 1,
        estimated_cost_usd: Some(0.5),
        cost_status: Some("estimated".into()),
        billing_provider: Some("acme".into()),
        model: Some("one".into()),
        ..Usage::default()
    };
    let later = Usage {
        cost_status: Some("actual".into()),
        actual_cost_usd: Some(0.25),
        billing_provider: Some("other".into()),
        model: Some("two".into()),
        ..call.clone()
    };
    let session = id("unseen");
    store.add_usage(&session, &call, &today()).await.unwrap();
    store.add_usage(&session, &later, &today()).await.unwrap();
    let row = store.session(&session).await.unwrap().unwrap();
    assert_eq!(row.source, "unknown");
    let expected = Usage {
        input_tokens: 200,
        output_tokens: 20,
        api_calls: 2,
        estimated_cost_usd: Some(1.0),
        actual_cost_usd: Some(0.25),
        cost_status: Some("actual".into()),
        ..call.clone()
    };
    assert_eq!(row.usage, expected);
    store.set_usage(&session, &call).await.unwrap();
    let row = store.session(&session).await.unwrap().unwrap();
    let expected = Usage {
        cost_status: Some("estimated".into()),
        actual_cost_usd: Some(0.25),
        ..call
    };
    assert_eq!(row.usage, expected);
}

#[tokio::test]
async fn a_conversation_goes_back_to_its_beginning() {
    let home = Home::new();
    let store = home.open().await;
    let root = begin(&store, "root", "cli", 1).await;
    say(&store, &root, "question", 2).await;
    store
        .append(&root, &Message::assistant("answer"), at(3))
        .await
        .unwrap();
    say(&store, &root, "go on", 4).await;
    store
        .end_session(&root, "compression", at(5))
        .await
        .unwrap();
    let child = begin_child(&store, "child", "root", 6).await;
    say(&store, &child, "go on", 7).await;
    say(
        &store,
        &child,
        "<memory-context>x</memory-context> and more",
        8,
    )
    .await;
    let texts = async |reach| -> Vec<String> {
        let messages = store.conversation(&child, reach).await.unwrap();
        messages
            .iter()
            .map(|m| m.content.as_ref().unwrap().plain())
            .collect()
    };
    assert_eq!(texts(Reach::Session).await, ["go on", "and more"]);
    assert_eq!(
        texts(Reach::Ancestors).await,
        ["question", "answer", "go on", "and more"]
    );
    assert_eq!(store.root(&child).await.unwrap(), root);
}

#[tokio::test]
async fn a_window_of_messages() {
    let home = Home::new();
    let store = home.open().await;
    let (a, b) = (
        begin(&store, "a", "cli", 1).await,
        begin(&store, "b", "cli", 1).await,
    );
    let mut rows = Vec::new();
    for n in 0..6 {
        rows.push(say(&store, &a, &format!("a{n}"), n).await);
        say(&store, &b, "noise", n).await;
    }
    let check = async |around: i64, window, expected: &[&str]| {
        let found = store.messages_around(&a, around, window).await.unwrap();
        let texts: Vec<_> = found
            .iter()
            .map(|m| m.message.content.as_ref().unwrap().plain())
            .collect();
        assert_eq!(texts, expected);
    };
    check(rows[2], 1, &["a1", "a2", "a3"]).await;
    check(rows[0], 2, &["a0", "a1", "a2"]).await;
    check(rows[5], 9, &["a0", "a1", "a2", "a3", "a4", "a5"]).await;
    check(rows[2] + 1, 1, &[]).await;
    check(rows[3], 0, &["a3"]).await;
}

#[test]
fn it_works_on_any_runtime_and_without_one_between() {
    let home = Home::new();
    let runtime = || {
        tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .unwrap()
    };
    let store = runtime().block_on(home.open());
    let session = runtime().block_on(begin(&store, "s", "cli", 1));
    let current = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    current.block_on(say(&store, &session, "hello", 2));
    let rows = current.block_on(store.messages(&session)).unwrap();
    assert_eq!(rows[0].message.role, Role::User);
}
