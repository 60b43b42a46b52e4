//! Checks that need a program of the language. The content goes in by standard input, so it doesn't matter where
//! the file is.

use std::path::PathBuf;
use std::time::Duration;

use hermes_proc::{Capture, Event, Exit, Spawn, Stdin, Tty};

use super::Lint;

const TIME: Duration = Duration::from_secs(30);

/// More than any message a checker prints.
const MAX_OUTPUT: usize = 4000;

/// What a checker exits with to say the syntax is wrong; any other failure means that it could not look.
const WRONG: i32 = 65;

#[derive(Debug)]
pub(super) struct Checker {
    extension: &'static str,
    program: &'static str,
    args: &'static [&'static str],
}

static CHECKERS: [Checker; 1] = [Checker {
    extension: "py",
    program: "python3",
    // Without the user's modules: nothing of a project is run to look at one of its files.
    args: &["-I", "-S", "-c", include_str!("check.py")],
}];

impl Checker {
    pub fn of(extension: &str) -> Option<&'static Self> {
        CHECKERS.iter().find(|one| one.extension == extension)
    }

    pub async fn run(&self, text: &str, env: &[(String, String)]) -> Lint {
        let skipped = |why: String| Lint::Skipped(format!("{} {why}", self.program));
        match tokio::time::timeout(TIME, self.ask(text, env)).await {
            Err(_) => skipped("took too long".to_owned()),
            Ok(Err(error)) if error.is_missing() => skipped("is not installed".to_owned()),
            Ok(Err(error)) => skipped(error.to_string()),
            Ok(Ok((Exit::Code(0), _))) => Lint::Ok,
            Ok(Ok((Exit::Code(WRONG), output))) => Lint::Error(output.trim().to_owned()),
            Ok(Ok((_, output))) => {
                let first = output.trim().lines().next().unwrap_or_default().to_owned();
                skipped(format!("could not check it: {first}"))
            }
        }
    }

    async fn ask(
        &self,
        text: &str,
        env: &[(String, String)],
    ) -> Result<(Exit, String), hermes_proc::Error> {
        let mut child = Spawn {
            program: PathBuf::from(self.program),
            args: self.args.iter().map(|arg| (*arg).to_owned()).collect(),
            env: env.to_vec(),
            dir: PathBuf::from("/"),
            stdin: Stdin::Bytes(text.as_bytes().to_vec()),
            tty: Tty::None,
        }
        .start()?;
        let mut output = Capture::new(MAX_OUTPUT, 0);
        loop {
            match child.next().await {
                Event::Output(text) => output.push(&text),
                Event::Ended(exit) => return Ok((exit, output.take().head)),
            }
        }
    }
}
