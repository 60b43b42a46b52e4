//! What a child starts with.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use pretty_assertions::assert_eq;
use tokio::sync::mpsc;

use super::{SERVE, config, dial, env, read, script, talk_through};
use crate::config::StdioEndpoint;
use crate::failure::{Class, Failure};
use crate::link::Dial;
use crate::stdio::StdioDial;
use crate::timing::Timing;

#[tokio::test]
async fn a_child_has_exactly_the_given_environment() {
    let dir = tempfile::tempdir().unwrap();
    let mut endpoint = script("cat /proc/$$/environ >&2");
    endpoint.env = env(&[("PATH", "/usr/bin:/bin"), ("TOKEN", "a b=c")]);
    endpoint.stderr = Some(dir.path().join("errors"));
    let talk = talk_through(&dial(&endpoint)).await;
    talk.closed().await;
    let errors = read(&dir.path().join("errors"));
    assert_eq!(
        errors.lines().nth(1),
        Some("PATH=/usr/bin:/bin\0TOKEN=a b=c\0")
    );
}

#[tokio::test]
async fn errors_are_appended_to_a_private_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("errors");
    for name in ["one", "two\n"] {
        let mut endpoint = script("printf 'no line break' >&2");
        endpoint.stderr = Some(path.clone());
        let mut config = config(&endpoint);
        config.name = name.to_owned();
        let talk = talk_through(&StdioDial::new(&config, &endpoint, Timing::default())).await;
        talk.closed().await;
    }
    let text = read(&path);
    let lines: Vec<&str> = text.lines().collect();
    let [first, body, second, again] = lines[..] else {
        panic!("{text}");
    };
    assert!(
        first.ends_with("Z starting MCP server \"one\" ====="),
        "{first}"
    );
    assert!(
        second.ends_with("Z starting MCP server \"two\" ====="),
        "{second}"
    );
    let date = first.strip_prefix("===== ").unwrap();
    let date: jiff::Timestamp = date.split(' ').next().unwrap().parse().unwrap();
    assert!(jiff::Timestamp::now().as_second() - date.as_second() < 60);
    assert_eq!((body, again), ("no line break", "no line break"));
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn a_log_that_cannot_be_written_stops_nobody() {
    for stderr in [Some(PathBuf::from("/nonexistent/errors")), None] {
        let mut endpoint = script(&format!("echo noise >&2; {SERVE}"));
        endpoint.stderr = stderr;
        let talk = talk_through(&dial(&endpoint)).await;
        assert!(talk.ask(1).await.unwrap().is_u64());
        talk.abandon().await;
    }
}

async fn refused(endpoint: &StdioEndpoint) -> Failure {
    let (inbox, _messages) = mpsc::channel(1);
    let started = dial(endpoint).dial(inbox).await;
    started.err().unwrap()
}

#[tokio::test]
async fn what_cannot_be_started_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let text = dir.path().join("text");
    std::fs::write(&text, "no program").unwrap();
    for program in ["/nonexistent/server".into(), "no-such-server".into(), text] {
        let mut endpoint = script("");
        endpoint.program = program;
        let failure = refused(&endpoint).await;
        assert_eq!(failure.class, Class::Setup, "{failure}");
        let name = endpoint.program.display().to_string();
        let expected = format!("Cannot start: cannot run {name}: ");
        assert!(failure.to_string().starts_with(&expected), "{failure}");
    }
    let mut endpoint = script("");
    endpoint.dir = "/nonexistent".into();
    let failure = refused(&endpoint).await;
    assert_eq!(failure.class, Class::Setup);
    assert!(
        failure
            .message
            .ends_with("there is no directory /nonexistent")
    );
}

#[tokio::test]
async fn a_bare_name_is_looked_up_on_the_path_of_the_child() {
    let dir = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/bin/sh", dir.path().join("my-server")).unwrap();
    let mut endpoint = script("echo found me >&2");
    endpoint.program = "my-server".into();
    endpoint.env = env(&[("PATH", dir.path().to_str().unwrap())]);
    endpoint.stderr = Some(dir.path().join("errors"));
    let talk = talk_through(&dial(&endpoint)).await;
    assert!(talk.closed().await.message.ends_with("found me"));
}
