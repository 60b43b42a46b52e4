//! `hermes doctor` and `hermes status`

use std::fs;
use std::os::unix::fs::PermissionsExt;

use hermes_testkit::{Exit, TempHome};
use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::seed::{Seed, sessions};
use crate::{command, hermes};

#[test]
fn a_fresh_home_is_well() {
    let home = TempHome::new();
    let output = hermes(&home, &["doctor"]);
    assert!(output.ok().contains("✓"), "{output}");
    assert!(!output.stdout.contains('✗'), "{output}");
}

#[test]
fn problems_are_explained_and_safe_ones_mended() {
    let home = TempHome::new();
    home.write(
        "config.yaml",
        "agnet: 1\n_config_version: 5\nagent: {max_turns: x}\n",
    );
    let env = home.write(".env", "OPENAI_API_KEY=k\n");
    fs::set_permissions(env, fs::Permissions::from_mode(0o644)).unwrap();
    let output = hermes(&home, &["doctor"]);
    for part in [
        "unknown key 'agnet'",
        "configuration version 5, current is 23",
        "'agent.max_turns' expects a whole number",
        ".env has mode 644",
        "chmod 600",
        "doctor --fix",
    ] {
        assert!(output.ok().contains(part), "{part} in\n{output}");
    }
    let fixed = hermes(&home, &["doctor", "--fix"]);
    assert!(
        fixed
            .ok()
            .contains("repaired: configuration migrated to version 23"),
        "{fixed}"
    );
    assert_eq!(home.mode(".env"), 0o600);
    assert!(
        home.read("config.yaml")
            .starts_with("agnet: 1\n_config_version: 23\n")
    );
}

#[test]
fn errors_fail_and_json_is_for_scripts() {
    let home = TempHome::new();
    home.write("config.yaml", "a: [1\n");
    let output = hermes(&home, &["doctor", "--json"]);
    assert_eq!(output.exit, Exit::Code(1));
    let report: Value = serde_json::from_str(&output.stdout).unwrap();
    let errors: Vec<_> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|f| f["level"] == "error")
        .collect();
    assert_eq!(errors.len(), 1, "{report}");
    assert!(
        errors[0]["text"]
            .as_str()
            .unwrap()
            .contains("config.yaml:2:"),
        "{report}"
    );
    assert!(
        errors[0]["fix"]
            .as_str()
            .unwrap()
            .contains("hermes config edit")
    );
}

#[test]
fn status_lists_what_is_set_up_only() {
    let home = TempHome::new();
    home.write(
        "config.yaml",
        "model: {default: a/b, provider: openrouter}\n",
    );
    home.write(".env", "OPENROUTER_API_KEY=sk-or-0123456789\n");
    sessions(
        &home,
        &[Seed {
            id: "s0000000",
            messages: &["x", "y"],
            ..Seed::default()
        }],
    );
    let output = hermes(&home, &["status"]);
    for part in [
        "a/b",
        "openrouter",
        "sk-o...6789",
        "1 conversations, 2 messages",
        "others not configured",
    ] {
        assert!(output.ok().contains(part), "{part} in\n{output}");
    }
    assert!(!output.stdout.contains("ANTHROPIC_API_KEY"));
    assert!(
        hermes(&home, &["status", "--all"])
            .ok()
            .contains("ANTHROPIC_API_KEY")
    );
    let status: Value = serde_json::from_str(hermes(&home, &["status", "--json"]).ok()).unwrap();
    assert_eq!(status["model"], "a/b");
    let lock = fs::File::create(home.hermes().join("gateway.lock")).unwrap();
    lock.lock().unwrap();
    let running: Value =
        serde_json::from_str(command(&home, &["status", "--json"]).run().ok()).unwrap();
    assert_eq!(running["gateway"], "running");
}
