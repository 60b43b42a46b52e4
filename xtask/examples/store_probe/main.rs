//! The store by itself, for `cargo xtask bench` and `real`: appends, makes the big database, and times what is done to it.
//!
//! An example, not part of the xtask binary, so that the other chores need neither SQLite nor a store that compiles.

#![allow(clippy::print_stdout, reason = "its figures are read from stdout")]

mod text;

use std::fs;
use std::future::Future;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use hermes_store::{NewSession, OpenOptions, SearchQuery, Store};
use hermes_types::{Message, Role, SessionId};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use text::Text;

const SESSIONS: usize = 3_000;
const MESSAGES: usize = 300_000;
const QUERIES: usize = 50;
/// What `src/bench/store.rs` calls them.
const SHORT: (&str, usize) = ("session-short", 10);
const LONG: (&str, usize) = ("session-long", 20_000);

#[tokio::main]
async fn main() -> Result<()> {
    let args: Vec<_> = std::env::args().skip(1).collect();
    let args: Vec<_> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["append", database, session, count] => {
            append_and_tell(Path::new(database), session, count.parse()?).await
        }
        ["converse", database, session, count] => {
            converse(Path::new(database), session, count.parse()?).await
        }
        ["generate", folder] => generate(Path::new(folder)).await,
        ["measure", database, queries, short, long, appends] => {
            let appends = appends.parse()?;
            measure(
                Path::new(database),
                Path::new(queries),
                [short, long],
                appends,
            )
            .await
        }
        _ => bail!(
            "append DATABASE SESSION COUNT | converse DATABASE SESSION COUNT | generate FOLDER | measure DATABASE QUERIES SHORT LONG APPENDS"
        ),
    }
}

/// Prints the id of each message as soon as the store has acknowledged it, and nothing before.
async fn append_and_tell(database: &Path, session: &str, count: usize) -> Result<()> {
    let store = Store::open(database, OpenOptions::default()).await?;
    let session = SessionId::from(session);
    store
        .ensure_session(NewSession::new(session.clone(), "cli"))
        .await?;
    for at in 0..count {
        let message = Message::user(format!("message {at} of {session}, 第{at}条"));
        let id = store.append(&session, &message, Timestamp::now()).await?;
        println!("{id}");
    }
    store.close().await;
    Ok(())
}

/// One conversation that could have happened: question, call, result, answer.
async fn converse(database: &Path, session: &str, count: usize) -> Result<()> {
    let mut text = Text::new();
    let store = Store::open(database, OpenOptions::default()).await?;
    let session = SessionId::from(session);
    store
        .ensure_session(NewSession::new(session.clone(), "cli"))
        .await?;
    let call = |at: usize| {
        let calls = json!([{"id": format!("call_{at}"), "type": "function",
            "function": {"name": "terminal", "arguments": "{\"command\": \"make\"}"}}]);
        serde_json::from_value(json!({"role": "assistant", "content": "", "tool_calls": calls}))
    };
    let messages: Vec<Message> = (0..count)
        .map(|at| match at % 4 {
            0 => Ok(Message::user(text.message())),
            1 => call(at),
            2 => Ok(Message::tool(
                format!("call_{}", at - 1),
                "terminal",
                text.message(),
            )),
            _ => Ok(Message::text(Role::Assistant, text.message())),
        })
        .collect::<Result<_, _>>()?;
    store
        .replace_messages(&session, &messages, Timestamp::now())
        .await?;
    store.close().await;
    Ok(())
}

async fn generate(folder: &Path) -> Result<()> {
    let mut text = Text::new();
    let store = Store::open(folder.join("state.db"), OpenOptions::default()).await?;
    let start: Timestamp = "2025-01-01T00:00:00Z".parse()?;
    for (at, (name, count)) in sessions().into_iter().enumerate() {
        let began = start + SignedDuration::from_hours(3 * at as i64);
        let id = SessionId::from(name);
        let mut session = NewSession::new(id.clone(), ["cli", "telegram", "cron"][at % 3]);
        session.started_at = began;
        store.ensure_session(session).await?;
        let messages: Vec<_> = (0..count).map(|at| message(at, text.message())).collect();
        store.replace_messages(&id, &messages, began).await?;
    }
    store.close().await;
    fs::write(folder.join("queries.txt"), text.queries(QUERIES).join("\n"))?;
    Ok(())
}

/// A few long conversations and very many short ones, in all exactly what was promised.
fn sessions() -> Vec<(String, usize)> {
    let others = SESSIONS - 2;
    let total = MESSAGES - SHORT.1 - LONG.1;
    let weight = |at: usize| 1.0 / (at as f64 + 20.0);
    let weights: f64 = (0..others).map(weight).sum();
    let mut sizes: Vec<_> = (0..others)
        .map(|at| (total as f64 * weight(at) / weights) as usize)
        .collect();
    sizes[0] += total - sizes.iter().sum::<usize>();
    fastrand::Rng::with_seed(2).shuffle(&mut sizes);
    let named = |(at, size)| (format!("20250101_000000_{at:06x}"), size);
    let mut all: Vec<_> = sizes.into_iter().enumerate().map(named).collect();
    all.extend([SHORT, LONG].map(|(name, size)| (name.to_owned(), size)));
    all
}

fn message(at: usize, text: String) -> Message {
    match at % 4 {
        0 => Message::user(text),
        2 => Message::tool(format!("call_{at}"), "terminal", text),
        _ => Message::text(Role::Assistant, text),
    }
}

async fn measure(
    database: &Path,
    queries: &Path,
    sessions: [&str; 2],
    appends: usize,
) -> Result<()> {
    let open = || async { Store::open(database, OpenOptions::default()).await };
    let mut opened = Vec::new();
    for _ in 0..20 {
        let (time, store) = timed(open()).await;
        opened.push(time);
        store?.close().await;
    }
    let store = open().await?;
    let mut searched = Vec::new();
    for query in fs::read_to_string(queries).context("queries")?.lines() {
        let (time, hits) = timed(store.search(SearchQuery::new(query))).await;
        hits.with_context(|| query.to_owned())?;
        searched.push(time);
    }
    let [short, long] = sessions.map(SessionId::from);
    let (mut append_short, mut append_long) = (Vec::new(), Vec::new());
    // In no order: the store tidies up every so many writes, and that must not hit always the same one.
    for _ in 0..appends * 2 {
        let (session, times) = if fastrand::bool() {
            (&short, &mut append_short)
        } else {
            (&long, &mut append_long)
        };
        times.push(append(&store, session).await?);
    }
    store.close().await;
    let figures = json!({
        "open": opened,
        "search": searched,
        "append_short": append_short,
        "append_long": append_long,
    });
    println!("{figures}");
    Ok(())
}

async fn append(store: &Store, session: &SessionId) -> Result<f64> {
    let message = Message::user("a message of ordinary length. ".repeat(40));
    let (time, id) = timed(store.append(session, &message, Timestamp::now())).await;
    id?;
    Ok(time)
}

/// Milliseconds, and what came of it.
async fn timed<T>(action: impl Future<Output = T>) -> (f64, T) {
    let start = Instant::now();
    let result = action.await;
    (start.elapsed().as_secs_f64() * 1000.0, result)
}
