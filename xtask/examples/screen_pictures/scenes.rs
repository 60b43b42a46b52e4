//! What is in the pictures: a few minutes of somebody's work.

use std::path::{Path, PathBuf};
use std::time::Duration;

use hermes_scripted::{Script, ScriptedModel};
use hermes_testkit::{Pty, TempHome};
use serde_json::{Value, json};

use crate::frozen::{self, Row};

const ROWS: u16 = 30;
const COLUMNS: u16 = 88;
const PATIENCE: Duration = Duration::from_secs(30);

pub struct Scene {
    pub name: &'static str,
    pub title: &'static str,
    pub rows: Vec<Row>,
}

pub fn all(hermes: &Path) -> Vec<Scene> {
    let desk = Desk::new(hermes);
    let mut pty = desk.chat();
    pty.wait_until(is_ready, PATIENCE);
    let first = desk.scene(&pty, "first", "hermes");
    say(&mut pty, "Greet people by name, and test it.");
    pty.wait_until(
        |screen| screen.contains("Both pass.") && is_ready(screen),
        PATIENCE,
    );
    let answer = desk.scene(&pty, "answer", "hermes: an answer");
    say(&mut pty, "Now tidy up the build folder.");
    pty.wait_for("Deny", PATIENCE);
    let approval = desk.scene(&pty, "approval", "hermes: may this run?");
    pty.send("\x1b");
    pty.wait_until(
        |screen| screen.contains("It stays, then.") && is_ready(screen),
        PATIENCE,
    );
    say(&mut pty, "/new now");
    pty.wait_for("new session", PATIENCE);
    say(&mut pty, "/resume");
    pty.wait_for("messages", PATIENCE);
    let resume = desk.scene(&pty, "resume", "hermes: /resume");
    vec![first, answer, approval, resume]
}

/// The session is open and nothing runs.
fn is_ready(screen: &str) -> bool {
    screen.contains("⚕ scripted") && !screen.contains("⚕ ❯") && !screen.contains("Ctrl+C cancel")
}

/// Enter comes apart from the text: what comes in one go is a paste.
fn say(pty: &mut Pty, text: &str) {
    pty.send(text);
    pty.wait_until(|screen| screen.contains(text), PATIENCE);
    std::thread::sleep(Duration::from_millis(300));
    pty.send("\r");
}

/// A home, a project in it and a model that knows what it has to say.
struct Desk {
    hermes: PathBuf,
    home: TempHome,
    _model: ScriptedModel,
}

impl Desk {
    fn new(hermes: &Path) -> Self {
        let script = Script::from_value(script()).expect("the script is one");
        let model = ScriptedModel::start(script).expect("a server on loopback");
        let home = TempHome::new();
        let url = model.url();
        home.write(
            "config.yaml",
            format!(
                "model:\n  default: scripted\n  provider: custom\n  base_url: {url}/v1\n  \
                 api_key: not-needed\n  context_length: 131072\n\
                 display:\n  tui_status_indicator: ascii\n"
            ),
        );
        let desk = Self {
            hermes: hermes.to_owned(),
            home,
            _model: model,
        };
        desk.home.write(desk.project().join("greet.py"), BEFORE);
        desk.home.write(desk.project().join("build/old.o"), "");
        for (title, prompt) in EARLIER {
            desk.talk_earlier(title, prompt);
        }
        desk
    }

    fn project(&self) -> PathBuf {
        self.home.home().join("project")
    }

    /// Something to go back to.
    fn talk_earlier(&self, title: &str, prompt: &str) {
        let run = |args: &[&str]| {
            let command = self.home.cmd(&self.hermes).args(args.iter().copied());
            command.env("HERMES_CONTAINER", "0").run()
        };
        run(&["chat", "-Q", "-q", prompt]).ok();
        let listed = run(&["sessions", "list", "--json"]);
        let rows: Vec<Value> = serde_json::from_str(listed.ok()).expect("a list");
        let id = rows[0]["id"].as_str().expect("an id");
        run(&["sessions", "rename", id, title]).ok();
    }

    fn chat(&self) -> Pty {
        let command = self.home.cmd(&self.hermes).current_dir(self.project());
        let command = command
            .env("COLORTERM", "truecolor")
            .env("HERMES_CONTAINER", "0");
        command.pty(ROWS, COLUMNS)
    }

    fn scene(&self, pty: &Pty, name: &'static str, title: &'static str) -> Scene {
        // What moves by itself may still be on its way.
        std::thread::sleep(Duration::from_millis(400));
        let names = [(self.project(), "~/project"), (self.home.home(), "~")];
        let rows = frozen::rows(&pty.drawn(), &names);
        Scene { name, title, rows }
    }
}

const BEFORE: &str = "def greet(name):\n    return \"hello\"\n";

const EARLIER: &[(&str, &str)] = &[
    ("Plan the garden", "What can be sown in March?"),
    ("漢字のテスト", "How is 漢字 read?"),
    ("Deploy the blog", "Deploy the blog to the new server."),
];

const ANSWER: &str = "`greet` ignored its argument. It says the name now:\n\n\
    | call | before | now |\n|---|---|---|\n\
    | `greet(\"Ada\")` | hello | hello, Ada |\n| `greet(\"漢字\")` | hello | hello, 漢字 |\n\n\
    **Both pass.** Run `python3 greet.py` to see it.";

fn script() -> Value {
    let patch = json!({
        "path": "greet.py",
        "old_string": "return \"hello\"",
        "new_string": "return f\"hello, {name}\"",
    });
    let tools = json!([{"name": "patch", "arguments": patch}]);
    let test = json!([{"name": "terminal", "arguments": {"command": "echo '2 passed'"}}]);
    let delete = json!([{"name": "terminal", "arguments": {"command": "rm -rf build"}}]);
    json!({"steps": [
        {"when": {"tools": false}, "text": "Greet by name", "repeat": true},
        {"when": {"user": "Greet people", "after_tool": false}, "text": "I'll look at what it says first.", "tool_calls": tools},
        {"when": {"user": "Greet people", "after_tool": true}, "tool_calls": test},
        {"when": {"user": "Greet people", "after_tool": true}, "text": ANSWER},
        {"when": {"user": "tidy up", "after_tool": false}, "text": "The folder can be built again at any time.", "tool_calls": delete},
        {"when": {"user": "tidy up", "after_tool": true}, "text": "It stays, then."},
        {"text": "Of course.", "repeat": true},
    ]})
}
