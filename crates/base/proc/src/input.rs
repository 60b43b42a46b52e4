//! What a running child can be told.

use std::io::{self, Write};
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

    /// As much as fits now.
    pub(crate) async fn write_some(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Way::Pipe(pipe) => pipe.write(bytes).await,
            Way::Keyboard(_) => self.write(bytes).await.map(|()| bytes.len()),
        }
    }
}
