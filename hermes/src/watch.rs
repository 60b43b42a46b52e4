//! A file somebody else may change: whoever follows it sleeps until something happens to it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc;

/// How often it is looked at where the system tells of no changes.
const LOOK: Duration = Duration::from_secs(5);
/// Whoever replaces a file does it in several steps.
const SETTLE: Duration = Duration::from_millis(100);

pub struct Watch {
    changes: mpsc::Receiver<()>,
    /// Tells of changes as long as it lives; none if the system doesn't.
    watcher: Option<RecommendedWatcher>,
}

impl Watch {
    /// Over its directory, because a file is replaced rather than written to.
    pub fn over(file: &Path) -> Self {
        // A link is watched where it leads.
        let file = &std::fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
        let (told, changes) = mpsc::channel(1);
        let name = file.file_name().map(PathBuf::from).unwrap_or_default();
        let is_meant = move |event: &Event| {
            let read = matches!(event.kind, notify::EventKind::Access(_));
            !read && event.paths.iter().any(|path| path.ends_with(&name))
        };
        let made = notify::recommended_watcher(move |event: notify::Result<Event>| {
            if event.is_ok_and(|event| is_meant(&event)) {
                // Full: it is known already that something has changed.
                let _ = told.try_send(());
            }
        });
        let watched = made.and_then(|mut watcher| {
            let dir = file.parent().unwrap_or(Path::new("."));
            watcher.watch(dir, RecursiveMode::NonRecursive)?;
            Ok(watcher)
        });
        let watcher = watched
            .inspect_err(|error| tracing::warn!("{}: {error}", file.display()))
            .ok();
        Self { changes, watcher }
    }

    /// Waits until the file may be another one.
    pub async fn changed(&mut self) {
        if self.watcher.is_none() || self.changes.recv().await.is_none() {
            return tokio::time::sleep(LOOK).await;
        }
        tokio::time::sleep(SETTLE).await;
        // What came meanwhile is part of the same change.
        while self.changes.try_recv().is_ok() {}
    }
}
