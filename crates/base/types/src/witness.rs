//! Seeing: somebody who can tell later what was done.

use std::path::PathBuf;
use std::time::Duration;

use futures::future::BoxFuture;

use crate::{Outcome, SessionId};

/// Writes down what the tools did. A future that is ready means: it is written.
pub trait Witness: Send + Sync {
    /// What the owner must hear, if it could not be written down. The work goes on in either case.
    fn saw(&self, act: Act) -> BoxFuture<'_, Option<String>>;
}

/// One call of a tool, as it ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Act {
    pub session: SessionId,
    pub tool: String,
    /// What it was about, in one line.
    pub about: String,
    /// The directory it began in.
    pub place: PathBuf,
    /// Who or what allowed or refused it; empty where nobody had to decide.
    pub decision: String,
    pub outcome: Outcome,
    pub took: Duration,
    /// Files it changed.
    pub changed: Vec<PathBuf>,
}
