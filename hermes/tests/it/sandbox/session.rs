//! Sessions with `terminal.sandbox` on, as a user has them.

use std::path::Path;
use std::time::Duration;

use hermes_testkit::{Cmd, Pty};
use serde_json::{Value, json};

use super::work::{mark, processes};
use super::{By, with_both};
use crate::bench::{Bench, eventually};
use crate::command;

const WAIT: Duration = Duration::from_secs(20);

with_both!(
    shell_state_and_the_notice,
    a_script_is_held_too,
    a_foreground_command_dies_with_a_killed_hermes,
    a_background_job_does_not,
);

/// A bench whose model makes these calls of `terminal`, one per reply.
fn bench(calls: &[Value], sandbox: &str) -> Bench {
    bench_of("terminal", calls, sandbox)
}

fn bench_of(tool: &str, calls: &[Value], sandbox: &str) -> Bench {
    let call = |arguments: &Value| json!({"tool_calls": [{"name": tool, "arguments": arguments}]});
    let mut steps = vec![json!({"when": {"tools": false}, "text": "A title", "repeat": true})];
    steps.extend(calls.iter().map(call));
    steps.push(json!({"text": "done", "repeat": true}));
    let bench = Bench::new(steps.into());
    let config = bench.home.read("config.yaml");
    bench
        .home
        .write("config.yaml", format!("{config}terminal: {sandbox}\n"));
    let temp = bench.home.work().with_file_name("tmp");
    std::fs::create_dir(&temp).unwrap();
    bench
}

/// Hermes where only this mechanism can be found.
fn with(bench: &Bench, by: By, args: &[&str]) -> Cmd {
    let temp = bench.home.work().with_file_name("tmp");
    let command = command(&bench.home, args).env("TMPDIR", temp);
    match by {
        By::Bubblewrap => command,
        By::Landlock => command.env("PATH", "/nonexistent"),
    }
}

fn results(bench: &Bench) -> Vec<Value> {
    let requests = bench.requests();
    let last = requests.iter().rfind(|body| body["tools"].is_array());
    let messages = last.unwrap()["messages"].as_array().unwrap().clone();
    let results = messages.iter().filter(|message| message["role"] == "tool");
    results
        .map(|message| serde_json::from_str(message["content"].as_str().unwrap()).unwrap())
        .collect()
}

async fn apart(test: impl FnOnce() + Send + 'static) {
    tokio::task::spawn_blocking(test).await.unwrap();
}

// spec: terminal-and-safety §15.6, terminal-and-safety §15.9
async fn shell_state_and_the_notice(by: By) {
    apart(move || {
        let calls = [
            json!({"command": "mkdir sub; cd sub; export WORD=kept"}),
            json!({"command": "pwd; echo $WORD; echo x > ~/x"}),
            json!({"command": "exit 7"}),
        ];
        let bench = bench(&calls, "{sandbox: auto}");
        assert_eq!(with(&bench, by, &["-z", "go"]).run().ok(), "done\n");
        let results = results(&bench);
        let told = results[0]["sandbox"].as_str().unwrap();
        let name = match by {
            By::Bubblewrap => "bubblewrap",
            By::Landlock => "Landlock",
        };
        let work = bench.home.work();
        assert!(
            told.contains(&format!("confined by {name}: only {}", work.display())),
            "{told}"
        );
        let said = results[1]["output"].as_str().unwrap();
        assert!(
            said.starts_with(&format!("{}/sub\nkept\n", work.display())),
            "{said}"
        );
        assert_eq!(
            (&results[1]["exit_code"], &results[1]["sandbox"]),
            (&json!(1), &Value::Null)
        );
        assert!(!bench.home.home().join("x").exists());
        assert_eq!(results[2]["exit_code"], 7);
        let doctor = with(&bench, by, &["doctor"]).run();
        assert!(
            doctor
                .ok()
                .contains(&format!("commands are confined by {name}")),
            "{doctor}"
        );
    })
    .await;
}

async fn a_script_is_held_too(by: By) {
    apart(move || {
        // Where it may write is known only when the bench is there.
        let code = "import os\n\
            home = os.environ['USER_HOME']\n\
            open('in.txt', 'w').write('x')\n\
            try:\n    open(home + '/out.txt', 'w')\nexcept OSError:\n    print('held')\n\
            from hermes_tools import terminal\n\
            print(terminal('echo from the tool')['output'])\n";
        let config = "{sandbox: auto, env_passthrough: [USER_HOME]}";
        let bench = bench_of("execute_code", &[json!({"code": code})], config);
        let bin = bench.home.work().with_file_name("bin");
        std::fs::create_dir(&bin).unwrap();
        let python = ["/usr/local/bin/python3", "/usr/bin/python3"];
        let python = python.iter().find(|path| Path::new(path).exists()).unwrap();
        std::os::unix::fs::symlink(python, bin.join("python3")).unwrap();
        let home = bench.home.home();
        let mut hermes = with(&bench, by, &["-z", "go"]).env("USER_HOME", &home);
        if by == By::Landlock {
            hermes = hermes.env("PATH", bin);
        }
        assert_eq!(hermes.run().ok(), "done\n");
        let result = &results(&bench)[0];
        assert_eq!(result["output"], "held\nfrom the tool", "{result}");
        assert!(
            result["sandbox"].as_str().unwrap().contains("confined by"),
            "{result}"
        );
        assert!(bench.home.work().join("in.txt").exists() && !home.join("out.txt").exists());
    })
    .await;
}

/// A chat in which the command has made the file `up`.
fn chat(bench: &Bench, by: By) -> Pty {
    let mut chat = with(bench, by, &[]).pty(30, 100);
    chat.wait_for("/help for commands", WAIT);
    chat.send("go\r");
    let up = bench.home.work().join("up");
    eventually(WAIT, "the command runs", || up.exists());
    chat
}

// spec: terminal-and-safety §15.7
async fn a_foreground_command_dies_with_a_killed_hermes(by: By) {
    apart(move || {
        let mark = mark(by, 4);
        let command = format!("touch up; sleep {mark}; sleep {mark}");
        let bench = bench(&[json!({"command": command})], "{sandbox: auto}");
        let chat = chat(&bench, by);
        eventually(WAIT, "it sleeps", || processes(&mark) == 1);
        // With a signal that leaves no time for anything.
        drop(chat);
        eventually(WAIT, "it is gone", || processes(&mark) == 0);
    })
    .await;
}

// spec: terminal-and-safety §15.7
async fn a_background_job_does_not(by: By) {
    apart(move || {
        let command = "touch up; for n in $(seq 3000); do [ -e stop ] && break; sleep 0.02; done; touch ended";
        let job = json!({"command": command, "background": true});
        let bench = bench(&[job], "{sandbox: auto}");
        let chat = chat(&bench, by);
        chat.wait_for("done", WAIT);
        drop(chat);
        let records: Value = serde_json::from_str(&bench.home.read("processes.json")).unwrap();
        let pid = records[0]["pid"].as_u64().unwrap();
        assert!(Path::new(&format!("/proc/{pid}")).exists(), "{records}");
        bench.home.write(bench.home.work().join("stop"), "");
        let ended = bench.home.work().join("ended");
        eventually(WAIT, "it goes on", || ended.exists());
    })
    .await;
}

// spec: terminal-and-safety §15.9
#[test]
fn off_is_off_however_it_is_written() {
    for word in ["off", "'off'", "false"] {
        let calls = [json!({"command": "grep NoNewPrivs /proc/self/status; echo x > ~/x"})];
        let bench = bench(&calls, &format!("{{sandbox: {word}}}"));
        assert_eq!(bench.run(&["-z", "go"]).ok(), "done\n");
        let result = &results(&bench)[0];
        assert_eq!(
            (&result["exit_code"], &result["sandbox"]),
            (&json!(0), &Value::Null),
            "{result}"
        );
        assert!(bench.home.home().join("x").exists());
        let doctor = bench.run(&["doctor"]);
        assert!(doctor.ok().contains("Sandbox\n  ✓ off; "), "{doctor}");
    }
}
