//! `/memory` and `/journey`.

use std::fs;
use std::sync::Arc;

use hermes_home::config::Settings;
use hermes_home::{Env, Resolved};
use hermes_session::{Asking, Busy, Feed, Input, Learned, Session, Which, slash};
use hermes_skills::journal::Journal;
use hermes_skills::memory::Memory;
use hermes_testkit::TempHome;
use hermes_types::{AgentEvent, Answer, Question};

use super::{Bench, notice};

async fn command(session: &Session, feed: &Feed, name: &str, rest: &str) -> String {
    tell(session, name, rest).await;
    notice(feed).await
}

async fn tell(session: &Session, name: &str, rest: &str) {
    let slash = slash::TABLE
        .iter()
        .find(|slash| slash.name == name)
        .unwrap();
    session.send(Input::Command(slash, rest.to_owned())).await;
}

/// Answers the question that comes next, and gives what is said then.
async fn answer(session: &Session, feed: &Feed, answer: Answer) -> String {
    let id = loop {
        match feed.next().await.unwrap() {
            AgentEvent::Asked { id, question } => {
                assert!(matches!(question, Question::Confirm { .. }), "{question:?}");
                break id;
            }
            AgentEvent::Notice(_) => {}
            other => panic!("{other:?}"),
        }
    };
    session.send(Input::Answer { id, answer }).await;
    loop {
        match feed.next().await.unwrap() {
            AgentEvent::Notice(text) => return text,
            AgentEvent::Answered { .. } => {}
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn what_was_learned_is_shown_and_taken_back_when_asked() {
    let temp = TempHome::new();
    let env = Env::from([
        ("HERMES_HOME", temp.hermes().to_str().unwrap()),
        ("HOME", temp.home().to_str().unwrap()),
    ]);
    let home = Resolved::from(None, &env).unwrap().home(&env);
    let learned = Learned {
        memory: Memory::new(&home, &Settings::load(&home, &env)),
        journal: Arc::new(Journal::new(&home)),
        home,
        provider: "none".to_owned(),
    };
    let bench = Bench::new([]).await;
    let mut opening = bench.opening(Which::New, Busy::Queue);
    opening.asking = Asking::Interactive;
    let (session, live, feed) = Session::open(opening).await.unwrap();
    let live = live.with_learned(learned);
    let write = |text: &str| temp.write("memories/USER.md", text);
    let read = || fs::read_to_string(temp.hermes().join("memories/USER.md")).unwrap();
    write("Name: Ada");
    let face = async {
        let empty = command(&session, &feed, "journey", "").await;
        assert_eq!(empty, "Nothing has been learned yet.");
        write("Name: Ada\n§\nTZ: UTC");
        let memory = command(&session, &feed, "memory", "").await;
        assert!(
            memory.contains("USER.md  1% — 19/1,375 chars\n- Name: Ada\n- TZ: UTC"),
            "{memory}"
        );
        assert!(memory.ends_with("provider: none"), "{memory}");
        let listed = command(&session, &feed, "journey", "5").await;
        assert!(
            listed.ends_with("USER.md changed by somebody else"),
            "{listed}"
        );
        let shown = command(&session, &feed, "journey", "show 2").await;
        assert!(shown.contains("+TZ: UTC"), "{shown}");
        tell(&session, "journey", "undo 2").await;
        let kept = answer(&session, &feed, Answer::Deny).await;
        assert_eq!(kept, "everything stays as it is");
        assert!(read().contains("TZ"));
        tell(&session, "journey", "undo 2").await;
        let done = answer(&session, &feed, Answer::Once).await;
        assert!(
            done.starts_with("USER.md is what it was before entry 2"),
            "{done}"
        );
        assert_eq!(read(), "Name: Ada");
        // Unasked where somebody has decided.
        let done = command(&session, &feed, "journey", "undo 3 now").await;
        assert!(
            done.starts_with("USER.md is what it was before entry 3"),
            "{done}"
        );
        let missing = command(&session, &feed, "journey", "undo 99").await;
        assert!(missing.contains("there is no entry 99"), "{missing}");
        let odd = command(&session, &feed, "journey", "frobnicate").await;
        assert!(odd.contains("/journey undo N"), "{odd}");
        session.send(Input::Close).await;
    };
    tokio::join!(face, live.run());
}
