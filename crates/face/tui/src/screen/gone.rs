//! Noticing that the terminal is gone: its window was closed, the connection to it broke.
//!
//! The event reader does not notice: it takes the end of input for "nothing yet" and asks again without a pause.

use std::future::Future;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use tokio::sync::oneshot;

use super::tty::Tty;

/// As long as a program may take to end after its terminal did. The event reader can hold its thread for ever.
const GRACE: Duration = Duration::from_secs(10);

/// Watches in a thread of its own, which ends when this is dropped.
#[derive(Debug)]
pub(super) struct Watch {
    gone: Shared<BoxFuture<'static, ()>>,
    /// Its other end sees it close.
    _alive: UnixStream,
}

/// Resolves when the terminal is gone.
#[derive(Clone, Debug)]
pub struct Gone(Shared<BoxFuture<'static, ()>>);

impl Watch {
    pub(super) fn begin(tty: &Tty) -> io::Result<Self> {
        let (alive, watched) = UnixStream::pair()?;
        let (tell, told) = oneshot::channel();
        let tty = tty.clone();
        thread::Builder::new()
            .name("terminal".to_owned())
            .spawn(move || watch(&tty, &watched, tell))?;
        let gone = async {
            if told.await.is_err() {
                // Nobody watches any more, so nobody can know.
                std::future::pending().await
            }
        };
        Ok(Self {
            gone: gone.boxed().shared(),
            _alive: alive,
        })
    }

    pub(super) fn gone(&self) -> Gone {
        Gone(self.gone.clone())
    }
}

impl Future for Gone {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.0.poll_unpin(cx)
    }
}

fn watch(tty: &Tty, alive: &UnixStream, tell: oneshot::Sender<()>) {
    if !hangs_up(tty, alive) {
        return;
    }
    // Nobody waits for it: then the deadline below is all there is.
    let _ = tell.send(());
    let mut alive = [PollFd::new(alive.as_fd(), PollFlags::POLLIN)];
    let grace = PollTimeout::try_from(GRACE).unwrap_or(PollTimeout::MAX);
    if matches!(poll(&mut alive, grace), Ok(0)) {
        // As if the signal that goes with it had done it.
        std::process::exit(129);
    }
}

/// False if we are not needed any more, or if this system cannot watch a terminal.
fn hangs_up(tty: &Tty, alive: &UnixStream) -> bool {
    loop {
        let mut watched = [
            PollFd::new(tty.as_fd(), PollFlags::empty()),
            PollFd::new(alive.as_fd(), PollFlags::POLLIN),
        ];
        match poll(&mut watched, PollTimeout::NONE) {
            Err(nix::errno::Errno::EINTR) => continue,
            Err(_) => return false,
            Ok(_) => {}
        }
        let seen = |index: usize| watched[index].revents().unwrap_or(PollFlags::empty());
        return seen(1).is_empty() && seen(0).intersects(PollFlags::POLLHUP | PollFlags::POLLERR);
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use nix::pty::openpty;
    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn a_closed_window_is_noticed() {
        let ends = openpty(None, None).unwrap();
        let watch = Watch::begin(&Tty::from(File::from(ends.slave))).unwrap();
        let mut gone = watch.gone();
        assert!(futures::poll!(&mut gone).is_pending());
        drop(ends.master);
        timeout(GRACE / 2, gone).await.unwrap();
    }
}
