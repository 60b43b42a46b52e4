//! What a running child can be told.

use std::io::{self, Write};
#[cfg(target_os = "linux")]
use std::os::fd::AsRawFd;
use std::os::fd::{AsFd, BorrowedFd};
use std::thread;

use tokio::io::AsyncWriteExt;
use tokio::process::ChildStdin;
use tokio::sync::mpsc;

/// Pieces waiting for a terminal whose program doesn't read.
const QUEUE: usize = 16;

/// The way to a child's standard input. Dropping it is the end of input; in a terminal, Ctrl-D.
#[derive(Debug)]
pub struct Input(Way);

#[derive(Debug)]
enum Way {
    Pipe(ChildStdin),
    /// To a thread of its own: writing to a terminal blocks when its program doesn't read.
    Keyboard(mpsc::Sender<Vec<u8>>),
}

impl Input {
    pub(crate) fn pipe(pipe: ChildStdin) -> Self {
        Self(Way::Pipe(pipe))
    }

    pub(crate) fn keyboard(mut terminal: Box<dyn Write + Send>) -> io::Result<Self> {
        let (sender, mut pieces) = mpsc::channel::<Vec<u8>>(QUEUE);
        thread::Builder::new()
            .name("pty-input".to_owned())
            .spawn(move || {
                while let Some(piece) = pieces.blocking_recv() {
                    if terminal
                        .write_all(&piece)
                        .and_then(|()| terminal.flush())
                        .is_err()
                    {
                        break;
                    }
                }
            })?;
        Ok(Self(Way::Keyboard(sender)))
    }

    pub async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.0 {
            Way::Pipe(pipe) => {
                pipe.write_all(bytes).await?;
                pipe.flush().await
            }
            Way::Keyboard(sender) => sender
                .send(bytes.to_vec())
                .await
                .map_err(|_| io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// As much as fits now, once something does. Dropping the future means nothing was written.
    pub async fn write_some(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Way::Pipe(pipe) => pipe.write(bytes).await,
            Way::Keyboard(_) => self.write(bytes).await.map(|()| bytes.len()),
        }
    }

    /// How many of the bytes written nobody has read and nobody ever will. `None` if somebody still could, or if
    /// the system does not tell.
    pub fn wasted(&self) -> Option<usize> {
        match &self.0 {
            Way::Pipe(pipe) => wasted(pipe.as_fd()),
            Way::Keyboard(_) => None,
        }
    }
}

#[cfg(target_os = "linux")]
fn wasted(pipe: BorrowedFd<'_>) -> Option<usize> {
    use nix::libc::{FIONREAD, POLLERR, POLLOUT, ioctl, poll, pollfd};
    let mut state = pollfd {
        fd: pipe.as_raw_fd(),
        events: POLLOUT,
        revents: 0,
    };
    let mut unread: nix::libc::c_int = 0;
    #[expect(
        unsafe_code,
        reason = "nix has no such calls without more of its features; both only write to our two locals"
    )]
    let (polled, asked) = unsafe {
        (
            poll(&raw mut state, 1, 0),
            ioctl(state.fd, FIONREAD, &raw mut unread),
        )
    };
    // The kernel reports an error on the writing end when the last reader is gone.
    let has_reader = state.revents & POLLERR == 0;
    (polled == 1 && asked == 0 && !has_reader)
        .then(|| usize::try_from(unread).ok())
        .flatten()
}

#[cfg(not(target_os = "linux"))]
fn wasted(_: BorrowedFd<'_>) -> Option<usize> {
    None
}
