//! Signals and Ctrl+C: nothing is left running, and the conversation can go on.

use std::time::{Duration, Instant};

use hermes_testkit::{Exit, FaultProxy, Pty};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::bench::{Bench, assert_valid, eventually};
use crate::command;

const WAIT: Duration = Duration::from_secs(15);

/// A command that would run for minutes; it tells its own number, its child's, and that of the program.
const LONG: &str = "echo $PPID $$ > hermes.pid; sh -c 'echo $$ > child.pid; exec sleep 300'";

/// The numbers in a file of the directory where commands run, once they are there.
fn pids(bench: &Bench, file: &str) -> Vec<String> {
    let path = bench.home.work().join(file);
    let read = || std::fs::read_to_string(&path).unwrap_or_default();
    eventually(WAIT, file, || read().ends_with('\n'));
    read().split_whitespace().map(str::to_owned).collect()
}

/// Whether a process does anything; one that nobody has waited for yet does not.
pub fn is_alive(pid: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let state = status.lines().find_map(|line| line.strip_prefix("State:"));
    state.is_some_and(|state| !state.trim().starts_with(['Z', 'X']))
}

/// Sends `signal` while the command runs: the program must end with `code` and the command with it.
#[track_caller]
fn end_by(bench: &Bench, pty: &mut Pty, signal: &str, code: i32) {
    let numbers = pids(bench, "hermes.pid");
    let child = pids(bench, "child.pid");
    let kill = bench.home.cmd("kill").arg(format!("-{signal}"));
    kill.arg(&numbers[0]).run().ok();
    assert_eq!(pty.wait_exit(WAIT), Exit::Code(code), "{signal}");
    for pid in [&numbers[1], &child[0]] {
        eventually(Duration::from_secs(2), "the command is gone", || {
            !is_alive(pid)
        });
    }
}

fn long_command() -> Bench {
    Bench::new(json!([
        {"when": {"tools": false}, "text": "A title", "repeat": true},
        {"tool_calls": [{"name": "terminal", "arguments": {"command": LONG}}]},
        {"text": "after"},
    ]))
}

/// Goes on with the conversation, which must be whole.
#[track_caller]
fn resumes(bench: &Bench) -> Value {
    assert_eq!(bench.run(&["-c", "-z", "again"]).ok(), "after\n");
    let request = bench.requests().pop().unwrap();
    assert_valid(&request);
    request
}

#[test]
fn a_signal_during_a_command_of_a_single_question() {
    for (signal, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        let bench = long_command();
        let mut pty = command(&bench.home, &["-z", "go"]).pty(24, 80);
        end_by(&bench, &mut pty, signal, code);
        let roles: Vec<_> = bench.session()["messages"]
            .as_array()
            .unwrap()
            .iter()
            .map(|message| message["role"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(roles, ["user", "assistant", "tool"], "{signal}");
        resumes(&bench);
    }
}

#[test]
fn a_signal_during_a_command_of_a_conversation() {
    for (signal, code) in [("TERM", 143), ("HUP", 129)] {
        let bench = long_command();
        let mut pty = command(&bench.home, &["chat", "--cli", "--yolo"]).pty(24, 80);
        pty.wait_for("/help for commands", WAIT);
        pty.send("go\r");
        end_by(&bench, &mut pty, signal, code);
        resumes(&bench);
    }
}

#[test]
fn the_second_ctrl_c_leaves() {
    let bench = Bench::new(json!([{"text": "never"}]));
    let mut pty = command(&bench.home, &["--cli"]).pty(24, 80);
    pty.wait_for("/help for commands", WAIT);
    pty.send("\u{3}");
    pty.wait_for("Ctrl+C again to leave", WAIT);
    pty.send("\u{3}");
    assert_eq!(pty.wait_exit(WAIT), Exit::Code(0));
}

/// A model whose answer begins and then hangs, behind a proxy that counts connections.
fn hanging() -> (Bench, FaultProxy) {
    let bench = Bench::new(json!([
        {"text": ["It begins", " and never ends"], "stall_after_chunks": 2},
        {"text": "after"},
    ]));
    let proxy = FaultProxy::start(bench.model.addr());
    let direct = bench.model.addr().to_string();
    let config = bench.home.read("config.yaml");
    let config = config.replace(&direct, &proxy.addr().to_string());
    bench.home.write("config.yaml", config);
    (bench, proxy)
}

// spec: agent-loop §26.17
#[test]
fn a_hanging_answer_is_interrupted() {
    let (bench, proxy) = hanging();
    let mut pty = command(&bench.home, &["-z", "slow"]).pty(24, 80);
    eventually(WAIT, "the answer begins", || proxy.bytes_to_client() > 0);
    let pressed = Instant::now();
    pty.send("\u{3}");
    assert_eq!(pty.wait_exit(WAIT), Exit::Code(130));
    assert!(pressed.elapsed() < Duration::from_secs(1));
    eventually(WAIT, "the connection is closed", || proxy.open() == 0);
    assert_eq!(bench.requests().len(), 1);
    // Whether the beginning had been read by then cannot be seen from outside; the next test sees it.
    resumes(&bench);
}

#[test]
fn a_hanging_answer_is_interrupted_and_the_conversation_goes_on() {
    let (bench, proxy) = hanging();
    let mut pty = command(&bench.home, &[]).pty(24, 80);
    pty.wait_for("/help for commands", WAIT);
    // With a title, no side model is asked for one.
    pty.send("/new Slow\r");
    pty.wait_for(": Slow", WAIT);
    pty.send("slow\r");
    pty.wait_for("It begins", WAIT);
    pty.send("\u{3}");
    pty.wait_for("(interrupted)", Duration::from_secs(1));
    eventually(Duration::from_secs(1), "the connection is closed", || {
        proxy.open() == 0
    });
    assert_eq!(bench.requests().len(), 1);
    pty.send("again\r");
    pty.wait_for("after", WAIT);
    let requests = bench.requests();
    assert_eq!(requests.len(), 2);
    assert_valid(&requests[1]);
    is_kept(&requests[1]);
}

/// What was shown of the interrupted answer is part of the conversation.
#[track_caller]
fn is_kept(request: &Value) {
    let messages = request["messages"].as_array().unwrap();
    let said = |at: usize| messages[at]["content"].as_str().unwrap_or_default();
    let roles: Vec<_> = messages.iter().map(|message| &message["role"]).collect();
    assert_eq!(roles, ["system", "user", "assistant", "user"]);
    assert_eq!((said(1), said(3)), ("slow", "again"));
    assert!(said(2).starts_with("It begins"), "{}", said(2));
}
