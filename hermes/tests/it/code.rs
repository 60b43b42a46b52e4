//! Scripts that call tools, with real tools behind them.

use std::path::PathBuf;
use std::time::Duration;

use hermes_testkit::{Cmd, Exit};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::bench::{Bench, assert_valid, eventually};
use crate::command;

const WAIT: Duration = Duration::from_secs(15);

/// A model that runs this script, perhaps calls more, and then says `done`.
fn bench(code: &str, more: &[Value]) -> Bench {
    let script = json!({"tool_calls": [{"name": "execute_code", "arguments": {"code": code}}]});
    let mut steps = vec![
        json!({"when": {"tools": false}, "text": "A title", "repeat": true}),
        script,
    ];
    steps.extend_from_slice(more);
    steps.push(json!({"text": "done", "repeat": true}));
    let bench = Bench::new(json!(steps));
    std::fs::create_dir(temp(&bench)).unwrap();
    bench
}

fn temp(bench: &Bench) -> PathBuf {
    bench.home.work().with_file_name("temp")
}

fn run(bench: &Bench, args: &[&str]) -> Cmd {
    command(&bench.home, args).env("TMPDIR", temp(bench))
}

/// What the model was told by its tools, in the order of the calls.
fn results(bench: &Bench) -> Vec<Value> {
    let request = bench.requests().pop().unwrap();
    assert_valid(&request);
    let messages = request["messages"].as_array().unwrap().iter();
    let told = messages.filter(|message| message["role"] == "tool");
    told.map(|message| serde_json::from_str(message["content"].as_str().unwrap()).unwrap())
        .collect()
}

/// Directories of scripts.
fn staged(bench: &Bench) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(temp(bench)).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let ours = |path: &PathBuf| path.to_string_lossy().contains("/hermes-code-");
    paths.filter(ours).collect()
}

/// Processes with `text` in their command line that do something.
fn processes(text: &str) -> usize {
    let entries = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let line = |entry: std::fs::DirEntry| std::fs::read(entry.path().join("cmdline")).ok();
    let lines = entries.filter_map(line);
    let spaced = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    spaced.filter(|line| line.contains(text)).count()
}

// spec: tools §8.17
#[test]
fn a_script_calls_tools_and_sees_no_keys() {
    let code = "from hermes_tools import terminal, read_file\n\
        print(terminal(\"echo X\")[\"output\"])\n\
        for _ in range(5): lines = read_file(\"a.py\")[\"total_lines\"]\n\
        print(lines)\n\
        import os; print(os.environ.get(\"FOO_API_KEY\"))";
    let read = json!({"tool_calls": [{"name": "read_file", "arguments": {"path": "a.py"}}]});
    let bench = bench(code, &[read]);
    let program = "def f():\n    return 1\n";
    bench.home.write(bench.home.work().join("a.py"), program);
    let output = run(&bench, &["-z", "go"]).env("FOO_API_KEY", "1").run();
    assert_eq!(output.ok(), "done\n");
    let told = results(&bench);
    let script = &told[0];
    assert_eq!(
        (
            &script["status"],
            &script["output"],
            &script["tool_calls_made"]
        ),
        (&json!("success"), &json!("X\n2\nNone"), &json!(6)),
        "{script}"
    );
    // The script has read it; the model has not.
    assert_eq!(told[1]["total_lines"], 2, "{}", told[1]);
    assert_eq!(staged(&bench), Vec::<PathBuf>::new());

    let request = bench.requests().remove(0);
    let tools = request["tools"].as_array().unwrap().iter();
    let mut tools = tools.map(|tool| &tool["function"]);
    let told = tools.find(|tool| tool["name"] == "execute_code").unwrap();
    let told = told["description"].as_str().unwrap();
    assert!(
        told.contains("terminal(command") && !told.contains("web_search"),
        "{told}"
    );
}

/// What is dangerous is judged where it happens, also when a script asks for it.
#[test]
fn a_script_cannot_do_what_the_model_may_not() {
    let code = "from hermes_tools import terminal\n\
        print(terminal('git push --force')['error'])\n\
        print(terminal('cd sub && pwd')['exit_code'])";
    let pwd = json!({"tool_calls": [{"name": "execute_code", "arguments": {"code": "import os; print(os.getcwd())"}}]});
    let bench = bench(code, &[pwd]);
    let sub = bench.home.work().join("sub");
    std::fs::create_dir(&sub).unwrap();
    run(&bench, &["chat", "-Q", "-q", "go"]).run().ok();
    let told = results(&bench);
    let output = told[0]["output"].as_str().unwrap();
    assert!(
        output.starts_with("BLOCKED") && output.ends_with("\n0"),
        "{}",
        told[0]
    );
    // Where its commands went, the next script begins.
    assert_eq!(told[1]["output"].as_str(), sub.to_str());
}

/// Runs until somebody ends it, with a child.
const ENDLESS: &str = "import signal, subprocess, time\n\
    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n\
    subprocess.Popen(['sleep', 'NUMBER'])\n\
    open('up', 'w')\n\
    while True: time.sleep(1)";

#[test]
fn ctrl_c_ends_a_script_and_all_of_it() {
    let bench = bench(&ENDLESS.replace("NUMBER", "46.1"), &[]);
    let mut chat = run(&bench, &["--cli"]).pty(24, 80);
    chat.wait_for("/help for commands", WAIT);
    chat.send("go\r");
    let up = bench.home.work().join("up");
    eventually(WAIT, "the script runs", || up.exists());
    assert_eq!(staged(&bench).len(), 1);
    chat.send("\u{3}");
    chat.wait_for("(interrupted)", Duration::from_secs(2));
    eventually(Duration::from_secs(4), "it is gone", || {
        processes("sleep 46.1") == 0 && staged(&bench).is_empty()
    });
    chat.send("again\r");
    chat.wait_for("done", WAIT);
    assert_eq!(results(&bench)[0]["status"], "interrupted");
    chat.send("\u{4}");
    assert_eq!(chat.wait_exit(WAIT), Exit::Code(0));
}

#[test]
fn a_killed_hermes_leaves_no_script_and_the_next_one_no_files() {
    let bench = bench(&ENDLESS.replace("NUMBER", "46.2"), &[]);
    let mut chat = run(&bench, &["--cli"]).pty(24, 80);
    chat.wait_for("/help for commands", WAIT);
    chat.send("go\r");
    let up = bench.home.work().join("up");
    eventually(WAIT, "the script runs", || up.exists());
    // Dropping it kills it, with a signal that leaves no time for anything.
    drop(chat);
    let script = staged(&bench).remove(0);
    eventually(Duration::from_secs(5), "it is gone", || {
        processes("sleep 46.2") + processes(script.to_str().unwrap()) == 0
    });
    assert!(script.exists());

    let next = crate::code::bench("print('fine')", &[]);
    run(&next, &["-z", "go"])
        .env("TMPDIR", temp(&bench))
        .run()
        .ok();
    assert_eq!(results(&next)[0]["output"], "fine");
    assert_eq!(staged(&bench), Vec::<PathBuf>::new());
}

#[test]
fn without_python_there_is_no_such_tool() {
    let bench = bench("", &[]);
    let output = run(&bench, &["-z", "go"]).env("PATH", "/nonexistent").run();
    output.ok();
    let request = bench.requests().remove(0);
    let tools = request["tools"].to_string();
    assert!(!tools.contains("\"execute_code\"") && tools.contains("\"read_file\""));
}
