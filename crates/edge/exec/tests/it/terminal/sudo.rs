//! `sudo` with a password, played by a script that says what it was told.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::Duration;

use hermes_exec::backend::LocalBackend;
use hermes_exec::terminal::{Passthrough, Password, TerminalLimits, child_env};
use hermes_testkit::TempHome;
use hermes_testkit::doubles::FixedAsker;
use hermes_types::{Answer, Question};
use serde_json::{Value, json};

use super::{Desk, Session, eventually, processes};

const WORD: &str = "open sesame 17";

/// Wants the password unless the file `free` is there; with a file `remembers`, `-v` makes that file.
const SUDO: &str = r#"#!/bin/bash
printf '%q ' "$@" >> ~/sudo.log; echo >> ~/sudo.log
asked=; run=yes
while :; do
  case $1 in
  -n) [ -e ~/free ] || { echo 'sudo: a password is required' >&2; exit 1; }; shift ;;
  -S) asked=yes; shift ;;
  -p) shift 2 ;;
  -v) run=; shift ;;
  *) break ;;
  esac
done
if [ -e ~/free ]; then :
elif [ -z "$asked" ]; then
  echo 'sudo: a terminal is required to read the password' >&2; exit 1
else
  IFS= read -r word
  if [ "$word" != "$(cat ~/word)" ]; then
    echo 'Sorry, try again.' >&2; echo 'sudo: 1 incorrect password attempt' >&2; exit 1
  fi
fi
if [ -z "$run" ]; then
  [ ! -e ~/remembers ] || touch ~/free
  exit 0
fi
exec "$@"
"#;

fn desk(answer: Answer) -> Desk {
    let home = TempHome::new();
    let program = home.write(home.home().join("bin/sudo"), SUDO);
    std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o755)).unwrap();
    home.write(home.home().join("word"), WORD);
    // The system's profile may set its own PATH.
    home.write(
        home.home().join(".profile"),
        "export PATH=\"$HOME/bin:$PATH\"\nalias sudo='sudo '\n",
    );
    let path = format!("{}:/usr/bin:/bin", home.home().join("bin").display());
    let env = Desk::env(&home, &[("PATH", &path), ("SUDO_PASSWORD", WORD)]);
    let env = child_env(&env, &Passthrough::default(), &home.hermes());
    let backend = Arc::new(LocalBackend::new(env));
    let mut desk = Desk::on(home, backend, TerminalLimits::default());
    desk.asker = FixedAsker::new(answer);
    desk
}

fn knowing(desk: &Desk, word: &str) -> Session {
    let mut session = desk.session("one");
    session.terminal = session.terminal.knowing(Password::new(word));
    session
}

/// How sudo was called, but for our questions whether it wants a password.
fn calls(desk: &Desk) -> Vec<String> {
    let log = desk.home.home().join("sudo.log");
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let calls = text.lines().map(str::trim_end);
    let calls = calls.filter(|call| *call != "-n true");
    calls.map(str::to_owned).collect()
}

fn put(desk: &Desk, name: &str) {
    desk.home.write(desk.home.home().join(name), "");
}

// spec: terminal-and-safety §13.23
#[tokio::test]
async fn sudo_is_told_the_password() {
    let desk = desk(Answer::Nobody);
    let session = knowing(&desk, WORD);
    assert_eq!(
        session.output("echo \"sudo is text\" # sudo").await,
        "sudo is text"
    );
    assert_eq!(calls(&desk), Vec::<String>::new());
    assert_eq!(session.output("sudo echo done").await, "done");
    assert_eq!(calls(&desk), ["-S -p '' echo done"]);
    // Where a command stands, also inside others; each call gets it anew.
    let several = "cd / && sudo echo 1; if sudo true; then echo $(sudo echo 2); fi | cat; X=3 sudo printenv X";
    assert_eq!(session.output(several).await, "1\n2\n3");
    assert_eq!(session.run("sudo false").await["exit_code"], 1);
    assert_eq!(session.output("pwd").await, "/");
    assert!(desk.asker.asked().is_empty());
}

#[tokio::test]
async fn the_input_of_a_program_stays_its_own() {
    for remembers in [false, true] {
        let desk = desk(Answer::Nobody);
        let session = knowing(&desk, WORD);
        if remembers {
            put(&desk, "remembers");
        }
        assert_eq!(session.output("echo data | sudo cat").await, "data");
        let both = "sudo echo x | sudo tee y; sudo cat < y; sudo cat";
        assert_eq!(session.output(both).await, "x\nx");
    }
    let desk = desk(Answer::Nobody);
    put(&desk, "remembers");
    let session = knowing(&desk, WORD);
    let each = "printf '1\\n2\\n' | while read n; do sudo echo got $n; done";
    assert_eq!(session.output(each).await, "got 1\ngot 2");
}

#[tokio::test]
async fn nobody_else_sees_the_password() {
    let desk = desk(Answer::Nobody);
    let session = knowing(&desk, WORD);
    let nosy = "sudo env; export -p; tr '\\0' '\\n' < /proc/$$/cmdline; set -x; sudo echo over";
    let output = session.output(nosy).await;
    assert!(output.contains("read -r _hermes_word"), "{output}");
    assert!(
        output.ends_with("over") && !output.contains("***"),
        "{output}"
    );
    // Who goes looking for it finds it only hidden.
    let output = session.output("set | grep _hermes_word; sudo true").await;
    assert!(!output.contains(WORD) && output.contains("***"), "{output}");
    let args = json!({"command": "sudo cat; set", "background": true});
    let id = session.call(args).await.0["session_id"].clone();
    eventually("it runs", Duration::from_secs(5), || {
        calls(&desk).contains(&"-S -p '' cat".to_owned())
    })
    .await;
    assert!(processes(WORD).is_empty());
    session
        .process(json!({"action": "close", "session_id": id}))
        .await;
    let ended = session
        .process(json!({"action": "wait", "session_id": id, "timeout": 10}))
        .await;
    assert_eq!(ended["status"], "exited");
    let log = session
        .process(json!({"action": "log", "session_id": id, "limit": 1000}))
        .await;
    assert!(log.to_string().contains("_hermes_word"), "{log}");
    assert!(!log.to_string().contains(WORD), "{log}");
    assert!(!desk.home.read("processes.json").contains(WORD));
}

#[tokio::test]
async fn the_owner_is_asked_once_a_session() {
    let desk = desk(Answer::Text(WORD.to_owned()));
    let session = desk.session("one");
    for _ in 0..2 {
        assert_eq!(session.output("sudo echo done").await, "done");
    }
    let asked = desk.asker.asked();
    assert!(
        matches!(&asked[..], [Question::Secret { prompt }] if prompt.contains("sudo")),
        "{asked:?}"
    );
    desk.session("two").output("sudo echo done").await;
    assert_eq!(desk.asker.asked().len(), 2);
}

#[tokio::test]
async fn a_wrong_password_is_not_kept() {
    let desk = desk(Answer::Text("wrong".to_owned()));
    let session = desk.session("one");
    for times in 1..=2 {
        let result = session.run("sudo echo done").await;
        assert_eq!(result["exit_code"], 1, "{result}");
        assert_eq!(desk.asker.asked().len(), times);
    }
    let piped = session.run("echo x | sudo cat").await;
    assert_eq!(piped["exit_code"], 1, "{piped}");
}

#[tokio::test]
async fn sudo_runs_as_it_is_where_nobody_knows_better() {
    let check = async |answer: Answer, questions: usize| {
        let desk = desk(answer);
        let session = desk.session("one");
        let result = session.run("sudo echo done").await;
        let output = result["output"].as_str().unwrap();
        assert!(output.contains("a terminal is required"), "{result}");
        assert_eq!(desk.asker.asked().len(), questions);
        assert_eq!(calls(&desk), ["echo done"]);
    };
    check(Answer::Text(String::new()), 1).await;
    check(Answer::Nobody, 1).await;
    // It needs none: it is not even asked for.
    let desk = desk(Answer::Text(WORD.to_owned()));
    put(&desk, "free");
    assert_eq!(desk.session("one").output("sudo echo done").await, "done");
    assert_eq!(
        knowing(&desk, WORD)
            .output("sudo echo done; sudo cat")
            .await,
        "done"
    );
    assert!(desk.asker.asked().is_empty());
    assert_eq!(calls(&desk), ["echo done", "echo done", "cat"]);
}

#[tokio::test]
async fn a_job_can_use_sudo_and_still_be_talked_to() {
    let desk = desk(Answer::Nobody);
    put(&desk, "remembers");
    let session = knowing(&desk, WORD);
    let args = json!({"command": "sudo echo up; cat", "background": true});
    let id: Value = session.call(args).await.0["session_id"].clone();
    let act = |action: &str| {
        session.process(json!({"action": action, "session_id": id, "data": "hello"}))
    };
    assert_eq!(act("submit").await["status"], "ok");
    assert_eq!(act("close").await["status"], "ok");
    assert_eq!(act("wait").await["output"], "up\nhello");
}
