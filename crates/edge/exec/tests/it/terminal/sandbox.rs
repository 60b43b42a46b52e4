//! What the terminal tells about its sandbox. That the bounds hold: `hermes/tests/it/sandbox`.

use std::sync::Arc;

use hermes_exec::backend::LocalBackend;
use hermes_exec::terminal::{Passthrough, TerminalLimits, child_env};
use hermes_proc::sandbox::{Means, Mode, Policy, Sandbox};
use hermes_testkit::TempHome;
use hermes_types::Outcome;
use serde_json::{Value, json};

use super::Desk;

/// A desk where nothing can confine a command.
fn desk(mode: Mode) -> Desk {
    let home = TempHome::new();
    let env = child_env(
        &Desk::env(&home, &[]),
        &Passthrough::default(),
        &home.hermes(),
    );
    let means = Means {
        search: String::new(),
        confiner: "/nonexistent/hermes".into(),
    };
    let sandbox = Sandbox::new(mode, Policy::default(), means);
    let backend = LocalBackend::new(env).within(Arc::new(sandbox));
    Desk::on(home, Arc::new(backend), TerminalLimits::default())
}

// spec: terminal-and-safety §15.8
#[tokio::test]
async fn a_missing_sandbox_is_told_with_the_first_result() {
    let session = desk(Mode::Auto).session("one");
    let first = session.run("echo ran").await;
    assert_eq!(
        (&first["output"], &first["exit_code"]),
        (&json!("ran"), &json!(0))
    );
    let told = first["sandbox"].as_str().unwrap();
    assert!(
        told.contains("without a sandbox") && told.contains("bwrap"),
        "{told}"
    );
    assert_eq!(session.run("echo again").await["sandbox"], Value::Null);
}

// spec: terminal-and-safety §15.8
#[tokio::test]
async fn strict_refuses_every_command() {
    let session = desk(Mode::Strict).session("one");
    for args in [
        json!({"command": "touch ran"}),
        json!({"command": "touch ran", "background": true}),
    ] {
        let (result, outcome) = session.call(args).await;
        assert_eq!(
            (&result["status"], outcome),
            (&json!("error"), Outcome::Failed),
            "{result}"
        );
        let error = result["error"].as_str().unwrap();
        assert!(
            error.contains("strict") && error.contains("Install bubblewrap"),
            "{error}"
        );
    }
    assert!(!session.cwd.get().join("ran").exists());
}
