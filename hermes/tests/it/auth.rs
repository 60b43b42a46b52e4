//! `hermes auth`: keys and logins as their owner handles them, and a pool at work.

use std::time::Duration;

use hermes_scripted::{Script, ScriptedModel};
use hermes_testkit::{Exit, LoginServer, TempHome};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::{command, fails, hermes};

fn server(script: Value) -> ScriptedModel {
    ScriptedModel::start(Script::from_value(script).unwrap()).unwrap()
}

/// A home whose provider `mock` is this server.
fn home(server: &ScriptedModel) -> TempHome {
    let home = TempHome::new();
    let settings = format!(
        "model: {{default: mock-1, provider: mock, context_length: 131072}}\n\
         providers: {{mock: {{base_url: '{}/v1'}}}}\n",
        server.url()
    );
    home.write("config.yaml", settings);
    home
}

fn add(home: &TempHome, provider: &str, key: &str, label: &str) -> String {
    let args = ["auth", "add", provider, "--label", label];
    let output = command(home, &args).stdin(format!("{key}\n")).run();
    output.ok().to_owned()
}

fn file(home: &TempHome) -> Value {
    serde_json::from_str(&home.read("auth.json")).unwrap()
}

fn listed(home: &TempHome, provider: &str) -> Vec<Value> {
    let output = hermes(home, &["auth", "list", provider, "--json"]);
    let lists: Value = serde_json::from_str(output.ok()).unwrap();
    lists[0]["entries"].as_array().unwrap().clone()
}

fn bearers(server: &ScriptedModel) -> Vec<String> {
    let calls = server.calls().into_iter();
    calls
        .map(|call| call.headers["authorization"].replace("Bearer ", ""))
        .collect()
}

// spec: agent-loop §26.10
#[test]
fn the_second_key_answers_when_the_first_is_wrong() {
    let wrong = json!({"when": {"key": "sk-test-key-one"}, "status": 401, "repeat": true});
    let server = server(json!({"steps": [wrong], "otherwise": {"text": "Hello"}}));
    let home = home(&server);
    add(&home, "mock", "sk-test-key-one", "one");
    add(&home, "mock", "sk-test-key-two", "two");
    assert_eq!(home.mode("auth.json"), 0o600);
    assert_eq!(hermes(&home, &["-z", "hi"]).ok(), "Hello\n");
    assert_eq!(bearers(&server), ["sk-test-key-one", "sk-test-key-two"]);
    let entry = &file(&home)["credential_pool"]["custom:mock"][0];
    assert_eq!(
        (&entry["last_status"], &entry["last_error_code"]),
        (&json!("exhausted"), &json!(401))
    );

    let shown = hermes(&home, &["auth", "list"]).ok().to_owned();
    assert!(
        shown.contains("failed (401), ") && shown.contains("left"),
        "{shown}"
    );
    assert!(!shown.contains("sk-test-key-one"), "{shown}");
    assert_eq!(
        hermes(&home, &["auth", "reset", "mock"]).ok(),
        "custom:mock: 1 credential can be used again\n"
    );
    assert_eq!(listed(&home, "mock")[0]["status"], "ok");
}

// spec: agent-loop §26.10
#[test]
fn one_wrong_key_is_one_request() {
    let server = server(json!({"steps": [], "otherwise": {"status": 401}}));
    let home = home(&server);
    add(&home, "mock", "sk-test-key-one", "one");
    let reason = fails(&home, &["-z", "hi"], 1);
    assert!(
        reason.contains("401") && reason.contains(&server.url()),
        "{reason}"
    );
    assert_eq!(server.calls().len(), 1);
}

#[test]
fn all_keys_used_up_is_one_clear_error() {
    let refused = json!({"status": 402, "repeat": true, "body": {"error": {"message": "Insufficient credits"}}});
    let server = server(json!({"steps": [refused]}));
    let home = home(&server);
    add(&home, "mock", "sk-test-key-one", "one");
    add(&home, "mock", "sk-test-key-two", "two");
    let reason = fails(&home, &["-z", "hi"], 1);
    for part in [
        "All 2 keys of custom:mock",
        "can be used again at",
        "hermes auth reset custom:mock",
    ] {
        assert!(reason.contains(part), "{part} in {reason}");
    }
    assert_eq!(server.calls().len(), 2);
    // Until then the server is left alone.
    fails(&home, &["-z", "hi"], 1);
    assert_eq!(server.calls().len(), 2);
    let status = hermes(&home, &["auth", "status", "mock"]);
    assert_eq!(status.exit, Exit::Code(1), "{status}");
}

#[test]
fn keys_come_and_go_by_number_id_and_label() {
    let home = TempHome::new();
    home.write(".env", "OPENROUTER_API_KEY=sk-or-v1-0123456789abcdef\n");
    let added = add(&home, "or", "sk-or-v1-aaaaaaaaaaaaaaaa", "spare");
    assert_eq!(added, "✓ openrouter #2: spare (sk-o...aaaa)\n");
    let args = [
        "auth",
        "add",
        "openrouter",
        "--api-key",
        "sk-or-v1-bbbbbbbbbbbbbbbb",
    ];
    hermes(&home, &args).ok();
    let labels: Vec<_> = listed(&home, "openrouter")
        .iter()
        .map(|entry| entry["label"].clone())
        .collect();
    assert_eq!(labels, ["OPENROUTER_API_KEY", "spare", "api-key-3"]);
    assert!(
        !home.read("auth.json").contains("0123456789abcdef"),
        "the variable's key is only referred to"
    );

    let again = fails(&home, &args, 1);
    assert!(again.contains("there already"), "{again}");
    hermes(&home, &["auth", "remove", "openrouter", "SPARE"]).ok();
    let removed = hermes(&home, &["auth", "rm", "openrouter", "1"])
        .ok()
        .to_owned();
    assert!(removed.contains("still in OPENROUTER_API_KEY"), "{removed}");
    assert_eq!(listed(&home, "openrouter").len(), 1);
    assert_eq!(
        file(&home)["suppressed_sources"]["openrouter"],
        json!(["env:OPENROUTER_API_KEY"])
    );
    let id = listed(&home, "openrouter")[0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    hermes(&home, &["auth", "remove", "openrouter", &id]).ok();
    let status = hermes(&home, &["auth", "status", "openrouter"]);
    assert_eq!(
        (status.exit, status.stdout.as_str()),
        (Exit::Code(1), "✗ openrouter: no key and no login\n")
    );
    let reason = fails(&home, &["-z", "hi", "-m", "openrouter:x/y"], 1);
    assert!(reason.contains("hermes auth add openrouter"), "{reason}");
}

#[test]
fn what_cannot_be_done_is_said() {
    let home = TempHome::new();
    let check = |args: &[&str], stdin: &str, part: &str| {
        let output = command(&home, args).stdin(stdin).run();
        assert_eq!(output.exit, Exit::Code(1), "{output}");
        assert!(output.stderr.contains(part), "{part} in {output}");
    };
    check(
        &["auth", "add", "nosuch"],
        "",
        "there is no provider 'nosuch'",
    );
    check(&["auth", "add", "openrouter"], "", "no key was given");
    check(&["auth", "add", "openrouter"], "none\n", "that is no key");
    check(
        &["auth", "add", "anthropic"],
        "sk-ant-oat01-abcdefgh\n",
        "subscription",
    );
    check(
        &["auth", "add", "anthropic", "--type", "oauth"],
        "",
        "does not allow",
    );
    check(
        &["auth", "login", "anthropic"],
        "",
        "hermes auth add anthropic",
    );
    check(&["auth", "login", "openai"], "", "has no login");
    check(
        &["auth", "remove", "openrouter", "9"],
        "",
        "there is no credential '9'",
    );
    check(&["auth", "logout"], "", "nobody is logged in");
    assert!(!home.exists("auth.json"));
    let empty = hermes(&home, &["auth"]).ok().to_owned();
    assert!(empty.contains("hermes auth add PROVIDER"), "{empty}");
    assert_eq!(hermes(&home, &["auth", "list", "--json"]).ok(), "[]\n");
    let wrong = hermes(&home, &["auth", "add", "x", "--type", "magic"]);
    assert_eq!(wrong.exit, Exit::Code(2));
}

#[test]
fn a_device_code_is_all_a_login_with_nous_needs() {
    let portal = LoginServer::start();
    let server = server(json!({"steps": [], "otherwise": {"text": "Hello"}}));
    portal.confirm_after(1);
    portal.set_inference_url(&format!("{}/v1", server.url()));
    let home = TempHome::new();
    let login = ["auth", "add", "nous", "--label", "mine", "--no-browser"];
    let output = command(&home, &login)
        .env("HERMES_PORTAL_BASE_URL", portal.url())
        .run();
    let shown = output.ok();
    assert!(
        shown.contains("https://portal.test/device?c=ABCD") && shown.contains("ABCD-EFGH"),
        "{shown}"
    );
    assert!(shown.ends_with("✓ logged in to nous: mine\n"), "{shown}");
    let visits = portal.visits();
    assert_eq!(
        (&*visits[0].fields["client_id"], &*visits[0].fields["scope"]),
        ("hermes-cli", "inference:mint_agent_key")
    );
    assert!(visits[0].headers["user-agent"].starts_with("HermesAgent/"));
    assert_eq!(visits.last().unwrap().fields["min_ttl_seconds"], "1800");
    let document = file(&home);
    assert_eq!(
        (
            &document["active_provider"],
            &document["providers"]["nous"]["agent_key"]
        ),
        (&json!("nous"), &json!("ak-1"))
    );
    assert_eq!(
        document["credential_pool"]["nous"][0]["source"],
        "device_code"
    );

    // The login is enough to choose the provider, and the minted key is what models are sent.
    home.write(
        "config.yaml",
        "model: {default: hermes-4, context_length: 131072}\n",
    );
    assert_eq!(hermes(&home, &["-z", "hi"]).ok(), "Hello\n");
    assert_eq!(bearers(&server), ["ak-1"]);
    assert_eq!(
        hermes(&home, &["auth", "status", "nous"]).ok(),
        "✓ nous: mine, login\n"
    );
    assert_eq!(hermes(&home, &["logout"]).ok(), "✓ logged out of nous\n");
    assert_eq!(file(&home)["providers"]["nous"], Value::Null);
    assert_eq!(
        hermes(&home, &["auth", "status", "nous"]).exit,
        Exit::Code(1)
    );
}

#[test]
fn a_chatgpt_account_is_a_login_too() {
    let portal = LoginServer::start();
    portal.confirm_after(1);
    let home = TempHome::new();
    let output = command(&home, &["login", "codex"])
        .env("HERMES_CODEX_ISSUER", portal.url())
        .run();
    let shown = output.ok();
    assert!(
        shown.contains("/codex/device") && shown.contains("WXYZ-1234"),
        "{shown}"
    );
    let login = &file(&home)["providers"]["openai-codex"];
    assert_eq!(
        login["tokens"],
        json!({"access_token": "at-1", "refresh_token": "rt-1"})
    );
    let exchange = portal.visits().pop().unwrap();
    assert_eq!(
        (
            &*exchange.fields["code"],
            &*exchange.fields["code_verifier"]
        ),
        ("ac-1", "v-1")
    );
    assert_eq!(listed(&home, "codex")[0]["type"], "oauth");
}

#[test]
fn openrouter_gives_a_key_to_whoever_agrees_in_the_browser() {
    let portal = LoginServer::start();
    let home = TempHome::new();
    let login = command(&home, &["auth", "login", "openrouter"])
        .env("HERMES_OPENROUTER_LOGIN_URL", portal.url())
        .pty(24, 400);
    let patience = Duration::from_secs(10);
    login.wait_for("at most 10 minutes", patience);
    let screen = login.screen();
    let url = screen
        .lines()
        .find(|line| line.contains("/auth?"))
        .unwrap()
        .trim()
        .to_owned();
    crate::mcp::browse(&url.replace("localhost", "127.0.0.1"));
    login.wait_for("logged in to openrouter", patience);
    let entry = &file(&home)["credential_pool"]["openrouter"][0];
    assert_eq!(
        (&entry["access_token"], &entry["source"]),
        (
            &json!("sk-or-v1-from-login"),
            &json!("manual:openrouter_pkce")
        )
    );
    let visits = portal.visits();
    assert_eq!(visits[0].fields["code_challenge_method"], "S256");
    assert_eq!(visits[1].fields["code_verifier"].len(), 43);
}

#[test]
fn a_login_that_is_refused_leaves_nothing_behind() {
    let portal = LoginServer::start();
    portal.revoke();
    let home = TempHome::new();
    let output = command(&home, &["auth", "login"])
        .env("HERMES_PORTAL_BASE_URL", portal.url())
        .run();
    assert_eq!(output.exit, Exit::Code(1), "{output}");
    assert!(output.stderr.contains("invalid_token"), "{output}");
    assert!(!home.exists("auth.json"));
    let away = command(&home, &["auth", "login"])
        .env("HERMES_PORTAL_BASE_URL", "http://127.0.0.1:9")
        .run();
    assert!(away.stderr.contains("127.0.0.1"), "{away}");
    assert_eq!(away.exit, Exit::Code(1));
}

#[test]
fn two_processes_renew_a_login_once() {
    let portal = LoginServer::start();
    portal.delay(Duration::from_millis(200));
    let old = json!({"when": {"key": "ak-old"}, "status": 401, "repeat": true});
    let server = server(json!({"steps": [old], "otherwise": {"text": "Hello"}}));
    let home = TempHome::new();
    home.write(
        "config.yaml",
        "model: {default: hermes-4, context_length: 131072}\n",
    );
    let login = json!({"access_token": "at-0", "refresh_token": "rt-0", "expires_at": "2020-01-01T00:00:00Z",
        "portal_base_url": portal.url(), "inference_base_url": format!("{}/v1", server.url()),
        "agent_key": "ak-old", "agent_key_expires_at": "2099-01-01T00:00:00Z"});
    let document = json!({"active_provider": "nous", "providers": {"nous": login}});
    home.write("auth.json", document.to_string());
    std::thread::scope(|scope| {
        let run = || assert_eq!(hermes(&home, &["-z", "hi"]).ok(), "Hello\n");
        scope.spawn(run);
        scope.spawn(run);
    });
    assert_eq!(portal.refreshes(), 1, "{:?}", portal.visits());
    assert_eq!(file(&home)["providers"]["nous"]["refresh_token"], "rt-1");
}

#[test]
fn a_typed_key_is_not_shown() {
    let home = TempHome::new();
    let mut terminal = command(&home, &["auth", "add", "openrouter"]).pty(24, 100);
    terminal.wait_for("Key for openrouter", Duration::from_secs(10));
    terminal.send("sk-or-v1-typed-in-secret\r");
    terminal.wait_for("✓ openrouter #1", Duration::from_secs(10));
    assert!(
        !terminal.screen().contains("typed-in"),
        "{}",
        terminal.screen()
    );
}
