//! Commands that run while the model does something else.

use std::time::{Duration, Instant};

use hermes_exec::process::{Farewell, Happened};
use hermes_exec::terminal::TerminalLimits;
use serde_json::{Value, json};

use super::{Desk, Session, dir_of, end_all, eventually, processes};

async fn start(session: &Session, args: Value) -> String {
    let mut args = args;
    args["background"] = json!(true);
    let (result, _) = session.call(args).await;
    assert_eq!(result["output"], "Background process started", "{result}");
    assert!(result["pid"].as_u64().unwrap() > 1);
    let id = result["session_id"].as_str().unwrap().to_owned();
    let hex = id.strip_prefix("proc_").unwrap();
    assert!(
        hex.len() == 12 && hex.chars().all(|c| c.is_ascii_hexdigit()),
        "{id}"
    );
    id
}

async fn act(session: &Session, action: &str, id: &str) -> Value {
    session
        .process(json!({"action": action, "session_id": id}))
        .await
}

// spec: terminal-and-safety §13.14
#[tokio::test]
async fn the_end_is_told_exactly_once() {
    let desk = Desk::new();
    let session = desk.session("one");
    let processes = &desk.services.processes;
    let command = "echo start; read x; echo end";
    let id = start(
        &session,
        json!({"command": command, "notify_on_complete": true}),
    )
    .await;
    assert!(processes.any_running(&session.cx.scope.session));
    session
        .process(json!({"action": "submit", "session_id": id, "data": ""}))
        .await;
    processes.noticed(&session.cx.scope.session).await;
    assert!(processes.drain_notices(&"other".into()).is_empty());
    let told = processes.drain_notices(&session.cx.scope.session);
    assert_eq!(told.len(), 1);
    assert_eq!(
        told[0].what,
        Happened::Completed {
            exit_code: Some(0),
            output: "start\nend".to_owned()
        }
    );
    assert!(told[0].text().contains(&id) && told[0].text().contains("exit code 0"));
    assert_eq!(act(&session, "poll", &id).await["status"], "exited");
    assert!(
        processes
            .drain_notices(&session.cx.scope.session)
            .is_empty()
    );
}

#[tokio::test]
async fn an_end_the_model_has_seen_is_not_told() {
    let desk = Desk::new();
    let session = desk.session("one");
    for action in ["wait", "poll", "log"] {
        let id = start(
            &session,
            json!({"command": "echo x", "notify_on_complete": true}),
        )
        .await;
        desk.services
            .processes
            .noticed(&session.cx.scope.session)
            .await;
        assert_eq!(act(&session, action, &id).await["status"], "exited");
        assert!(
            desk.services
                .processes
                .drain_notices(&session.cx.scope.session)
                .is_empty(),
            "{action}"
        );
    }
    let id = start(
        &session,
        json!({"command": "sleep 43.1", "notify_on_complete": true}),
    )
    .await;
    assert_eq!(act(&session, "kill", &id).await["status"], "killed");
    assert!(
        desk.services
            .processes
            .drain_notices(&session.cx.scope.session)
            .is_empty()
    );
}

#[tokio::test]
async fn watched_lines_are_told_and_both_wishes_are_one() {
    let desk = Desk::new();
    let session = desk.session("one");
    let args = json!({"command": "echo; echo server READY on 80; sleep 43.2", "watch_patterns": ["READY"]});
    let id = start(&session, args).await;
    desk.services
        .processes
        .noticed(&session.cx.scope.session)
        .await;
    let told = desk
        .services
        .processes
        .drain_notices(&session.cx.scope.session);
    let Happened::Matched {
        pattern, output, ..
    } = &told[0].what
    else {
        panic!("{told:?}");
    };
    assert_eq!(
        (pattern.as_str(), output.as_str()),
        ("READY", "server READY on 80")
    );
    act(&session, "kill", &id).await;
    let args = json!({
        "command": "true", "background": true, "notify_on_complete": true, "watch_patterns": ["x"],
    });
    let (result, _) = session.call(args).await;
    assert_eq!(result["notify_on_complete"], true);
    assert!(result["watch_patterns_ignored"].is_string(), "{result}");
    assert!(result["watch_patterns"].is_null());
}

// spec: terminal-and-safety §13.15
#[tokio::test]
async fn input_reaches_a_job() {
    let session = Desk::new().session("one");
    let id = start(&session, json!({"command": "cat"})).await;
    let written = session
        .process(json!({"action": "submit", "session_id": id, "data": "hi"}))
        .await;
    assert_eq!(written, json!({"status": "ok", "bytes_written": 3}));
    session
        .process(json!({"action": "write", "session_id": id, "data": "there"}))
        .await;
    assert_eq!(act(&session, "close", &id).await["status"], "ok");
    let ended = act(&session, "wait", &id).await;
    assert_eq!(
        (&ended["exit_code"], &ended["output"]),
        (&json!(0), &json!("hi\nthere"))
    );
    assert!(act(&session, "write", &id).await["error"].is_string());
    assert!(act(&session, "close", &id).await["error"].is_string());
}

// spec: terminal-and-safety §13.15
#[tokio::test]
async fn a_job_can_have_a_terminal() {
    let session = Desk::new().session("one");
    let command = "test -t 0 && stty size && cat && echo over";
    let id = start(&session, json!({"command": command, "pty": true})).await;
    session
        .process(json!({"action": "submit", "session_id": id, "data": "hello"}))
        .await;
    // Once as the terminal's echo, once from cat.
    let heard = async {
        loop {
            let log = act(&session, "log", &id).await;
            let output = log["output"].as_str().unwrap().to_owned();
            if output.matches("hello").count() == 2 {
                return output;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let output = tokio::time::timeout(Duration::from_secs(5), heard)
        .await
        .unwrap();
    assert!(output.contains("30 120"), "{output}");
    act(&session, "close", &id).await;
    let ended = act(&session, "wait", &id).await;
    assert_eq!(ended["exit_code"], 0, "{ended}");
    assert!(ended["output"].as_str().unwrap().contains("over"));
}

#[tokio::test]
async fn a_token_is_not_read_from_a_terminal() {
    let session = Desk::new().session("one");
    let args =
        json!({"command": "echo gh auth login --with-token", "background": true, "pty": true});
    let (result, _) = session.call(args).await;
    assert!(result["pty_note"].is_string(), "{result}");
}

#[tokio::test]
async fn a_job_runs_where_and_as_the_shell_would() {
    let desk = Desk::new();
    let session = desk.session("one");
    let sub = dir_of(&desk, "sub");
    session.output("export FOO=bar").await;
    let id = start(
        &session,
        json!({"command": "echo $FOO; pwd", "workdir": "sub"}),
    )
    .await;
    assert_eq!(
        act(&session, "wait", &id).await["output"],
        json!(format!("bar\n{}", sub.display()))
    );
    // The list went to the background as one thing; the job ends all the same.
    let id = start(&session, json!({"command": "true && sleep 43.3 &"})).await;
    let start_of_wait = Instant::now();
    assert_eq!(act(&session, "wait", &id).await["status"], "exited");
    assert!(start_of_wait.elapsed() < Duration::from_secs(3));
    end_all(&session, "sleep 43.3").await;
}

#[tokio::test]
async fn everything_can_be_asked() {
    let limits = TerminalLimits {
        timeout: Duration::from_secs(1),
        ..TerminalLimits::default()
    };
    let desk = Desk::with(&[], limits);
    let session = desk.session("one");
    let command =
        "for i in {1..300}; do echo line$i; done; echo ghp_abcdefghijklmnop1234; sleep 43.4";
    let id = start(&session, json!({"command": command})).await;
    let waited = session
        .process(json!({"action": "wait", "session_id": id, "timeout": 50}))
        .await;
    assert_eq!(waited["status"], "timeout");
    assert!(
        waited["timeout_note"]
            .as_str()
            .unwrap()
            .contains("terminal.timeout")
    );
    let log = act(&session, "log", &id).await;
    assert_eq!(
        (&log["total_lines"], &log["showing"]),
        (&json!(301), &json!("200 lines"))
    );
    assert!(
        log["output"]
            .as_str()
            .unwrap()
            .ends_with("line300\nghp_ab...1234")
    );
    let args = json!({"action": "log", "session_id": id, "offset": 10, "limit": 2});
    assert_eq!(session.process(args).await["output"], "line11\nline12");
    let poll = act(&session, "poll", &id).await;
    assert_eq!(poll["status"], "running");
    assert!(
        poll["output_preview"]
            .as_str()
            .unwrap()
            .ends_with("ghp_ab...1234")
    );
    let list = session.process(json!({"action": "list"})).await;
    assert_eq!(list["processes"][0]["session_id"], json!(id));
    assert_eq!(list["processes"][0]["cwd"], json!(desk.home.work()));
    assert_eq!(
        desk.session("two").process(json!({"action": "list"})).await["processes"],
        json!([])
    );
    assert_eq!(
        act(&session, "kill", &id).await,
        json!({"status": "killed", "session_id": id})
    );
    assert!(processes("sleep 43.4").is_empty());
    let again = act(&session, "kill", &id).await;
    assert_eq!(
        (&again["status"], &again["exit_code"]),
        (&json!("already_exited"), &json!(-15))
    );
    assert_eq!(
        act(&session, "poll", "proc_none").await["status"],
        "not_found"
    );
    assert!(session.process(json!({"action": "poll"})).await["error"].is_string());
    assert!(act(&session, "dance", &id).await["error"].is_string());
}

#[tokio::test]
async fn a_wait_can_be_interrupted() {
    let desk = Desk::new();
    let session = desk.session("one");
    let id = start(&session, json!({"command": "sleep 43.5"})).await;
    let interrupt = async { session.cx.scope.cancel.cancel() };
    let start_of_wait = Instant::now();
    let (waited, ()) = tokio::join!(act(&session, "wait", &id), interrupt);
    assert_eq!(waited["status"], "interrupted");
    assert!(start_of_wait.elapsed() < Duration::from_secs(1));
    desk.services
        .processes
        .stop_session(&session.cx.scope.session)
        .await;
    assert!(processes("sleep 43.5").is_empty());
}

#[tokio::test]
async fn the_end_is_seen_although_a_grandchild_holds_the_pipe() {
    let session = Desk::new().session("one");
    let id = start(&session, json!({"command": "(sleep 43.6 &); echo done"})).await;
    let ended = session
        .process(json!({"action": "wait", "session_id": id, "timeout": 5}))
        .await;
    assert_eq!(
        (&ended["status"], &ended["output"]),
        (&json!("exited"), &json!("done"))
    );
    end_all(&session, "sleep 43.6").await;
}

#[tokio::test]
async fn closing_kills_what_we_started() {
    let desk = Desk::new();
    let session = desk.session("one");
    start(
        &session,
        json!({"command": "trap '' TERM; sleep 43.7; sleep 43.7"}),
    )
    .await;
    eventually("it runs", Duration::from_secs(5), || {
        !processes("sleep 43.7").is_empty()
    })
    .await;
    desk.services.processes.close(Farewell::Kill).await;
    assert!(processes("sleep 43.7").is_empty());
    assert_eq!(desk.home.read("processes.json").trim(), "[]");
}

// spec: terminal-and-safety §13.16
#[tokio::test]
async fn a_later_hermes_finds_the_jobs() {
    let desk = Desk::new();
    let session = desk.session("one");
    let id = start(
        &session,
        json!({"command": "sleep 43.8", "notify_on_complete": true}),
    )
    .await;
    eventually("it runs", Duration::from_secs(5), || {
        processes("sleep 43.8").len() > 1
    })
    .await;
    desk.services.processes.close(Farewell::Leave).await;
    let records = desk.home.read("processes.json");
    assert!(
        records.contains(&id) && records.contains("host_start_time"),
        "{records}"
    );
    assert!(!processes("sleep 43.8").is_empty());

    let later = again(&desk);
    let session = later.session("one");
    let list = session.process(json!({"action": "list"})).await;
    assert_eq!(list["processes"][0]["session_id"], json!(id));
    assert_eq!(list["processes"][0]["detached"], true);
    assert!(act(&session, "poll", &id).await["note"].is_string());
    assert_eq!(act(&session, "kill", &id).await["status"], "killed");
    eventually("it is gone", Duration::from_secs(3), || {
        processes("sleep 43.8").is_empty()
    })
    .await;
}

// spec: terminal-and-safety §13.16
#[tokio::test]
async fn a_number_that_means_somebody_else_is_left_alone() {
    let desk = Desk::new();
    let session = desk.session("one");
    let id = start(&session, json!({"command": "sleep 43.9"})).await;
    eventually("it runs", Duration::from_secs(5), || {
        processes("sleep 43.9").len() > 1
    })
    .await;
    desk.services.processes.close(Farewell::Leave).await;
    let mut records: Value = serde_json::from_str(&desk.home.read("processes.json")).unwrap();
    let started = records[0]["host_start_time"].as_u64().unwrap();
    records[0]["host_start_time"] = json!(started + 1);
    desk.home.write("processes.json", records.to_string());

    let later = again(&desk);
    let session = later.session("one");
    assert_eq!(
        session.process(json!({"action": "list"})).await["processes"],
        json!([])
    );
    assert_eq!(act(&session, "kill", &id).await["status"], "not_found");
    later.services.processes.close(Farewell::Kill).await;
    assert!(!processes("sleep 43.9").is_empty());
    end_all(&session, "sleep 43.9").await;
}

/// Hermes started again in the same home.
fn again(desk: &Desk) -> Desk {
    let later = Desk::new();
    later
        .home
        .write("processes.json", desk.home.read("processes.json"));
    later
}
