//! The way out to the terminal.

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

/// Writes to the terminal, without a buffer: a frame is one write. Clones write to the same one.
#[derive(Clone, Debug)]
pub struct Tty(Arc<File>);

impl Tty {
    /// Standard output, or the terminal this process belongs to if that leads somewhere else.
    pub fn open() -> io::Result<Self> {
        let stdout = io::stdout();
        let file = match stdout.is_terminal() {
            true => File::from(stdout.as_fd().try_clone_to_owned()?),
            false => OpenOptions::new().read(true).write(true).open("/dev/tty")?,
        };
        Ok(Self::from(file))
    }
}

impl From<File> for Tty {
    fn from(file: File) -> Self {
        Self(Arc::new(file))
    }
}

impl Write for Tty {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self.0).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        (&*self.0).flush()
    }
}

impl AsFd for Tty {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
