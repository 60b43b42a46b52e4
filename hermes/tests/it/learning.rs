//! Memory and the journal of what was learned, as an owner and a model meet them.

use std::time::Duration;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::bench::{Bench, eventually};
use crate::{command, fails};

const WAIT: Duration = Duration::from_secs(20);

fn remember(target: &str, content: &str) -> Value {
    let arguments = json!({"action": "add", "target": target, "content": content});
    json!({"tool_calls": [{"name": "memory", "arguments": arguments}]})
}

fn systems(bench: &Bench) -> Vec<String> {
    let requests = bench.requests();
    let with_tools = requests.iter().filter(|body| body["tools"].is_array());
    with_tools
        .map(|body| body["messages"][0]["content"].as_str().unwrap().to_owned())
        .collect()
}

// spec: learning §13.6
#[test]
fn what_was_remembered_is_in_the_next_session_and_not_in_this_one() {
    let bench = Bench::new(json!([
        remember("user", "Name: Ada"),
        {"text": "noted"},
        {"repeat": true, "text": "later"},
    ]));
    bench.run(&["-z", "I am Ada"]).ok();
    assert_eq!(bench.home.read("memories/USER.md"), "Name: Ada");
    bench.run(&["-z", "who am I"]).ok();
    let systems = systems(&bench);
    assert_eq!(systems[0], systems[1], "the prompt stays within a session");
    assert!(!systems[1].contains("Name: Ada"));
    let block = "USER PROFILE (who the user is) [0% — 9/1,375 chars]";
    assert!(
        systems[2].contains(block) && systems[2].contains("Name: Ada"),
        "{}",
        systems[2]
    );
}

#[test]
fn what_was_learned_is_shown_and_taken_back() {
    let content = "---\nname: tidy-up\ndescription: Tidy up.\n---\nPut things away.\n";
    let create = json!({"action": "create", "name": "tidy-up", "content": content});
    let bench = Bench::new(json!([
        remember("memory", "uses fish"),
        {"tool_calls": [{"name": "skill_manage", "arguments": create}]},
        {"repeat": true, "text": "done"},
    ]));
    bench.run(&["-z", "go"]).ok();
    let listed = bench.run(&["journey", "--json"]).ok().to_owned();
    let entries: Vec<Value> = serde_json::from_str(&listed).unwrap();
    let known = |entry: &Value| (entry["what"].clone(), entry["by"].clone());
    let known: Vec<_> = entries.iter().map(known).collect();
    assert_eq!(
        known,
        [
            (json!("memory"), json!("agent")),
            (json!("skill"), json!("agent"))
        ]
    );
    let numbers: Vec<String> = entries
        .iter()
        .map(|entry| entry["number"].to_string())
        .collect();
    let shown = bench.run(&["journey", "show", &numbers[1]]).ok().to_owned();
    assert!(
        shown.contains("skill tidy-up new") && shown.contains("+Put things away."),
        "{shown}"
    );
    let table = bench.run(&["journey"]).ok().to_owned();
    assert!(
        table.contains("MEMORY.md") && table.contains("the agent"),
        "{table}"
    );
    bench.run(&["journey", "undo", &numbers[1]]).ok();
    assert!(!bench.home.exists("skills/tidy-up"));
    // An editor was here since.
    bench
        .home
        .write("memories/MEMORY.md", "uses fish\n§\nby hand");
    let refused = fails(&bench.home, &["journey", "undo", &numbers[0]], 1);
    assert!(refused.contains("undo that one first"), "{refused}");
    fails(&bench.home, &["journey", "undo", "999"], 1);
    let status = bench.run(&["memory"]).ok().to_owned();
    assert!(status.contains("- by hand"), "{status}");
    let forgot = bench.run(&["memory", "reset", "-y"]).ok().to_owned();
    assert!(forgot.contains("MEMORY.md is empty now"), "{forgot}");
    assert!(!bench.home.exists("memories/MEMORY.md"));
    let back = forgot
        .split("undo ")
        .nth(1)
        .unwrap()
        .split('`')
        .next()
        .unwrap();
    bench.run(&["journey", "undo", back]).ok();
    assert_eq!(
        bench.home.read("memories/MEMORY.md"),
        "uses fish\n§\nby hand"
    );
}

/// The review begins when the answer is complete, and whoever talks on notices nothing of it, however long it takes.
#[test]
fn a_review_comes_after_the_answer_and_is_waited_for_by_nobody() {
    const SLOWLY: u64 = 400;
    let review = "[Review of the conversation";
    let bench = Bench::new(json!([
        {"when": {"tools": false}, "repeat": true, "text": "A title"},
        // It never says anything.
        {"when": {"user": review}, "text": "Nothing to save.", "stall_after_chunks": 0},
        {"when": {"user": "first"}, "text": ["the first ", "answer"], "between_ms": SLOWLY},
        {"when": {"user": "second"}, "text": "the second answer"},
    ]));
    let config = bench.home.read("config.yaml");
    bench
        .home
        .write("config.yaml", config + "memory:\n  nudge_interval: 1\n");
    let reviews = || {
        let calls = bench.model.calls().into_iter();
        let is_review = |body: &Value| body["messages"].to_string().contains(review);
        calls
            .filter(|call| is_review(&call.body))
            .collect::<Vec<_>>()
    };
    let mut chat = command(&bench.home, &[]).pty(40, 120);
    chat.wait_for("/help for commands", WAIT);
    chat.send("first\r");
    eventually(WAIT, "a review", || !reviews().is_empty());
    let asked = bench.model.calls()[0].at_ms;
    let begun = reviews().remove(0);
    // All of the answer was there, down to what came last.
    assert!(begun.at_ms >= asked + SLOWLY, "{asked}: {}", begun.at_ms);
    let messages = begun.body["messages"].as_array().unwrap();
    assert_eq!(messages[messages.len() - 2]["content"], "the first answer");
    chat.wait_for("the first answer", WAIT);
    chat.send("second\r");
    chat.wait_for("the second answer", WAIT);
    assert_eq!(reviews().len(), 1, "one at a time");
    chat.send("/quit\r");
    chat.wait_exit(WAIT);
}
