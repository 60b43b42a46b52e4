//! Talking to a model: one-shot, resume, and what happens when things go wrong.

use std::time::Duration;

use hermes_testkit::{Exit, TempHome};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::{command, fails};

// spec: agent-loop §26.1, cli-tui §20.1
#[test]
fn the_answer_and_nothing_else() {
    let bench =
        Bench::new(json!([{"text": ["Hello ", "world"], "usage": {"input": 100, "output": 5}}]));
    let output = bench.run(&["-z", "hello"]);
    assert_eq!((output.ok(), output.stderr.as_str()), ("Hello world\n", ""));
    let call = &bench.model.calls()[0];
    assert_eq!(
        call.headers.get("authorization").map(String::as_str),
        Some("Bearer sk-test-1234567")
    );
    let request = &call.body;
    assert_eq!(
        (
            &request["stream"],
            &request["stream_options"]["include_usage"]
        ),
        (&json!(true), &json!(true))
    );
    let messages = request["messages"].as_array().unwrap();
    assert_eq!(messages[0]["role"], "system");
    assert_eq!(
        (&messages[1]["role"], &messages[1]["content"]),
        (&json!("user"), &json!("hello"))
    );
    let session = bench.session();
    assert_eq!(
        (&session["input_tokens"], &session["output_tokens"]),
        (&json!(100), &json!(5))
    );
    assert_eq!(
        (&session["api_call_count"], &session["source"]),
        (&json!(1), &json!("cli"))
    );
}

// spec: agent-loop §26.3
#[test]
fn a_split_think_tag_is_not_part_of_the_answer() {
    let bench = Bench::new(json!([{"text": ["<thi", "nk>secret</th", "ink>", "Hi"]}]));
    assert_eq!(bench.run(&["-z", "x"]).ok(), "Hi\n");
    let messages = &bench.session()["messages"];
    assert_eq!(
        (&messages[1]["content"], &messages[1]["reasoning"]),
        (&json!("Hi"), &json!("secret"))
    );
}

// spec: agent-loop §26.4
#[test]
fn a_tag_in_prose_stays() {
    let bench = Bench::new(json!([{"text": ["Use the <think> tag."]}]));
    assert_eq!(bench.run(&["-z", "x"]).ok(), "Use the <think> tag.\n");
}

// spec: agent-loop §26.5
#[test]
fn unknown_tools() {
    let frob = json!({"tool_calls": [{"name": "frobnicate", "arguments": {}}]});
    let bench = Bench::new(json!([frob, frob, frob, {"text": "never"}]));
    let output = bench.run(&["-z", "go"]);
    assert_eq!(output.exit, Exit::Code(1));
    assert!(
        output.stderr.contains("frobnicate") && output.stdout.is_empty(),
        "{output}"
    );
    let requests = bench.requests();
    assert_eq!(requests.len(), 3);
    let result = requests[1]["messages"].as_array().unwrap().last().unwrap()["content"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        result.contains("does not exist") && result.contains("read_file"),
        "{result}"
    );

    let call = json!({"tool_calls": [{"name": "Read_File_tool", "arguments": {"path": "f.txt"}}]});
    let repaired = Bench::new(json!([call, {"text": "ok"}]));
    repaired
        .home
        .write(repaired.home.work().join("f.txt"), "found me\n");
    repaired.run(&["-z", "go"]).ok();
    assert!(repaired.requests()[1].to_string().contains("found me"));
}

// spec: agent-loop §26.6
#[test]
fn arguments_that_are_almost_json_and_cut_ones() {
    let comma = Bench::new(json!([
        {"tool_calls": [{"name": "write_file", "arguments": "{\"path\": \"a\", \"content\": \"x\",}"}]},
        {"text": "ok"},
    ]));
    comma.run(&["-z", "go"]).ok();
    assert_eq!(comma.home.read(comma.home.work().join("a")), "x");

    let cut = json!({"tool_calls": [{"name": "write_file", "arguments": "{\"path\":\"x\",\"content\":\"abc"}], "repeat": true});
    let bench = Bench::new(json!([cut]));
    let output = bench.run(&["-z", "go"]);
    assert_eq!(output.exit, Exit::Code(1));
    assert!(output.stderr.contains("truncated"), "{output}");
    assert!(bench.requests().len() <= 5);
    assert!(!bench.home.exists(bench.home.work().join("x")));
}

// spec: agent-loop §26.7
#[test]
fn a_long_answer_is_continued() {
    let bench = Bench::new(json!([{"text": "AAA", "finish": "length"}, {"text": "BBB"}]));
    assert_eq!(bench.run(&["-z", "go"]).ok(), "AAABBB\n");
    let last = bench.requests()[1]["messages"]
        .as_array()
        .unwrap()
        .last()
        .unwrap()
        .clone();
    assert_eq!(last["role"], "user");
    assert!(last["content"].as_str().unwrap().contains("Continue"));
}

// spec: agent-loop §26.8
#[test]
fn the_step_limit_ends_in_a_summary() {
    let bench = Bench::new(json!([
        {"when": {"tools": true}, "tool_calls": [{"name": "todo", "arguments": {}}], "repeat": true},
        {"text": "summed up"},
    ]));
    let output = bench.run(&["chat", "-q", "go", "-Q", "--max-turns", "2"]);
    assert_eq!(output.ok(), "summed up\n");
    let requests = bench.requests();
    assert_eq!(requests.len(), 3);
    assert!(requests[2].get("tools").is_none());
}

// spec: agent-loop §26.18
#[test]
fn an_empty_reply_after_a_tool_is_nudged() {
    let bench = Bench::new(json!([
        {"tool_calls": [{"name": "todo", "arguments": {}}]},
        {"empty": true},
        {"text": "Done"},
    ]));
    assert_eq!(bench.run(&["-z", "go"]).ok(), "Done\n");
    assert!(!bench.session().to_string().contains("(empty)"));
}

#[test]
fn a_busy_server_is_asked_again() {
    let bench = Bench::new(json!([
        {"status": 429, "headers": {"retry-after": "1"}, "body": {"error": {"message": "slow down"}}},
        {"text": "there"},
    ]));
    let started = std::time::Instant::now();
    let output = bench.run(&["-z", "go"]);
    assert_eq!((output.ok(), output.stderr.as_str()), ("there\n", ""));
    assert!(started.elapsed() >= Duration::from_secs(1));
    let requests = bench.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0]["messages"], requests[1]["messages"]);
}

// spec: cli-tui §20.2
#[test]
fn a_refused_key_fails_at_once() {
    let bench = Bench::new(
        json!([{"status": 401, "body": {"error": {"message": "bad key"}}, "repeat": true}]),
    );
    let file = bench.home.work().join("deep/u.json");
    let output = bench.run(&["-z", "go", "--usage-file", file.to_str().unwrap()]);
    assert_eq!((&output.exit, output.stdout.as_str()), (&Exit::Code(1), ""));
    assert!(
        output.stderr.contains("401") && output.stderr.contains(&bench.model.url()),
        "{output}"
    );
    assert!(!output.stderr.contains("sk-test-1234567"), "{output}");
    assert_eq!(bench.requests().len(), 1);
    let usage: Value = serde_json::from_str(&bench.home.read(file)).unwrap();
    assert_eq!(
        (&usage["failed"], &usage["model"]),
        (&json!(true), &json!("fake-model"))
    );
}

// spec: cli-tui §20.3
#[test]
fn a_provider_without_a_model_is_wrong_usage() {
    let bench = Bench::new(json!([{"text": "never"}]));
    let output = bench.run(&["-z", "x", "--provider", "openrouter"]);
    assert_eq!(output.exit, Exit::Code(2));
    assert!(output.stderr.contains("--model"), "{output}");
    assert!(bench.requests().is_empty());
}

// spec: cli-tui §20.4
#[test]
fn toolsets_on_the_command_line() {
    let bench = Bench::new(json!([{"text": "ok", "repeat": true}]));
    assert_eq!(bench.run(&["-z", "x", "-t", "nope"]).exit, Exit::Code(2));
    assert!(bench.requests().is_empty());
    let output = bench.run(&["-z", "x", "-t", "nope,file"]);
    output.ok();
    assert!(output.stderr.contains("nope"), "{output}");
    let tools = bench.requests()[0]["tools"].clone();
    let names: Vec<_> = tools
        .as_array()
        .unwrap()
        .iter()
        .map(|t| t["function"]["name"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["patch", "read_file", "search_files", "write_file"]);
}

// spec: tools §8.19
#[test]
fn toolsets_that_are_safe_and_those_that_are_off() {
    let bench = Bench::new(json!([{"text": "ok", "repeat": true}]));
    let offered = |args: &[&str]| -> Vec<String> {
        bench.run(args).ok();
        let request = bench.requests().pop().unwrap();
        let tools = request["tools"].as_array().cloned().unwrap_or_default();
        let name = |tool: &Value| tool["function"]["name"].as_str().unwrap().to_owned();
        tools.iter().map(name).collect()
    };
    let has = |tools: &[String], name: &str| tools.iter().any(|tool| tool == name);
    let unsafe_ones = [
        "terminal",
        "process",
        "read_file",
        "write_file",
        "patch",
        "search_files",
        "execute_code",
    ];
    let safe = offered(&["-z", "x", "--toolsets", "safe"]);
    assert!(!unsafe_ones.iter().any(|name| has(&safe, name)), "{safe:?}");
    let all = offered(&["-z", "x"]);
    assert!(has(&all, "terminal") && has(&all, "process"), "{all:?}");
    let off = "agent:\n  disabled_toolsets: [terminal]\ntoolsets: [hermes-cli]\n";
    let config = bench.home.read("config.yaml");
    bench.home.write("config.yaml", config + off);
    let rest = offered(&["-z", "x"]);
    assert!(
        !has(&rest, "terminal") && !has(&rest, "process"),
        "{rest:?}"
    );
    assert!(has(&rest, "read_file"), "{rest:?}");
}

// spec: agent-loop §26.24
#[test]
fn another_model_of_ones_own_server() {
    let bench = Bench::new(json!([{"text": "ok", "repeat": true}]));
    let own = format!(
        "custom_providers:\n  - name: local\n    base_url: {}/v1\n    api_key: sk-local\n",
        bench.model.url()
    );
    let config = bench.home.read("config.yaml");
    bench.home.write("config.yaml", config + &own);
    let wait = Duration::from_secs(10);
    let mut pty = command(&bench.home, &[]).pty(24, 100);
    pty.wait_for("/help for commands", wait);
    pty.send("/model qwen3:4b\r");
    pty.wait_for("model: qwen3:4b (custom)", wait);
    pty.send("/model custom:local:qwen3:4b\r");
    pty.wait_for("model: qwen3:4b (custom:local)", wait);
    pty.send("hello\r");
    let call = bench.model.wait_for_calls(1, wait).remove(0);
    assert_eq!(call.body["model"], "qwen3:4b");
    assert_eq!(call.headers["authorization"], "Bearer sk-local");
}

// spec: cli-tui §20.5
#[test]
fn what_is_piped_in_is_part_of_the_prompt() {
    let bench = Bench::new(json!([{"text": "ok", "repeat": true}]));
    command(&bench.home, &["-z", "repeat"])
        .stdin("DATA\n")
        .run()
        .ok();
    command(&bench.home, &["-z", "-"])
        .stdin("from stdin\n")
        .run()
        .ok();
    command(&bench.home, &[]).stdin("bare\n").run().ok();
    let prompts: Vec<String> = bench
        .requests()
        .iter()
        .map(|r| r["messages"][1]["content"].as_str().unwrap().to_owned())
        .collect();
    assert!(
        prompts[0].contains("repeat") && prompts[0].contains("DATA"),
        "{}",
        prompts[0]
    );
    assert_eq!(
        (prompts[1].trim(), prompts[2].trim()),
        ("from stdin", "bare")
    );
}

// spec: cli-tui §20.6, agent-loop §26.14
#[test]
fn a_conversation_is_resumed_with_the_same_prompt() {
    let bench =
        Bench::new(json!([{"text": "one"}, {"text": "two"}, {"text": "three"}, {"text": "four"}]));
    let output = bench.run(&["chat", "-Q", "-q", "hi"]);
    assert_eq!(output.ok(), "one\n");
    let id = output
        .stderr
        .trim()
        .strip_prefix("session_id: ")
        .unwrap()
        .to_owned();
    assert_eq!(id.len(), 22, "{id}");
    bench.home.write("SOUL.md", "You are somebody else now.");
    bench.run(&["--resume", &id, "-z", "again"]).ok();
    bench
        .run(&["sessions", "rename", &id, "my", "long", "title"])
        .ok();
    bench.run(&["-c", "my", "long", "title", "-z", "more"]).ok();
    bench.run(&["-c", "-z", "last"]).ok();
    let requests = bench.requests();
    let lengths: Vec<_> = requests
        .iter()
        .map(|r| r["messages"].as_array().unwrap().len())
        .collect();
    assert_eq!(lengths, [2, 4, 6, 8]);
    for request in &requests[1..] {
        assert_eq!(
            request["messages"][0], requests[0]["messages"][0],
            "the prompt is the same byte for byte"
        );
    }
}

// spec: cli-tui §20.7
#[test]
fn a_conversation_that_is_not_there() {
    let bench = Bench::new(json!([{"text": "never"}]));
    for args in [
        &["-c", "nosuch", "-z", "hi"][..],
        &["--resume", "nosuch", "-z", "hi"],
        &["-c", "-z", "hi"],
    ] {
        fails(&bench.home, args, 1);
    }
    assert!(bench.requests().is_empty());
}

// spec: cli-tui §20.8
#[test]
fn without_a_model_there_is_guidance_at_once() {
    let home = TempHome::new();
    for args in [&[][..], &["-z", "hi"], &["chat", "-q", "hi"]] {
        // The quickest of three: the machine may be busy with other tests.
        let took = (0..3).map(|_| {
            let started = std::time::Instant::now();
            let reason = fails(&home, args, 1);
            for part in [
                "hermes config set model.provider ",
                "hermes config set model.default ",
                "hermes config set model.base_url ",
                "hermes config set OPENROUTER_API_KEY ",
                "OPENAI_API_KEY",
            ] {
                assert!(reason.contains(part), "{args:?}: {reason}");
            }
            assert!(reason.lines().count() <= 6, "{reason}");
            started.elapsed()
        });
        assert!(took.min().unwrap() < Duration::from_secs(1), "{args:?}");
    }
    assert!(fails(&home, &["tools"], 1).contains("needs a terminal"));
    assert!(!home.exists("config.yaml"), "nothing was decided");
}

// spec: agent-loop §26.12
#[test]
fn a_model_with_a_small_window_is_refused() {
    let steps = json!({"models": [{"id": "fake-model", "context_length": 32000}], "steps": [{"text": "ok", "repeat": true}]});
    let bench = Bench::new(steps);
    let config = bench
        .home
        .read("config.yaml")
        .replace("  context_length: 131072\n", "");
    bench.home.write("config.yaml", &config);
    let reason = fails(&bench.home, &["-z", "hi"], 1);
    assert!(
        reason.contains("64,000") && reason.contains("model.context_length"),
        "{reason}"
    );
    bench
        .run(&["config", "set", "model.context_length", "131072"])
        .ok();
    assert_eq!(bench.run(&["-z", "hi"]).ok(), "ok\n");
}

// spec: agent-loop §26.19
#[test]
fn the_anthropic_dialect() {
    let bench = Bench::with(
        json!([{"tool_calls": [{"name": "todo", "arguments": {}}]}, {"text": "done"}]),
        "custom",
        "/anthropic",
        "claude-test-4",
    );
    assert_eq!(bench.run(&["-z", "hi"]).ok(), "done\n");
    let calls = bench.model.calls();
    assert_eq!(calls[0].path, "/anthropic/v1/messages");
    let (first, second) = (&calls[0].body, &calls[1].body);
    assert!(first["max_tokens"].is_u64());
    assert!(
        first["system"].to_string().contains("cache_control"),
        "{}",
        first["system"]
    );
    let last = second["messages"].as_array().unwrap().last().unwrap();
    assert_eq!(
        (&last["role"], &last["content"][0]["type"]),
        (&json!("user"), &json!("tool_result"))
    );
}

// spec: agent-loop §26.20
#[test]
fn the_responses_dialect() {
    let bench = Bench::new(json!([
        {"reasoning": "hm", "tool_calls": [{"name": "todo", "arguments": {}, "id": "call_abc"}]},
        {"text": "done"},
        {"text": "again"},
    ]));
    let config = bench.home.read("config.yaml");
    let config = config.replace("  api_key:", "  api_mode: codex_responses\n  api_key:");
    bench.home.write("config.yaml", &config);
    assert_eq!(bench.run(&["-z", "hi"]).ok(), "done\n");
    let calls = bench.model.calls();
    let (first, second) = (&calls[0], &calls[1].body);
    assert_eq!(first.path, "/v1/responses");
    assert_eq!(first.body["store"], json!(false));
    let instructions = first.body["instructions"].as_str().unwrap();
    assert!(instructions.contains("Hermes"), "{instructions}");
    let input = second["input"].as_array().unwrap();
    let [.., thought, call, result] = &input[..] else {
        panic!("{input:?}")
    };
    assert_eq!(thought["encrypted_content"], "sealed-rs_1_0");
    let kinds = (&call["type"], &result["type"]);
    assert_eq!(
        kinds,
        (&json!("function_call"), &json!("function_call_output"))
    );
    let ids = (&call["call_id"], &result["call_id"]);
    assert_eq!(ids, (&json!("call_abc"), &json!("call_abc")));

    // What was thought and called is in the store, and goes out again when the conversation goes on.
    let session = bench.session()["id"].as_str().unwrap().to_owned();
    let resumed = bench.run(&["chat", "-q", "more", "-Q", "--resume", &session]);
    assert!(resumed.ok().contains("again"));
    let third = &bench.requests()[2];
    let replayed = &third["input"].as_array().unwrap()[..input.len()];
    assert_eq!(replayed, input);
    assert_eq!(third["prompt_cache_key"], session.as_str());
}

#[test]
fn a_conversation_line_by_line() {
    let title = json!({"when": {"tools": false}, "text": "\"Greetings\"", "repeat": true});
    let bench = Bench::new(json!([title, {"text": "Hello **you**"}, {"text": "second"}]));
    let wait = Duration::from_secs(10);
    let mut pty = command(&bench.home, &[]).pty(24, 80);
    pty.wait_for("/help for commands", wait);
    pty.send("hi there\r");
    pty.wait_for("Hello **you**", wait);
    pty.send("/tit My Talk\r");
    pty.wait_for("title: My Talk", wait);
    pty.send("/frob\r");
    pty.wait_for("there is no command /frob", wait);
    pty.send("again\r");
    pty.wait_for("second", wait);
    pty.send("\u{4}");
    pty.wait_for("hermes --resume", wait);
    assert_eq!(bench.session()["title"], "My Talk");
}

// spec: agent-loop §26.2
#[test]
fn a_command_runs_and_its_result_goes_back() {
    let bench = Bench::new(json!([
        {"tool_calls": [{"name": "terminal", "arguments": {"command": "echo hi-there"}}]},
        {"text": "done"},
    ]));
    assert_eq!(bench.run(&["-z", "go"]).ok(), "done\n");
    let messages = bench.requests()[1]["messages"].as_array().unwrap().clone();
    let (asked, answered) = (&messages[2], &messages[3]);
    assert_eq!(asked["content"], "");
    let call = &asked["tool_calls"][0];
    assert!(call.get("call_id").is_none());
    assert_eq!(
        (&answered["role"], &answered["tool_call_id"]),
        (&json!("tool"), &call["id"])
    );
    let result = answered["content"].as_str().unwrap();
    assert!(
        result.contains("hi-there") && result.contains("exit_code"),
        "{result}"
    );
}

#[test]
fn nothing_dangerous_runs_unasked() {
    let remove = |command: &str| json!([{"tool_calls": [{"name": "terminal", "arguments": {"command": command}}]}, {"text": "ok"}]);
    let unasked = Bench::new(remove("rm -rf sub"));
    unasked.home.write(unasked.home.work().join("sub/f"), "x");
    unasked.run(&["chat", "-Q", "-q", "go"]).ok();
    assert!(unasked.home.exists(unasked.home.work().join("sub/f")));

    let bare = Bench::new(remove("rm -rf sub"));
    bare.home.write(bare.home.work().join("sub/f"), "x");
    bare.run(&["-z", "go"]).ok();
    assert!(
        !bare.home.exists(bare.home.work().join("sub/f")),
        "-z does what it is told"
    );

    let never = Bench::new(remove("rm -rf ~"));
    never.run(&["-z", "go", "--yolo"]).ok();
    assert!(never.home.exists("config.yaml"));
    assert!(
        never.requests()[1]
            .to_string()
            .contains("BLOCKED (hardline)")
    );
}

// spec: cli-tui §20.17
#[test]
fn the_owner_is_asked_and_says_no() {
    let steps = json!([
        {"when": {"tools": false}, "text": "Cleaning up", "repeat": true},
        {"tool_calls": [{"name": "terminal", "arguments": {"command": "rm -rf sub"}}]},
        {"text": "as you wish"},
    ]);
    let bench = Bench::new(steps.clone());
    let file = bench.home.write(bench.home.work().join("sub/f"), "x");
    let wait = Duration::from_secs(10);
    let mut pty = command(&bench.home, &[]).pty(24, 80);
    pty.wait_for("/help for commands", wait);
    pty.send("clean up\r");
    pty.wait_for("[4] deny", wait);
    pty.send("4\r");
    pty.wait_for("as you wish", wait);
    assert!(bench.home.exists(&file));
    assert!(
        bench.requests()[1]
            .to_string()
            .to_lowercase()
            .contains("denied")
    );

    let slow = Bench::new(steps);
    slow.run(&["config", "set", "approvals.timeout", "1"]).ok();
    let file = slow.home.write(slow.home.work().join("sub/f"), "x");
    let mut pty = command(&slow.home, &[]).pty(24, 80);
    pty.wait_for("/help for commands", wait);
    pty.send("clean up\r");
    pty.wait_for("as you wish", wait);
    assert!(slow.home.exists(file), "no answer means no");
}

#[test]
fn models_and_toolsets_on_the_command_line() {
    let bench = Bench::new(json!([{"text": "ok"}]));
    assert!(bench.run(&["model", "show"]).ok().contains("fake-model"));
    let listed: Value = serde_json::from_str(bench.run(&["model", "list", "--json"]).ok()).unwrap();
    assert!(
        listed
            .as_array()
            .unwrap()
            .iter()
            .any(|row| row["id"] == "openrouter" && row["configured"] == false)
    );
    bench.run(&["model", "set", "other-model"]).ok();
    assert!(
        bench
            .run(&["model", "show", "--json"])
            .ok()
            .contains("other-model")
    );
    assert!(
        fails(&bench.home, &["model", "set", "anthropic:claude-x"], 1)
            .contains("ANTHROPIC_API_KEY")
    );

    let state = |name: &str| {
        let rows: Value =
            serde_json::from_str(bench.run(&["tools", "list", "--json"]).ok()).unwrap();
        rows.as_array()
            .unwrap()
            .iter()
            .find(|row| row["toolset"] == name)
            .unwrap()["enabled"]
            .clone()
    };
    assert_eq!(
        (state("terminal"), state("moa")),
        (json!(true), json!(false))
    );
    bench.run(&["tools", "disable", "terminal"]).ok();
    assert_eq!(
        (state("terminal"), state("file")),
        (json!(false), json!(true))
    );
    bench.run(&["tools", "enable", "terminal"]).ok();
    assert_eq!(state("terminal"), json!(true));
    assert!(fails(&bench.home, &["tools", "disable", "nope"], 1).contains("nope"));
    assert!(fails(&bench.home, &["tools"], 1).contains("terminal"));
    let sizes: Value = serde_json::from_str(bench.run(&["prompt-size", "--json"]).ok()).unwrap();
    assert!(
        sizes["system"].as_u64().unwrap() <= 6_000 && sizes["tools"].as_u64().unwrap() <= 12_000,
        "{sizes}"
    );
}

#[test]
fn the_end_of_a_background_job_reaches_the_model() {
    let job =
        json!({"command": "echo job-is-done", "background": true, "notify_on_complete": true});
    let bench = Bench::new(json!([
        {"when": {"tools": false}, "text": "A job", "repeat": true},
        {"when": {"user": "start"}, "tool_calls": [{"name": "terminal", "arguments": job}]},
        {"text": "started it", "when": {"after_tool": true}},
        {"text": "I heard", "when": {"user": "Background process"}},
    ]));
    let wait = Duration::from_secs(15);
    let mut pty = command(&bench.home, &[]).pty(24, 80);
    pty.wait_for("/help for commands", wait);
    pty.send("start\r");
    pty.wait_until(
        |_| {
            bench.requests().iter().any(|request| {
                request.to_string().contains("job-is-done")
                    && request.to_string().contains("has ended")
            })
        },
        wait,
    );
}

// spec: agent-loop §26.21
#[test]
fn a_first_exchange_gets_a_title_from_a_side_model() {
    let wait = Duration::from_secs(15);
    let talk = |title: Value| {
        let bench = Bench::new(json!([title, {"text": "an answer", "repeat": true}]));
        bench
            .run(&["config", "set", "agent.api_max_retries", "1"])
            .ok();
        bench
    };
    let bench = talk(json!({"when": {"tools": false}, "text": "**A Fine Title**"}));
    let mut pty = command(&bench.home, &[]).pty(24, 80);
    pty.wait_for("/help for commands", wait);
    pty.send("hello there\r");
    pty.wait_for("an answer", wait);
    bench.model.wait_for_calls(2, wait);
    pty.wait_until(
        |_| {
            bench
                .run(&["sessions", "list"])
                .ok()
                .contains("A Fine Title")
        },
        wait,
    );

    let failing = talk(
        json!({"when": {"tools": false}, "status": 500, "body": {"error": {"message": "oops"}}, "repeat": true}),
    );
    let mut pty = command(&failing.home, &[]).pty(24, 80);
    pty.wait_for("/help for commands", wait);
    pty.send("hello there\r");
    let screen = pty.wait_for("no title for this conversation", wait);
    assert!(screen.contains("an answer"), "{screen}");
}

#[test]
fn what_cannot_be_saved_is_answered_all_the_same() {
    let bench = Bench::new(json!([{"text": "ok", "repeat": true}]));
    bench
        .home
        .write("state.db", "no database at all ".repeat(100));
    let output = bench.run(&["-z", "hi"]);
    assert_eq!(output.ok(), "ok\n");
    assert_eq!(
        output.stderr.matches("not being saved").count(),
        1,
        "{output}"
    );
    assert!(
        bench.home.read("state.db").starts_with("no database"),
        "the damaged file is as it was"
    );
    let again = bench.run(&["-c", "-z", "hi"]);
    assert_eq!(again.exit, Exit::Code(1), "there is nothing to go on with");
}
