//! Why a question has no answer.

use std::io;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Ctrl+C.
    #[error("interrupted; what was answered before is saved")]
    Interrupted,
    #[error(transparent)]
    Home(#[from] hermes_home::Error),
    #[error("this terminal cannot be asked: {0}")]
    Terminal(#[from] io::Error),
}
