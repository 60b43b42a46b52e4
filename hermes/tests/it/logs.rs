//! `hermes logs`

use std::fs;
use std::io::Write;
use std::time::Duration;

use hermes_testkit::TempHome;
use insta::assert_snapshot;
use pretty_assertions::assert_eq;

use crate::{command, fails, hermes};

const LINES: &str = "\
2026-11-15 10:00:00,000 INFO agent.loop: started
2026-11-15 10:00:01,000 WARNING [20261115_100000_abcdef] tools.terminal: slow
2026-11-15 10:00:02,000 ERROR gateway.run: lost \x1b[31mred\x1b[0m
";

#[test]
fn reading_and_filtering() {
    let home = TempHome::new();
    home.write("logs/agent.log", LINES);
    assert_snapshot!(hermes(&home, &["logs", "-n", "2"]), @r"
    exit: 0
    --- stdout
    --- [HOME]/.hermes/logs/agent.log (last 2) ---
    2026-11-15 10:00:01,000 WARNING [20261115_100000_abcdef] tools.terminal: slow
    2026-11-15 10:00:02,000 ERROR gateway.run: lost �[31mred�[0m
    --- stderr
    ");
    let lines = |args: &[&str]| hermes(&home, args).ok().lines().count() - 1;
    assert_eq!(lines(&["logs", "--level", "warning"]), 2);
    assert_eq!(lines(&["logs", "--component", "agent"]), 1);
    assert_eq!(lines(&["logs", "--session", "abcdef"]), 1);
    assert_eq!(lines(&["logs", "--since", "1s"]), 0);
    assert!(fails(&home, &["logs", "--level", "loud"], 1).contains("loud"));
    assert!(fails(&home, &["logs", "--since", "soon"], 1).contains("soon"));
    fails(&home, &["logs", "nosuch"], 2);
    assert!(hermes(&home, &["logs", "list"]).ok().contains("agent.log"));
}

#[test]
fn following_shows_new_lines() {
    let home = TempHome::new();
    let path = home.write("logs/agent.log", LINES);
    let pty = command(&home, &["logs", "-f"]).pty(20, 100);
    pty.wait_for("started", Duration::from_secs(10));
    let mut file = fs::OpenOptions::new().append(true).open(path).unwrap();
    writeln!(file, "2026-11-15 10:00:03,000 INFO cli: fresh line").unwrap();
    pty.wait_for("fresh line", Duration::from_secs(10));
}

#[test]
fn warnings_reach_the_log_redacted() {
    let home = TempHome::new();
    home.write("config.yaml", ": : Bearer-sk-0123456789abcdefghij\n");
    hermes(&home, &["status"]).ok();
    let log = home.read("logs/errors.log");
    assert!(
        log.contains("WARNING") && log.contains("config.yaml"),
        "{log}"
    );
    assert_eq!(home.mode("logs/errors.log"), 0o600);
}
