//! `hermes mcp call`: what heals, and what is said when it doesn't.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use hermes_scripted::mcp::{Auth, Era, Fault, Options, Times};
use hermes_testkit::Exit;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::{Bench, Running, program, result, seconds, servers, web};

fn legacy() -> Options {
    Options {
        era: Era::Legacy,
        ..Options::default()
    }
}

fn answering(answers: &[(&str, Value)]) -> Options {
    let answers = answers
        .iter()
        .map(|(key, answer)| ((*key).to_owned(), answer.clone()));
    Options {
        answers: answers.collect::<BTreeMap<_, _>>(),
        ..legacy()
    }
}

fn fault(text: &str) -> Fault {
    Fault::parse(text).unwrap()
}

#[test]
fn an_answer_is_one_line() {
    let bench = Bench::http(Options::default(), "");
    let answers = bench.answers(&["write", "--repeat", "3"], 0);
    assert_eq!(answers.len(), 3);
    for (number, answer) in (1..).zip(&answers) {
        assert_eq!(answer["output"], result(&format!("written {number}")));
        assert_eq!(
            (&answer["retries"], &answer["generation"]),
            (&json!(0), &json!(1))
        );
        assert!(seconds(answer) < 5.0, "{answer}");
    }
    let plain = bench.run(&["call", "s", "mcp__s__write"]);
    assert_eq!(plain.ok(), "written 4\n");
    // The older spelling leads there too.
    assert_eq!(bench.run(&["call", "s", "mcp_s_write"]).ok(), "written 5\n");
}

#[test]
fn each_operation_has_its_form() {
    let bench = Bench::http(Options::default(), "");
    let check = |args: &[&str], output: Value, exit: i32| {
        assert_eq!(bench.answers(args, exit)[0]["output"], output, "{args:?}");
    };
    check(
        &["--op", "list_prompts"],
        json!({"prompts": [{"name": "greet", "description": "A greeting",
            "arguments": [{"name": "name", "description": "Whom to greet", "required": false}]}]}),
        0,
    );
    check(
        &["file:///notes.txt", "--op", "read_resource"],
        result("a few notes"),
        0,
    );
    check(
        &[
            "ignored",
            "--op",
            "read_resource",
            "--args",
            r#"{"uri": "file:///notes.txt"}"#,
        ],
        result("a few notes"),
        0,
    );
    check(
        &[
            "greet",
            "--op",
            "get_prompt",
            "--args",
            r#"{"arguments": {"name": "Ada"}}"#,
        ],
        json!({"description": "A greeting", "messages": [{"role": "user", "content": "Hello, Ada!"}]}),
        0,
    );
    check(
        &["--op", "read_resource"],
        json!({"error": "the required argument 'uri' is missing; nothing was sent"}),
        1,
    );
    check(
        &["fail"],
        json!({"error": "it failed, as it always does"}),
        1,
    );
    // The last answer decides, not any of them.
    bench.flaky.arm(Fault::ToolError, Times::Once);
    assert_eq!(bench.answers(&["write", "--repeat", "2"], 0).len(), 2);
}

// spec: mcp §15.1
#[test]
fn a_lost_session_is_replaced_without_a_word() {
    let done = json!({"result": {"content": [{"type": "text", "text": "tool completed"}]}});
    let bench = Bench::http(answering(&[("write", done)]), "");
    bench.flaky.arm(Fault::SessionRpcError, Times::Count(2));
    let answers = bench.answers(&["write"], 0);
    assert_eq!(answers[0]["output"], result("tool completed"));
    assert_eq!(answers[0]["retries"], 1);
    assert_eq!(answers[0]["generation"], 2);
    assert_eq!(bench.requests("tools/call"), 2);
    assert_eq!(bench.requests("initialize"), 2);
    assert_eq!(bench.flaky.counters().token_requests, 0);
    let requests = bench.flaky.requests();
    let hellos = requests.iter().filter(|seen| seen.rpc() == "initialize");
    assert!(
        hellos
            .into_iter()
            .all(|seen| !seen.headers.contains_key("mcp-session-id"))
    );
    let calls: Vec<_> = requests
        .iter()
        .filter(|seen| seen.rpc() == "tools/call")
        .collect();
    let session = |index: usize| calls[index].headers.get("mcp-session-id");
    assert!(session(0).is_some() && session(0) != session(1));
}

// spec: mcp §15.2
#[test]
fn every_operation_survives_a_lost_session() {
    let nothing = |key: &str| json!({"result": {key: []}});
    let bench = Bench::http(
        answering(&[
            ("resources/list", nothing("resources")),
            ("resources/read", nothing("contents")),
            ("prompts/list", nothing("prompts")),
            ("prompts/get", nothing("messages")),
        ]),
        "",
    );
    for (op, args, method, output) in [
        (
            "list_resources",
            "{}",
            "resources/list",
            json!({"resources": []}),
        ),
        (
            "read_resource",
            r#"{"uri": "file://foo"}"#,
            "resources/read",
            result(""),
        ),
        ("list_prompts", "{}", "prompts/list", json!({"prompts": []})),
        (
            "get_prompt",
            r#"{"name": "p1"}"#,
            "prompts/get",
            json!({"messages": []}),
        ),
    ] {
        bench.flaky.arm(Fault::SessionRpcError, Times::Count(2));
        let answers = bench.answers(&["--op", op, "--args", args], 0);
        assert_eq!(answers[0]["output"], output);
        assert_eq!(bench.requests(method), 2, "{op}");
    }
}

// spec: mcp §15.7
#[test]
fn an_error_that_belongs_to_no_request_ends_it_all_the_same() {
    let bench = Bench::http(legacy(), "");
    bench.flaky.arm(Fault::SessionBadRequest, Times::Count(2));
    let answers = bench.answers(&["write"], 0);
    assert_eq!(
        (&answers[0]["output"], &answers[0]["retries"]),
        (&result("written 1"), &json!(1))
    );
    assert!(seconds(&answers[0]) < 2.0, "{}", answers[0]);
}

// spec: mcp §15.11
#[test]
fn what_a_tool_says_about_itself_is_no_fault_of_the_server() {
    let bench = Bench::http(Options::default(), "");
    bench.flaky.arm(Fault::ToolError, Times::Count(5));
    let answers = bench.answers(&["write", "--repeat", "6"], 0);
    assert!(
        answers[..5]
            .iter()
            .all(|answer| answer["output"]["error"].is_string())
    );
    assert!(answers[5]["output"]["result"].is_string(), "{}", answers[5]);
    assert!(seconds(&answers[5]) < 1.0 && answers[5]["generation"] == 1);
}

// spec: mcp §15.12
#[test]
fn a_killed_child_is_replaced_again_and_again() {
    let bench = Bench::stdio(Options::default(), "");
    let args = [
        "mcp",
        "call",
        "s",
        "read",
        "--repeat",
        "51",
        "--interval",
        "0.1",
        "--json",
    ];
    let mut running = Running::start(&bench.home, &args);
    for round in 0..51 {
        let answer = running.answer();
        assert_eq!(answer["output"], result("read done"), "{answer}");
        assert!(seconds(&answer) < 3.0, "{answer}");
        let pid = bench.flaky.counters().child_pid.unwrap();
        if round == 50 {
            break;
        }
        bench.flaky.arm(Fault::ChildKilled, Times::Once);
        let again = bench
            .flaky
            .wait_for(super::PATIENCE, |counters| counters.child_pid != Some(pid));
        assert_ne!(again.child_pid, Some(pid));
        assert!(
            !Path::new(&format!("/proc/{pid}")).exists(),
            "{pid} was not reaped"
        );
    }
    assert_eq!(running.exit(), Some(0));
    let end = bench
        .flaky
        .wait_for(super::PATIENCE, |counters| counters.children_now == 0);
    assert_eq!(end.children_now, 0);
    assert!(end.children >= 51, "{}", end.children);
}

// spec: mcp §15.13
#[test]
fn what_may_have_happened_is_not_done_twice() {
    let bench = Bench::http(Options::default(), "");
    bench.flaky.arm(Fault::ResetWithin, Times::Once);
    let answers = bench.answers(&["write", "--repeat", "2"], 0);
    let first = &answers[0]["output"];
    assert_eq!(first["outcome_unknown"], true, "{first}");
    assert_eq!(
        (&first["server"], &first["tool"]),
        (&json!("s"), &json!("write"))
    );
    assert!(!first["error"].as_str().unwrap().is_empty());
    assert_eq!(answers[1]["output"], result("written 2"));
    assert_eq!(bench.flaky.counters().executions["write"], 2);
    bench.flaky.arm(Fault::ResetWithin, Times::Once);
    let answers = bench.answers(&["idem"], 0);
    assert_eq!(
        (&answers[0]["output"], &answers[0]["retries"]),
        (&result("idem done"), &json!(1))
    );
    assert_eq!(bench.flaky.counters().executions["idem"], 2);
}

// spec: mcp §15.17
#[test]
fn a_child_knows_little_of_our_environment() {
    let bench = Bench::stdio(Options::default(), "");
    bench
        .home
        .write(".env", "ANTHROPIC_API_KEY=sk-ant-0123456789\n");
    let run = bench.mcp(&["call", "s", "env"]);
    let run = run
        .env("OPENAI_API_KEY", "sk-0123456789")
        .env("XDG_DATA_HOME", "/x");
    let output = run.run();
    let env: BTreeMap<String, String> = serde_json::from_str(output.ok()).unwrap();
    assert!(env["PATH"].len() > 1 && env["XDG_DATA_HOME"] == "/x");
    let allowed = [
        "PATH",
        "HOME",
        "USER",
        "LANG",
        "LC_ALL",
        "TERM",
        "SHELL",
        "TMPDIR",
        "XDG_DATA_HOME",
        super::CONTROL,
    ];
    let others: Vec<_> = env
        .keys()
        .filter(|name| !allowed.contains(&name.as_str()))
        .collect();
    assert!(others.is_empty(), "{others:?}");
}

// spec: mcp §15.18
#[test]
fn no_secret_is_said_aloud() {
    let said = "no: 'hunter2-hunter2' and Bearer abc123";
    let failed = json!({"result": {"isError": true, "content": [{"type": "text", "text": said}]}});
    let options = Options {
        auth: Auth::Key {
            header: "x-key".to_owned(),
            value: "hunter2-hunter2".to_owned(),
        },
        ..answering(&[
            ("write", json!({"error": {"code": -32000, "message": said}})),
            ("read", failed),
        ])
    };
    let bench = Bench::http(options, "headers: {X-Key: '${MY_KEY}'}");
    bench.home.write(".env", "MY_KEY=hunter2-hunter2\n");
    for tool in ["write", "read"] {
        let answer = &bench.answers(&[tool], 1)[0];
        let error = answer["output"]["error"].as_str().unwrap();
        assert!(
            !error.contains("hunter2") && !error.contains("abc123"),
            "{error}"
        );
        assert_eq!(error.matches("[REDACTED]").count(), 2, "{error}");
    }
    bench.home.write(".env", "MY_KEY=wrong-key-0123\n");
    let refused = &bench.answers(&["write"], 1)[0]["output"]["error"];
    let refused = refused.as_str().unwrap();
    assert!(
        refused.contains("X-Key") && !refused.contains("wrong-key"),
        "{refused}"
    );
}

// spec: mcp §15.22
#[test]
fn known_malware_is_not_started() {
    let bench = Bench::stdio(Options::default(), "");
    let bin = bench.home.work().join("bin");
    let started = bench.home.work().join("started");
    let script = format!(
        "#!/bin/sh\ntouch '{}'\nexec '{}' --exact mcp::child --ignored --nocapture\n",
        started.display(),
        std::env::current_exe().unwrap().display()
    );
    let npx = bench.home.write(bin.join("npx"), script);
    std::fs::set_permissions(&npx, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let control = bench.flaky.control();
    let entry = format!(
        "command: {}\nargs: [-y, 'evil@1.0']\nenv: {{{}: '{control}'}}",
        npx.display(),
        super::CONTROL
    );
    bench.home.write("config.yaml", servers(&[("s", &entry)]));
    let advisory = json!({"vulns": [{"id": "MAL-2025-7", "summary": "sends mail to strangers"}]});
    let osv = web("application/json", advisory.to_string());
    let call = bench.mcp(&["call", "s", "read"]);
    let refused = call.clone().env("OSV_ENDPOINT", osv).run();
    assert_eq!(refused.exit, Exit::Code(1), "{refused}");
    assert!(refused.stderr.contains("MAL-2025-7"), "{refused}");
    assert!(!started.exists());
    // A database that cannot be asked stops nobody. The verdict above is remembered, so another package.
    bench.home.write(
        "config.yaml",
        servers(&[("s", &entry.replace("evil", "good"))]),
    );
    let down = call.env("OSV_ENDPOINT", "http://127.0.0.1:9/").run();
    assert_eq!(down.ok(), "read done\n");
    assert!(started.exists());
}

#[test]
fn a_server_that_is_not_there_says_so_at_once() {
    let bench = Bench::http(Options::default(), "");
    bench.flaky.arm(Fault::Down(None), Times::Always);
    let answers = bench.answers(&["write", "--repeat", "2"], 1);
    for answer in &answers {
        let error = answer["output"]["error"].as_str().unwrap();
        assert!(
            error.contains("'s'") || error.contains("MCP call failed"),
            "{error}"
        );
        assert!(seconds(answer) < 16.0);
    }
}

#[test]
fn a_server_that_comes_back_is_found() {
    let bench = Bench::stdio(Options::default(), "");
    bench.flaky.arm(fault("F32:200"), Times::Once);
    assert_eq!(
        bench.answers(&["write"], 0)[0]["output"],
        result("written 1")
    );
    bench.flaky.arm(fault("F30"), Times::Once);
    let answers = bench.answers(&["write", "--repeat", "2"], 0);
    assert_eq!(answers[0]["output"]["outcome_unknown"], true);
    assert!(answers[1]["output"]["result"].is_string());
}

#[test]
fn an_interrupt_cancels_the_call() {
    let bench = Bench::http(legacy(), "");
    let args = [
        "mcp",
        "call",
        "s",
        "slow",
        "--args",
        r#"{"ms": 30000}"#,
        "--json",
    ];
    let mut running = Running::start(&bench.home, &args);
    let begun = bench.flaky.wait_for(super::PATIENCE, |counters| {
        counters.executions.contains_key("slow")
    });
    assert_eq!(begun.executions["slow"], 1);
    let killed = std::process::Command::new("kill")
        .args(["-INT", &running.pid().to_string()])
        .status();
    assert!(killed.unwrap().success());
    let answer = running.answer();
    assert!(
        answer["output"]["error"]
            .as_str()
            .unwrap()
            .contains("interrupted"),
        "{answer}"
    );
    assert_eq!(running.exit(), Some(130));
    let after = bench
        .flaky
        .wait_for(Duration::from_secs(5), |counters| counters.cancelled > 0);
    assert_eq!((after.cancelled, after.initialize), (1, 1));
}

#[test]
fn usage_is_checked_before_anything_is_started() {
    let bench = Bench::stdio(Options::default(), "");
    for args in [
        &["call", "s"][..],
        &["call", "s", "write", "--args", "[1]"],
        &["call", "s", "write", "--args", "{"],
        &["call", "s", "write", "--op", "dance"],
        &["call", "s", "write", "--repeat", "0"],
        &["call", "s", "write", "--interval", "-1"],
        &["call"],
    ] {
        let output = bench.run(args);
        assert_eq!(output.exit, Exit::Code(2), "{args:?}\n{output}");
    }
    let unknown = bench.run(&["call", "x", "write"]);
    assert_eq!(unknown.exit, Exit::Code(1));
    assert!(
        unknown.stderr.contains("no MCP server 'x'; there are: s"),
        "{unknown}"
    );
    let entry = format!("{}\nenabled: false", program(&bench.flaky));
    bench.home.write("config.yaml", servers(&[("s", &entry)]));
    let disabled = bench.run(&["call", "s", "write"]);
    assert_eq!(disabled.exit, Exit::Code(1));
    assert!(disabled.stderr.contains("disabled"), "{disabled}");
    assert_eq!(bench.flaky.counters().children, 0);
}
