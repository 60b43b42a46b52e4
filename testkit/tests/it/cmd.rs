//! A temporary home, and commands run in it.

use std::time::{Duration, Instant};

use hermes_testkit::{Exit, TempHome};
use insta::assert_snapshot;

#[test]
fn environment_is_clean() {
    let home = TempHome::new();
    let output = home
        .cmd("/usr/bin/env")
        .env("EXTRA", "1")
        .env_remove("PATH")
        .run();
    assert_snapshot!(output, @r"
    exit: 0
    --- stdout
    EXTRA=1
    HERMES_HOME=[HOME]/.hermes
    HOME=[HOME]
    LANG=C.UTF-8
    TZ=UTC
    --- stderr
    ");
    assert_eq!(
        home.cmd("pwd").run().ok().trim(),
        home.work().to_str().unwrap()
    );
}

#[test]
fn reads_stdin_and_reports_the_exit_code() {
    let home = TempHome::new();
    let output = home
        .cmd("sh")
        .args(["-c", "cat; echo oops >&2; exit 3"])
        .stdin("in")
        .run();
    assert_snapshot!(output, @r"
    exit: 3
    --- stdout
    in
    --- stderr
    oops
    ");
}

#[test]
fn a_program_that_ignores_a_long_input_is_fine() {
    let home = TempHome::new();
    let output = home.cmd("true").stdin(vec![b'x'; 1 << 20]).run();
    assert_eq!(output.ok(), "");
}

#[test]
fn timeout_kills_the_whole_group() {
    let home = TempHome::new();
    let start = Instant::now();
    let output = home
        .cmd("sh")
        .args(["-c", "echo started; sleep 60 & wait"])
        .timeout(Duration::from_secs(1))
        .run();
    // A surviving `sleep` would hold the output open for its whole minute.
    assert!(start.elapsed() < Duration::from_secs(10));
    assert_snapshot!(output, @r"
    exit: timed out
    --- stdout
    started
    --- stderr
    ");
}

#[test]
fn death_by_signal_is_told_apart() {
    let home = TempHome::new();
    let output = home.cmd("sh").args(["-c", "kill -9 $$"]).run();
    assert_eq!(output.exit, Exit::Signal(9));
}

#[test]
fn files_are_relative_to_the_hermes_home() {
    let home = TempHome::new();
    assert!(!home.hermes().exists());
    let path = home.write("skills/a/SKILL.md", "text");
    assert_eq!(path, home.home().join(".hermes/skills/a/SKILL.md"));
    assert_eq!(home.read("skills/a/SKILL.md"), "text");
    assert_eq!(home.read(&path), "text");
    assert!(home.exists("skills") && !home.exists("absent"));
    home.cmd("chmod").arg("640").arg(&path).run().ok();
    assert_eq!(home.mode("skills/a/SKILL.md"), 0o640);
}
