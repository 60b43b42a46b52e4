//! Finding messages.

use hermes_store::{NewSession, OpenOptions, SearchOrder, SearchQuery, Store};
use hermes_types::{Message, Role};
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::json;

use crate::support::{Home, at, begin, say};

const TEXTS: [&str; 14] = [
    "deploy the docker container",
    "docker and kubernetes deployment notes",
    "python is not java",
    "send it with chat-send from my-app.config.ts",
    "chat about something, then send it",
    "TODO: fix the parser (soon)",
    "version P2.2 of file src/main.rs",
    "我们的大别山项目进展顺利",
    "大别山和项目",
    "去广西旅行",
    "桂林山水",
    "用docker容器化部署应用",
    "한국어 검색 기능",
    "naïve café",
];

async fn corpus(home: &Home) -> Store {
    let store = home.open().await;
    let session = begin(&store, "s", "cli", 1).await;
    for (n, text) in TEXTS.iter().enumerate() {
        say(&store, &session, text, 10 + n as i64).await;
    }
    store
}

/// The numbers of the texts found, in the order of the texts.
async fn found(store: &Store, query: SearchQuery) -> Vec<usize> {
    let hits = store.search(query).await.unwrap();
    let mut numbers: Vec<usize> = hits.iter().map(|hit| hit.message as usize - 1).collect();
    numbers.sort_unstable();
    numbers
}

#[tokio::test]
async fn words_phrases_and_operators() {
    let home = Home::new();
    let store = corpus(&home).await;
    let check = async |text: &str, expected: &[usize]| {
        assert_eq!(
            found(&store, SearchQuery::new(text)).await,
            expected,
            "{text}"
        );
    };
    check("docker", &[0, 1]).await;
    check("docker kubernetes", &[1]).await;
    check("docker AND NOT kubernetes", &[0]).await;
    check("python OR parser", &[2, 5]).await;
    check("deploy*", &[0, 1]).await;
    check("deploy", &[0]).await;
    check("\"docker container\"", &[0]).await;
    check("\"container docker\"", &[]).await;
    check("chat-send", &[3]).await;
    check("my-app.config.ts", &[3]).await;
    check("P2.2", &[6]).await;
    check("src/main.rs", &[6]).await;
    check("TODO: fix", &[5]).await;
    check("\"unbalanced docker", &[]).await;
    check("kuber\"netes", &[1]).await;
    check("python AND", &[2]).await;
    check("OR", &[]).await;
    check("naive", &[13]).await;
    check("   ", &[]).await;
}

#[tokio::test]
async fn scripts_without_spaces() {
    let home = Home::new();
    let store = corpus(&home).await;
    let check = async |text: &str, expected: &[usize]| {
        assert_eq!(
            found(&store, SearchQuery::new(text)).await,
            expected,
            "{text}"
        );
    };
    check("大别山项目", &[7]).await;
    check("大别山", &[7, 8]).await;
    check("大别山 NOT 进展顺", &[8]).await;
    check("广西", &[9]).await;
    check("广西 OR 桂林", &[9, 10]).await;
    check("山", &[7, 8, 10]).await;
    check("山 NOT 桂林", &[7, 8]).await;
    check("项目", &[7, 8]).await;
    check("검색", &[12]).await;
    check("容器化部署", &[11]).await;
    check("docker 容器化部署", &[11]).await;
    check("DOCKER 容器化部署", &[11]).await;
    check("kubernetes 容器化部署", &[]).await;
    check("没有的", &[]).await;
    check("没", &[]).await;
    // Glued to other letters it is no word of its own, but it is there.
    check("docker容器", &[11]).await;
    check("naï", &[13]).await;
}

#[tokio::test]
async fn snippets_and_neighbours() {
    let home = Home::new();
    let store = corpus(&home).await;
    let check = async |text: &str, snippet: &str, context: &[&str]| {
        let hits = store.search(SearchQuery::new(text)).await.unwrap();
        assert_eq!(hits[0].snippet.trim(), snippet);
        let lines: Vec<_> = hits[0].context.iter().map(|l| l.text.as_str()).collect();
        assert_eq!(lines, context);
    };
    check(
        "kubernetes",
        "docker and >>>kubernetes<<< deployment notes",
        &TEXTS[0..3],
    )
    .await;
    check("广西", "去>>>广西<<<旅行", &TEXTS[8..11]).await;
    check("café", "naïve >>>café<<<", &TEXTS[12..14]).await;
    check(
        "\"deploy the\"",
        ">>>deploy the<<< docker container",
        &TEXTS[0..2],
    )
    .await;
    let hits = store.search(SearchQuery::new("大别山项目")).await.unwrap();
    assert!(
        hits[0].snippet.contains(">>>大别山项目<<<"),
        "{}",
        hits[0].snippet
    );
}

#[tokio::test]
async fn tools_and_structured_content_are_found() {
    let home = Home::new();
    let store = home.open().await;
    let session = begin(&store, "s", "cli", 1).await;
    for value in [
        json!({"role": "assistant", "content": null, "tool_calls": [{"id": "c", "type": "function",
            "function": {"name": "terminal", "arguments": "{\"command\": \"部署大别山\"}"}}]}),
        json!({"role": "tool", "content": "done", "tool_call_id": "c", "name": "terminal"}),
        json!({"role": "user", "content": [{"type": "text", "text": "zeppelin 飞艇"}]}),
    ] {
        let message: Message = serde_json::from_value(value).unwrap();
        store.append(&session, &message, at(2)).await.unwrap();
    }
    let check = async |text: &str, expected: &[usize]| {
        assert_eq!(
            found(&store, SearchQuery::new(text)).await,
            expected,
            "{text}"
        );
    };
    check("terminal", &[0, 1]).await;
    check("部署大别山", &[0]).await;
    check("部署", &[0]).await;
    check("zeppelin", &[2]).await;
    check("飞艇", &[2]).await;
    let hits = store.search(SearchQuery::new("zeppelin")).await.unwrap();
    assert!(!hits[0].snippet.contains('\0'));
    assert_eq!(hits[0].context.last().unwrap().text, "zeppelin 飞艇");
}

#[tokio::test]
async fn filters_order_and_pages() {
    let home = Home::new();
    let store = home.open().await;
    for (n, source) in ["cli", "telegram", "tool"].into_iter().enumerate() {
        let mut new = NewSession::new(source, source);
        new.model = Some(format!("model-{n}"));
        store.ensure_session(new).await.unwrap();
        let session = source.into();
        for role in [Role::User, Role::Assistant] {
            let message = Message::text(role, "a needle in the hay");
            store.append(&session, &message, at(100)).await.unwrap();
        }
    }
    let base = || SearchQuery::new("needle");
    let list = |items: &[&str]| items.iter().map(|i| (*i).to_owned()).collect::<Vec<_>>();
    let check = async |query: SearchQuery, expected: &[i64]| {
        let hits = store.search(query).await.unwrap();
        let ids: Vec<_> = hits.iter().map(|hit| hit.message).collect();
        assert_eq!(ids, expected);
    };
    check(base(), &[6, 5, 4, 3, 2, 1]).await;
    check(
        SearchQuery {
            sources: list(&["telegram"]),
            ..base()
        },
        &[4, 3],
    )
    .await;
    check(
        SearchQuery {
            hide: list(&["tool", "cli"]),
            ..base()
        },
        &[4, 3],
    )
    .await;
    check(
        SearchQuery {
            roles: vec![Role::User],
            ..base()
        },
        &[5, 3, 1],
    )
    .await;
    let oldest = SearchOrder::Oldest;
    check(
        SearchQuery {
            order: oldest,
            limit: 3,
            ..base()
        },
        &[1, 2, 3],
    )
    .await;
    check(
        SearchQuery {
            order: oldest,
            limit: 2,
            offset: 1,
            ..base()
        },
        &[2, 3],
    )
    .await;
    let newest = SearchOrder::Newest;
    check(
        SearchQuery {
            order: newest,
            limit: 2,
            offset: 3,
            ..base()
        },
        &[3, 2],
    )
    .await;
    check(
        SearchQuery {
            limit: 2,
            offset: 5,
            ..base()
        },
        &[1],
    )
    .await;
    let hits = store
        .search(SearchQuery { limit: 1, ..base() })
        .await
        .unwrap();
    assert_eq!(hits[0].source, "tool");
    assert_eq!(hits[0].model.as_deref(), Some("model-2"));
    assert_eq!(
        (hits[0].role.clone(), hits[0].at),
        (Role::Assistant, at(100))
    );
}

#[tokio::test]
async fn the_best_match_comes_first() {
    let home = Home::new();
    let store = home.open().await;
    let session = begin(&store, "s", "cli", 1).await;
    let best = say(&store, &session, "zebra stripes and zebra colours", 2).await;
    for n in 0..40 {
        let text = format!("filler {n} {} zebra {}", "x ".repeat(50), "y ".repeat(50));
        say(&store, &session, &text, 3 + n).await;
    }
    let hits = store.search(SearchQuery::new("zebra")).await.unwrap();
    assert_eq!(hits[0].message, best);
    assert_eq!(hits.len(), 20);
}

#[tokio::test]
async fn a_common_prefix_finds_the_newest() {
    let home = Home::new();
    let store = home.open().await;
    let session = begin(&store, "s", "cli", 1).await;
    for n in 0..30 {
        say(
            &store,
            &session,
            &format!("deployment{} of {n}", n % 3),
            2 + n,
        )
        .await;
    }
    let found = found(&store, SearchQuery::new("deploy* NOT deployment1")).await;
    assert_eq!(found.len(), 20);
    assert!(found.iter().all(|n| n % 3 != 1), "{found:?}");
}

#[tokio::test]
async fn a_short_piece_of_too_many_kinds_is_still_found() {
    let home = Home::new();
    let store = home.open().await;
    let session = begin(&store, "s", "cli", 1).await;
    // Followed by 700 different letters, so that the index of pieces is no help.
    for n in 0..70_u32 {
        let text: String = (0..10)
            .filter_map(|m| char::from_u32(0x4e00 + n * 10 + m))
            .flat_map(|c| ['中', '国', c, ' '])
            .collect();
        say(&store, &session, &text, 2).await;
    }
    let newest = SearchQuery {
        limit: 3,
        ..SearchQuery::new("中国")
    };
    assert_eq!(found(&store, newest).await, [67, 68, 69]);
}

#[tokio::test]
async fn a_file_without_indexes_can_be_searched() {
    let home = Home::new();
    drop(corpus(&home).await);
    home.sql()
        .execute_batch(
            "DROP TRIGGER messages_fts_insert; DROP TABLE messages_fts;
             DROP TABLE messages_fts_trigram;",
        )
        .unwrap();
    let store = Store::open(home.db(), OpenOptions::read_only())
        .await
        .unwrap();
    assert_eq!(found(&store, SearchQuery::new("kubernetes")).await, [1]);
    assert_eq!(found(&store, SearchQuery::new("大别山项目")).await, [7]);
    assert_eq!(found(&store, SearchQuery::new("山")).await, [7, 8, 10]);
}

#[test]
fn no_query_is_an_error() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let home = Home::new();
    let store = runtime.block_on(corpus(&home));
    let noise = prop::collection::vec(
        prop_oneof![
            any::<String>(),
            "[a-zA-Z0-9\"*+(){}:^.,/\\-_ \u{0}'%~|&!?<>=;$#@]{0,12}",
            Just("AND".to_owned()),
            Just("OR NOT".to_owned()),
            Just("NEAR(a b)".to_owned()),
            Just("content:x".to_owned()),
            Just("大别山*".to_owned()),
            Just("山".to_owned()),
        ],
        0..8,
    );
    proptest!(|(words in noise)| {
        let query = SearchQuery::new(words.join(" "));
        let result = runtime.block_on(store.search(query));
        prop_assert!(result.is_ok(), "{:?}", result);
    });
    let long = SearchQuery::new("a NOT ".repeat(5000));
    runtime.block_on(store.search(long)).unwrap();
}
