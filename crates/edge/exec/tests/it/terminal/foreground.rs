//! Commands that run while the model waits.

use std::time::{Duration, Instant};

use hermes_exec::terminal::TerminalLimits;
use hermes_types::{Answer, Outcome, Tool};
use serde_json::{Value, json};

use super::{Desk, Session, args_of, end_all};
use hermes_testkit::doubles::FixedAsker;

// spec: terminal-and-safety §13.2
// spec: terminal-and-safety §13.18
#[tokio::test]
async fn output_is_exact_and_codes_are_kept() {
    let desk = Desk::new();
    let session = desk.session("one");
    let check = async |command: &str, output: &str, code: i64, outcome: Outcome| {
        let (result, counted) = session.call(json!({"command": command})).await;
        assert_eq!(
            (
                result["output"].as_str(),
                result["exit_code"].as_i64(),
                counted
            ),
            (Some(output), Some(code), outcome),
            "{command}"
        );
        assert_eq!(result["error"], Value::Null);
    };
    check("printf exact", "exact", 0, Outcome::Done).await;
    check("false", "", 1, Outcome::Failed).await;
    check("exit 7", "", 7, Outcome::Failed).await;
    check(
        "echo out; echo err >&2; echo out",
        "out\nerr\nout",
        0,
        Outcome::Done,
    )
    .await;
    check(
        "echo \"it's\" 'a \"test\"' \\$x",
        "it's a \"test\" $x",
        0,
        Outcome::Done,
    )
    .await;
    check("printf '\\033[31mred\\033[0m'", "red", 0, Outcome::Done).await;
    check(
        "echo ghp_abcdefghijklmnop1234",
        "ghp_ab...1234",
        0,
        Outcome::Done,
    )
    .await;
    check("cat <<'EOF'\na $b\nEOF", "a $b", 0, Outcome::Done).await;
    check("set -e; false; echo no", "", 1, Outcome::Failed).await;
    check("(exit 3)", "", 3, Outcome::Failed).await;
    check("read x; echo \"[$x]\"", "[]", 0, Outcome::Done).await;
    check("kill -9 $$", "", -9, Outcome::Failed).await;
    check("true | false; true", "", 0, Outcome::Done).await;
    check("printf 'a\\xff\\0b'", "a\u{fffd}\0b", 0, Outcome::Done).await;
}

#[tokio::test]
async fn a_code_with_a_meaning_is_no_failure() {
    let session = Desk::new().session("one");
    let (result, outcome) = session.call(json!({"command": "echo a | grep b"})).await;
    assert_eq!((&result["exit_code"], outcome), (&json!(1), Outcome::Done));
    assert!(
        result["exit_code_meaning"]
            .as_str()
            .unwrap()
            .contains("No matches")
    );
}

// spec: tools §8.15
#[tokio::test]
async fn long_output_keeps_its_ends() {
    let session = Desk::new().session("one");
    let result = session
        .run("for i in {1..20000}; do echo line$i; done")
        .await;
    let output = result["output"].as_str().unwrap();
    assert!(output.chars().count() < 50_200);
    assert!(output.contains("OUTPUT TRUNCATED"));
    assert!(output.starts_with("line1\n") && output.ends_with("line20000"));
}

#[tokio::test]
async fn a_gigabyte_fits_into_little_memory() {
    if !hermes_testkit::is_alone() {
        return;
    }
    let session = Desk::new().session("one");
    let before = resident();
    let command = "echo first; head -c 1073741824 /dev/zero | tr '\\0' x; echo; echo last";
    let mut most = 0;
    let watch = async {
        loop {
            tokio::time::sleep(Duration::from_millis(20)).await;
            most = resident().max(most);
        }
    };
    let result = tokio::select! {
        result = session.run(command) => result,
        () = watch => unreachable!("it watches for ever"),
    };
    assert_eq!(result["exit_code"], 0);
    let output = result["output"].as_str().unwrap();
    assert!(
        output.starts_with("first") && output.ends_with("last"),
        "{}",
        output.len()
    );
    assert!(most > 0, "nobody looked");
    let grown = most.saturating_sub(before);
    assert!(grown < 50 << 20, "grew by {grown} bytes");
}

/// Bytes of memory this process uses.
fn resident() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

// spec: terminal-and-safety §13.6
#[tokio::test]
async fn what_cannot_work_is_refused_with_advice() {
    let session = Desk::new().session("one");
    let check = async |args: Value, status: &str, says: &str| {
        let (result, _) = session.call(args.clone()).await;
        assert_eq!(result["status"], status, "{args}: {result}");
        assert_eq!(result["exit_code"], -1, "{args}");
        assert!(
            result["error"].as_str().unwrap().contains(says),
            "{args}: {result}"
        );
    };
    check(json!({"command": "sleep 5 &"}), "error", "background=true").await;
    check(
        json!({"command": "npm run dev"}),
        "error",
        "background=true",
    )
    .await;
    check(json!({"command": "echo", "timeout": 900}), "error", "600").await;
    check(json!({"command": 5}), "error", "text").await;
    check(json!({}), "error", "text").await;
    check(json!({"command": "  "}), "error", "empty").await;
    check(
        json!({"command": "ls", "workdir": "/tmp; rm x"}),
        "blocked",
        "workdir",
    )
    .await;
    check(
        json!({"command": "rm -rf /"}),
        "blocked",
        "BLOCKED (hardline)",
    )
    .await;
    let (result, _) = session.call(json!({"command": "npm run dev --help"})).await;
    assert_ne!(result["status"], "error");
}

// spec: terminal-and-safety §13.3
#[tokio::test]
async fn a_command_that_takes_too_long_is_ended() {
    let session = Desk::new().session("one");
    let args = json!({"command": "echo begun; sleep 41.1", "timeout": 1});
    let (result, outcome) = session.call(args).await;
    assert_eq!(result["exit_code"], 124);
    assert_eq!(result["output"], "begun\n[Command timed out after 1s]");
    assert_eq!(outcome, Outcome::Failed);
    assert!(super::processes("sleep 41.1").is_empty());
}

#[tokio::test]
async fn endless_output_does_not_hide_the_time() {
    let session = Desk::new().session("one");
    let start = Instant::now();
    let (result, _) = session
        .call(json!({"command": "yes 41.2", "timeout": 1}))
        .await;
    assert_eq!(result["exit_code"], 124);
    assert!(start.elapsed() < Duration::from_secs(4));
}

// spec: terminal-and-safety §13.5
#[tokio::test]
async fn what_was_left_running_is_not_waited_for() {
    let session = Desk::new().session("one");
    let start = Instant::now();
    let result = session.run("(sleep 20.41 &); echo ok").await;
    assert_eq!(
        (&result["output"], &result["exit_code"]),
        (&json!("ok"), &json!(0))
    );
    assert!(start.elapsed() < Duration::from_secs(3));
    end_all(&session, "sleep 20.41").await;
}

#[tokio::test]
async fn the_call_own_deadline_counts() {
    let session = Desk::new().session("one");
    let mut cx = session.cx.clone();
    cx.scope = cx.scope.within(Duration::from_millis(300));
    let start = Instant::now();
    let args = args_of(json!({"command": "sleep 41.3"}));
    let output = session.terminal.call(args, &cx).await;
    assert!(output.text.contains("124"), "{}", output.text);
    assert!(start.elapsed() < Duration::from_secs(2));
}

#[tokio::test]
async fn who_watches_is_told() {
    let desk = Desk::new();
    let session = desk.session("one");
    let told = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let mut cx = session.cx.clone();
    let heard = told.clone();
    cx.progress = hermes_types::Progress::new(move |told| {
        if let hermes_types::Told::Text(text) = told {
            heard.lock().unwrap().push(text.to_owned());
        }
    });
    let command = "printf 'one\\ntwo\\nthree\\nfour\\nhalf'; sleep 2.5";
    session
        .terminal
        .call(args_of(json!({"command": command})), &cx)
        .await;
    assert_eq!(*told.lock().unwrap(), ["two\nthree\nfour"]);
}

#[tokio::test]
async fn consent_is_asked_for_and_noted() {
    let mut desk = Desk::new();
    let session = desk.session("one");
    let (result, _) = session.call(json!({"command": "rm -rf nothing"})).await;
    assert_eq!(result["exit_code"], 0);
    assert!(
        result["approval"]
            .as_str()
            .unwrap()
            .contains("recursive delete")
    );
    desk.asker = FixedAsker::new(Answer::Deny);
    let session = desk.session("two");
    let (result, outcome) = session
        .call(json!({"command": "rm -rf /tmp/hermes-none; echo ran"}))
        .await;
    assert_eq!(
        (&result["status"], outcome),
        (&json!("blocked"), Outcome::Denied)
    );
    assert!(!result.to_string().contains("ran\\n"));
}

// spec: state §16.3
#[tokio::test]
async fn the_decision_goes_with_the_result() {
    let mut desk = Desk::new();
    let session = desk.session("one");
    let check = async |session: &Session, args: Value, expected: &str| {
        let output = session.terminal.call(args_of(args), &session.cx).await;
        assert_eq!(output.decision, expected, "{}", output.text);
    };
    check(&session, json!({"command": "ls"}), "").await;
    check(
        &session,
        json!({"command": "rm -rf nothing"}),
        "owner: once",
    )
    .await;
    // Also with what failed, and with what runs on.
    check(
        &session,
        json!({"command": "rm -rf nothing; false"}),
        "owner: once",
    )
    .await;
    let background = json!({"command": "rm -rf nothing", "background": true});
    check(&session, background, "owner: once").await;
    check(&session, json!({"command": "rm -rf /"}), "hardline").await;
    desk.asker = FixedAsker::new(Answer::TimedOut);
    let session = desk.session("two");
    check(&session, json!({"command": "rm -rf nothing"}), "timed out").await;
}

#[tokio::test]
async fn very_long_commands_work() {
    let session = Desk::new().session("one");
    let text = "it's ".repeat(20_000);
    let output = session.output(&format!("x=\"{text}\"; echo ${{#x}}")).await;
    assert_eq!(output, "100000");
}

#[tokio::test]
async fn the_description_is_short() {
    let desk = Desk::new();
    let session = desk.session("one");
    for (spec, most) in [
        (session.terminal.spec(), 1600),
        (session.process.spec(), 900),
    ] {
        let sent = json!({"type": "function", "function": {
            "name": spec.name, "description": spec.description, "parameters": spec.parameters,
        }});
        assert!(
            sent.to_string().len() <= most,
            "{}: {}",
            spec.name,
            sent.to_string().len()
        );
    }
    let limits = TerminalLimits::default();
    assert_eq!(limits.max_timeout.as_secs(), 600);
}
