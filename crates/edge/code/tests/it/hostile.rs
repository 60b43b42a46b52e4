//! Scripts that misuse the socket and their outputs: memory stays bounded, and proper calls still work.

use std::fs;
use std::time::Duration;

use pretty_assertions::assert_eq;
use serde_json::json;

use crate::world::World;

/// A script that talks to the socket by hand: `ask` sends bytes and gives what comes back until the end.
const BY_HAND: &str = r#"
import json, os, socket, sys
from hermes_tools import terminal
def connect():
    s = socket.socket(socket.AF_UNIX)
    s.connect(os.environ["HERMES_RPC_SOCKET"])
    return s
def ask(*pieces):
    s, answer = connect(), b""
    try:
        for piece in pieces: s.sendall(piece)
        s.shutdown(socket.SHUT_WR)
        while piece := s.recv(65536): answer += piece
    except OSError: pass
    return answer.decode() or "closed"
token = os.environ["HERMES_RPC_TOKEN"]
call = json.dumps({"tool": "terminal", "args": {"command": "by hand"}, "token": token}).encode()
"#;

async fn check(code: &str, expected: &str) {
    let world = World::new();
    let code = format!("{BY_HAND}\n{code}\nprint(terminal('still there')['command'])");
    let result = world.run(&code).await;
    assert_eq!(
        result["output"],
        format!("{expected}\nstill there"),
        "{result}"
    );
}

#[tokio::test]
async fn garbage_is_answered_with_an_error() {
    check(
        "for text in [b'garbage\\n', b'\\xff\\xfe\\x00\\n', b'[]\\n', b'{}\\n', b'[' * 100000 + b'\\n']:\n    \
         print('error' in json.loads(ask(text)))",
        "True\nTrue\nTrue\nTrue\nTrue",
    )
    .await;
}

#[tokio::test]
async fn a_call_by_hand_works_also_half_closed_and_without_an_end_of_line() {
    check(
        "for text in [call + b'\\n', call]: print(json.loads(ask(text)))",
        "{'command': 'by hand'}\n{'command': 'by hand'}",
    )
    .await;
}

#[tokio::test]
async fn without_the_token_nothing_is_called() {
    let world = World::new();
    let code = "for token in [None, '', 'x' * 32, 1]:\n    \
        request = {'tool': 'terminal', 'args': {'command': 'x'}, 'token': token}\n    \
        if token is None: del request['token']\n    \
        line = json.dumps(request).encode() + b'\\n'\n    \
        print(ask(line + line).count('error'))";
    let result = world.run(&format!("{BY_HAND}\n{code}")).await;
    // A number is no call at all; with a wrong token the second line isn't read any more.
    assert_eq!(result["output"], "1\n1\n1\n2", "{result}");
    assert_eq!(result["tool_calls_made"], 0);
    assert_eq!(world.caller.calls(), Vec::new());
}

#[tokio::test]
async fn an_endless_line_is_not_read_to_its_end() {
    if !hermes_testkit::is_alone() {
        return;
    }
    let before = most_memory();
    check(
        "piece = b'x' * 1_000_000\nprint([ask(*[piece] * 200) for _ in range(3)])",
        "['closed', 'closed', 'closed']",
    )
    .await;
    let grown = most_memory() - before;
    assert!(grown < 60_000, "{grown} kB");
}

#[tokio::test]
async fn a_flood_of_lines_whose_answers_nobody_reads() {
    check(
        "import time\ns = connect()\ns.setblocking(False)\nsent, until = 0, time.monotonic() + 1\n\
         while time.monotonic() < until:\n    \
             try: sent += s.send(b'x\\n' * 10000)\n    \
             except BlockingIOError: time.sleep(0.01)\n\
         print(0 < sent < 50_000_000)",
        "True",
    )
    .await;
}

#[tokio::test]
async fn more_connections_than_anybody_needs() {
    check(
        "many = [connect() for _ in range(100)]\nfor s in many: s.close()\n\
         some = [connect() for _ in range(7)]\nprint(len(many), len(some))",
        "100 7",
    )
    .await;
}

#[tokio::test]
async fn output_without_end_is_kept_at_both_ends() {
    if !hermes_testkit::is_alone() {
        return;
    }
    let before = most_memory();
    let code = "import sys\nprint('first')\npiece = b'x' * 999 + b'\\n'\n\
        for _ in range(200): sys.stdout.buffer.write(piece * 1000)\n\
        for _ in range(50): sys.stderr.buffer.write(b'e' * 1_000_000)\n\
        print('last')";
    let result = World::new().run(code).await;
    let output = result["output"].as_str().unwrap();
    assert!(output.starts_with("first\n") && output.ends_with("\nlast"));
    assert!(output.contains("OUTPUT TRUNCATED") && output.chars().count() < 50_200);
    assert_eq!(
        (
            &result["stdout_bytes"],
            &result["stderr_bytes"],
            &result["stdout_truncated"]
        ),
        (&json!(200_000_011), &json!(50_000_000), &json!(true))
    );
    let grown = most_memory() - before;
    assert!(grown < 30_000, "{grown} kB");
}

#[tokio::test]
async fn endless_output_ends_with_its_time() {
    let world = World::new().within(Duration::from_secs(1));
    let code = "import os\nwhile True:\n    os.write(1, b'y' * 65536); os.write(2, b'z' * 65536)";
    let result = world.run(code).await;
    assert_eq!(result["status"], "timeout", "{}", result["error"]);
}

#[tokio::test]
async fn a_script_that_tampers_with_its_directory() {
    let code = "import os\n\
        here = os.path.dirname(os.environ['HERMES_RPC_SOCKET'])\n\
        os.unlink(os.environ['HERMES_RPC_SOCKET'])\n\
        os.makedirs(here + '/a/b/c')\n\
        open(here + '/a/file', 'w').write('x')\n\
        os.symlink(os.getcwd(), here + '/link')\n\
        os.chmod(here + '/a', 0)\n\
        os.chmod(here, 0)\n\
        try:\n    import hermes_tools; hermes_tools.terminal('x')\n\
        except Exception as problem: print(type(problem).__name__)";
    let world = World::new();
    fs::write(world.work().join("mine"), "x").unwrap();
    let result = world.run(code).await;
    assert_eq!(result["status"], "success", "{result}");
    assert!(world.work().join("mine").exists());
}

/// The most this process ever had in memory, in kB.
fn most_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
