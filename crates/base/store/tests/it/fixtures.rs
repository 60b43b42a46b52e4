//! Files the Python program made. `fixtures/make.py` says how.

use std::path::{Path, PathBuf};

use hermes_store::{
    ExportSources, ListQuery, OpenOptions, Reach, SearchQuery, Store, Usage, check, rebuild_search,
};
use hermes_types::{Level, Message};
use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::support::{Home, at, id, say, today};

// spec: state §13.6
#[tokio::test]
async fn version_11_is_read_and_continued() {
    let home = Home::with_fixture("v11.db");
    let store = home.open().await;
    let rows = store.list(ListQuery::default()).await.unwrap();
    let shown: Vec<_> = rows
        .iter()
        .map(|row| (row.id.as_str(), row.title.as_deref(), row.preview.as_str()))
        .collect();
    assert_eq!(
        shown,
        [
            ("20260103_090000_eeeeee", Some("旅行计划"), "去广西旅行"),
            ("20260102_100000_cccccc", Some("proj #2"), "go on"),
            (
                "20260101_100000_abcdef",
                None,
                "what is on this picture [image]"
            ),
            (
                "20260101_090000_aaaaaa",
                Some("alpha"),
                "please search the library for 大别山项目"
            ),
        ]
    );
    let alpha = store.find("alpha").await.unwrap();
    let messages = store.messages(&alpha).await.unwrap();
    let call = &messages[1].message;
    assert!(call.tool_calls[0].function.arguments.contains("大别山"));
    assert_eq!(call.reasoning_content.as_deref(), Some(""));
    assert_eq!(messages[2].message.name.as_deref(), Some("web_search"));
    let child = store.find("proj").await.unwrap();
    let whole = store.conversation(&child, Reach::Ancestors).await.unwrap();
    let texts: Vec<_> = whole
        .iter()
        .map(|m| m.content.as_ref().unwrap().plain())
        .collect();
    assert_eq!(texts, ["start the project", "started", "go on", "going on"]);

    store.reopen_session(&alpha).await.unwrap();
    say(&store, &alpha, "one more question", 1_800_000_000).await;
    store.close().await;
    assert_eq!(home.number("SELECT version FROM schema_version"), 11);
    assert_intact_when_reindexed(&home);
}

/// The SQLite of the Python program stops at the NUL that begins structured content, so its trigram
/// index lacks those messages; the check of ours notices, and the doctor can mend it.
fn assert_intact_when_reindexed(home: &Home) {
    let complaint = "malformed inverted index for FTS5 table main.messages_fts_trigram";
    assert_eq!(home.text("PRAGMA integrity_check"), complaint);
    let findings = check(&home.db());
    assert!(
        findings.iter().all(|f| f.level != Level::Error),
        "{findings:?}"
    );
    let repairs = findings.into_iter().filter_map(|finding| finding.repair);
    repairs.for_each(|repair| drop(repair().unwrap()));
    home.assert_intact();
}

// spec: state §13.7
#[tokio::test]
async fn version_22_is_honoured_and_left_at_22() {
    let home = Home::with_fixture("v22.db");
    let store = home.open().await;
    let texts = async |session: &str| -> Vec<String> {
        let rows = store
            .conversation(&id(session), Reach::Session)
            .await
            .unwrap();
        rows.iter()
            .map(|m| m.content.as_ref().unwrap().plain())
            .collect()
    };
    let taken_back = "20260104_100000_b0b0b0";
    assert_eq!(texts(taken_back).await, ["first", "answer"]);
    assert_eq!(texts("20260104_110000_c0c0c0").await, ["summary: airships"]);
    let found = async |text: &str| store.search(SearchQuery::new(text)).await.unwrap().len();
    assert_eq!(found("regrettable").await, 0);
    assert_eq!(found("zeppelins").await, 1);
    let listed = store.list(ListQuery::default()).await.unwrap();
    assert!(listed.iter().all(|row| row.preview != "archived away"));
    let archived = ListQuery {
        archived: true,
        ..ListQuery::default()
    };
    let listed = store.list(archived).await.unwrap();
    assert!(listed.iter().any(|row| row.preview == "archived away"));

    let row = say(&store, &id(taken_back), "a new start", 1_800_000_000).await;
    assert_eq!(texts(taken_back).await, ["first", "answer", "a new start"]);
    store.close().await;
    assert_eq!(home.number("SELECT version FROM schema_version"), 22);
    let flags = format!("SELECT active * 10 + compacted FROM messages WHERE id = {row}");
    assert_eq!(home.number(&flags), 10);
    assert_intact_when_reindexed(&home);
}

#[tokio::test]
async fn version_22_keeps_its_own_columns_and_counts() {
    let home = Home::with_fixture("v22.db");
    let store = home.open().await;
    let alpha = store.find("alpha").await.unwrap();
    let mut message = Message::user("clean");
    for (key, value) in [
        ("api_content", Value::from("as sent")),
        ("message_id", Value::from("tg-7")),
        ("observed", Value::from(true)),
    ] {
        message.extra.insert(key.to_owned(), value);
    }
    store
        .append(&alpha, &message, at(1_800_000_000))
        .await
        .unwrap();
    let stored = store.messages(&alpha).await.unwrap();
    assert_eq!(stored.last().unwrap().message, message);
    let usage = Usage {
        input_tokens: 7,
        api_calls: 1,
        ..Usage::default()
    };
    store.add_usage(&alpha, &usage, &today()).await.unwrap();
    let counted = "SELECT input_tokens * 100 + api_call_count FROM session_model_usage
                   WHERE model = 'acme/one' AND billing_provider = 'acme' AND task = ''";
    assert_eq!(home.number(counted), 10_703);
}

#[tokio::test]
async fn the_export_is_the_one_of_the_python_program() {
    let check = async |name: &str| {
        let home = Home::with_fixture(&format!("{name}.db"));
        let expected = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join(format!("tests/it/fixtures/{name}.export.jsonl"));
        let expected = std::fs::read_to_string(expected).unwrap();
        let store = Store::open(home.db(), OpenOptions::read_only())
            .await
            .unwrap();
        let mut export = store.export(ExportSources::All).await.unwrap();
        for line in expected.lines() {
            let ours = export.next().await.unwrap().unwrap();
            let theirs: Value = serde_json::from_str(line).unwrap();
            assert_eq!(ours, theirs);
            let keys = |value: &Value| -> Vec<String> {
                value.as_object().unwrap().keys().cloned().collect()
            };
            assert_eq!(keys(&ours), keys(&theirs));
        }
        assert_eq!(export.next().await.unwrap(), None);
    };
    check("v11").await;
    check("v22").await;
}

/// The other half of scenario 6: the Python program goes on where we stopped.
// spec: state §13.6
#[ignore = "needs the Python program: cargo xtask real python"]
#[allow(clippy::disallowed_methods)]
#[tokio::test]
async fn the_python_program_opens_what_we_wrote() {
    let script = r#"
import sys
from hermes_state import SessionDB
from pathlib import Path
db = SessionDB(db_path=Path(sys.argv[1]))
rows = {r["title"]: r for r in db.list_sessions_rich(limit=50)}
messages = db.get_messages(rows["alpha"]["id"])
assert messages[-1]["content"] == "written in Rust", messages[-1]
assert messages[-2]["content"][0]["text"] == "图", messages[-2]
assert rows["new one"]["message_count"] == 1, rows
assert db.search_messages("Rust"), "not found"
db.append_message(rows["new one"]["id"], "user", "written in Python")
db.close()
"#;
    let home_dir = std::env::var("HOME").unwrap();
    for (version, fixture) in [("0.13.0", "v11"), ("0.19.0", "v11"), ("0.19.0", "v22")] {
        let home = Home::with_fixture(&format!("{fixture}.db"));
        let store = home.open().await;
        let alpha = store.find("alpha").await.unwrap();
        let mut picture = Message::user("");
        picture.content = Some(
            serde_json::from_value(serde_json::json!([{"type": "text", "text": "图"}])).unwrap(),
        );
        let now = at(1_800_000_000);
        store.append(&alpha, &picture, now).await.unwrap();
        say(&store, &alpha, "written in Rust", 1_800_000_001).await;
        let new = crate::support::begin(&store, "new", "cli", 1_800_000_002).await;
        store.set_title(&new, "new one").await.unwrap();
        say(&store, &new, "hello", 1_800_000_003).await;
        store.close().await;
        let python =
            PathBuf::from(&home_dir).join(format!(".cache/hermes-peer/py-{version}/bin/python"));
        let output = std::process::Command::new(python)
            .args(["-c", script])
            .arg(home.db())
            .env("HERMES_HOME", home.dir())
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{version}: {errors}");
        rebuild_search(&home.db()).unwrap();
        home.assert_intact();
        let store = home.open().await;
        assert_eq!(store.messages(&new).await.unwrap().len(), 2);
    }
}
