//! Who answers when the main model can't.

use std::time::{Duration, Instant};

use hermes_scripted::{Script, ScriptedModel};
use hermes_testkit::TempHome;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::bench::{Bench, eventually};
use crate::{command, fails, hermes};

const WAIT: Duration = Duration::from_secs(10);

fn server(script: Value) -> ScriptedModel {
    ScriptedModel::start(Script::from_value(script).unwrap()).unwrap()
}

/// A main model with this script, and another that stands in for it.
fn pair(first: Value, second: Value) -> (Bench, ScriptedModel) {
    let (bench, second) = (Bench::new(first), server(second));
    let settings = format!(
        "{}fallback_providers:\n  - provider: custom\n    model: other-model\n    base_url: {}/v1\n    key_env: OTHER_KEY\n",
        bench.home.read("config.yaml"),
        second.url()
    );
    bench.home.write("config.yaml", settings);
    bench.home.write(".env", "OTHER_KEY=sk-other-7654321\n");
    (bench, second)
}

// spec: agent-loop §26.9
#[test]
fn another_model_answers_without_a_wait() {
    let limited = json!([{"status": 429, "headers": {"retry-after": "30"}, "repeat": true}]);
    let (bench, second) = pair(limited, json!([{"text": "there", "repeat": true}]));
    let began = Instant::now();
    assert_eq!(bench.run(&["-z", "go"]).ok(), "there\n");
    assert!(began.elapsed() < Duration::from_secs(10));
    let (first, other) = (bench.model.calls(), second.calls());
    assert_eq!((first.len(), other.len()), (1, 1));
    assert_eq!(first[0].body["messages"], other[0].body["messages"]);
    assert_eq!(other[0].body["model"], "other-model");
    assert_eq!(other[0].headers["authorization"], "Bearer sk-other-7654321");
    // Who answered is who is paid.
    assert_eq!(
        bench.session()["billing_base_url"],
        format!("{}/v1", second.url())
    );
}

// spec: agent-loop §26.9
#[test]
fn the_next_turn_spares_who_has_had_enough_and_tries_who_only_stumbled() {
    let titles = json!({"when": {"tools": false}, "repeat": true, "text": "A title"});
    let answer = |text: &str| json!([titles, {"text": text, "repeat": true}]);
    let limited = json!([{"status": 429}, titles, {"text": "back", "repeat": true}]);
    let (bench, second) = pair(limited, answer("from the other"));
    let mut chat = command(&bench.home, &[]).pty(24, 100);
    chat.wait_for("/help for commands", WAIT);
    chat.send("one\r");
    chat.wait_for(
        "rate limit reached (HTTP 429); other-model (custom) answers",
        WAIT,
    );
    chat.wait_for("from the other", WAIT);
    let spoken = |server: &ScriptedModel| {
        let calls = server.calls().into_iter();
        calls.filter(|call| call.body["tools"].is_array()).count()
    };
    chat.send("two\r");
    eventually(WAIT, "the second turn", || spoken(&second) == 2);
    assert_eq!(spoken(&bench.model), 1);
    // Said once.
    let screen = chat.wait_for("from the other", WAIT);
    assert_eq!(
        screen.matches("answers from here on").count(),
        1,
        "{screen}"
    );

    // A server error is no reason to stay away.
    let shaky =
        json!([{"status": 500}, {"status": 500}, titles, {"text": "back again", "repeat": true}]);
    let (bench, _second) = pair(shaky, answer("from the other"));
    let mut chat = command(&bench.home, &[]).pty(24, 100);
    chat.wait_for("/help for commands", WAIT);
    chat.send("one\r");
    chat.wait_for("from the other", WAIT);
    chat.send("two\r");
    chat.wait_for("back again", WAIT);
}

#[test]
fn both_dead_is_an_error_that_names_both() {
    let dead = json!([{"status": 401, "repeat": true}]);
    let (bench, second) = pair(dead.clone(), dead);
    let output = bench.run(&["-z", "go"]);
    for part in [
        "fake-model",
        "other-model",
        &bench.model.url(),
        &second.url(),
    ] {
        assert!(output.stderr.contains(part), "{part}: {output}");
    }
    assert_eq!((bench.model.calls().len(), second.calls().len()), (1, 1));
}

#[test]
fn a_main_model_without_a_key_is_replaced_and_that_is_said() {
    let second = server(json!([{"text": "there"}]));
    let home = TempHome::new();
    home.write(
        "config.yaml",
        format!(
            "model: {{default: gpt-4o, provider: openrouter}}\n\
             fallback_providers: [{{provider: custom, model: m, base_url: '{}/v1'}}]\n",
            second.url()
        ),
    );
    let output = hermes(&home, &["-z", "go"]);
    assert_eq!(output.ok(), "there\n");
    assert!(output.stderr.contains("OPENROUTER_API_KEY"), "{output}");
    assert!(
        output.stderr.contains("m (custom) answers instead"),
        "{output}"
    );
}

#[test]
fn empty_answers_are_a_reason_too() {
    let empty = json!([{"empty": true, "repeat": true}]);
    let (bench, second) = pair(empty, json!([{"text": "there"}]));
    assert_eq!(bench.run(&["-z", "go"]).ok(), "there\n");
    assert_eq!((bench.model.calls().len(), second.calls().len()), (4, 1));
}

#[test]
fn the_list_is_kept_with_its_comments() {
    let home = TempHome::new();
    let list = |args: &[&str]| {
        hermes(&home, &[&["fallback"], args].concat())
            .ok()
            .to_owned()
    };
    assert_eq!(
        list(&[]),
        "no fallbacks; `hermes fallback add PROVIDER:MODEL` adds one\n"
    );
    home.write("config.yaml", "# mine\nmodel: {default: m} # keep\n");
    home.write(".env", "OPENROUTER_API_KEY=sk-or-1234\n");
    assert_eq!(
        list(&["add", "openrouter:gpt-4o"]),
        "✓ openai/gpt-4o (openrouter)\n"
    );
    list(&[
        "add",
        "custom:local-1",
        "--base-url",
        "http://127.0.0.1:9/v1",
    ]);
    let text = home.read("config.yaml");
    assert!(
        text.starts_with("# mine\nmodel: {default: m} # keep\n"),
        "{text}"
    );
    home.write(
        "config.yaml",
        text.replace(
            "  - provider: custom",
            "  # the last resort\n  - provider: custom",
        ),
    );
    list(&["add", "anthropic:claude", "--key-env", "OPENROUTER_API_KEY"]);
    let shown = list(&["list"]);
    let lines: Vec<_> = shown.lines().collect();
    assert_eq!(lines.len(), 3, "{shown}");
    assert!(lines[1].starts_with("2. ✓ custom:local-1"), "{shown}");

    assert_eq!(list(&["remove", "1"]), "✓ removed openrouter:gpt-4o\n");
    let text = home.read("config.yaml");
    assert!(
        text.contains("local-1") && !text.contains("gpt-4o"),
        "{text}"
    );
    assert!(text.contains("# the last resort"), "{text}");
    let json: Value = serde_json::from_str(&list(&["list", "--json"])).unwrap();
    assert_eq!(
        (&json[0]["model"], &json[0]["usable"]),
        (&json!("local-1"), &json!(true))
    );
    assert_eq!(list(&["clear"]), "✓ removed 2\n");
    assert_eq!(
        home.read("config.yaml"),
        "# mine\nmodel: {default: m} # keep\n"
    );
}

#[test]
fn nothing_is_written_that_could_not_be_used() {
    let home = TempHome::new();
    home.write("config.yaml", "model: {default: m}\n");
    let check = |args: &[&str], part: &str| {
        let reason = fails(&home, &[&["fallback"], args].concat(), 1);
        assert!(reason.contains(part), "{args:?}: {reason}");
        assert_eq!(home.read("config.yaml"), "model: {default: m}\n");
    };
    check(&["add", "openrouter:gpt-4o"], "OPENROUTER_API_KEY");
    check(&["add", "gpt-4o"], "needs a provider");
    check(
        &["add", "custom:m", "--base-url", "nonsense"],
        "not an http address",
    );
    check(&["remove", "3"], "no fallback '3'");
}

#[test]
fn the_older_setting_becomes_the_newer_one() {
    let home = TempHome::new();
    home.write(
        "config.yaml",
        "fallback_model: {provider: custom, model: old, base_url: 'http://127.0.0.1:9/v1'}\n",
    );
    let add = [
        "fallback",
        "add",
        "custom:new",
        "--base-url",
        "http://127.0.0.1:8/v1",
    ];
    hermes(&home, &add).ok();
    let shown = hermes(&home, &["fallback"]).ok().to_owned();
    assert!(
        shown.contains("1. ✓ custom:old") && shown.contains("2. ✓ custom:new"),
        "{shown}"
    );
    assert!(!home.read("config.yaml").contains("fallback_model"));
}

/// `mixture_of_agents` is there when its toolset is asked for and its models can be had.
#[test]
fn several_models_make_one_answer() {
    let call = json!({"tool_calls": [{"name": "mixture_of_agents", "arguments": {"user_prompt": "Why?"}}]});
    let bench = Bench::new(json!([
        {"when": {"user": "Why?"}, "text": "because", "repeat": true},
        {"when": {"after_tool": true}, "text": "done"},
        call,
    ]));
    let url = bench.model.url();
    let settings = format!(
        "{}providers: {{box: {{base_url: '{url}/v1'}}}}\n\
         moa: {{presets: {{default: {{reference_models: ['box:a', 'box:b'], aggregator: 'box:c'}}}}}}\n",
        bench.home.read("config.yaml")
    );
    bench.home.write("config.yaml", settings);
    assert_eq!(bench.run(&["-z", "ask them", "-t", "moa"]).ok(), "done\n");
    let requests = bench.requests();
    let models: Vec<_> = requests
        .iter()
        .map(|r| r["model"].as_str().unwrap())
        .collect();
    assert_eq!(models.len(), 5, "{models:?}");
    assert_eq!(models[3], "box:c".trim_start_matches("box:"));
    let result = requests[4]["messages"].as_array().unwrap().last().unwrap()["content"].to_string();
    assert!(
        result.contains("because") && result.contains("models_used"),
        "{result}"
    );
    // Off unless named.
    let plain = Bench::new(json!([{"text": "hi"}]));
    plain.run(&["-z", "hi"]).ok();
    assert!(
        !plain.requests()[0]["tools"]
            .to_string()
            .contains("mixture_of_agents")
    );
}
