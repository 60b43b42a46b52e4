//! A backend that runs nothing: what it is asked to start, and what the tool makes of what it hears.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use futures::FutureExt;
use futures::future::BoxFuture;
use hermes_exec::backend::{Backend, Command, Environment, Handle, Life, Login, StartError};
use hermes_exec::terminal::TerminalLimits;
use hermes_gate::Permit;
use hermes_proc::{Event, Exit, Input};
use hermes_testkit::TempHome;
use serde_json::json;

use super::Desk;

/// Writes down what it is asked to start; what the command is decides how it goes.
#[derive(Default)]
struct Recorder {
    started: Mutex<Vec<(String, Command)>>,
    temp: PathBuf,
}

/// The events to come, last first; none: it never ends.
struct Said(Vec<Event>);

impl Backend for Recorder {
    fn start(
        &self,
        permit: Permit,
        command: Command,
    ) -> BoxFuture<'_, Result<Box<dyn Handle>, StartError>> {
        let said = match permit.command() {
            "break" => return async { Err(StartError("no such machine".to_owned())) }.boxed(),
            "hang" => Vec::new(),
            "get lost" => vec![Event::Ended(Exit::Code(126))],
            _ => vec![
                Event::Ended(Exit::Code(0)),
                Event::Output("heard".to_owned()),
            ],
        };
        let mut started = self.started.lock().unwrap();
        started.push((permit.command().to_owned(), command));
        let handle: Box<dyn Handle> = Box::new(Said(said));
        async { Ok(handle) }.boxed()
    }

    fn temp_dir(&self) -> PathBuf {
        self.temp.clone()
    }
}

fn desk() -> (Desk, Arc<Recorder>) {
    let home = TempHome::new();
    let recorder = Arc::new(Recorder {
        temp: home.work(),
        ..Recorder::default()
    });
    let desk = Desk::on(home, recorder.clone(), TerminalLimits::default());
    (desk, recorder)
}

impl Handle for Said {
    fn pid(&self) -> Option<u32> {
        None
    }

    fn next(&mut self) -> BoxFuture<'_, Event> {
        match self.0.pop() {
            Some(event) => async { event }.boxed(),
            None => futures::future::pending().boxed(),
        }
    }

    fn stop(&mut self) {}

    fn input(&mut self) -> Option<Input> {
        None
    }

    fn release(&mut self) {}
}

#[tokio::test]
async fn what_a_backend_is_asked_to_start() {
    let (desk, recorder) = desk();
    let session = desk.session("one");
    assert_eq!(session.output("echo it's").await, "heard");
    let failed = session.run("break").await;
    assert!(
        failed["error"]
            .as_str()
            .unwrap()
            .contains("no such machine")
    );
    session.run("rm -rf /").await;
    let started = recorder.started.lock().unwrap();
    // The login shell, which wrote nothing down here, then the one command.
    assert_eq!(started.len(), 2);
    assert_eq!(started[0].1.shell, Login::Yes);
    let (permitted, command) = &started[1];
    assert_eq!(permitted, "echo it's");
    assert!(
        command.script.contains(r"\eval 'echo it'\''s'"),
        "{}",
        command.script
    );
    assert_eq!((command.shell, command.life), (Login::No, Life::WithUs));
    assert_eq!(command.environment, Environment::Whole);
}

#[tokio::test]
async fn a_directory_that_cannot_be_entered_is_named() {
    let (desk, _) = desk();
    let session = desk.session("one");
    session.cwd.set(desk.home.home());
    let lost = session.run("get lost").await;
    assert_eq!(
        (&lost["exit_code"], &lost["status"]),
        (&json!(126), &json!("error"))
    );
    let named = format!("Cannot enter {}", desk.home.home().display());
    assert!(
        lost["error"].as_str().unwrap().starts_with(&named),
        "{lost}"
    );
}

#[tokio::test]
async fn there_is_a_limit_to_background_jobs() {
    let (desk, recorder) = desk();
    let session = desk.session("one");
    let hang = || session.call(json!({"command": "hang", "background": true}));
    for _ in 0..64 {
        assert_eq!(hang().await.0["exit_code"], 0);
    }
    let (refused, _) = hang().await;
    assert!(
        refused["error"].as_str().unwrap().contains("Too many"),
        "{refused}"
    );
    assert_eq!(recorder.started.lock().unwrap().len(), 65);
}
