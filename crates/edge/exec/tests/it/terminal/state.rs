//! What stays from one command to the next.

use std::sync::Arc;

use hermes_exec::backend::LocalBackend;
use hermes_exec::terminal::{Granted, Passthrough, TerminalLimits, child_env};
use hermes_testkit::TempHome;
use serde_json::json;

use super::{Desk, dir_of};

// spec: terminal-and-safety §13.1
#[tokio::test]
async fn directory_and_exports_stay() {
    let desk = Desk::new();
    let session = desk.session("one");
    let sub = dir_of(&desk, "sub dir");
    session
        .output("export FOO='b a\nr'; cd 'sub dir'; alias later=x; unexported=1")
        .await;
    assert_eq!(
        session.output("echo \"$FOO\"; pwd").await,
        format!("b a\nr\n{}", sub.display())
    );
    assert_eq!(session.cwd.get(), sub);
    assert_eq!(session.output("echo \"[$unexported]\"").await, "[]");
    session.output("unset FOO").await;
    assert_eq!(session.output("echo \"[$FOO]\"").await, "[]");
    // Also after a command that failed or left by itself.
    session.run("export A=1; cd ..; exit 3").await;
    assert_eq!(
        session.output("echo $A; pwd").await,
        format!("1\n{}", desk.home.work().display())
    );
    session.run("set -e; export A=2; false; export A=3").await;
    assert_eq!(session.output("echo $A").await, "2");
    // A killed shell leaves the last state as it was.
    session.run("export A=4; cd /; kill -9 $$").await;
    assert_eq!(
        session.output("echo $A; pwd").await,
        format!("2\n{}", desk.home.work().display())
    );
}

#[tokio::test]
async fn a_directory_that_is_gone_is_left_upwards() {
    let desk = Desk::new();
    let session = desk.session("one");
    let deep = dir_of(&desk, "a/b/c");
    session.output("cd a/b/c").await;
    std::fs::remove_dir_all(deep.parent().unwrap()).unwrap();
    let result = session.run("pwd").await;
    assert_eq!(result["exit_code"], 0);
    assert_eq!(result["output"], json!(desk.home.work().join("a")));
    assert_eq!(session.cwd.get(), desk.home.work().join("a"));
}

#[tokio::test]
async fn a_workdir_is_for_one_call() {
    let desk = Desk::new();
    let session = desk.session("one");
    let sub = dir_of(&desk, "sub");
    let here = desk.home.work();
    for dir in ["sub".to_owned(), sub.display().to_string()] {
        let (result, _) = session
            .call(json!({"command": "pwd; cd /", "workdir": dir}))
            .await;
        assert_eq!(result["output"], json!(sub));
    }
    let (result, _) = session
        .call(json!({"command": "pwd", "workdir": "~"}))
        .await;
    assert_eq!(result["output"], json!(desk.home.home()));
    assert_eq!(session.output("pwd").await, here.display().to_string());
    let (result, _) = session
        .call(json!({"command": "pwd", "workdir": "/no/such"}))
        .await;
    assert_eq!(
        (&result["exit_code"], &result["status"]),
        (&json!(126), &json!("error"))
    );
    assert!(result["error"].as_str().unwrap().contains("/no/such"));
}

#[tokio::test]
async fn sessions_share_exports_but_not_the_directory() {
    let desk = Desk::new();
    let (one, two) = (desk.session("one"), desk.session("two"));
    dir_of(&desk, "sub");
    one.output("cd sub; export SHARED=yes").await;
    assert_eq!(
        two.output("pwd; echo $SHARED; echo $HERMES_SESSION_ID")
            .await,
        format!("{}\nyes\ntwo", desk.home.work().display())
    );
    assert_eq!(one.output("echo $HERMES_SESSION_ID").await, "one");
}

#[tokio::test]
async fn parallel_commands_do_not_disturb_each_other() {
    let session = Desk::new().session("one");
    let commands = (0..20).map(|n| format!("export P{n}={n}; x={n}; echo $x $P{n}"));
    let outputs = futures::future::join_all(commands.map(|command| {
        let session = &session;
        async move { session.output(&command).await }
    }));
    for (n, output) in outputs.await.into_iter().enumerate() {
        assert_eq!(output, format!("{n} {n}"));
    }
    // The last one won, whichever it was, and the state is whole.
    assert_eq!(session.output("echo $HOME | grep -c home").await, "1");
}

#[tokio::test]
async fn the_login_shell_s_settings_are_there() {
    let desk = Desk::new();
    desk.home.write(
        desk.home.home().join(".bashrc"),
        "echo noise; echo more >&2\nalias hello='echo hello there'\ngreet() { echo \"hi $1\"; }\n\
         _hidden() { :; }\n__shown() { echo shown; }\nexport FROM_RC='a b'\nset -eu\nset -o noclobber\n",
    );
    desk.home.write(
        desk.home.home().join(".profile"),
        "export PATH=\"$HOME/tools:$PATH\"\nreturn 3\n",
    );
    let session = desk.session("one");
    assert_eq!(session.output("hello").await, "hello there");
    assert_eq!(session.output("greet you; __shown").await, "hi you\nshown");
    assert_eq!(
        session.output("echo $FROM_RC $UNSET; false; echo on").await,
        "a b\non"
    );
    assert!(session.output("echo $PATH").await.contains("/tools:"));
    assert_ne!(session.run("_hidden").await["exit_code"], 0);
    session.output("export N=1").await;
    session.output("export N=2").await;
    assert_eq!(session.output("echo $N").await, "2");
}

#[tokio::test]
async fn an_init_file_that_exits_spoils_nothing() {
    let desk = Desk::new();
    desk.home
        .write(desk.home.home().join(".bashrc"), "export EARLY=1\nexit 1\n");
    let session = desk.session("one");
    assert_eq!(session.output("echo $EARLY; cd /; pwd").await, "1\n/");
    assert_eq!(session.output("pwd").await, "/");
    // Even one that ends the login shell before we get a word in.
    let desk = Desk::new();
    desk.home
        .write(desk.home.home().join(".bash_profile"), "exit 1\n");
    let session = desk.session("one");
    session.output("export X=1; cd /").await;
    assert_eq!(
        session.output("echo $X $HOME; pwd").await,
        format!("1 {}\n/", desk.home.home().display())
    );
}

// spec: terminal-and-safety §13.17
#[tokio::test]
async fn secrets_of_the_environment_are_not_passed_on() {
    let vars = [
        ("OPENAI_API_KEY", "sk-test1234567890abcd"),
        ("MY_VAR", "mine"),
    ];
    let session = Desk::with(&vars, TerminalLimits::default()).session("one");
    assert_eq!(session.run("env | grep OPENAI").await["output"], "");
    assert_eq!(session.output("echo $MY_VAR").await, "mine");
}

#[tokio::test]
async fn nothing_stays_behind() {
    let desk = Desk::new();
    let temp = desk.home.work().parent().unwrap().to_owned();
    let session = desk.session("one");
    session.output("echo hi").await;
    let files = || {
        let names = std::fs::read_dir(&temp).unwrap();
        names
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .find(|name| name.starts_with("hermes-shell-"))
    };
    let dir = temp.join(files().unwrap());
    let mut left: Vec<_> = std::fs::read_dir(&dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["exports.sh", "snapshot.sh"]);
    assert_eq!(desk.home.mode(&dir), 0o700);
    drop(session);
    let Desk { services, .. } = desk;
    drop(services);
    assert_eq!(files(), None);
}

#[tokio::test]
async fn what_a_command_puts_in_the_place_of_state_leads_nowhere() {
    let desk = Desk::new();
    let session = desk.session("one");
    let secret = desk.home.home().join("secret");
    std::fs::write(&secret, "/a/secret\n").unwrap();
    let work = session.cwd.get();
    // A link, or a pipe nobody writes to, where its own directory would be written down.
    for put in [&format!("ln -s {} $f", secret.display()), "mkfifo $f"] {
        let script = format!(
            "trap - EXIT; for n in {{0..9}}; do f=$(echo $TMPDIR/hermes-shell-*)/cwd-$n; {put}; done"
        );
        let told = session.run(&script).await;
        assert_eq!(told["exit_code"], 0, "{told}");
        assert_eq!(session.cwd.get(), work);
        session
            .output("rm -f $TMPDIR/hermes-shell-*/cwd-*; cd .")
            .await;
    }
    // And where a script too long for an argument would be.
    session
        .output(&format!(
            "for n in {{1..30}}; do ln -s {} $(echo $TMPDIR/hermes-shell-*)/script-$n; done",
            secret.display()
        ))
        .await;
    let long = format!("x=\"{}\"", "it's ".repeat(20_000));
    let result = session.run(&long).await;
    assert_eq!(result["status"], "error", "{result}");
    assert_eq!(std::fs::read_to_string(&secret).unwrap(), "/a/secret\n");
}

#[tokio::test]
async fn what_was_lent_to_commands_does_not_outlast_the_loan() {
    let home = TempHome::new();
    let env = Desk::env(&home, &[]);
    let env = child_env(&env, &Passthrough::default(), &home.hermes());
    let granted = Granted::default();
    granted.grant("LENT", "first");
    let backend = LocalBackend::new(env).granting(granted.clone());
    let desk = Desk::on(home, Arc::new(backend), TerminalLimits::default());
    let session = desk.session("one");
    assert_eq!(session.output("export OWN=1; echo $LENT").await, "first");
    granted.grant("LENT", "second");
    assert_eq!(session.output("echo $LENT").await, "second");
    // Even if a command makes it its own, and does not let go of it.
    session.run("export LENT=kept; readonly LENT").await;
    granted.clear();
    assert_eq!(session.output("echo \"[$LENT] $OWN\"").await, "[] 1");
}
