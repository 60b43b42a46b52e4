//! Background jobs and the file they are written down in, from one Hermes to the next.

use std::path::Path;
use std::time::{Duration, Instant};

use hermes_scripted::{Script, ScriptedModel};
use hermes_testkit::{Exit, Pty, TempHome};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::{command, hermes};

const WAIT: Duration = Duration::from_secs(20);

/// A home whose model starts a job that waits for the file `stop`, and looks at its jobs when told to `look`.
struct Bench {
    home: TempHome,
    model: ScriptedModel,
}

impl Bench {
    fn new() -> Self {
        // Not for ever: a test that fails leaves it behind.
        let job = json!({
            "command": "for n in $(seq 3000); do [ -e stop ] && break; sleep 0.02; done", "background": true, "notify_on_complete": true,
        });
        let call = |name: &str, arguments: Value| json!([{"name": name, "arguments": arguments}]);
        let steps = json!([
            {"when": {"tools": false}, "repeat": true, "text": "A job"},
            {"when": {"after_tool": true}, "repeat": true, "text": "so it is"},
            {"when": {"user": "start"}, "repeat": true, "tool_calls": call("terminal", job)},
            {"when": {"user": "look"}, "repeat": true, "tool_calls": call("process", json!({"action": "list"}))},
            {"when": {"user": "has ended"}, "repeat": true, "text": "I heard of it"},
            {"when": {"user": "anything else"}, "repeat": true, "text": "nothing else"},
        ]);
        let model = ScriptedModel::start(Script::from_value(steps).unwrap()).unwrap();
        let home = TempHome::new();
        let config = format!(
            "model:\n  default: fake-model\n  provider: custom\n  base_url: {}/v1\n  api_key: sk-test-1234567\n  \
             context_length: 131072\n",
            model.url()
        );
        home.write("config.yaml", config);
        Self { home, model }
    }

    /// A chat in which a job was started.
    fn chat(&self) -> Pty {
        let mut chat = self.open(&[]);
        chat.send("start\r");
        answered(&chat, "so it is");
        chat
    }

    fn open(&self, args: &[&str]) -> Pty {
        let chat = command(&self.home, args).pty(30, 100);
        chat.wait_for("/help for commands", WAIT);
        chat
    }

    /// What is written down, and the process of each.
    fn jobs(&self) -> Vec<(Value, Pid)> {
        let text = self.home.read("processes.json");
        let records: Vec<Value> = serde_json::from_str(&text).unwrap();
        let pid = |record: &Value| Pid(record["pid"].as_u64().unwrap());
        let records = records.into_iter();
        records
            .map(|record| (record.clone(), pid(&record)))
            .collect()
    }

    fn stop_jobs(&self) {
        self.home.write(self.home.work().join("stop"), "");
    }

    fn last_request(&self) -> String {
        last_request(&self.model)
    }

    /// The last tool result the model was shown.
    fn last_result(&self) -> Value {
        let calls = self.model.calls();
        let result = calls.iter().rev().find_map(|call| {
            let mut messages = call.body["messages"].as_array()?.iter();
            messages.rfind(|message| message["role"] == "tool")
        });
        let result = &result.unwrap()["content"];
        serde_json::from_str(result.as_str().unwrap()).unwrap()
    }

    fn session(&self) -> String {
        let export = hermes(&self.home, &["sessions", "export", "-"]);
        let first: Value = serde_json::from_str(export.ok().lines().next().unwrap()).unwrap();
        first["id"].as_str().unwrap().to_owned()
    }
}

#[derive(Clone, Copy)]
struct Pid(u64);

impl Pid {
    /// Whether it still does anything; nobody may have taken notice of its end.
    fn runs(self) -> bool {
        let stat = std::fs::read_to_string(Path::new("/proc").join(format!("{}/stat", self.0)));
        stat.is_ok_and(|stat| !stat.contains(") Z "))
    }
}

/// The last one of the conversation itself: a title may be asked for at any time.
fn last_request(model: &ScriptedModel) -> String {
    let calls = model.calls();
    let talk = calls.iter().rfind(|call| call.body["tools"].is_array());
    talk.unwrap().body.to_string()
}

/// Waits until this is the last answer, and the turn over: there is a prompt again.
#[track_caller]
fn answered(chat: &Pty, text: &str) {
    let end = format!("{text}\n>");
    chat.wait_until(|screen| screen.ends_with(&end), WAIT);
}

#[track_caller]
fn eventually(what: &str, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < WAIT, "never: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

// spec: terminal-and-safety §13.16
#[test]
fn a_job_outlives_a_killed_hermes_and_is_found_again() {
    let bench = Bench::new();
    // Dropping it kills it, with a signal that leaves no time for anything.
    drop(bench.chat());
    let (record, job) = bench.jobs().remove(0);
    assert!(job.runs(), "{record}");

    let mut chat = bench.open(&["-c"]);
    chat.send("look\r");
    answered(&chat, "so it is");
    let listed = &bench.last_result()["processes"][0];
    assert_eq!(
        (
            &listed["session_id"],
            &listed["status"],
            &listed["detached"]
        ),
        (&record["session_id"], &json!("running"), &json!(true))
    );
    bench.stop_jobs();
    answered(&chat, "I heard of it");
    chat.send("anything else\r");
    chat.wait_for("nothing else", WAIT);
    assert_eq!(bench.last_request().matches("has ended").count(), 1);
    assert_eq!(bench.home.read("processes.json").trim(), "[]");
    chat.send("\x04");
    assert_eq!(chat.wait_exit(WAIT), Exit::Code(0));
}

#[test]
fn an_end_nobody_saw_is_told_to_the_session_that_waits_for_it() {
    let bench = Bench::new();
    drop(bench.chat());
    let (_, job) = bench.jobs().remove(0);
    bench.stop_jobs();
    eventually("the job ends", || !job.runs());
    let id = bench.session();

    // Another session has nothing to do with it.
    command(&bench.home, &["-z", "look"]).run().ok();
    assert_eq!(bench.last_result()["processes"], json!([]));
    let mut chat = bench.open(&["--resume", &id]);
    answered(&chat, "I heard of it");
    assert!(bench.last_request().contains("exit code unknown"));
    chat.send("\x04");
    assert_eq!(chat.wait_exit(WAIT), Exit::Code(0));
    let mut again = bench.open(&["--resume", &id]);
    again.send("anything else\r");
    again.wait_for("nothing else", WAIT);
    assert_eq!(bench.last_request().matches("has ended").count(), 1);
}

#[test]
fn two_at_once_leave_each_others_jobs_alone() {
    let bench = Bench::new();
    let mut chat = bench.chat();
    let (record, job) = bench.jobs().remove(0);
    let id = bench.session();

    // The same session elsewhere: the job is looked after already.
    command(&bench.home, &["-z", "look", "--resume", &id])
        .run()
        .ok();
    assert_eq!(bench.last_result()["processes"], json!([]));
    // A job of its own ends with it, as it was told.
    command(&bench.home, &["-z", "start"]).run().ok();
    let started = bench.last_result();
    let own = Pid(started["pid"].as_u64().unwrap());
    assert!(
        started["hint"].as_str().unwrap().contains("stopped"),
        "{started}"
    );
    assert!(!own.runs());
    assert_eq!(bench.jobs()[0].0, record);
    assert!(job.runs());

    chat.send("look\r");
    eventually("it looked", || bench.last_result()["processes"].is_array());
    answered(&chat, "so it is");
    assert_eq!(
        bench.last_result()["processes"][0]["session_id"],
        record["session_id"]
    );
    chat.send("\x04");
    assert_eq!(chat.wait_exit(WAIT), Exit::Code(0));
    assert!(!job.runs(), "who leaves takes the jobs along");
    assert_eq!(bench.home.read("processes.json").trim(), "[]");
}

// The owner wants them gone: nothing is left of them, and no news of their end either.
#[test]
fn stop_and_new_end_the_jobs_of_a_conversation() {
    for (typed, then) in [("/stop", ""), ("/new now", "\nnew session")] {
        let bench = Bench::new();
        let mut chat = bench.chat();
        let (_, job) = bench.jobs().remove(0);
        assert!(job.runs());
        chat.send(&format!("{typed}\r"));
        chat.wait_for(&format!("stopped 1 background process{then}"), WAIT);
        assert!(!job.runs(), "{typed}");
        eventually("it is no longer written down", || {
            bench.home.read("processes.json").trim() == "[]"
        });
        chat.send("anything else\r");
        chat.wait_for("nothing else", WAIT);
        assert!(!bench.last_request().contains("has ended"), "{typed}");
        chat.send("\x04");
        assert_eq!(chat.wait_exit(WAIT), Exit::Code(0));
    }
}

#[test]
fn news_of_a_job_reach_the_model_during_its_only_turn() {
    let job = json!({"command": "true", "background": true, "notify_on_complete": true});
    let call = |arguments: Value| json!([{"name": "terminal", "arguments": arguments}]);
    // It has something else to do until it hears of the end, but not for ever.
    let steps = json!([
        {"when": {"message": "has ended"}, "text": "I heard of it"},
        {"when": {"after_tool": true}, "repeat": 80, "tool_calls": call(json!({"command": "sleep 0.1"}))},
        {"when": {"user": "start"}, "tool_calls": call(job)},
    ]);
    for args in [&["-z", "start"][..], &["chat", "-Q", "-q", "start"]] {
        let bench = crate::bench::Bench::new(steps.clone());
        assert_eq!(bench.run(args).ok(), "I heard of it\n");
    }
}
