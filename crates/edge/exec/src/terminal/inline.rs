//! One short command beside the shell that remembers: for texts that ask how things are right now.

use std::path::PathBuf;
use std::time::Duration;

use hermes_gate::Permit;
use hermes_proc::{Capture, Event, Exit};
use tokio::time::timeout;

use crate::backend::{Backend, Command};

/// Bytes of an answer that are kept.
const KEPT: usize = 32 * 1024;

/// What a permitted command says, or why it has nothing to say.
pub async fn inline(
    backend: &dyn Backend,
    permit: Permit,
    dir: PathBuf,
    time: Duration,
) -> Result<String, String> {
    let command = Command {
        script: permit.command().to_owned(),
        dir,
        ..Command::default()
    };
    let mut handle = backend
        .start(permit, command)
        .await
        .map_err(|error| error.to_string())?;
    let mut said = Capture::new(KEPT, 0);
    let run = async {
        loop {
            match handle.next().await {
                Event::Output(text) => said.push(&text),
                Event::Ended(exit) => return exit,
            }
        }
    };
    // Dropping the handle kills whatever does not end by itself.
    let exit = timeout(time, run)
        .await
        .map_err(|_| format!("no answer within {} s", time.as_secs()))?;
    match (said.take().head, exit) {
        (said, Exit::Code(0)) => Ok(said),
        (said, _) if !said.trim().is_empty() => Ok(said),
        (_, Exit::Code(code)) => Err(format!("exit code {code}")),
        (_, Exit::Signal(_) | Exit::Unknown) => Err("it was killed".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::LocalBackend;

    #[tokio::test]
    async fn answers_failures_and_silence() {
        let env = vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())];
        let backend = LocalBackend::new(env);
        let check = async |command: &'static str, expected: Result<&str, &str>| {
            let permit = Permit::for_ourselves(command);
            let told = inline(&backend, permit, "/".into(), Duration::from_secs(1)).await;
            let told = told.as_deref().map_err(String::as_str);
            assert_eq!(told, expected, "{command}");
        };
        check("echo hi; pwd", Ok("hi\n/\n")).await;
        check("echo no >&2; exit 1", Ok("no\n")).await;
        check("exit 3", Err("exit code 3")).await;
        check("sleep 60", Err("no answer within 1 s")).await;
    }
}
