//! Moving what is in the log into the database file, beside the writer.

use std::{
    path::{Path, PathBuf},
    sync::mpsc::{SyncSender, sync_channel},
    thread::JoinHandle,
};

use rusqlite::Connection;
use tracing::debug;

/// Checkpoints run beside the writer, on a connection of their own: copying pages and waiting for
/// the disk would otherwise be the slowest part of every fiftieth append.
pub(crate) struct Checkpoints {
    path: PathBuf,
    running: Option<(SyncSender<()>, JoinHandle<()>)>,
}

impl Checkpoints {
    pub fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            running: None,
        }
    }

    pub fn request(&mut self) {
        if self.running.is_none() {
            self.running = self.start();
        }
        if let Some((wake, _)) = &self.running {
            // Full means one is due already.
            let _ = wake.try_send(());
        }
    }

    fn start(&self) -> Option<(SyncSender<()>, JoinHandle<()>)> {
        let (wake, requests) = sync_channel(1);
        let path = self.path.clone();
        let thread = std::thread::Builder::new()
            .name("store-checkpoint".to_owned())
            .spawn(move || match Connection::open(&path) {
                Ok(conn) => requests.iter().for_each(|()| checkpoint(&conn)),
                Err(error) => debug!("no checkpoints: {error}"),
            });
        match thread {
            Ok(thread) => Some((wake, thread)),
            Err(error) => {
                debug!("no checkpoints: {error}");
                None
            }
        }
    }

    pub fn stop(&mut self) {
        if let Some((wake, thread)) = self.running.take() {
            drop(wake);
            // A panic there has been reported by the panic hook.
            let _ = thread.join();
        }
    }
}

/// Best effort: a log that grows for a while is no harm.
pub(crate) fn checkpoint(conn: &Connection) {
    if let Err(error) = conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())) {
        debug!("checkpoint: {error}");
    }
}
