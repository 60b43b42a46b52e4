//! The life and death of a child whose pipes somebody else looks after.

use tokio::process::Child;
use tokio::time::{sleep, timeout};

use crate::running::{GRACE, LOOK, VANISH};
use crate::{Exit, Group};

/// A child and its process group. Dropping it kills what is left of the group.
#[derive(Debug)]
pub struct Process {
    group: Group,
    child: Child,
    exit: Option<Exit>,
    /// Nobody is left, so the number of the group may soon be somebody else's.
    is_gone: bool,
}

impl Process {
    pub(crate) fn new(group: Group, child: Child) -> Self {
        Self {
            group,
            child,
            exit: None,
            is_gone: false,
        }
    }

    pub fn group(&self) -> Group {
        self.group
    }

    /// Waits until the child itself has ended; others of its group may go on. Dropping the future loses nothing.
    pub async fn exited(&mut self) -> Exit {
        if let Some(exit) = self.exit {
            return exit;
        }
        let status = self.child.wait().await;
        let exit = status.map_or(Exit::Unknown, Exit::from);
        self.exit = Some(exit);
        self.is_gone = self.group.is_gone();
        exit
    }

    /// Waits until nobody of the group is left. Dropping the future loses nothing.
    pub async fn gone(&mut self) {
        self.exited().await;
        while !self.is_gone {
            self.is_gone = self.group.is_gone();
            if !self.is_gone {
                // There is no event for it.
                sleep(LOOK).await;
            }
        }
    }

    /// Asks the group to end, and kills it when its time is over.
    pub async fn stop(&mut self) {
        if self.is_gone {
            return;
        }
        self.group.terminate();
        if timeout(GRACE, self.gone()).await.is_err() {
            self.kill().await;
        }
    }

    /// Kills the group and waits until it is gone; not for ever, if something keeps it from going.
    pub async fn kill(&mut self) {
        if !self.is_gone {
            self.group.kill();
            // Who does not vanish is killed once more when this is dropped; nobody could do more.
            let _ = timeout(VANISH, self.gone()).await;
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.is_gone {
            self.group.kill();
        }
    }
}
