//! The chat on a screen, in a real terminal: what somebody sees, types and gets.

mod answers;
mod asking;
mod busy;
mod clipboard;
mod commands;
mod disk;
mod ended;
mod escapes;
mod flood;
mod killed;
mod leaving;
mod live;
mod looks;
mod menu;
mod odd;
mod over;
mod pasting;
mod resizing;
mod silent;
mod together;
mod waiting;

use std::ops::{Deref, DerefMut};
use std::thread;
use std::time::Duration;

use hermes_testkit::{Cmd, Pty, TempHome};
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::command;

const WAIT: Duration = Duration::from_secs(20);

/// For so long after a quick run of characters, Enter is a line of a paste. Nothing on the screen tells when it is over.
const AFTER_A_RUN: Duration = Duration::from_millis(140);

/// `hermes` with these arguments, about to run on a screen.
fn screen(home: &TempHome, args: &[&str]) -> Cmd {
    command(home, args).env_remove("HERMES_TUI")
}

/// A home whose model says this, and something else where a title is wanted.
fn bench(steps: Value) -> Bench {
    let title = json!({"when": {"tools": false}, "text": "A title", "repeat": true});
    let steps = steps.as_array().unwrap().iter().cloned();
    Bench::new([title].into_iter().chain(steps).collect())
}

/// Somebody at a keyboard, and the chat they look at.
struct Chat(Pty);

impl Chat {
    /// On a screen of 40 lines and 110 columns.
    #[track_caller]
    fn open(bench: &Bench) -> Self {
        Self::sized(bench, 40, 110)
    }

    #[track_caller]
    fn sized(bench: &Bench, rows: u16, cols: u16) -> Self {
        Self::ready(screen(&bench.home, &[]).pty(rows, cols))
    }

    /// Waits until the session is open.
    #[track_caller]
    fn ready(pty: Pty) -> Self {
        pty.wait_until(|screen| bars(screen) == 1 && is_idle(screen), WAIT);
        Self(pty)
    }

    /// Types into an empty input.
    #[track_caller]
    fn type_in(&mut self, text: &str) {
        self.send(text);
        let typed = format!("❯ {text}");
        self.wait_for(&typed, WAIT);
    }

    fn enter(&mut self) {
        thread::sleep(AFTER_A_RUN);
        self.send("\r");
    }

    #[track_caller]
    fn say(&mut self, text: &str) {
        self.type_in(text);
        self.enter();
    }

    fn paste(&mut self, text: &str) {
        self.send(&format!("\x1b[200~{text}\x1b[201~"));
    }

    /// Waits until this is on the screen and nothing runs.
    #[track_caller]
    fn wait_idle(&self, text: &str) -> String {
        self.wait_until(|screen| screen.contains(text) && is_idle(screen), WAIT)
    }
}

impl Deref for Chat {
    type Target = Pty;

    fn deref(&self) -> &Pty {
        &self.0
    }
}

impl DerefMut for Chat {
    fn deref_mut(&mut self) -> &mut Pty {
        &mut self.0
    }
}

/// How many status bars there are; before the session is open, it knows no model.
fn bars(screen: &str) -> usize {
    let lines = screen.lines().map(str::trim_start);
    lines
        .filter(|line| line.starts_with("⚕ fake-model"))
        .count()
}

/// The prompt waits, and no turn runs.
fn is_idle(screen: &str) -> bool {
    let mut lines = screen.lines();
    lines.any(|line| line.starts_with('❯')) && !screen.contains("⚕ ❯")
}

/// The texts of this role in a request, in order.
fn said(request: &Value, role: &str) -> Vec<String> {
    let messages = request["messages"].as_array().unwrap().iter();
    messages
        .filter(|message| message["role"] == role)
        .map(|message| message["content"].as_str().unwrap_or_default().to_owned())
        .collect()
}

/// Requests of the conversation itself.
fn turns(bench: &Bench) -> Vec<Value> {
    let mut requests = bench.requests();
    requests.retain(|request| request["tools"].is_array());
    requests
}

fn terminal(command: &str) -> Value {
    json!({"tool_calls": [{"name": "terminal", "arguments": {"command": command}}]})
}
