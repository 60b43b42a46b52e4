//! stdio: F29 to F33 and others, and the program itself.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use hermes_scripted::mcp::{Fault, Flaky, Times};
use hermes_testkit::TempHome;
use serde_json::{Value, json};

use super::link::{PATIENCE, armed, start};

const PROGRAM: &str = env!("CARGO_BIN_EXE_flaky-mcp");

/// A child, killed when dropped.
struct Pipe {
    process: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    id: u32,
}

impl Pipe {
    fn new(flaky: &Flaky) -> Self {
        Self::start(&["stdio", &flaky.control().to_string()])
    }

    fn start(args: &[&str]) -> Self {
        #[expect(
            clippy::disallowed_methods,
            reason = "the server under test, which has to be killed in many ways"
        )]
        let mut process = Command::new(PROGRAM)
            .args(args)
            .env_clear()
            .env("GIVEN", "yes")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdin = process.stdin.take();
        let stdout = BufReader::new(process.stdout.take().unwrap());
        Self {
            process,
            stdin,
            stdout,
            id: 0,
        }
    }

    fn send(&mut self, method: &str, params: &Value) {
        self.id += 1;
        let message = json!({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params});
        self.write(&message);
    }

    fn write(&mut self, message: &Value) {
        writeln!(self.stdin.as_mut().unwrap(), "{message}").unwrap();
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        line
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.send(method, params);
        serde_json::from_str(&self.line()).unwrap()
    }

    fn tool(&mut self, name: &str) -> String {
        let answer = self.ask("tools/call", &json!({"name": name, "arguments": {}}));
        let text = answer["result"]["content"][0]["text"].as_str();
        text.unwrap().to_owned()
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn state_survives_the_child() {
    let flaky = start();
    let mut child = Pipe::new(&flaky);
    let greeting = child.ask("initialize", &json!({"protocolVersion": "2025-11-25"}));
    assert_eq!(greeting["result"]["serverInfo"]["name"], "flaky");
    assert_eq!(child.tool("write"), "written 1");
    assert_eq!(child.tool("env"), r#"{"GIVEN":"yes"}"#);
    assert_eq!(flaky.counters().child_pid, Some(child.process.id()));
    // F29
    armed(&flaky, "F29");
    let status = child.process.wait().unwrap();
    assert_eq!(
        std::os::unix::process::ExitStatusExt::signal(&status),
        Some(9)
    );
    let mut child = Pipe::new(&flaky);
    assert_eq!(child.tool("write"), "written 2");
    let counters = flaky.counters();
    assert_eq!((counters.children, counters.executions["write"]), (2, 2));
    drop(child);
    let counters = flaky.wait_for(PATIENCE, |counters| counters.children_now == 0);
    assert_eq!(counters.children_now, 0);
}

#[test]
fn f30_killed_while_it_answers() {
    let flaky = start();
    let mut child = Pipe::new(&flaky);
    armed(&flaky, "F30");
    child.send("tools/call", &json!({"name": "write"}));
    assert_eq!(child.line(), "");
    let status = child.process.wait().unwrap();
    assert_eq!(
        std::os::unix::process::ExitStatusExt::signal(&status),
        Some(9)
    );
    assert_eq!(flaky.counters().executions["write"], 1);
}

#[test]
fn f31_stopped() {
    for fault in ["F31", "F31:idle"] {
        let flaky = start();
        let mut child = Pipe::new(&flaky);
        assert_eq!(child.tool("read"), "read done");
        armed(&flaky, fault);
        child.send("tools/call", &json!({"name": "write"}));
        let stat = format!("/proc/{}/stat", child.process.id());
        let stopped = || std::fs::read_to_string(&stat).unwrap().contains(") T ");
        while !stopped() {
            std::thread::yield_now();
        }
    }
}

#[test]
fn f32_junk_before_the_answer() {
    let flaky = start();
    let mut child = Pipe::new(&flaky);
    armed(&flaky, "F32");
    child.send("tools/call", &json!({"name": "write"}));
    for line in 0..10_000 {
        assert!(child.line().starts_with(&format!("junk {line}: ")));
    }
    assert!(child.line().contains("written 1"));
}

#[test]
fn f33_stdout_closed_and_grandchildren_left() {
    let flaky = start();
    let mut child = Pipe::new(&flaky);
    armed(&flaky, "F33");
    child.send("tools/call", &json!({"name": "write"}));
    assert_eq!(child.line(), "", "the end of the stream");
    let counters = flaky.wait_for(PATIENCE, |counters| counters.grandchildren_now == 2);
    assert_eq!(counters.grandchildren_now, 2);
    assert!(child.process.try_wait().unwrap().is_none());
    child.process.kill().unwrap();
    child.process.wait().unwrap();
    assert_eq!(flaky.counters().grandchildren_now, 2, "nobody killed these");
}

#[test]
fn other_faults_of_a_pipe() {
    let flaky = start();
    let mut child = Pipe::new(&flaky);
    armed(&flaky, "F10");
    assert_eq!(child.tool("write"), "written 1", "not a fault of pipes");
    flaky.heal();
    armed(&flaky, "F20");
    child.send("tools/call", &json!({"name": "write"}));
    assert!(serde_json::from_str::<Value>(&child.line()).is_err());
    armed(&flaky, "F35:3000000");
    assert_eq!(child.tool("write").len(), 3_000_000);
    flaky.arm(Fault::NoPing, Times::Once);
    assert_eq!(child.ask("ping", &json!({}))["error"]["code"], -32601);
    armed(&flaky, "F42");
    child.send("tools/call", &json!({"name": "write"}));
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": child.id}});
    child.write(&cancel);
    assert!(child.line().contains("Request cancelled"));
}

#[test]
fn f39_killed_and_the_next_never_greets() {
    let flaky = start();
    let mut child = Pipe::new(&flaky);
    child.tool("read");
    armed(&flaky, "F39");
    child.process.wait().unwrap();
    let mut child = Pipe::new(&flaky);
    child.send("initialize", &json!({}));
    // What comes first is the answer to the second.
    assert_eq!(child.ask("initialize", &json!({}))["id"], 2);
}

#[test]
fn a_child_alone_and_its_end() {
    let mut child = Pipe::start(&["stdio"]);
    assert_eq!(child.tool("write"), "written 1");
    // End of input is the end.
    child.stdin = None;
    assert!(child.process.wait().unwrap().success());
}

#[test]
fn the_program_is_driven_from_outside() {
    let mut server = Pipe::start(&["serve"]);
    let places: Value = serde_json::from_str(&server.line()).unwrap();
    let control = places["control"].as_str().unwrap();
    let addr = control.strip_prefix("http://").unwrap();
    let ask = |request: &str, body: &str| {
        let mut stream = TcpStream::connect(addr).unwrap();
        let size = body.len();
        write!(
            stream,
            "{request} HTTP/1.1\r\nconnection: close\r\ncontent-length: {size}\r\n\r\n{body}"
        )
        .unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        reply
    };
    let url = places["url"].as_str().unwrap();
    let here = url.trim_start_matches("http://").trim_end_matches("/mcp");
    assert!(TcpStream::connect(here).is_ok());
    let armed = ask("POST /control", r#"{"arm": "F41"}"#);
    assert!(
        armed.contains("200 OK") && armed.contains("\"connections\""),
        "{armed}"
    );
    assert!(TcpStream::connect(here).is_err());
    assert!(ask("POST /control", r#"{"heal": true}"#).contains("200 OK"));
    assert!(TcpStream::connect(here).is_ok());
    let wrong = ask("POST /control", r#"{"arm": "F99"}"#);
    assert!(
        wrong.contains("400 Bad Request") && wrong.contains("`F99`"),
        "{wrong}"
    );
    assert!(ask("GET /counters", "").contains("\"sessions_created\":0"));
}

#[test]
fn says_how_to_use_it() {
    let home = TempHome::new();
    let output = home.cmd(PROGRAM).run();
    assert!(output.stderr.contains("flaky-mcp serve"), "{output}");
}
