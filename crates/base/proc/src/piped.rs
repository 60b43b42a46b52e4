//! Children that are talked with: input and output are pipes of their own, errors go elsewhere.

use std::fs::File;
use std::io;
use std::process::{Command, Stdio};

use tokio::process::ChildStdout;

use crate::{Group, Input, Process};

/// A child with a pipe to it and one from it. Dropping `process` kills the group.
#[derive(Debug)]
pub struct Piped {
    pub input: Input,
    pub output: ChildStdout,
    pub process: Process,
}

/// Where a child's error output goes.
#[derive(Debug)]
pub enum Errors {
    Discard,
    /// To this file, by the child itself.
    File(File),
}

impl Piped {
    pub(crate) fn start(mut command: Command, errors: Errors) -> io::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.stderr(match errors {
            Errors::Discard => Stdio::null(),
            Errors::File(file) => file.into(),
        });
        let mut child = tokio::process::Command::from(command).spawn()?;
        let pipes = (child.stdin.take(), child.stdout.take());
        let leader = child.id().and_then(Group::led_by);
        let group = leader.ok_or_else(|| io::Error::other("it has no process number"))?;
        // From here on the group is killed if anything goes wrong.
        let process = Process::new(group, child);
        let (Some(input), Some(output)) = pipes else {
            return Err(io::Error::other("it has no pipes"));
        };
        Ok(Self {
            input: Input::pipe(input),
            output,
            process,
        })
    }
}
