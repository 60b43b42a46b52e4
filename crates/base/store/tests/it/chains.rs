//! Conversations of more than one session, and the list that shows each once.

use hermes_store::{ListQuery, NewSession, Order, Store};
use hermes_types::{Content, Message};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::support::{Home, at, begin, begin_child, id, say};

async fn ids(store: &Store, query: ListQuery) -> Vec<String> {
    let rows = store.list(query).await.unwrap();
    rows.iter().map(|row| row.id.as_str().to_owned()).collect()
}

// spec: state §13.11
#[tokio::test]
async fn a_compressed_conversation_is_one_row() {
    let home = Home::new();
    let store = home.open().await;
    let root = begin(&store, "root", "cli", 10).await;
    store.set_title(&root, "proj").await.unwrap();
    say(&store, &root, "from the root", 11).await;
    begin_child(&store, "sub", "root", 12).await;
    store
        .end_session(&root, "compression", at(20))
        .await
        .unwrap();
    let child = begin_child(&store, "child", "root", 20).await;
    store.set_title(&child, "proj #2").await.unwrap();
    say(&store, &child, "from the child", 21).await;

    let rows = store.list(ListQuery::default()).await.unwrap();
    assert_eq!(rows.len(), 1, "{rows:?}");
    let row = &rows[0];
    assert_eq!(row.id, child);
    assert_eq!(row.title.as_deref(), Some("proj #2"));
    assert_eq!(row.preview, "from the child");
    assert_eq!((row.started_at, row.last_active), (at(10), at(21)));
    assert_eq!((row.ended_at, row.message_count), (None, 1));
    assert_eq!(row.root.as_ref(), Some(&root));

    let found = store.find("proj").await.unwrap();
    assert_eq!(store.resume_target(&found).await.unwrap(), child);
    assert_eq!(store.resume_target(&root).await.unwrap(), child);
    let every = ListQuery {
        every_session: true,
        ..ListQuery::default()
    };
    assert_eq!(ids(&store, every).await, ["child", "sub", "root"]);
}

#[tokio::test]
async fn the_liveliest_continuation_is_the_tip() {
    // Two children of a compressed root; which one goes on?
    let check = async |ends: [Option<&str>; 2], last_messages: [i64; 2], expected: &str| {
        let home = Home::new();
        let store = home.open().await;
        let root = begin(&store, "root", "cli", 1).await;
        store
            .end_session(&root, "compression", at(2))
            .await
            .unwrap();
        for (n, name) in ["first", "second"].into_iter().enumerate() {
            let child = begin_child(&store, name, "root", 3 + n as i64).await;
            if last_messages[n] > 0 {
                say(&store, &child, "x", last_messages[n]).await;
            }
            if let Some(reason) = ends[n] {
                store.end_session(&child, reason, at(50)).await.unwrap();
            }
        }
        assert_eq!(store.tip(&root).await.unwrap(), id(expected));
    };
    check([None, None], [0, 0], "second").await;
    check([None, None], [30, 20], "first").await;
    check([Some("compression"), None], [0, 90], "first").await;
    check([None, Some("lost")], [10, 90], "first").await;
    check([Some("lost"), Some("lost")], [10, 20], "second").await;
}

#[tokio::test]
async fn not_every_child_continues() {
    let check = async |source: &str, config: Option<serde_json::Value>, start, expected: &str| {
        let home = Home::new();
        let store = home.open().await;
        let root = begin(&store, "root", "cli", 1).await;
        store
            .end_session(&root, "compression", at(10))
            .await
            .unwrap();
        let mut child = NewSession::new("child", source);
        child.parent = Some(root.clone());
        child.model_config = config;
        child.started_at = at(start);
        store.ensure_session(child).await.unwrap();
        assert_eq!(store.tip(&root).await.unwrap(), id(expected));
    };
    check("cli", None, 10, "child").await;
    check("cli", None, 9, "root").await;
    check("tool", None, 10, "root").await;
    check("subagent", None, 10, "root").await;
    check("cli", Some(json!({"_delegate_from": "root"})), 10, "root").await;
    check("cli", Some(json!({"_branched_from": "root"})), 10, "root").await;
    check("cli", Some(json!({"_branched_from": null})), 10, "child").await;
}

#[tokio::test]
async fn cycles_and_long_chains_end() {
    let home = Home::new();
    let store = home.open().await;
    for name in ["a", "b"] {
        let session = begin(&store, name, "cli", 5).await;
        store
            .end_session(&session, "compression", at(1))
            .await
            .unwrap();
    }
    home.sql()
        .execute_batch(
            "UPDATE sessions SET parent_session_id = 'b' WHERE id = 'a';
             UPDATE sessions SET parent_session_id = 'a' WHERE id = 'b';",
        )
        .unwrap();
    assert_eq!(store.tip(&id("a")).await.unwrap(), id("b"));
    assert_eq!(store.root(&id("a")).await.unwrap(), id("b"));
    assert_eq!(store.list(ListQuery::default()).await.unwrap(), []);
}

#[tokio::test]
async fn an_empty_session_is_resumed_in_its_child() {
    let home = Home::new();
    let store = home.open().await;
    let root = begin(&store, "root", "cli", 1).await;
    begin_child(&store, "older", "root", 2).await;
    let newer = begin_child(&store, "newer", "root", 3).await;
    assert_eq!(store.resume_target(&root).await.unwrap(), root);
    let grandchild = begin_child(&store, "grandchild", "newer", 4).await;
    say(&store, &grandchild, "here", 5).await;
    assert_eq!(store.resume_target(&root).await.unwrap(), grandchild);
    assert_eq!(store.resume_target(&newer).await.unwrap(), grandchild);
    say(&store, &root, "now here", 6).await;
    assert_eq!(store.resume_target(&root).await.unwrap(), root);
}

/// Five conversations; the oldest is the one that was active last.
async fn mixed(home: &Home) -> Store {
    let store = home.open().await;
    for (name, source, start) in [
        ("old", "cli", 1),
        ("chat", "telegram", 2),
        ("machine", "tool", 3),
        ("branch-root", "cli", 4),
    ] {
        let session = begin(&store, name, source, start).await;
        say(&store, &session, &format!("hello from {name}"), start + 10).await;
    }
    store
        .end_session(&id("branch-root"), "branched", at(20))
        .await
        .unwrap();
    begin_child(&store, "branch", "branch-root", 21).await;
    say(&store, &id("old"), "again", 100).await;
    store
}

#[tokio::test]
async fn lists_are_ordered_filtered_and_paged() {
    let home = Home::new();
    let store = mixed(&home).await;
    let check = async |query: ListQuery, expected: &[&str]| {
        assert_eq!(ids(&store, query).await, expected);
    };
    let all = ListQuery::default;
    check(all(), &["branch", "branch-root", "chat", "old"]).await;
    let active = || ListQuery {
        order: Order::Activity,
        ..all()
    };
    check(active(), &["old", "branch", "branch-root", "chat"]).await;
    let page = ListQuery {
        limit: 2,
        offset: 1,
        ..active()
    };
    check(page, &["branch", "branch-root"]).await;
    let only = |source: &str| ListQuery {
        sources: vec![source.to_owned()],
        ..all()
    };
    check(only("tool"), &["machine"]).await;
    check(only("telegram"), &["chat"]).await;
    check(only("none"), &[]).await;
    let hide = ListQuery {
        hide: vec!["cli".to_owned()],
        ..all()
    };
    check(hide, &["machine", "chat"]).await;
    let latest = store.latest(&["cli", "tui"]).await.unwrap();
    assert_eq!(latest, Some(id("old")));
    assert_eq!(store.latest(&["acp"]).await.unwrap(), None);
}

/// More sessions than are looked at first, and empty ones among them.
#[tokio::test]
async fn long_lists_are_complete_and_in_order() {
    let home = Home::new();
    let store = home.open().await;
    home.sql()
        .execute_batch(
            "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 449)
             INSERT INTO sessions (id, source, started_at)
                 SELECT printf('s%03d', i), iif(i % 9 = 0, 'tool', 'cli'), i FROM n;
             INSERT INTO messages (session_id, role, content, timestamp)
                 SELECT id, 'user', 'x', 1000 - started_at FROM sessions
                 WHERE started_at % 2 = 0 ORDER BY started_at DESC;",
        )
        .unwrap();
    for order in [Order::Start, Order::Activity] {
        let mut expected: Vec<(i64, i64)> = (0..450)
            .filter(|i| i % 9 != 0)
            .map(|i| match order {
                Order::Activity if i % 2 == 0 => (1000 - i, i),
                _ => (i, i),
            })
            .collect();
        expected.sort_by(|a, b| b.cmp(a));
        let expected: Vec<String> = expected.iter().map(|(_, i)| format!("s{i:03}")).collect();
        let page = |offset, limit| ListQuery {
            order,
            offset,
            limit,
            ..ListQuery::default()
        };
        assert_eq!(ids(&store, page(0, 1000)).await, expected);
        assert_eq!(ids(&store, page(0, 20)).await, expected[..20]);
        assert_eq!(ids(&store, page(170, 60)).await, expected[170..230]);
    }
}

#[tokio::test]
async fn previews_are_readable() {
    let home = Home::new();
    let store = home.open().await;
    let check = async |name: &str, messages: &[Message], expected: &str| {
        let session = begin(&store, name, "cli", 1).await;
        for (n, message) in messages.iter().enumerate() {
            store
                .append(&session, message, at(2 + n as i64))
                .await
                .unwrap();
        }
        let rows = store.list(ListQuery::default()).await.unwrap();
        let row = rows.iter().find(|row| row.id == session).unwrap();
        assert_eq!(row.preview, expected);
    };
    check("empty", &[], "").await;
    check(
        "plain",
        &[Message::assistant("first"), Message::user("two\nlines")],
        "two lines",
    )
    .await;
    let picture: Content = serde_json::from_value(json!([
        {"type": "text", "text": "what is this"}, {"type": "image_url", "image_url": {"url": "u"}}
    ]))
    .unwrap();
    let picture = Message {
        content: Some(picture),
        ..Message::user("")
    };
    check("picture", &[picture], "what is this [image]").await;
}
