//! `delegate_task`: children over a real store and a model that answers all of them.

mod stops;
mod world;

use hermes_store::{ListQuery, Reach};
use hermes_testkit::doubles::Canned;
use hermes_types::{
    AgentEvent, Child, Message, ModelErrorKind, Pot, Purse, Scope, SessionId, Tool,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use world::{Act, PRICE, World, delegating, end, first, offered, text};

fn two() -> Value {
    json!({"tasks": [{"goal": "count", "context": "from one"}, {"goal": "sing"}]})
}

/// The children of a session as they are stored.
async fn children(world: &World, parent: &SessionId) -> Vec<hermes_store::Session> {
    let query = ListQuery {
        every_session: true,
        limit: 100,
        ..ListQuery::default()
    };
    let mut found = Vec::new();
    for row in world.store.list(query).await.unwrap() {
        let session = world.store.session(&row.id).await.unwrap().unwrap();
        if session.parent.as_ref() == Some(parent) {
            found.push(session);
        }
    }
    found
}

// The first child answers only when the second has been asked: they work at the same time.
#[tokio::test]
async fn children_work_at_the_same_time_each_for_itself() {
    let world = World::new(|request| match first(request).as_str() {
        "count" => Act::After("sing", Canned::text("one, two")),
        "sing" => Act::Say(Canned::text("la la")),
        _ => delegating(request, &two()),
    })
    .await;
    let (id, events) = world.turn("go").await;
    assert_eq!(end(&events).text, "all done");

    let result = world::result(&world.mind.asked("go")[1]).unwrap();
    let results = result["results"].as_array().unwrap();
    assert!(result["total_duration_seconds"].is_number());
    for (index, said) in ["one, two", "la la"].iter().enumerate() {
        let expected = json!({
            "task_index": index, "status": "completed", "summary": said, "api_calls": 1,
            "duration_seconds": results[index]["duration_seconds"], "model": "canned-1",
            "exit_reason": "completed", "tokens": {"input": 10, "output": 5}, "tool_trace": [],
            "stale_paths": (0..8).map(|n| format!("/f/{n}")).collect::<Vec<_>>(),
        });
        assert_eq!(results[index], expected);
    }

    // What a child is told: its task, and nothing of the conversation it comes from.
    let asked = &world.mind.asked("count")[0];
    assert_eq!(asked.messages.len(), 1);
    for part in [
        "Your task: count",
        "from one",
        "Working directory: /project",
    ] {
        assert!(asked.system.contains(part), "{}", asked.system);
    }
    assert!(!asked.system.contains("the prompt"));
    assert_eq!(
        offered(asked),
        ["mcp__github__issues", "read_file", "terminal"]
    );
    assert!(offered(&world.mind.asked("go")[0]).contains(&"delegate_task"));

    // Their rows belong to the parent's and are no conversations of the owner's.
    let rows = children(&world, &id).await;
    assert_eq!(rows.len(), 2);
    for row in &rows {
        assert_eq!(row.source, "subagent");
        assert_eq!(row.end_reason.as_deref(), Some("subagent_complete"));
        assert_eq!((row.message_count, row.usage.api_calls), (2, 1));
    }
    let query = ListQuery {
        limit: 10,
        ..ListQuery::default()
    };
    let listed = world.store.list(query).await.unwrap();
    assert_eq!(listed.len(), 1);
    let parent = world.store.session(&id).await.unwrap().unwrap();
    assert_eq!((parent.message_count, parent.usage.api_calls), (4, 2));
    let stored = world.store.conversation(&id, Reach::Session).await.unwrap();
    assert_eq!((text(&stored[0]), stored.len()), ("go".to_owned(), 4));
    assert_eq!(world.farewells.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn what_children_do_is_told_one_level_down() {
    let world = World::new(|request| match first(request).as_str() {
        "count" => match request.messages.len() {
            1 => Act::Say(Canned::calls(&[
                ("read_file", "{}"),
                ("terminal", "{\"x\": 1}"),
            ])),
            _ => Act::Say(Canned::text("counted")),
        },
        "sing" => Act::Say(Canned::text("la la")),
        _ => delegating(request, &two()),
    })
    .await;
    let (_, events) = world.turn("go").await;
    let told: Vec<&Child> = events
        .iter()
        .filter_map(|event| match event {
            AgentEvent::Child(child) => Some(child),
            _ => None,
        })
        .collect();
    let of = |index: usize| told.iter().filter(move |child| child.index == index);
    assert!(
        of(0).all(|child| (child.call_id.as_str(), child.goal.as_str()) == ("call_0", "count"))
    );
    let started = of(0).filter(|child| matches!(*child.event, AgentEvent::ToolStarted { .. }));
    assert_eq!(started.count(), 2);
    for index in 0..2 {
        let last = of(index).next_back().unwrap();
        assert!(matches!(*last.event, AgentEvent::TurnEnded(_)), "{last:?}");
    }
    let text: String = events
        .iter()
        .filter_map(|event| match event {
            AgentEvent::Text(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(text, "all done");

    let result = world::result(&world.mind.asked("go")[1]).unwrap();
    let trace = &result["results"][0]["tool_trace"];
    let id_bytes = "20261116_040126_a1b2c3".len();
    let expected = json!([
        {"tool": "read_file", "args_bytes": 2, "result_bytes": id_bytes, "status": "ok"},
        {"tool": "terminal", "args_bytes": 8, "result_bytes": id_bytes, "status": "ok"},
    ]);
    assert_eq!(*trace, expected);
    // Its tools know it by its own name.
    let asked = world.mind.asked("count");
    let said = text_of_results(&asked[1].messages);
    assert!(said.iter().all(|id| {
        world
            .farewells
            .lock()
            .unwrap()
            .iter()
            .any(|c| c.as_str() == id)
    }));
}

fn text_of_results(messages: &[Message]) -> Vec<String> {
    let results = messages.iter().filter(|m| m.tool_call_id.is_some());
    results.map(text).collect()
}

// spec: agent-loop §26.22
#[tokio::test]
async fn more_tasks_than_allowed_are_refused() {
    let four: Vec<Value> = (0..4).map(|n| json!({"goal": n.to_string()})).collect();
    let world = World::new(move |request| delegating(request, &json!({"tasks": four}))).await;
    let result = world.delegated("go").await;
    let error = result["error"].as_str().unwrap();
    assert!(
        error.contains("max_concurrent_children") && error.contains('3'),
        "{error}"
    );
    assert_eq!(world.mind.requests().len(), 2);
}

#[tokio::test]
async fn a_list_of_tasks_may_come_as_text() {
    let world = World::new(|request| match first(request).as_str() {
        "a" | "b" => Act::Say(Canned::text("done")),
        _ => delegating(
            request,
            &json!({"tasks": "[{\"goal\": \"a\"}, {\"goal\": \"b\"}]"}),
        ),
    })
    .await;
    let result = world.delegated("go").await;
    assert_eq!(result["results"].as_array().unwrap().len(), 2);
}

// Calls of one reply: as many as there may be children, and none twice.
#[tokio::test]
async fn a_reply_may_have_so_many_calls() {
    let world = World::new(|request| {
        let goal = |goal: &str| json!({"goal": goal}).to_string();
        let goals = ["a", "b", "b", "c", "d", "e"].map(goal);
        let calls: Vec<_> = goals
            .iter()
            .map(|args| ("delegate_task", args.as_str()))
            .collect();
        match (first(request).as_str(), request.messages.len()) {
            ("go", 1) => Act::Say(Canned::calls(&calls)),
            _ => Act::Say(Canned::text("done")),
        }
    })
    .await;
    world.turn("go").await;
    let last = &world.mind.asked("go")[1];
    assert_eq!(text_of_results(&last.messages).len(), 3);
    let ran: Vec<bool> = ["a", "b", "c", "d", "e"]
        .iter()
        .map(|goal| !world.mind.asked(goal).is_empty())
        .collect();
    assert_eq!(ran, [true, true, true, false, false]);
}

#[tokio::test]
async fn a_child_that_fails_is_reported_and_the_others_go_on() {
    let world = World::new(|request| match first(request).as_str() {
        "error" => Act::Say(Canned::error(ModelErrorKind::Auth)),
        "panic" => panic!("as the test wants it"),
        "fine" => Act::Say(Canned::text("well")),
        _ => delegating(
            request,
            &json!({"tasks": [{"goal": "error"}, {"goal": "panic"}, {"goal": "fine"}]}),
        ),
    })
    .await;
    let result = world.delegated("go").await;
    let told = |index: usize, name: &str| result["results"][index][name].clone();
    assert_eq!(
        (told(0, "status"), told(0, "exit_reason")),
        (json!("failed"), json!("error"))
    );
    assert_eq!(told(0, "error"), "Auth");
    assert_eq!(told(1, "status"), "error");
    assert_eq!(told(1, "error"), "it failed internally");
    assert_eq!(
        (told(2, "status"), told(2, "summary")),
        (json!("completed"), json!("well"))
    );
    assert_eq!(world.farewells.lock().unwrap().len(), 3);
}

#[tokio::test]
async fn toolsets_are_those_asked_for_out_of_the_parents() {
    let check = async |inherit: bool, toolsets: &[&str], expected: &[&str]| {
        let args = json!({"goal": "work", "toolsets": toolsets});
        let mut world = World::new(move |request| match first(request).as_str() {
            "work" => Act::Say(Canned::text("done")),
            _ => delegating(request, &args),
        })
        .await;
        world.config.inherit_servers = inherit;
        let result = world.delegated("go").await;
        match world.mind.asked("work").first() {
            Some(request) => assert_eq!(offered(request), expected, "{toolsets:?}"),
            None => {
                let error = result["results"][0]["error"].as_str().unwrap();
                assert!(expected.is_empty() && error.contains("no tools"), "{error}");
            }
        }
    };
    let issues = "mcp__github__issues";
    check(true, &["file"], &[issues, "read_file"]).await;
    check(false, &["file"], &["read_file"]).await;
    check(false, &["mcp-github"], &[issues]).await;
    check(false, &["github", "terminal"], &[issues, "terminal"]).await;
    check(false, &[], &[issues, "read_file", "terminal"]).await;
    check(true, &["memory", "nonsense"], &[]).await;
}

#[tokio::test]
async fn an_orchestrator_has_children_of_its_own() {
    let mut world = World::new(|request| match first(request).as_str() {
        "leaf" => Act::Say(Canned::text("leaf work")),
        "lead" => delegating(request, &json!({"goal": "leaf", "role": "orchestrator"})),
        _ => delegating(
            request,
            &json!({"goal": "lead", "role": "orchestrator", "toolsets": ["file"]}),
        ),
    })
    .await;
    world.config.depth = 2;
    let (id, events) = world.turn("go").await;
    assert_eq!(
        offered(&world.mind.asked("lead")[0]),
        ["delegate_task", "mcp__github__issues", "read_file"]
    );
    // No more than its parent has, and it stands as deep as one may.
    assert_eq!(
        offered(&world.mind.asked("leaf")[0]),
        ["mcp__github__issues", "read_file"]
    );
    let inner = world::result(&world.mind.asked("lead")[1]).unwrap();
    assert_eq!(inner["results"][0]["summary"], "leaf work");
    let note = inner["results"][0]["note"].as_str().unwrap();
    assert!(note.contains("max_spawn_depth is 2"), "{note}");
    let nested = events.iter().any(|event| match event {
        AgentEvent::Child(child) => {
            matches!(&*child.event, AgentEvent::Child(inner) if inner.goal == "leaf")
        }
        _ => false,
    });
    assert!(nested);
    let lead = children(&world, &id).await;
    assert_eq!(lead.len(), 1);
    assert_eq!(children(&world, &lead[0].id).await.len(), 1);
}

#[tokio::test]
async fn a_very_long_report_is_cut_and_kept() {
    let report = "é".repeat(30_000);
    let said = report.clone();
    let world = World::new(move |request| match first(request).as_str() {
        "work" => Act::Say(Canned::text(&said)),
        _ => delegating(request, &json!({"goal": "work"})),
    })
    .await;
    let result = world.delegated("go").await;
    let summary = result["results"][0]["summary"].as_str().unwrap();
    assert!(summary.starts_with(&"é".repeat(24_000)));
    assert!(summary.chars().count() < 24_300);
    let (_, path) = summary.split_once("All of it is in ").unwrap();
    let path = path.trim_end_matches(".]");
    assert_eq!(world.workspace.text(path), Some(report));
}

#[tokio::test]
async fn a_childs_steps_are_those_of_the_settings() {
    let mut world =
        World::new(
            |request| match (first(request).as_str(), request.tools.is_empty()) {
                ("work", true) => Act::Say(Canned::text("that is all I did")),
                ("work", false) => Act::Say(Canned::calls(&[("read_file", "{}")])),
                _ => delegating(request, &json!({"goal": "work", "max_iterations": 50})),
            },
        )
        .await;
    world.config.limits.iterations = 2;
    let result = world.delegated("go").await;
    let told = &result["results"][0];
    assert_eq!(
        (&told["status"], &told["exit_reason"]),
        (&json!("completed"), &json!("max_iterations"))
    );
    assert_eq!(
        (&told["api_calls"], &told["summary"]),
        (&json!(3), &json!("that is all I did"))
    );
}

#[tokio::test]
async fn what_children_cost_is_taken_from_their_parents_purse() {
    let world = World::new(|_| Act::Say(Canned::text("done"))).await;
    let session = Purse::new(Pot::default());
    let turn = session.inside(Pot::default());
    let scope = Scope {
        purse: turn.clone(),
        ..Scope::new("parent".into())
    };
    let (tool, cx) = world.call(scope);
    let args = two().as_object().unwrap().clone();
    let output = tool.call(args, &cx).await;
    assert!(output.text.contains("completed"), "{}", output.text);
    assert_eq!((turn.spent(), session.spent()), (2.0 * PRICE, 2.0 * PRICE));
}
