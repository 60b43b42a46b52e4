//! Which model is asked, and how it is reached.

use hermes_scripted::{Script, ScriptedModel};
use hermes_testkit::TempHome;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::{command, fails, hermes};

fn server(script: Value) -> ScriptedModel {
    ScriptedModel::start(Script::from_value(script).unwrap()).unwrap()
}

#[test]
fn a_local_server_with_one_model_needs_no_name() {
    let shown = json!({"model_info": {"qwen3.context_length": 262_144}});
    let model = server(
        json!({"models": ["qwen3:4b"], "ollama": {"qwen3:4b": shown},
        "steps": [{"text": "Hello"}]}),
    );
    let home = TempHome::new();
    home.write(
        "config.yaml",
        format!("model: {{base_url: '{}/v1'}}\n", model.url()),
    );
    assert_eq!(hermes(&home, &["-z", "hi"]).ok(), "Hello\n");
    let body = &model.calls()[0].body;
    assert_eq!(body["model"], "qwen3:4b");
    assert_eq!(body["options"]["num_ctx"], 262_144);

    let two = server(json!({"models": ["a", "b"], "steps": []}));
    home.write(
        "config.yaml",
        format!("model: {{base_url: '{}/v1'}}\n", two.url()),
    );
    let reason = fails(&home, &["-z", "hi"], 1);
    assert!(reason.contains("model.default"), "{reason}");
    assert_eq!(two.calls().len(), 0);
}

#[test]
fn a_missing_bundle_of_certificates_is_named() {
    let home = TempHome::new();
    home.write(
        "config.yaml",
        "model: {default: m, base_url: 'https://127.0.0.1:9/v1', context_length: 99000}\n",
    );
    let run = command(&home, &["-z", "hi"]).env("HERMES_CA_BUNDLE", "/nowhere/ca.pem");
    let output = run.run();
    assert!(output.stderr.contains("/nowhere/ca.pem"), "{output}");
}

#[test]
fn ipv4_alone_reaches_a_server_by_its_name() {
    let model = server(json!([{"text": "Hello"}]));
    let home = TempHome::new();
    let port = model.addr().port();
    let settings = format!(
        "model: {{default: m, base_url: 'http://localhost:{port}/v1', context_length: 99000}}\n\
         network: {{force_ipv4: true}}\n"
    );
    home.write("config.yaml", settings);
    assert_eq!(hermes(&home, &["-z", "hi"]).ok(), "Hello\n");
}

#[test]
fn a_model_without_a_name_is_shown_as_what_it_is() {
    let model = server(json!({"models": ["qwen3:4b"], "steps": []}));
    let home = TempHome::new();
    let settings = |url: &str| format!("model: {{base_url: '{url}/v1', context_length: 99000}}\n");
    home.write("config.yaml", settings(&model.url()));
    let shown = |args: &[&str]| hermes(&home, args).ok().to_owned();
    assert!(shown(&["model", "show"]).starts_with("Model     qwen3:4b\n"));
    // The server is away.
    home.write("config.yaml", settings("http://127.0.0.1:9"));
    let away = shown(&["model", "show"]);
    assert!(away.contains("the only one its server has"), "{away}");
    let away: Value = serde_json::from_str(&shown(&["model", "show", "--json"])).unwrap();
    assert_eq!(away["model"], Value::Null);
}

#[test]
fn a_familys_name_is_chosen_as_its_newest_model() {
    let model = server(
        json!({"models": ["claude-sonnet-4.5", "claude-sonnet-4.6", "claude-opus-4.7"],
        "steps": [{"when": {"tools": false}, "repeat": true, "text": "A title"}, {"repeat": true, "text": "Hello"}]}),
    );
    let home = TempHome::new();
    let url = model.url();
    let settings = format!(
        "model: {{default: m, provider: custom, base_url: '{url}/v1', context_length: 99000}}\n"
    );
    home.write("config.yaml", settings);
    assert_eq!(
        hermes(&home, &["model", "set", "sonnet"]).ok(),
        "✓ claude-sonnet-4.6 (custom)\n"
    );
    assert!(home.read("config.yaml").contains("claude-sonnet-4.6"));
    // None of them is there.
    let unknown = hermes(&home, &["model", "set", "kimi"]).ok().to_owned();
    assert!(
        unknown.starts_with("✓ kimi (custom): a family"),
        "{unknown}"
    );

    let wait = std::time::Duration::from_secs(10);
    let mut chat = command(&home, &["-m", "m"]).pty(24, 100);
    chat.wait_for("/help for commands", wait);
    chat.send("/model opus\r");
    chat.wait_for("model: claude-opus-4.7 (custom)", wait);
    chat.send("hello\r");
    chat.wait_for("Hello", wait);
    assert_eq!(model.calls()[0].body["model"], "claude-opus-4.7");
}
