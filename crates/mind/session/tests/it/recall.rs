//! `session_search` and `clarify`, called as the agent calls them.

use std::sync::Arc;

use hermes_home::profile::Profiles;
use hermes_home::{Env, Resolved};
use hermes_session::{Clarify, SessionSearch, Shape};
use hermes_store::{NewSession, OpenOptions, Shortened, Store};
use hermes_testkit::doubles::{Canned, CannedModel, FixedAsker, SideModel, cx_with};
use hermes_types::{Answer, CallCx, Message, Scope, Tool};
use jiff::{SignedDuration, Timestamp};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

async fn call(tool: &dyn Tool, args: Value, answer: Answer) -> Value {
    call_with(tool, args, cx_with(FixedAsker::new(answer))).await
}

async fn call_with(tool: &dyn Tool, args: Value, cx: CallCx) -> Value {
    let cx = CallCx {
        scope: Scope::new("current".into()),
        ..cx
    };
    let args = args.as_object().cloned().unwrap();
    serde_json::from_str(&tool.call(args, &cx).await.text).unwrap()
}

#[tokio::test]
async fn summaries_on_request_and_how_it_began_where_nobody_writes_one() {
    let (_dir, store) = store().await;
    // One after the other, so that it is known who gets which.
    let tool = SessionSearch::new(store).giving(Shape::Messages, 1);
    let args = || json!({"query": "zebra", "summarize": true, "limit": 2});
    let model = CannedModel::new([Canned::text("They deployed it."), Canned::text("Pictures.")]);
    let cx = CallCx {
        models: Arc::new(SideModel(model.clone())),
        ..cx_with(FixedAsker::new(Answer::Nobody))
    };
    let found = call_with(&tool, args(), cx).await;
    assert_eq!(
        (&found["mode"], &found["count"]),
        (&json!("summary"), &json!(2))
    );
    let told: Vec<_> = (0..2)
        .map(|at| found["results"][at]["summary"].clone())
        .collect();
    assert_eq!(told, ["They deployed it.", "Pictures."]);
    let asked = model.requests()[0].messages[0]
        .content
        .as_ref()
        .unwrap()
        .plain();
    assert!(
        asked.starts_with("Looked for: zebra") && asked.contains("[USER]: "),
        "{asked}"
    );
    let found = call(&tool, args(), Answer::Nobody).await;
    let told = found["results"][0]["summary"].as_str().unwrap();
    assert!(
        told.starts_with("[No summary (") && told.contains("zebra"),
        "{told}"
    );
}

async fn store() -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path().join("state.db"), OpenOptions::default())
        .await
        .unwrap();
    let sessions: &[(&str, &str, &[&str])] = &[
        (
            "old",
            "cli",
            &[
                "how do I deploy the zebra service",
                "run make deploy",
                "thanks",
                "you're welcome",
            ],
        ),
        (
            "chat",
            "telegram",
            &["zebra pictures please 斑馬图片", "here they are"],
        ),
        ("job", "cron", &["zebra report"]),
        ("child", "subagent", &["zebra zebra zebra"]),
        ("current", "cli", &["tell me about the zebra"]),
    ];
    let start = Timestamp::now() - SignedDuration::from_hours(2);
    for (index, (id, source, texts)) in sessions.iter().enumerate() {
        let at = start + SignedDuration::from_mins(i64::try_from(index).unwrap());
        store
            .ensure_session(NewSession {
                started_at: at,
                ..NewSession::new(*id, *source)
            })
            .await
            .unwrap();
        for (index, text) in texts.iter().enumerate() {
            let message = if index % 2 == 0 {
                Message::user(*text)
            } else {
                Message::assistant(*text)
            };
            store.append(&(*id).into(), &message, at).await.unwrap();
        }
    }
    (dir, store)
}

fn ids(result: &Value) -> Vec<&str> {
    result["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["session_id"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn earlier_conversations_are_found_once_each_and_opened_at_the_match() {
    let (_dir, store) = store().await;
    let tool = SessionSearch::new(store);
    let found = call(&tool, json!({"query": "zebra"}), Answer::Nobody).await;
    assert_eq!(found["mode"], "discover");
    let mut named = ids(&found);
    assert_eq!(named.pop(), Some("job"), "what jobs said comes last");
    named.sort_unstable();
    assert_eq!(
        named,
        ["chat", "old"],
        "neither this conversation nor sub-agents"
    );

    let old = call(&tool, json!({"query": "deploy zebra"}), Answer::Nobody).await;
    let hit = &old["results"][0];
    assert!(hit["snippet"].as_str().unwrap().contains(">>>"));
    let anchor = hit["messages"]
        .as_array()
        .unwrap()
        .iter()
        .find(|m| m["anchor"] == true)
        .unwrap();
    assert_eq!(anchor["content"], "how do I deploy the zebra service");
    assert_eq!(
        (&hit["messages_before"], &hit["messages_after"]),
        (&json!(0), &json!(3))
    );

    let scrolled = call(
        &tool,
        json!({"session_id": "old", "around_message_id": hit["match_message_id"], "window": 1}),
        Answer::Nobody,
    );
    assert_eq!(scrolled.await["messages"].as_array().unwrap().len(), 2);
    assert_eq!(
        ids(&call(&tool, json!({"query": "斑馬图片"}), Answer::Nobody).await),
        ["chat"]
    );
}

// spec: learning §13.17
#[tokio::test]
async fn the_part_of_a_conversation_that_matches_is_the_one_shown() {
    let (_dir, store) = store().await;
    let new = |id: &str| NewSession::new(id, "cli");
    store.ensure_session(new("A")).await.unwrap();
    let say = async |id: &str, text: &str| {
        let (id, message) = (id.into(), Message::user(text));
        let said = store.append(&id, &message, Timestamp::now());
        said.await.unwrap();
    };
    say("A", "docker networking").await;
    let shorter = Shortened {
        system_prompt: String::new(),
        messages: vec![Message::user("what was said before")],
        at: Timestamp::now(),
    };
    store
        .split(&"A".into(), &"B".into(), shorter)
        .await
        .unwrap();
    say("B", "the iptables rule").await;
    say("B", "前面的记忆断裂问题已经解决").await;
    let tool = SessionSearch::new(store.clone());
    let search = async |query: &str| call(&tool, json!({"query": query}), Answer::Nobody).await;
    let found = search("iptables").await;
    let hit = &found["results"][0];
    assert_eq!(
        (&hit["session_id"], &hit["parent_session_id"]),
        (&json!("B"), &json!("A"))
    );
    assert!(hit["messages"].to_string().contains("iptables"), "{hit}");
    assert_eq!(ids(&search("记忆断裂").await), ["B"]);
    let odd = search("\"unbalanced").await;
    assert_eq!((&odd["success"], &odd["count"]), (&json!(true), &json!(0)));
    // What is being talked about now is known already.
    assert!(!ids(&search("zebra").await).contains(&"current"));
}

#[tokio::test]
async fn without_a_query_recent_conversations_are_listed_and_one_can_be_read() {
    let (_dir, store) = store().await;
    let tool = SessionSearch::new(store);
    let recent = call(&tool, json!({"limit": 10}), Answer::Nobody).await;
    assert_eq!(ids(&recent), ["job", "chat", "old"]);
    let read = call(&tool, json!({"session_id": "old"}), Answer::Nobody).await;
    assert_eq!(
        (&read["message_count"], &read["left_out"]),
        (&json!(4), &json!(0))
    );
    let missing = call(&tool, json!({"session_id": "nosuch"}), Answer::Nobody).await;
    assert!(missing["error"].as_str().unwrap().contains("not found"));
}

#[tokio::test]
async fn the_conversation_with_that_title_comes_first() {
    let (_dir, store) = store().await;
    let title = async |id: &str, title: &str| {
        store.set_title(&id.into(), title).await.unwrap();
    };
    title("old", "Zebra pictures").await;
    title("chat", "Make deploy").await;
    title("child", "Report").await;
    title("current", "The zebra").await;
    let tool = SessionSearch::new(store.clone());
    let found = async |query: &str| call(&tool, json!({"query": query}), Answer::Nobody).await;
    // The words are in another one.
    for query in ["Zebra pictures", "\"Zebra pictures\"", "`Zebra pictures`"] {
        let found = found(query).await;
        assert_eq!(ids(&found)[0], "old", "{query}");
        assert_eq!(found["results"][0]["snippet"], ">>>Zebra pictures<<<");
        let first = &found["results"][0]["messages"][0];
        assert_eq!(
            (&first["anchor"], &first["role"]),
            (&json!(true), &json!("user"))
        );
    }
    assert_eq!(
        ids(&found("zebra pictures").await),
        ["chat"],
        "exactly that title"
    );
    let named = found("Make deploy").await;
    assert_eq!(ids(&named), ["chat", "old"]);
    // Neither what sub-agents did nor what is being said.
    assert_eq!(ids(&found("Report").await), ["job"]);
    assert!(!ids(&found("The zebra").await).contains(&"current"));
}

#[tokio::test]
async fn conversations_of_other_profiles_are_read_and_left_as_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let env = Env::from([("HERMES_HOME", dir.path().to_str().unwrap())]);
    let home = Resolved::from(None, &env).unwrap().home(&env);
    let work = dir.path().join("profiles/work");
    std::fs::create_dir_all(&work).unwrap();
    std::fs::create_dir_all(dir.path().join("profiles/empty")).unwrap();
    let other = Store::open(work.join("state.db"), OpenOptions::default())
        .await
        .unwrap();
    let session = NewSession::new("work-1", "cli");
    other.ensure_session(session).await.unwrap();
    let said = Message::user("the okapi plan");
    other
        .append(&"work-1".into(), &said, Timestamp::now())
        .await
        .unwrap();
    other.close().await;
    let before = std::fs::read(work.join("state.db")).unwrap();

    let (_dir, store) = store().await;
    let tool = SessionSearch::new(store).among(Profiles::of(&home, &env), "default");
    let ask = async |args: Value| call(&tool, args, Answer::Nobody).await;
    for id in ["work/work-1", "@session:work/work-1", "work-1"] {
        let read = ask(json!({"session_id": id})).await;
        assert_eq!(
            (&read["profile"], &read["messages"][0]["content"]),
            (&json!("work"), &json!("the okapi plan")),
            "{id}: {read}"
        );
    }
    let found = ask(json!({"query": "okapi", "profile": "work"})).await;
    assert_eq!(ids(&found), ["work-1"]);
    assert_eq!(
        ids(&ask(json!({"query": "okapi"})).await),
        Vec::<&str>::new()
    );
    // One's own is no other.
    let own = ask(json!({"session_id": "@session:default/old"})).await;
    assert_eq!(
        (&own["message_count"], &own["profile"]),
        (&json!(4), &Value::Null)
    );
    for (args, why) in [
        (
            json!({"query": "x", "profile": "empty"}),
            "no conversations yet",
        ),
        (json!({"query": "x", "profile": "none"}), "none"),
        (json!({"session_id": "nosuch"}), "not found"),
        (json!({"session_id": "none/nosuch"}), "not found"),
    ] {
        let refused = ask(args).await;
        assert!(
            refused["error"].as_str().unwrap().contains(why),
            "{refused}"
        );
    }
    assert!(std::fs::read(work.join("state.db")).unwrap() == before);
}

#[tokio::test]
async fn a_question_gets_its_answer_or_says_that_nobody_is_there() {
    let tool = Clarify::default();
    let ask = json!({"question": " which? ", "choices": ["a", " ", "b", "c", "d", "e"]});
    let answered = call(&tool, ask.clone(), Answer::Text("b".to_owned())).await;
    assert_eq!(answered["user_response"], "b");
    assert_eq!(answered["choices_offered"], json!(["a", "b", "c", "d"]));
    let alone = call(&tool, ask, Answer::Nobody).await;
    assert!(
        alone["user_response"]
            .as_str()
            .unwrap()
            .contains("No user is present")
    );
    assert!(call(&tool, json!({"question": ""}), Answer::Nobody).await["error"].is_string());
}
