//! Requests written down: those that fail, and on demand all.

use hermes_scripted::{Script, ScriptedModel};
use hermes_testkit::{Exit, TempHome};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::{command, hermes};

const KEY: &str = "sk-test-1234567890abcdef";

fn bench(steps: Value) -> (TempHome, ScriptedModel) {
    let model = ScriptedModel::start(Script::from_value(steps).unwrap()).unwrap();
    let home = TempHome::new();
    let url = model.url();
    let settings = format!(
        "model: {{default: m, provider: custom, base_url: '{url}/v1', api_key: {KEY}, context_length: 131072}}\n"
    );
    home.write("config.yaml", settings);
    (home, model)
}

/// The names of the dumps, oldest first.
fn dumps(home: &TempHome) -> Vec<String> {
    let entries = std::fs::read_dir(home.hermes().join("sessions")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names
        .filter(|name| name.starts_with("request_dump_"))
        .collect();
    names.sort();
    names
}

#[test]
fn a_request_that_failed_is_written_down_without_secrets() {
    let refused = json!({"status": 401, "body": {"error": {"message": format!("bad key {KEY}")}}});
    let (home, _model) = bench(json!([refused]));
    let prompt = "use ghp_abcdefghijklmnopqrstuvwxyz0123456789 to push";
    let output = hermes(&home, &["-z", prompt]);
    assert_eq!(output.exit, Exit::Code(1), "{output}");

    let names = dumps(&home);
    let [name] = names.as_slice() else {
        panic!("{names:?}")
    };
    let path = format!("sessions/{name}");
    assert_eq!(home.mode(&path), 0o600);
    let text = home.read(&path);
    assert!(
        !text.contains(KEY) && !text.contains("ghp_abcdefghijklmnop"),
        "{text}"
    );
    let dump: Value = serde_json::from_str(&text).unwrap();
    let session = dump["session_id"].as_str().unwrap();
    assert!(
        name.starts_with(&format!("request_dump_{session}_2")),
        "{name}"
    );
    assert_eq!(dump["reason"], "failed");
    assert_eq!(dump["error"]["status"], 401);
    let request = &dump["request"];
    assert!(
        request["url"]
            .as_str()
            .unwrap()
            .ends_with("/v1/chat/completions")
    );
    assert_eq!(request["headers"]["authorization"], "sk-test-...cdef");
    let said = request["body"]["messages"][1]["content"].as_str().unwrap();
    assert!(
        said.starts_with("use ghp_") && said.ends_with(" to push"),
        "{said}"
    );

    // It goes with its session.
    hermes(&home, &["sessions", "delete", session, "--yes"]).ok();
    assert_eq!(dumps(&home), [""; 0]);
}

#[test]
fn requests_that_succeed_are_written_down_on_demand() {
    let calls = json!({"tool_calls": [{"name": "todo", "arguments": {}}]});
    let (home, _model) = bench(json!([calls, {"text": "ok"}, {"text": "again"}]));
    let all = command(&home, &["-z", "hi"]).env("HERMES_DUMP_REQUESTS", "1");
    assert_eq!(all.run().ok(), "ok\n");
    assert_eq!(dumps(&home).len(), 2);
    let last: Value =
        serde_json::from_str(&home.read(format!("sessions/{}", dumps(&home)[1]))).unwrap();
    assert_eq!(last["reason"], "preflight");
    assert_eq!(last["request"]["body"]["messages"][3]["role"], "tool");
    assert_eq!(hermes(&home, &["-z", "hi"]).ok(), "again\n");
    assert_eq!(dumps(&home).len(), 2);
}
