//! Logs as a process writes them and as `hermes logs` reads them.

mod reading;
mod writing;

use hermes_home::log::{Settings, subscriber};
use tempfile::TempDir;

fn settings(dir: &TempDir) -> Settings {
    Settings::new(dir.path().join("logs"))
}

/// Runs code whose events go to these logs.
fn logging(settings: &Settings, run: impl FnOnce()) {
    tracing::subscriber::with_default(subscriber(settings), run);
}
