//! Fills a database and measures it: `bench FILE SESSIONS MESSAGES_PER_SESSION`.
//!
//! A FILE that exists already is measured as it is.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use hermes_store::{ListQuery, NewSession, OpenOptions, Order, SearchQuery, Store};
use hermes_types::{Message, Role, SessionId};
use jiff::Timestamp;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut args = std::env::args().skip(1);
    let path = PathBuf::from(args.next().unwrap());
    let mut number = || args.next().unwrap().parse::<usize>().unwrap();
    let (sessions, messages) = (number(), number());
    fastrand::seed(7);
    if !path.exists() {
        fill(&path, sessions, messages).await;
    }

    let start = Instant::now();
    let store = Store::open(&path, OpenOptions::default()).await.unwrap();
    println!("open            {:?}", start.elapsed());
    for order in [Order::Start, Order::Activity] {
        let query = || ListQuery {
            order,
            ..ListQuery::default()
        };
        let start = Instant::now();
        let rows = store.list(query()).await.unwrap();
        let first = start.elapsed();
        let start = Instant::now();
        store.list(query()).await.unwrap();
        println!(
            "list {order:<10?} {first:?}, then {:?} ({} rows)",
            start.elapsed(),
            rows.len()
        );
    }
    let mut all = Vec::new();
    for text in [
        "the",
        "every",
        "common",
        "word17",
        "word17 word3",
        "word17 OR word900",
        "rare77",
        "\"the common\"",
        "word2* NOT word17",
        "src/module_12.rs",
        "nowhere",
        "数据库连接",
        "数据",
        "山",
        "word17 数据库连接",
    ] {
        let start = Instant::now();
        let hits = store.search(SearchQuery::new(text)).await.unwrap();
        let first = start.elapsed();
        let mut times: Vec<Duration> = Vec::new();
        for _ in 0..5 {
            let start = Instant::now();
            store.search(SearchQuery::new(text)).await.unwrap();
            times.push(start.elapsed());
        }
        println!(
            "search {text:<22} {first:?}, then {:?} ({} hits)",
            times[2],
            hits.len()
        );
        all.append(&mut times);
    }
    report("search", all);
    let mut times = Vec::new();
    let session = SessionId::new("bench");
    store
        .ensure_session(NewSession::new(session.clone(), "cli"))
        .await
        .unwrap();
    for _ in 0..2000 {
        let message = random_message();
        let start = Instant::now();
        store
            .append(&session, &message, Timestamp::now())
            .await
            .unwrap();
        times.push(start.elapsed());
    }
    report("append", times);
    let start = Instant::now();
    store.close().await;
    println!("close           {:?}", start.elapsed());
}

async fn fill(path: &std::path::Path, sessions: usize, messages: usize) {
    let store = Store::open(path, OpenOptions::default()).await.unwrap();
    let mut times = Vec::new();
    let begin = Instant::now();
    for s in 0..sessions {
        let mut new = NewSession::new(format!("2026_{s:06}"), "cli");
        new.system_prompt = Some("You are Hermes. ".repeat(1500));
        let id = new.id.clone();
        store.ensure_session(new).await.unwrap();
        for _ in 0..messages {
            let message = random_message();
            let start = Instant::now();
            store.append(&id, &message, Timestamp::now()).await.unwrap();
            times.push(start.elapsed());
        }
        if s % 500 == 499 {
            report(&format!("fill {s}"), times.split_off(0));
        }
    }
    store.close().await;
    println!("filled in {:?}", begin.elapsed());
}

/// Mostly short, now and then a long tool result.
fn random_message() -> Message {
    let bytes = match fastrand::u16(..1000) {
        0..950 => fastrand::usize(150..1_500),
        950..995 => fastrand::usize(1_500..8_000),
        _ => fastrand::usize(8_000..50_000),
    };
    let mut text = String::from("every the common ");
    if fastrand::u16(..1000) == 0 {
        text.push_str("rare77 数据库连接池 ");
    }
    while text.len() < bytes {
        // Few words are frequent, many are rare, as in any language.
        let rank = (fastrand::f64().powi(3) * 20_000.0) as u32;
        text.push_str(&format!("word{rank} "));
        if fastrand::u8(..40) == 0 {
            text.push_str(&format!("src/module_{}.rs\n", fastrand::u8(..)));
        }
    }
    let role = if bytes > 2_000 {
        Role::Tool
    } else {
        Role::User
    };
    Message::text(role, text)
}

fn report(what: &str, mut times: Vec<Duration>) {
    times.sort();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    println!(
        "{what}: n {} p50 {:?} p95 {:?} p99 {:?} max {:?}",
        times.len(),
        at(0.5),
        at(0.95),
        at(0.99),
        at(1.0)
    );
}
