//! The owner's password: asked for where somebody is, not shown while it is typed, and nowhere to be found
//! afterwards.

use std::path::{Path, PathBuf};
use std::time::Duration;

use hermes_testkit::{Cmd, Exit, Pty};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::bench::{Bench, eventually};
use crate::command;

const WAIT: Duration = Duration::from_secs(20);
const ASKS: &str = "sudo needs your password";

/// A home whose model wants to be root, with a `sudo` that knows a word.
struct Rooms {
    bench: Bench,
    bin: PathBuf,
}

impl Rooms {
    fn new() -> Self {
        let sudo = "#!/bin/sh\n[ \"$1\" = -S ] || exit 1\nread word\n[ \"$word\" = opensesame ] && echo let in\n";
        let bench = Bench::new(json!([
            {"when": {"tools": false}, "repeat": true, "text": "A job"},
            {"when": {"after_tool": true}, "repeat": true, "text": "so it is"},
            {"when": {"user": "go"}, "repeat": true,
             "tool_calls": [{"name": "terminal", "arguments": {"command": "sudo id"}}]},
            {"repeat": true, "text": "and on it goes"},
        ]));
        let bin = bench.home.home().join("bin");
        let program = bench.home.write(bin.join("sudo"), sudo);
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(program, mode).unwrap();
        let path = format!("PATH=\"{}:$PATH\"\n", bin.display());
        bench.home.write(bench.home.home().join(".profile"), path);
        Self { bench, bin }
    }

    /// A chat that has just asked for the password.
    fn asked(&self, chat: Cmd) -> Pty {
        let path = format!("{}:/usr/bin:/bin", self.bin.display());
        let mut chat = chat.env("PATH", path).pty(40, 100);
        chat.wait_for("/help for commands", WAIT);
        chat.send("go\r");
        chat.wait_for(ASKS, WAIT);
        chat
    }

    fn chat(&self) -> Pty {
        self.asked(command(&self.bench.home, &[]))
    }
}

/// What is typed is shown again, and the conversation goes on.
#[track_caller]
fn is_usable(chat: &mut Pty) {
    chat.send("something visible");
    chat.wait_for("something visible", WAIT);
    chat.send("\r");
    chat.wait_for("and on it goes", WAIT);
    chat.send("\x04");
    assert_eq!(chat.wait_exit(WAIT), Exit::Code(0));
}

#[test]
fn sudo_asks_the_owner() {
    let rooms = Rooms::new();
    let mut chat = rooms.chat();
    chat.send("opensesame\r");
    let screen = chat.wait_for("so it is", WAIT);
    assert!(!screen.contains("opensesame"), "{screen}");
    let requests = rooms.bench.requests();
    let told = |text: &str| requests.iter().any(|body| body.to_string().contains(text));
    assert!(told("let in") && !told("opensesame"));
    is_usable(&mut chat);
    for file in walk(&rooms.bench.home.hermes()) {
        let bytes = std::fs::read(&file).unwrap();
        let found = bytes.windows(10).any(|part| part == b"opensesame");
        assert!(!found, "{}", file.display());
    }
}

#[test]
fn an_interrupted_question_for_a_password_leaves_the_terminal_as_it_was() {
    let rooms = Rooms::new();
    let mut chat = rooms.chat();
    chat.send("opense\x03");
    let screen = chat.wait_for("(interrupted)", WAIT);
    assert!(!screen.contains("opense"), "{screen}");
    is_usable(&mut chat);
}

#[test]
fn a_signal_during_a_question_for_a_password_leaves_the_terminal_as_it_was() {
    for (signal, code) in [("TERM", 143), ("HUP", 129)] {
        let rooms = Rooms::new();
        // A shell around it looks at the terminal afterwards.
        let script =
            "sh -c 'echo $$ > pid; exec \"$0\"' \"$0\"; echo \"ended with $?\"; stty -a; read end";
        let shell = rooms.bench.home.cmd("/bin/sh").args(["-c", script]);
        let shell = shell.env("HERMES_TUI", "0");
        let mut shell = rooms.asked(shell.arg(env!("CARGO_BIN_EXE_hermes")));
        shell.send("opense");
        let file = rooms.bench.home.work().join("pid");
        let pid = || std::fs::read_to_string(&file).unwrap_or_default();
        eventually(WAIT, "its number", || pid().ends_with('\n'));
        let kill = rooms.bench.home.cmd("kill").arg(format!("-{signal}"));
        kill.arg(pid().trim()).run().ok();
        shell.wait_for(&format!("ended with {code}"), WAIT);
        let screen = shell.wait_for(" echo ", WAIT);
        assert!(
            !screen.contains("-echo ") && screen.contains("-echonl"),
            "{screen}"
        );
        assert!(!screen.contains("opense"), "{screen}");
    }
}

fn walk(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| {
            if path.is_dir() {
                walk(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}
