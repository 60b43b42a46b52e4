//! How the program starts: homes, help, usage, broken surroundings.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use hermes_testkit::{Exit, TempHome};
use insta::assert_snapshot;

use crate::{command, fails, hermes};

// spec: state §13.1
#[test]
fn a_first_run_makes_the_home() {
    let home = TempHome::new();
    let output = hermes(&home, &["config", "path"]);
    assert_snapshot!(output, @r"
    exit: 0
    --- stdout
    [HOME]/.hermes/config.yaml
    --- stderr
    ");
    assert_eq!(home.mode(""), 0o700);
    for name in ["SOUL.md", "memories", "sessions", "logs", "cron"] {
        assert!(home.exists(name), "{name}");
    }
    assert_eq!(home.mode("SOUL.md"), 0o600);
    assert!(
        !home.exists("state.db"),
        "nothing was said, so there is nothing to keep"
    );
}

#[test]
fn the_version_needs_no_home() {
    let home = TempHome::new();
    for args in [
        &["--version"][..],
        &["-V"],
        &["version"],
        &["version", "--json"],
        &["completion", "zsh"],
        &["--help"],
    ] {
        let output = hermes(&home, args);
        assert!(!output.ok().is_empty(), "{args:?}");
        assert!(!home.exists(""), "{args:?} made a home");
    }
    assert!(
        hermes(&home, &["--version"])
            .ok()
            .starts_with("Hermes Agent v")
    );
}

#[test]
fn usage_errors_exit_2_and_say_what_is_near() {
    let home = TempHome::new();
    assert_snapshot!(hermes(&home, &["sesions"]), @r"
    exit: 2
    --- stdout
    --- stderr
    hermes: there is no command 'sesions'; did you mean 'sessions'?
    ");
    for args in [
        &["--nonsense"][..],
        &["config", "nonsense"],
        &["sessions", "list", "--limit", "many"],
    ] {
        fails(&home, args, 2);
    }
    assert!(!home.exists(""), "a usage error made a home");
}

#[test]
fn a_group_without_action_shows_its_help() {
    let home = TempHome::new();
    let output = hermes(&home, &["sessions"]);
    assert!((output.stdout + &output.stderr).contains("Usage: hermes sessions"));
}

#[test]
fn only_the_home_of_the_profile_is_used() {
    let home = TempHome::new();
    home.write("profiles/work/config.yaml", "model: w/m\n");
    let check = |args: &[&str], expected: &str| {
        assert_eq!(
            hermes(&home, args).ok().trim(),
            home.hermes().join(expected).to_str().unwrap(),
            "{args:?}"
        );
    };
    check(
        &["-p", "work", "config", "path"],
        "profiles/work/config.yaml",
    );
    check(
        &["config", "path", "--profile=work"],
        "profiles/work/config.yaml",
    );
    home.write("active_profile", "work\n");
    check(&["config", "path"], "profiles/work/config.yaml");
    check(&["-p", "default", "config", "path"], "config.yaml");
    home.write("active_profile", "gone\n");
    let reason = fails(&home, &["config", "path"], 1);
    assert!(
        reason.contains("gone") && reason.contains("profile use default"),
        "{reason}"
    );
    assert!(
        fails(&home, &["-p", "nosuch", "config", "path"], 1).contains("no profile named 'nosuch'")
    );
}

#[test]
fn a_closed_pipe_is_no_error() {
    let home = TempHome::new();
    let script = format!(
        "{} config show | head -1; echo ${{PIPESTATUS[0]}}",
        env!("CARGO_BIN_EXE_hermes")
    );
    let output = home.cmd("bash").args(["-c", &script]).run();
    assert_eq!(output.ok(), "Paths\n0\n");
    assert_eq!(output.stderr, "");
}

/// Root may write anywhere, so a read-only home needs a file where a directory should be.
#[test]
fn a_home_that_cannot_be_written_can_still_be_read() {
    let home = TempHome::new();
    home.write("config.yaml", "agent: {max_turns: 7}\n");
    home.write("logs", "in the way");
    let output = hermes(&home, &["config", "get", "agent.max_turns"]);
    assert_eq!(output.ok(), "7\n");
    assert!(output.stderr.contains("logs"), "{output}");
}

#[test]
fn colours_and_cutting_are_for_terminals_only() {
    let home = TempHome::new();
    assert!(!hermes(&home, &["config", "show"]).ok().contains('\x1b'));
    let mut pty = command(&home, &["doctor"]).pty(60, 40);
    let screen = pty.wait_for("External programs", std::time::Duration::from_secs(10));
    assert!(screen.contains("Configuration"), "{screen}");
    assert_eq!(
        pty.wait_exit(std::time::Duration::from_secs(10)),
        Exit::Code(0)
    );
}

#[test]
fn an_existing_home_keeps_its_mode() {
    let home = TempHome::new();
    home.write("config.yaml", "");
    fs::set_permissions(home.hermes(), fs::Permissions::from_mode(0o755)).unwrap();
    hermes(&home, &["config", "path"]).ok();
    assert_eq!(home.mode(""), 0o755);
    let made = TempHome::new();
    command(&made, &["config", "path"])
        .env("HERMES_HOME_MODE", "0750")
        .run()
        .ok();
    assert_eq!(made.mode(""), 0o750);
}
