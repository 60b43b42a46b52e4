//! Names of sessions, and finding sessions by name or id.

use hermes_store::{Error, ErrorKind};
use pretty_assertions::assert_eq;

use crate::support::{Home, at, begin, begin_child, id};

// spec: state §13.10
#[tokio::test]
async fn a_title_belongs_to_one_session() {
    let home = Home::new();
    let store = home.open().await;
    let (a, b) = (
        begin(&store, "A", "cli", 1).await,
        begin(&store, "B", "cli", 2).await,
    );
    store.set_title(&a, "proj").await.unwrap();
    store.set_title(&b, "other").await.unwrap();
    let error = store.set_title(&b, "proj").await.unwrap_err();
    let expected = Error::TitleTaken {
        title: "proj".into(),
        holder: "A".into(),
    };
    assert_eq!(error, expected);
    assert!(error.to_string().contains("session A"), "{error}");
    let title = async |session| store.session(session).await.unwrap().unwrap().title;
    assert_eq!(title(&b).await.as_deref(), Some("other"));
    let error = store.set_title(&b, &"x".repeat(101)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TitleTooLong);
    assert_eq!(title(&b).await.as_deref(), Some("other"));
    store.set_title(&b, "a\u{200b}b  c").await.unwrap();
    assert_eq!(title(&b).await.as_deref(), Some("ab c"));
    store.set_title(&a, "proj").await.unwrap();
    store.set_title(&a, " ").await.unwrap();
    assert_eq!(title(&a).await, None);
    let error = store.set_title(&id("C"), "x").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn a_continuation_takes_the_title_over() {
    let home = Home::new();
    let store = home.open().await;
    let root = begin(&store, "root", "cli", 1).await;
    store.set_title(&root, "proj").await.unwrap();
    store
        .end_session(&root, "compression", at(2))
        .await
        .unwrap();
    let child = begin_child(&store, "child", "root", 3).await;
    store.set_title(&child, "proj").await.unwrap();
    assert_eq!(store.session(&root).await.unwrap().unwrap().title, None);
    assert_eq!(store.find("proj").await.unwrap(), child);
}

#[tokio::test]
async fn titles_are_numbered_along_a_lineage() {
    let home = Home::new();
    let store = home.open().await;
    for (n, title) in [
        "proj", "proj #2", "proj #7", "Proj #9", "a_b", "axb #4", "issue #x",
    ]
    .iter()
    .enumerate()
    {
        let session = begin(&store, &format!("s{n}"), "cli", n as i64).await;
        store.set_title(&session, title).await.unwrap();
    }
    let check = async |title: &str, expected: &str| {
        assert_eq!(store.next_title(title).await.unwrap(), expected);
    };
    check("proj", "proj #8").await;
    check("proj #2", "proj #8").await;
    check("new", "new").await;
    check("a_b", "a_b #2").await;
    check("issue", "issue").await;
    let untitled = begin(&store, "u", "cli", 99).await;
    let given = store.set_title_if_none(&untitled, "proj").await.unwrap();
    assert_eq!(given.as_deref(), Some("proj #8"));
    let given = store.set_title_if_none(&untitled, "other").await.unwrap();
    assert_eq!(given, None);
}

#[tokio::test]
async fn sessions_are_found_by_id_prefix_and_title() {
    let home = Home::new();
    let store = home.open().await;
    for (name, start, title) in [
        ("20260101_090000_aaaaaa", 1, "proj"),
        ("20260101_090000_aabbbb", 2, "proj #2"),
        ("20260201_x", 3, "20260101_09"),
        ("a%b", 4, "percent"),
    ] {
        let session = begin(&store, name, "cli", start).await;
        store.set_title(&session, title).await.unwrap();
    }
    let check = async |what: &str, expected: Result<&str, ErrorKind>| {
        let found = store.find(what).await;
        let found = found.as_ref().map(|s| s.as_str()).map_err(Error::kind);
        assert_eq!(found, expected, "{what}");
    };
    check("20260101_090000_aaaaaa", Ok("20260101_090000_aaaaaa")).await;
    check("20260101_090000_aab", Ok("20260101_090000_aabbbb")).await;
    check("20260101_090000_aa", Err(ErrorKind::Ambiguous)).await;
    check("20260101_09", Ok("20260201_x")).await;
    check("proj", Ok("20260101_090000_aabbbb")).await;
    check("percent", Ok("a%b")).await;
    check("a%", Ok("a%b")).await;
    check("a_b", Err(ErrorKind::NotFound)).await;
    check("%", Err(ErrorKind::NotFound)).await;
    check("", Err(ErrorKind::NotFound)).await;
    let error = store.find_by_id("proj").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    let error = store.find_by_title("nothing").await.unwrap_err();
    assert!(error.to_string().contains("not found"), "{error}");
}
