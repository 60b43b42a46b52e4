//! Conversations that are made shorter while they go on.

use std::sync::Arc;

use hermes_agent::Continuation;
use hermes_session::{Busy, Input, Session, Which, slash};
use hermes_store::{ListQuery, NewSession, Reach};
use hermes_testkit::doubles::Canned;
use hermes_types::{AgentEvent, Content, Message, SessionId};
use jiff::Timestamp;
use pretty_assertions::assert_eq;

use crate::{Bench, converse_in, turn_end};

const MARKER: &str = "[CONTEXT COMPACTION — REFERENCE ONLY]";

/// A stored conversation of 80 messages, about a thousand tokens each.
pub async fn stored(bench: &Bench) -> SessionId {
    let id = SessionId::new("20260101_000000_abcdef");
    let mut row = NewSession::new(id.clone(), "cli");
    row.system_prompt = Some("the old prompt".to_owned());
    bench.store.ensure_session(row).await.unwrap();
    let long = "word ".repeat(800);
    for n in 0..40 {
        for message in [
            Message::user(format!("question {n}: {long}")),
            Message::assistant(format!("answer {n}: {long}")),
        ] {
            bench
                .store
                .append(&id, &message, Timestamp::now())
                .await
                .unwrap();
        }
    }
    bench.store.set_title(&id, "long talk").await.unwrap();
    id
}

async fn texts(bench: &Bench, id: &SessionId) -> Vec<String> {
    let messages = bench.store.conversation(id, Reach::Session).await.unwrap();
    let text = |message: &Message| {
        message
            .content
            .as_ref()
            .map(Content::plain)
            .unwrap_or_default()
    };
    messages.iter().map(text).collect()
}

#[tokio::test]
async fn the_session_follows_the_conversation_into_its_new_row() {
    let bench = Bench::new(["the notes", "one", "two"].map(Canned::text)).await;
    let root = stored(&bench).await;
    let (session, live, feed) = bench.open(Which::Existing(root.clone()), Busy::Queue).await;
    assert_eq!((session.id(), session.task()), (root.clone(), root.clone()));
    let face = async {
        session.send(Input::Prompt(Message::user("and now?"))).await;
        let mut told = None;
        while let Some(event) = feed.next().await {
            match event {
                AgentEvent::Compacted(compacted) => {
                    assert_eq!(compacted.session.as_ref(), Some(&session.id()), "at once");
                    told = compacted.session;
                }
                AgentEvent::TurnEnded(end) => {
                    assert_eq!(end.text, "one");
                    break;
                }
                _ => {}
            }
        }
        session.send(Input::Prompt(Message::user("more"))).await;
        assert_eq!(turn_end(&feed).await.text, "two");
        session.send(Input::Close).await;
        told.unwrap()
    };
    let (child, ()) = tokio::join!(face, live.run());
    assert_eq!(
        (session.id(), session.task()),
        (child.clone(), root.clone())
    );

    let old = bench.store.session(&root).await.unwrap().unwrap();
    assert_eq!(
        (old.end_reason.as_deref(), old.message_count),
        (Some("compression"), 81)
    );
    let new = bench.store.session(&child).await.unwrap().unwrap();
    assert_eq!(new.parent, Some(root.clone()));
    assert_eq!(
        (new.title.as_deref(), new.end_reason.as_deref()),
        (Some("long talk #2"), Some("cli_close"))
    );
    assert_eq!(
        new.system_prompt.as_deref(),
        Some("the prompt"),
        "built anew"
    );
    assert!(new.usage.api_calls >= 1);
    let texts = texts(&bench, &child).await;
    assert_eq!(texts.last().unwrap(), "two");
    assert!(
        texts
            .iter()
            .any(|text| text.contains(MARKER) && text.contains("the notes"))
    );
    assert_eq!(bench.store.resume_target(&root).await.unwrap(), child);

    // Another process takes it up: tools know it by the same name.
    let (session, live, _feed) = bench
        .open(Which::Existing(child.clone()), Busy::Queue)
        .await;
    assert_eq!((session.id(), session.task()), (child, root));
    drop((session, live));
}

#[tokio::test]
async fn compress_previews_compacts_and_undoes() {
    let bench = Bench::new(["the notes", "one", "two"].map(Canned::text)).await;
    let root = stored(&bench).await;
    let opened = bench.open(Which::Existing(root.clone()), Busy::Queue).await;
    let lines = [
        "/compress --preview",
        "/compress --undo",
        "/compress the parser",
        "/context",
        "hello",
        "/context",
        "/compress --undo",
        "/compress --what",
        "more",
    ];
    let (_, said) = converse_in(opened, &lines).await;
    assert!(
        said[0].contains("of 80 messages") && said[0].contains("nothing was changed"),
        "{}",
        said[0]
    );
    assert!(said[1].contains("no compaction"), "{}", said[1]);
    assert!(said[2].contains("/compress --undo"), "{}", said[2]);
    for part in [
        "instructions",
        "tools",
        "summary",
        "131,072",
        "65,536",
        "compacted once",
    ] {
        assert!(said[3].contains(part), "{part}: {}", said[3]);
    }
    assert!(
        said[4].contains("last request: 10 tokens, 0 from the cache, 10 fresh"),
        "{}",
        said[4]
    );
    assert!(
        said[5].contains(root.as_str()) && said[5].contains("82 messages"),
        "{}",
        said[5]
    );
    assert!(said[6].contains("--what"), "{}", said[6]);
    let requests = bench.model.requests();
    assert!(
        requests[0].messages[0]
            .content
            .as_ref()
            .unwrap()
            .plain()
            .contains("the parser")
    );
    assert!(requests[1].messages.len() < 40 && requests[2].messages.len() == 83);
    let row = bench.store.session(&root).await.unwrap().unwrap();
    assert_eq!(
        (row.end_reason.as_deref(), row.message_count),
        (Some("cli_close"), 84)
    );
    assert_eq!(
        texts(&bench, &root).await[80..],
        ["hello", "one", "more", "two"]
    );
    assert_eq!(
        bench.store.list(ListQuery::default()).await.unwrap().len(),
        1
    );
}

#[tokio::test]
async fn a_short_conversation_is_left_alone() {
    let bench = Bench::new([Canned::text("hi")]).await;
    let opened = bench.open(Which::New, Busy::Queue).await;
    let (id, said) = converse_in(opened, &["hello", "/compress", "/compress --preview"]).await;
    assert_eq!(said, ["there is too little to compact yet"; 2]);
    assert_eq!(
        bench
            .store
            .session(&id)
            .await
            .unwrap()
            .unwrap()
            .message_count,
        2
    );
}

#[tokio::test]
async fn in_place_goes_on_in_a_new_row_where_the_old_messages_would_be_lost() {
    let mut bench = Bench::new([Canned::text("the notes")]).await;
    bench.limits.compaction.continuation = Continuation::InPlace;
    let root = stored(&bench).await;
    let opened = bench.open(Which::Existing(root.clone()), Busy::Queue).await;
    converse_in(opened, &["/compress"]).await;
    assert_eq!(texts(&bench, &root).await.len(), 80, "nothing is lost");
    assert_ne!(bench.store.tip(&root).await.unwrap(), root);
}

#[tokio::test]
async fn a_compaction_is_interrupted_and_what_was_typed_meanwhile_is_asked() {
    let bench = Bench::new([
        Canned::Hang,
        Canned::text("the notes"),
        Canned::text("an answer"),
    ])
    .await;
    let root = stored(&bench).await;
    let (session, live, feed) = bench
        .open(Which::Existing(root.clone()), Busy::Interrupt)
        .await;
    let compress = async |session: &Session| {
        let slash::Typed::Command { slash, .. } = slash::read("/compress") else {
            panic!("no such command");
        };
        session.send(Input::Command(slash, String::new())).await;
        while !matches!(feed.next().await, Some(AgentEvent::Compacting { .. })) {}
    };
    let face = async {
        compress(&session).await;
        session.send(Input::Interrupt).await;
        while !matches!(feed.next().await, Some(AgentEvent::Notice(text)) if text.contains("interrupted"))
        {
        }
        assert_eq!(session.id(), root, "it is as it was");
        compress(&session).await;
        session.send(Input::Prompt(Message::user("and?"))).await;
        let end = turn_end(&feed).await;
        session.send(Input::Close).await;
        end
    };
    let (end, ()) = tokio::join!(face, live.run());
    assert_eq!(end.text, "an answer");
    assert_ne!(session.id(), root);
}

#[tokio::test]
async fn jobs_and_files_know_the_conversation_by_its_first_row() {
    let bench = Bench::new(["the notes", "one"].map(Canned::text)).await;
    let root = stored(&bench).await;
    let (session, live, feed) = bench.open(Which::Existing(root.clone()), Busy::Queue).await;
    let asked = Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = asked.clone();
    let live = live.with_jobs(Arc::new(move |id| {
        seen.lock().unwrap().push(id);
        Box::pin(async { 0 })
    }));
    converse_in((session, live, feed), &["/compress", "/stop"]).await;
    assert_eq!(*asked.lock().unwrap(), [root]);
}
