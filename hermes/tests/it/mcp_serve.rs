//! `hermes mcp serve`, over pipes.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use hermes_testkit::{Exit, TempHome};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::command;
use crate::seed::{self, Seed};

const PATIENCE: Duration = Duration::from_secs(20);

/// The program and a client of it; killed when dropped.
struct Served {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    last_id: u64,
}

impl Served {
    fn start(home: &TempHome) -> Self {
        Self::start_as(home, Command::new(env!("CARGO_BIN_EXE_hermes")))
    }

    fn start_as(home: &TempHome, mut command: Command) -> Self {
        let mut child = command
            .args(["mcp", "serve"])
            .env_clear()
            .env("HOME", home.home())
            .env("HERMES_HOME", home.hermes())
            .env("HERMES_CONTAINER", "0")
            .current_dir(home.work())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, lines) = mpsc::channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        thread::spawn(move || {
            for line in stdout.lines() {
                let _ = sender.send(line.unwrap()); // the test may be over
            }
        });
        let stdin = child.stdin.take();
        Self {
            child,
            stdin,
            lines,
            last_id: 0,
        }
    }

    fn send(&mut self, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        writeln!(self.stdin.as_mut().unwrap(), "{request}").unwrap();
        id
    }

    fn read(&self) -> Value {
        let line = self.lines.recv_timeout(PATIENCE).expect("an answer");
        serde_json::from_str(&line).expect("stdout carries protocol only")
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        let mut answer = self.read();
        assert_eq!(answer["id"], id, "{answer}");
        answer["result"].take()
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let params = json!({"name": tool, "arguments": arguments});
        let result = self.request("tools/call", params);
        serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

// The same requests as in `cargo xtask real mcp-serve`, where a stock client makes them.
// spec: mcp §15.25
#[test]
fn a_client_finds_ten_tools_and_truthful_errors() {
    let home = TempHome::new();
    let mut served = Served::start(&home);
    let hello = served.request("initialize", json!({"protocolVersion": "2025-11-25"}));
    assert_eq!(
        hello["serverInfo"],
        json!({"name": "hermes", "version": env!("CARGO_PKG_VERSION")})
    );
    let tools = served.request("tools/list", json!({}));
    assert_eq!(tools["tools"].as_array().unwrap().len(), 10);
    let event = served.call("events_wait", json!({"timeout_ms": 100}));
    assert_eq!(event, json!({"event": null, "reason": "timeout"}));
    let unknown = served.call("conversation_get", json!({"session_key": "x"}));
    assert_eq!(unknown, json!({"error": "Conversation not found: x"}));
    let bad = served.call(
        "permissions_respond",
        json!({"id": "1", "decision": "maybe"}),
    );
    for decision in ["allow-once", "allow-always", "deny"] {
        assert!(bad["error"].as_str().unwrap().contains(decision), "{bad}");
    }
}

#[test]
fn the_end_of_input_ends_it() {
    let home = TempHome::new();
    let mut served = Served::start(&home);
    served.send(
        "tools/call",
        json!({"name": "events_wait", "arguments": {}}),
    );
    // Others are answered while somebody waits.
    served.request("ping", json!({}));
    let start = Instant::now();
    served.stdin = None;
    let code = loop {
        if let Some(status) = served.child.try_wait().unwrap() {
            break status.code();
        }
        assert!(start.elapsed() < PATIENCE, "it does not end");
        thread::sleep(Duration::from_millis(5));
    };
    assert_eq!(code, Some(0));
    assert!(
        start.elapsed() < Duration::from_secs(1),
        "{:?}",
        start.elapsed()
    );
}

/// Root may write anywhere, so for root the program runs as nobody, who has to be let in.
#[test]
fn chats_are_read_where_nothing_can_be_written() {
    let home = TempHome::new();
    let messages = ["hello", "hi there"];
    let chat = Seed {
        id: "s",
        source: "telegram",
        messages: &messages,
        ..Seed::default()
    };
    seed::sessions(&home, &[chat]);
    let index = json!({"k": {"session_id": "s", "platform": "telegram", "display_name": "Ada"}});
    home.write("sessions/sessions.json", index.to_string());
    let program = home.work().join("hermes");
    std::fs::copy(env!("CARGO_BIN_EXE_hermes"), &program).unwrap();
    let allow = |path: &Path, mode| {
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    };
    allow(home.work().parent().unwrap(), 0o755);
    allow(&home.hermes().join("state.db"), 0o444);
    allow(&home.hermes(), 0o555);
    let mut command = Command::new(&program);
    if std::fs::write(home.hermes().join("probe"), "").is_ok() {
        std::fs::remove_file(home.hermes().join("probe")).unwrap();
        command.uid(65_534).gid(65_534);
    }
    let mut served = Served::start_as(&home, command);
    let list = served.call("conversations_list", json!({}));
    let read = served.call("messages_read", json!({"session_key": "k"}));
    let poll = served.call("events_poll", json!({}));
    allow(&home.hermes(), 0o755);
    assert_eq!(list["conversations"][0]["display_name"], "Ada");
    assert_eq!(read["messages"][1]["content"], "hi there");
    assert_eq!(poll["events"], json!([]));
    assert!(!home.exists("logs"), "it could write after all");
}

#[test]
fn logs_go_to_stderr() {
    let home = TempHome::new();
    let asked = "{\"id\":1,\"method\":\"ping\"}\nnonsense\n";
    let quiet = command(&home, &["mcp", "serve"]).stdin(asked).run();
    assert_eq!(quiet.exit, Exit::Code(0));
    assert_eq!(quiet.stdout.lines().count(), 2, "{quiet}");
    assert!(quiet.stderr.contains("Parse error"), "{quiet}");
    assert!(!quiet.stderr.contains("ping"), "{quiet}");
    let verbose = command(&home, &["mcp", "serve", "-v"]).stdin(asked).run();
    assert_eq!(verbose.stdout.lines().count(), 2, "{verbose}");
    assert!(verbose.stderr.contains("ping"), "{verbose}");
}
