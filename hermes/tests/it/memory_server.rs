//! A memory outside that somebody else wrote, as a process of its own that dies between two turns.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::bench::{Bench, eventually};
use crate::command;

const WAIT: Duration = Duration::from_secs(60);
/// Which Node runs which file.
const NODE: &str = "HERMES_REAL_MEMORY_NODE";
const SERVER: &str = "HERMES_REAL_MEMORY_SERVER";

#[test]
#[ignore = "needs server-memory from npm: cargo xtask real memory"]
fn a_real_memory_is_asked_told_and_replaced_when_it_dies() {
    let bench = Bench::new(json!([
        {"when": {"tools": false}, "text": "Tea", "repeat": true},
        {"text": "Understood.", "repeat": true},
    ]));
    let graph = configure(&bench);
    let pid = || bench.home.read("server.pid").trim().to_owned();
    let kept = |text: &str| fs::read_to_string(&graph).is_ok_and(|graph| graph.contains(text));
    let mut chat = command(&bench.home, &[]).pty(60, 120);
    chat.wait_for("/help for commands", WAIT);
    let mut say = |text: &str, answers: usize| {
        chat.send(&format!("{text}\r"));
        chat.wait_until(
            |screen| screen.matches("Understood.").count() >= answers,
            WAIT,
        );
    };
    say("I drink Dong-Ding in the morning.", 1);
    eventually(WAIT, "the first turn is kept", || {
        kept("Dong-Ding in the morning")
    });
    // It looks for what it is asked, letter by letter.
    say("dong-ding", 2);
    eventually(WAIT, "the second turn is kept", || kept("User: dong-ding"));
    let killed = pid();
    let kill = Command::new("kill").args(["-9", &killed]).status();
    assert!(kill.unwrap().success());
    eventually(WAIT, "it is gone", || {
        !Path::new(&format!("/proc/{killed}/exe")).exists()
    });
    say("in the morning", 3);
    eventually(WAIT, "the third turn is kept", || {
        kept("User: in the morning")
    });
    assert_ne!(pid(), killed, "another process, and the same chat");
    chat.send("/quit\r");
    chat.wait_exit(WAIT);
    let said = asked(&bench);
    assert_eq!(said[0], "I drink Dong-Ding in the morning.");
    for (said, own) in said[1..].iter().zip(["dong-ding", "in the morning"]) {
        let (words, recalled) = said.split_once("\n\n<memory-context>\n").unwrap();
        assert_eq!(words, own);
        assert!(
            recalled.contains("I drink Dong-Ding in the morning."),
            "{recalled}"
        );
    }
    let stored = bench.session()["messages"].to_string();
    assert!(!stored.contains("memory-context"), "{stored}");
}

/// The newest message of each request of the conversation.
fn asked(bench: &Bench) -> Vec<String> {
    let own = bench.requests().into_iter();
    let own = own.filter(|body| body["tools"].is_array());
    own.map(|body| {
        let messages = body["messages"].as_array().unwrap();
        messages.last().unwrap()["content"]
            .as_str()
            .unwrap()
            .to_owned()
    })
    .collect()
}

/// The server as the owner would write it down; gives where it keeps what it knows.
fn configure(bench: &Bench) -> std::path::PathBuf {
    let var = |name: &str| std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"));
    let graph = bench.home.hermes().join("graph.jsonl");
    let pid = bench.home.hermes().join("server.pid");
    let script = format!(
        "echo $$ > '{}'\nexec '{}' '{}'\n",
        pid.display(),
        var(NODE),
        var(SERVER)
    );
    let script = bench.home.write("server.sh", script);
    let entity = json!({"name": "{text}", "entityType": "turn", "observations": ["{text}"]});
    let servers = json!({"graph": {
        "command": "/bin/sh", "args": [script], "env": {"MEMORY_FILE_PATH": graph},
    }});
    let memory: Value = json!({"provider": "mcp:graph", "mcp": {
        "recall_tool": "search_nodes",
        "keep_tool": "create_entities", "keep_arguments": {"entities": [entity]},
    }});
    let config = bench.home.read("config.yaml");
    let config = format!("{config}mcp_servers: {servers}\nmemory: {memory}\n");
    bench.home.write("config.yaml", config);
    graph
}
