//! How a connection ends: once, and for a reason everybody can read.

use std::sync::OnceLock;

use tokio_util::sync::CancellationToken;

use crate::failure::{Class, Failure};

#[derive(Default)]
pub(super) struct Fate {
    reason: OnceLock<Failure>,
    dead: CancellationToken,
}

impl Fate {
    /// Only the first reason counts.
    pub(super) fn seal(&self, reason: Failure) {
        let _ = self.reason.set(reason);
        self.dead.cancel();
    }

    pub(super) fn reason(&self) -> Option<Failure> {
        self.reason.get().cloned()
    }

    pub(super) async fn sealed(&self) -> Failure {
        self.dead.cancelled().await;
        self.reason().unwrap_or_else(closed_by_us)
    }
}

pub(super) fn closed_by_us() -> Failure {
    Failure::new(Class::Cut, "Connection closed", "we closed the connection")
}
