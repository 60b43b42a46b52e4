//! Servers in a conversation: who is late, who is gone, who is loaded anew.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use hermes_scripted::mcp::{Era, Fault, Flaky, Options, Times};
use hermes_testkit::Pty;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::servers;
use crate::bench::{Bench, eventually};
use crate::command;

const WAIT: Duration = Duration::from_secs(15);

/// A model that answers everything, in a home with these servers.
fn bench(steps: Value, entries: &[(&str, &str)]) -> Bench {
    let bench = Bench::new(steps);
    configure(&bench, entries);
    bench
}

fn configure(bench: &Bench, entries: &[(&str, &str)]) {
    let config = bench.home.read("config.yaml");
    let model = config.split("mcp_servers:").next().unwrap().to_owned();
    bench.home.write("config.yaml", model + &servers(entries));
}

fn chatty() -> Value {
    json!([
        {"when": {"tools": false}, "repeat": true, "text": "A title"},
        {"when": {"user": "one"}, "text": "first answer"},
        {"when": {"user": "two"}, "text": "second answer"},
    ])
}

fn legacy() -> Flaky {
    Flaky::start(Options {
        era: Era::Legacy,
        ..Options::default()
    })
    .unwrap()
}

/// The names of the tools in the last request that had any.
fn offered(bench: &Bench) -> Vec<String> {
    let requests = bench.requests();
    let last = requests
        .iter()
        .rfind(|body| body["tools"].is_array())
        .unwrap();
    let tools = last["tools"].as_array().unwrap().iter();
    tools
        .map(|tool| tool["function"]["name"].as_str().unwrap().to_owned())
        .collect()
}

fn chat(bench: &Bench) -> Pty {
    let chat = command(&bench.home, &[]).pty(40, 100);
    chat.wait_for("/help for commands", WAIT);
    chat
}

// spec: mcp §15.23
#[test]
fn a_dead_and_a_hanging_server_keep_nobody_waiting() {
    let flaky = legacy();
    let dead = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    // Takes connections and never says a word.
    let hanging = TcpListener::bind("127.0.0.1:0").unwrap();
    let healthy = format!("url: {}", flaky.url());
    let dead = format!("url: http://{dead}/mcp");
    let hung = format!("url: http://{}/mcp", hanging.local_addr().unwrap());
    let step = json!([{"text": "here"}]);
    let bench = bench(
        step,
        &[("good", &healthy), ("dead", &dead), ("hung", &hung)],
    );
    let start = Instant::now();
    assert_eq!(bench.run(&["-z", "hi"]).ok().trim(), "here");
    // 1.5 s for the servers, and the rest for a busy machine.
    assert!(
        start.elapsed() < Duration::from_secs(5),
        "{:?}",
        start.elapsed()
    );
    assert!(offered(&bench).contains(&"mcp__good__write".to_owned()));
}

#[test]
fn a_server_that_is_late_joins_at_the_next_turn() {
    let flaky = legacy();
    flaky.arm(Fault::Down(None), Times::Always);
    let bench = bench(chatty(), &[("late", &format!("url: {}", flaky.url()))]);
    let mut chat = chat(&bench);
    chat.send("one\r");
    chat.wait_for("first answer", WAIT);
    assert!(!offered(&bench).iter().any(|name| name.starts_with("mcp__")));
    flaky.heal();
    eventually(WAIT, "the server is found", || {
        flaky.counters().tools_list > 0
    });
    chat.send("/status\r");
    chat.wait_for("late connected", WAIT);
    chat.send("two\r");
    chat.wait_for("second answer", WAIT);
    assert!(offered(&bench).contains(&"mcp__late__write".to_owned()));
}

// spec: mcp §15.24
#[test]
fn a_reload_touches_only_what_changed() {
    let (kept, removed) = (legacy(), legacy());
    let stays = format!("url: {}", kept.url());
    let goes = format!("url: {}", removed.url());
    let bench = bench(chatty(), &[("kept", &stays), ("removed", &goes)]);
    let mut chat = chat(&bench);
    chat.send("one\r");
    // A command that comes before the turn is over has to wait.
    chat.wait_for("first answer\n>", WAIT);
    assert!(offered(&bench).contains(&"mcp__removed__write".to_owned()));
    chat.send("/reload-mcp\r");
    chat.wait_for("/reload-mcp always", WAIT);
    configure(&bench, &[("kept", &stays)]);
    chat.send("/reload-mcp now\r");
    chat.wait_for(
        "removed removed; 10 tool(s) available from 1 server(s)",
        WAIT,
    );
    assert_eq!(
        (kept.counters().initialize, kept.counters().sessions_deleted),
        (1, 0)
    );
    let session = bench.session();
    let last = session["messages"].as_array().unwrap().last().unwrap();
    let note = last["content"].as_str().unwrap();
    assert!(
        last["role"] == "user" && note.contains("MCP servers were reloaded"),
        "{last}"
    );
    chat.send("two\r");
    chat.wait_for("second answer", WAIT);
    let offered = offered(&bench);
    assert!(offered.contains(&"mcp__kept__write".to_owned()));
    assert!(
        !offered.iter().any(|name| name.starts_with("mcp__removed")),
        "{offered:?}"
    );
}
