//! Logging in, renewing tokens, and living without them.

use std::fs;

use hermes_scripted::mcp::{Auth, Fault, Options, Times, Tokens};
use hermes_testkit::Exit;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::{Bench, Running, browse, result, seconds};

fn oauth() -> Bench {
    let auth = Auth::Oauth {
        expires_in_s: 3600,
        rotate: true,
        clients: vec!["known".to_owned()],
    };
    let options = Options {
        auth,
        ..Options::default()
    };
    Bench::http(options, "auth: oauth")
}

/// As if somebody had logged in before.
fn store(bench: &Bench, tokens: &Tokens) {
    let document = json!({
        "access_token": tokens.access, "refresh_token": tokens.refresh, "token_type": "Bearer", "expires_in": 3600,
    });
    bench.home.write("mcp-tokens/s.json", document.to_string());
    bench.home.write(
        "mcp-tokens/s.client.json",
        json!({"client_id": "known"}).to_string(),
    );
}

/// Runs a command that wants a login, and logs in.
#[track_caller]
fn log_in(bench: &Bench, args: &[&str]) -> Option<i32> {
    let mut running = Running::start(&bench.home, args);
    let url = running.line_with("/authorize");
    let page = browse(url.trim());
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    running.exit()
}

fn token(bench: &Bench) -> Value {
    let document: Value = serde_json::from_str(&bench.home.read("mcp-tokens/s.json")).unwrap();
    document["access_token"].clone()
}

#[test]
fn a_login_makes_it_work() {
    let bench = oauth();
    let before = &bench.answers(&["write"], 1)[0]["output"];
    assert_eq!(
        (&before["needs_reauth"], &before["server"]),
        (&json!(true), &json!("s"))
    );
    assert!(
        before["error"]
            .as_str()
            .unwrap()
            .contains("hermes mcp login s")
    );
    let test = bench.run(&["test", "s"]);
    assert_eq!(test.exit, Exit::Code(1));
    assert!(test.stdout.contains("→ hermes mcp login s"), "{test}");

    assert_eq!(log_in(&bench, &["mcp", "login", "s"]), Some(0));
    assert_eq!(bench.home.mode("mcp-tokens"), 0o700);
    for file in ["s.json", "s.client.json", "s.meta.json"] {
        assert_eq!(
            bench.home.mode(format!("mcp-tokens/{file}")),
            0o600,
            "{file}"
        );
    }
    assert_eq!(
        bench.answers(&["write"], 0)[0]["output"],
        result("written 1")
    );

    let first = token(&bench);
    bench.run(&["refresh"]).ok();
    let second = token(&bench);
    assert_ne!(first, second);
    assert_eq!(bench.flaky.counters().refreshes, 1);
    assert_eq!(log_in(&bench, &["mcp", "reauth", "--all"]), Some(0));
    assert_ne!(token(&bench), second);
    // The client that was registered before is good enough.
    assert_eq!(bench.flaky.counters().registrations, 1);

    bench.run(&["remove", "s", "-y"]).ok();
    let left: Vec<_> = fs::read_dir(bench.home.hermes().join("mcp-tokens"))
        .unwrap()
        .collect();
    let names: Vec<_> = left
        .into_iter()
        .map(|file| file.unwrap().file_name())
        .collect();
    assert!(names.iter().all(|name| name == "s.lock"), "{names:?}");
}

#[test]
fn a_failed_login_leaves_everything_as_it_was() {
    let bench = oauth();
    store(&bench, &bench.flaky.issue_tokens());
    let before = token(&bench);
    let output = bench.mcp(&["login", "s"]).stdin("nonsense\nskip\n").run();
    assert_eq!(output.exit, Exit::Code(1), "{output}");
    assert!(
        output.stderr.contains("skipped") && output.stderr.contains("not the address"),
        "{output}"
    );
    assert_eq!(token(&bench), before);
    assert_eq!(
        bench.answers(&["write"], 0)[0]["output"],
        result("written 1")
    );
}

// spec: mcp §15.15
#[test]
fn dead_credentials_are_told_and_new_ones_noticed() {
    let bench = oauth();
    store(&bench, &bench.flaky.issue_tokens());
    bench.flaky.arm(Fault::RefreshDead, Times::Once);
    let args = [
        "mcp",
        "call",
        "s",
        "write",
        "--repeat",
        "100",
        "--interval",
        "0.2",
        "--json",
    ];
    let running = Running::start(&bench.home, &args);
    let first = running.answer();
    assert_eq!(first["output"]["needs_reauth"], true, "{first}");
    assert_eq!(first["output"]["server"], "s");
    assert!(seconds(&first) < 3.0, "{first}");
    assert_eq!(listening(running.pid()), 0);
    store(&bench, &bench.flaky.issue_tokens());
    // The call that was under way at that moment may still be in vain.
    let later = [running.answer(), running.answer()];
    assert!(later[1]["output"]["result"].is_string(), "{later:?}");
}

/// How many sockets of a process wait for connections.
fn listening(pid: u32) -> usize {
    let table = fs::read_to_string(format!("/proc/{pid}/net/tcp")).unwrap();
    let waiting: Vec<String> = table
        .lines()
        .skip(1)
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .filter(|fields| fields[3] == "0A")
        .map(|fields| format!("socket:[{}]", fields[9]))
        .collect();
    let files = fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    let targets = files.filter_map(|file| fs::read_link(file.unwrap().path()).ok());
    targets
        .filter(|target| {
            waiting
                .iter()
                .any(|socket| target.as_os_str() == socket.as_str())
        })
        .count()
}

#[test]
fn who_does_not_use_oauth_cannot_log_in() {
    let bench = Bench::http(Options::default(), "");
    for args in [&["login", "s"][..], &["refresh", "s"], &["reauth", "s"]] {
        let output = bench.run(args);
        assert_eq!(output.exit, Exit::Code(1), "{output}");
        assert!(output.stderr.contains("auth: oauth"), "{output}");
    }
    for args in [&["refresh"][..], &["reauth", "--all"]] {
        let output = bench.run(args);
        assert_eq!(output.exit, Exit::Code(1), "{output}");
        assert!(
            output.stderr.contains("no MCP server uses OAuth"),
            "{output}"
        );
    }
    assert_eq!(bench.run(&["reauth"]).exit, Exit::Code(2));
    let oauth = oauth();
    let output = oauth.run(&["refresh", "s"]);
    assert_eq!(output.exit, Exit::Code(1), "{output}");
    assert!(output.stderr.contains("hermes mcp login s"), "{output}");
}
