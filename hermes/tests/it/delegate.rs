//! Tasks for children, with real commands and files.

use std::time::Duration;

use hermes_testkit::Exit;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::bench::{Bench, assert_valid, eventually};
use crate::command;

const WAIT: Duration = Duration::from_secs(15);

fn call(name: &str, arguments: Value) -> Value {
    json!({"name": name, "arguments": arguments})
}

/// The names of the tools a request offers.
fn offered(request: &Value) -> Vec<&str> {
    let tools = request["tools"].as_array().unwrap().iter();
    tools
        .map(|tool| tool["function"]["name"].as_str().unwrap())
        .collect()
}

/// The requests of the conversation that began with this.
fn asked(bench: &Bench, goal: &str) -> Vec<Value> {
    let mut requests = bench.requests();
    requests.retain(|request| request["messages"][1]["content"] == goal);
    requests
}

/// The result a request ends with.
fn result(request: &Value) -> Value {
    let last = request["messages"].as_array().unwrap().last().unwrap();
    assert_eq!(last["role"], "tool", "{request}");
    serde_json::from_str(last["content"].as_str().unwrap()).unwrap()
}

/// What all sessions hold, as stored.
fn sessions(bench: &Bench) -> Vec<Value> {
    let text = bench.run(&["sessions", "export", "-"]);
    let lines = text.ok().lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

// spec: agent-loop §26.22
#[test]
fn two_tasks_are_two_sessions_below_ones_own() {
    let tasks = json!({"tasks": [{"goal": "count the files"}, {"goal": "name the branch"}]});
    let bench = Bench::new(json!([
        {"when": {"user": "count the files"}, "text": "there are 3", "delay_ms": 100},
        {"when": {"user": "name the branch"}, "text": "it is main"},
        {"when": {"user": "go", "after_tool": false}, "tool_calls": [call("delegate_task", tasks)]},
        {"text": "3 files on main"},
    ]));
    assert_eq!(bench.run(&["-z", "go"]).ok(), "3 files on main\n");

    let told = result(&asked(&bench, "go")[1]);
    let told: Vec<_> = told["results"].as_array().unwrap().iter().collect();
    assert_eq!(told.len(), 2);
    for (index, summary) in ["there are 3", "it is main"].iter().enumerate() {
        let entry = told[index];
        assert_eq!(entry["task_index"], index);
        assert_eq!(
            (&entry["status"], &entry["summary"]),
            (&json!("completed"), &json!(summary))
        );
    }
    assert!(offered(&asked(&bench, "go")[0]).contains(&"delegate_task"));
    for goal in ["count the files", "name the branch"] {
        let request = &asked(&bench, goal)[0];
        let tools = offered(request);
        for kept_back in ["delegate_task", "memory", "clarify"] {
            assert!(!tools.contains(&kept_back), "{tools:?}");
        }
        assert!(tools.contains(&"terminal") && tools.contains(&"patch"));
    }

    let stored = sessions(&bench);
    let parent = stored.iter().find(|one| one["source"] == "cli").unwrap();
    let children: Vec<_> = stored
        .iter()
        .filter(|one| one["parent_session_id"] == parent["id"])
        .collect();
    assert_eq!((children.len(), stored.len()), (2, 3));
    assert_eq!(parent["messages"].as_array().unwrap().len(), 4);
    let listed = bench.run(&["sessions", "list"]);
    let listed = listed.ok();
    assert!(listed.contains(parent["id"].as_str().unwrap()), "{listed}");
    for child in children {
        assert!(!listed.contains(child["id"].as_str().unwrap()), "{listed}");
    }
}

// spec: agent-loop §26.22
#[test]
fn more_tasks_than_the_owner_allows_are_refused() {
    let four: Vec<Value> = (0..4)
        .map(|n| json!({"goal": format!("task {n}")}))
        .collect();
    let run = |setting: &str| {
        let bench = Bench::new(json!([
            {"when": {"user": "task"}, "text": "done", "repeat": true},
            {"when": {"after_tool": false}, "tool_calls": [call("delegate_task", json!({"tasks": four}))]},
            {"text": "well"},
        ]));
        let run = command(&bench.home, &["-z", "go"]);
        run.env("DELEGATION_MAX_CONCURRENT_CHILDREN", setting)
            .run()
            .ok();
        let description = offered_description(&asked(&bench, "go")[0]);
        (result(&asked(&bench, "go")[1]), description)
    };
    let (refused, description) = run("");
    let error = refused["error"].as_str().unwrap();
    assert!(
        error.contains("max_concurrent_children") && error.contains("at most 3"),
        "{error}"
    );
    assert!(description.contains("up to 3 at once"), "{description}");
    let (done, description) = run("4");
    assert_eq!(done["results"].as_array().unwrap().len(), 4);
    assert!(description.contains("up to 4 at once"), "{description}");
}

fn offered_description(request: &Value) -> String {
    let tools = request["tools"].as_array().unwrap().iter();
    let mut ours = tools.filter(|tool| tool["function"]["name"] == "delegate_task");
    ours.next().unwrap()["function"]["description"]
        .as_str()
        .unwrap()
        .to_owned()
}

// The same shell, but a directory of its own; and what it changed under its parent is told.
#[test]
fn a_child_works_beside_its_parent() {
    let terminal = |command: &str| call("terminal", json!({"command": command}));
    let bench = Bench::new(json!([
        {"when": {"user": "child work", "after_tool": false}, "tool_calls": [
            terminal("cd sub && export FROM_CHILD=yes && pwd"),
            call("terminal", json!({"command": "sleep 300", "background": true})),
            call("write_file", json!({"path": "../f", "content": "two\n"})),
        ]},
        {"when": {"user": "child work"}, "text": "changed f"},
        {"when": {"after_tool": false}, "tool_calls": [call("read_file", json!({"path": "f"}))]},
        {"when": {"tool_result": "1|one"}, "tool_calls": [call("delegate_task", json!({"goal": "child work"}))]},
        {"when": {"tool_result": "changed f"}, "tool_calls": [
            terminal("pwd; echo $FROM_CHILD"),
            call("process", json!({"action": "list"})),
            call("write_file", json!({"path": "f", "content": "three\n"})),
        ]},
        {"text": "done"},
    ]));
    let file = bench.home.write(bench.home.work().join("f"), "one\n");
    bench.home.write(bench.home.work().join("sub/g"), "");
    bench.run(&["-z", "go"]).ok();

    let told = result(&asked(&bench, "go")[2]);
    let real = std::fs::canonicalize(&file).unwrap();
    assert_eq!(told["results"][0]["stale_paths"], json!([real]), "{told}");
    let trace = told["results"][0]["tool_trace"].as_array().unwrap();
    let ran: Vec<_> = trace
        .iter()
        .map(|entry| (&entry["tool"], &entry["status"]))
        .collect();
    let ok = |name: &str| (json!(name), json!("ok"));
    let expected = [ok("terminal"), ok("terminal"), ok("write_file")];
    assert_eq!(
        ran,
        expected.iter().map(|(a, b)| (a, b)).collect::<Vec<_>>()
    );

    let last = &asked(&bench, "go")[3];
    let messages = last["messages"].as_array().unwrap();
    let said = |back: usize| messages[messages.len() - back]["content"].as_str().unwrap();
    let work = std::fs::canonicalize(bench.home.work()).unwrap();
    let here: Value = serde_json::from_str(said(3)).unwrap();
    assert_eq!(here["output"], format!("{}\nyes", work.display()));
    assert!(
        said(2).contains("\"processes\":[]"),
        "its jobs ended with it: {}",
        said(2)
    );
    assert!(said(1).contains("sibling agent"), "{}", said(1));
}

#[test]
fn nobody_is_asked_about_a_childs_commands() {
    let check = |args: &[&str], config: &str, removed: bool| {
        let bench = Bench::new(json!([
            {"when": {"user": "clean up", "after_tool": false}, "tool_calls": [
                call("terminal", json!({"command": "rm -rf sub"})),
                call("terminal", json!({"command": "rm -rf ~"})),
            ]},
            {"when": {"user": "clean up"}, "text": "tried"},
            {"when": {"after_tool": false}, "tool_calls": [call("delegate_task", json!({"goal": "clean up"}))]},
            {"text": "done"},
        ]));
        let old = bench.home.read("config.yaml");
        bench.home.write("config.yaml", old + config);
        let file = bench.home.write(bench.home.work().join("sub/f"), "x");
        bench.run(args).ok();
        assert_eq!(!bench.home.exists(&file), removed, "{args:?} {config}");
        let said = asked(&bench, "clean up")[1].to_string();
        assert!(said.contains("BLOCKED (hardline)"), "{said}");
        assert_eq!(
            said.contains("delegation.subagent_auto_approve"),
            !removed,
            "{said}"
        );
    };
    let auto = "delegation:\n  subagent_auto_approve: true\n";
    check(&["chat", "-Q", "-q", "go"], "", false);
    check(&["chat", "-Q", "-q", "go"], auto, true);
    check(&["-z", "go"], "", true);
    check(&["-z", "go"], "approvals:\n  headless_mode: deny\n", false);
}

#[test]
fn what_children_do_is_shown_further_in() {
    let bench = Bench::new(json!([
        {"when": {"user": "look around", "after_tool": false}, "tool_calls": [
            call("terminal", json!({"command": "echo seen"})),
        ]},
        {"when": {"user": "look around"}, "text": "secret of the child"},
        {"when": {"after_tool": false}, "tool_calls": [call("delegate_task", json!({"goal": "look around"}))]},
        {"text": "done"},
    ]));
    let output = bench.run(&["chat", "-q", "go"]);
    let shown = output.ok();
    for line in [
        "┊ delegate_task look around\n",
        "┊   1. look around\n",
        "┊   1. terminal echo seen\n",
        "┊   1. done\n",
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    assert!(!shown.contains("secret of the child"), "{shown}");
}

// Ctrl+C ends the children and what they run, and the conversation can go on.
#[test]
fn a_signal_ends_children_and_their_commands() {
    let long = |n: u32| {
        let command = format!("echo $$ > {n}.pid; sleep 300");
        call("terminal", json!({"command": command}))
    };
    let tasks = json!({"tasks": [{"goal": "first"}, {"goal": "second"}]});
    let bench = Bench::new(json!([
        {"when": {"user": "first", "after_tool": false}, "tool_calls": [long(1)]},
        {"when": {"user": "second", "after_tool": false}, "tool_calls": [long(2)]},
        {"when": {"user": "go", "after_tool": false}, "tool_calls": [call("delegate_task", tasks)]},
        {"text": "after"},
    ]));
    let mut pty = command(&bench.home, &["-z", "go"]).pty(24, 80);
    let pid = |n: u32| {
        let path = bench.home.work().join(format!("{n}.pid"));
        std::fs::read_to_string(path)
            .unwrap_or_default()
            .trim()
            .to_owned()
    };
    for n in [1, 2] {
        eventually(WAIT, "the command runs", || !pid(n).is_empty());
    }
    pty.send("\u{3}");
    assert_eq!(pty.wait_exit(WAIT), Exit::Code(130));
    for n in [1, 2] {
        let alive = || std::path::Path::new(&format!("/proc/{}/cwd", pid(n))).exists();
        eventually(Duration::from_secs(2), "the command is gone", || !alive());
    }
    assert_eq!(bench.run(&["-c", "-z", "again"]).ok(), "after\n");
    let request = bench.requests().pop().unwrap();
    assert_valid(&request);
    assert!(request.to_string().contains("interrupted"), "{request}");
    let stored = sessions(&bench);
    let ended = stored
        .iter()
        .filter(|one| one["end_reason"] == "subagent_complete");
    assert_eq!(ended.count(), 2);
}
