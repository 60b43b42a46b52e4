//! Child processes. The only crate that starts them.
//!
//! A child is described by a [`Spawn`] and lives as a [`Running`]: in a session and process group of its own,
//! with an environment that was given explicitly, its output and errors in one stream. Stopping it means its
//! whole group: TERM, two seconds, KILL. Dropping it kills the group at once. A program that is talked with
//! through its pipes, its errors elsewhere, lives as a [`Piped`] instead, under the same rules.

mod ansi;
mod capture;
mod decode;
mod foreground;
mod group;
mod input;
mod lifeline;
mod mark;
mod piped;
mod process;
mod pty;
mod running;
pub mod sandbox;
mod scratch;
mod shown;
mod spawn;

use std::io;

pub use ansi::strip_ansi;
pub use capture::{Capture, Captured};
pub use decode::Decoder;
pub use foreground::foreground;
pub use group::{Group, start_time};
pub use input::Input;
pub use lifeline::{Lifeline, Watched};
pub use mark::Mark;
pub use piped::{Errors, Piped};
pub use process::Process;
pub use running::{Event, Exit, Running};
pub use scratch::Scratch;
pub use shown::last_chars;
pub use spawn::{Spawn, Stdin, Tty, nearest_dir};

/// Why a program could not be run.
#[derive(Debug, thiserror::Error)]
#[error("cannot run {program}: {cause}")]
pub struct Error {
    program: String,
    cause: io::Error,
}

impl Error {
    /// Whether there is no such program.
    pub fn is_missing(&self) -> bool {
        self.cause.kind() == io::ErrorKind::NotFound
    }

    /// Whether trying again cannot help: there is no such program, or none that could be run.
    pub fn is_lasting(&self) -> bool {
        use nix::errno::Errno;
        let number = self.cause.raw_os_error().map(Errno::from_raw);
        match number {
            Some(number) => matches!(
                number,
                Errno::ENOENT
                    | Errno::ENOTDIR
                    | Errno::EACCES
                    | Errno::EPERM
                    | Errno::ENOEXEC
                    | Errno::ELOOP
                    | Errno::ENAMETOOLONG
                    | Errno::E2BIG
                    | Errno::EISDIR
            ),
            // Words that no program can be given, such as a zero byte.
            None => self.cause.kind() == io::ErrorKind::InvalidInput,
        }
    }

    fn of(program: &std::path::Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let program = program.display().to_string();
        |cause| Self { program, cause }
    }
}
