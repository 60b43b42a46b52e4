//! Memory and the journal of what was learned, as an owner and a model meet them.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::Duration;

use hermes_scripted::mcp::{Flaky, Options};
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

/// Adds lines to the configuration.
fn configure(bench: &Bench, more: &str) {
    let config = bench.home.read("config.yaml");
    bench.home.write("config.yaml", config + more);
}

/// The newest message of every request of the conversation itself.
fn said(bench: &Bench) -> Vec<String> {
    let requests = bench.requests();
    let own = requests.iter().filter(|body| body["tools"].is_array());
    let newest = |body: &Value| body["messages"].as_array().unwrap().last().unwrap().clone();
    own.map(|body| newest(body)["content"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_server_can_be_the_memory_outside() {
    let bench = Bench::new(json!([
        remember("user", "Name: Ada"),
        {"text": "noted"},
        {"repeat": true, "text": "later"},
    ]));
    let flaky = Flaky::start(Options::default()).unwrap();
    configure(
        &bench,
        &format!("mcp_servers:\n  notes:\n    url: {} # ours\n", flaky.url()),
    );
    let setup = [
        "memory",
        "setup",
        "mcp:notes",
        "--recall",
        "read",
        "--keep",
        "write",
    ];
    let told = bench.run(&setup).ok().to_owned();
    assert!(
        told.contains("mcp:notes: recall with read(query), keep with write(content)"),
        "{told}"
    );
    let config = bench.home.read("config.yaml");
    assert!(
        config.contains("# ours") && config.contains("provider: mcp:notes"),
        "{config}"
    );
    let answer = bench.run(&["-z", "I am Ada"]).ok().to_owned();
    assert_eq!(answer, "noted\n");
    // Only the copy that goes out carries what was recalled.
    let first = &said(&bench)[0];
    let (own, recalled) = first.split_once("\n\n<memory-context>\n").unwrap();
    assert_eq!(own, "I am Ada");
    assert!(
        recalled.ends_with("\n\nread done\n</memory-context>"),
        "{recalled}"
    );
    assert!(systems(&bench)[0].contains("the memory mcp:notes recalls"));
    let stored = &bench.session()["messages"];
    assert!(!stored.to_string().contains("memory-context"), "{stored}");
    // What was said and what was noted were told to it, and it was asked with the words of the owner.
    let calls: Vec<Value> = flaky
        .requests()
        .into_iter()
        .filter(|seen| seen.rpc() == "tools/call")
        .map(|seen| seen.body["params"].clone())
        .collect();
    let of = |name: &str| -> Vec<&Value> {
        let named = calls.iter().filter(|call| call["name"] == name);
        named.map(|call| &call["arguments"]).collect()
    };
    assert_eq!(of("read"), [&json!({"query": "I am Ada"})]);
    let kept = json!({"content": "User: I am Ada\n\nAssistant: noted"});
    assert_eq!(of("write"), [&json!({"content": "Name: Ada"}), &kept]);
    // Out of reach, it changes nothing but this turn's copy.
    drop(flaky);
    assert_eq!(bench.run(&["-z", "again"]).ok(), "later\n");
    assert_eq!(said(&bench).last().unwrap(), "again");
    bench.run(&["memory", "off"]).ok();
    let status = bench.run(&["memory", "status"]).ok().to_owned();
    assert!(status.contains("provider: none"), "{status}");
}

#[test]
fn a_memory_that_is_not_here_is_named_and_nothing_else_changes() {
    let bench = Bench::new(json!([{"repeat": true, "text": "fine"}]));
    for name in ["frobnicate", "honcho", "mcp:nobody"] {
        let refused = fails(&bench.home, &["memory", "setup", name], 1);
        assert!(
            refused.contains(name) && refused.contains("known here: none"),
            "{refused}"
        );
    }
    fails(&bench.home, &["memory", "setup"], 1);
    configure(&bench, "memory:\n  provider: mem0\n");
    let output = bench.run(&["-z", "hi"]);
    let told = "the memory provider mem0 is not available in this build";
    assert_eq!(output.stderr.matches(told).count(), 1, "{output}");
    assert_eq!(output.ok(), "fine\n");
    let doctor = bench.run(&["doctor"]).stdout;
    assert!(
        doctor.contains(told) && doctor.contains("MEMORY.md: 0%"),
        "{doctor}"
    );
}

#[test]
fn what_others_changed_is_noted_when_a_chat_begins() {
    let bench = Bench::new(json!([{"repeat": true, "text": "yes"}]));
    let skill = |body: &str| {
        let text = format!("---\nname: mine\ndescription: d\n---\n{body}\n");
        bench.home.write("skills/mine/SKILL.md", text);
    };
    skill("one");
    bench.home.write("memories/MEMORY.md", "uses fish");
    bench.run(&["journey"]).ok();
    skill("two");
    bench.home.write("memories/MEMORY.md", "uses zsh");
    let mut chat = command(&bench.home, &[]).pty(40, 120);
    chat.wait_for("/help for commands", WAIT);
    // Read as it is on disk: `hermes journey` would look for itself.
    let changed = || {
        let journal = bench.home.read("learning/journal.jsonl");
        let lines = journal
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        let changed = lines.filter(|entry| entry["before"].is_string());
        changed
            .map(|entry| (entry["what"].clone(), entry["by"].clone()))
            .collect::<Vec<_>>()
    };
    let both = [
        (json!("memory"), json!("outside")),
        (json!("skill"), json!("outside")),
    ];
    eventually(WAIT, "both are noted", || changed() == both);
    chat.send("/journey\r");
    chat.wait_for("skill mine changed by somebody else", WAIT);
    chat.send("/memory\r");
    chat.wait_for("- uses zsh", WAIT);
    chat.send("/quit\r");
    chat.wait_exit(WAIT);
    let table = bench.run(&["journey"]).ok().to_owned();
    assert_eq!(table.matches("somebody else").count(), 2, "{table}");
}

#[test]
fn notes_in_a_bad_shape_are_named_everywhere_and_the_chat_starts() {
    let bench = Bench::new(json!([{"repeat": true, "text": "yes"}]));
    let path = bench.home.hermes().join("memories/MEMORY.md");
    let check = |told: &str| {
        let status = bench.run(&["memory"]).ok().to_owned();
        assert!(status.contains(told), "{told}: {status}");
        let doctor = bench.run(&["doctor"]).stdout;
        assert!(doctor.contains(told), "{told}: {doctor}");
        assert_eq!(bench.run(&["-z", "hi"]).ok(), "yes\n", "{told}");
        let chat = command(&bench.home, &[]).pty(40, 200);
        chat.wait_for(told, WAIT);
        chat.wait_for("/help for commands", WAIT);
        bench.run(&["journey"]).ok();
    };
    bench.home.write("memories/MEMORY.md", "x".repeat(3_000));
    check("holds an entry of 3000 characters");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    check("is a directory where a file of notes belongs");
    fs::remove_dir(&path).unwrap();
    symlink("nowhere", &path).unwrap();
    check("is a link to nowhere, which is not there");
}

// spec: learning §13.10
#[test]
fn a_skill_is_called_where_there_is_one_question_only() {
    let bench = Bench::new(json!([{"repeat": true, "text": "yes"}]));
    let text = "---\nname: my-skill\ndescription: d\n---\nFollow me.\n";
    bench.home.write("skills/my-skill/SKILL.md", text);
    bench.run(&["-z", "/my-skill hi"]).ok();
    bench.run(&["chat", "-q", "/my_skill hi", "-Q"]).ok();
    bench
        .run(&["-z", "/usr/bin is a path, /my-skill is not called"])
        .ok();
    let said = said(&bench);
    for called in &said[..2] {
        assert!(
            called.contains("Follow me.") && called.ends_with("hi"),
            "{called}"
        );
    }
    assert_eq!(said[2], "/usr/bin is a path, /my-skill is not called");
}
