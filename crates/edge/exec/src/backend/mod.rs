//! Where commands run. Everything above (shell state, waiting, limits) is the same for all backends.

mod bounds;
mod local;

use std::path::PathBuf;

use futures::future::BoxFuture;
use hermes_proc::{Event, Input, Stdin, Tty};

use hermes_gate::Permit;

pub use bounds::Surroundings;
pub use local::{LocalBackend, find_shell, temp_dir};

/// A place that can run a bash script.
pub trait Backend: Send + Sync {
    /// Starts `command`; only the gate can give leave to, each time anew.
    fn start(
        &self,
        permit: Permit,
        command: Command,
    ) -> BoxFuture<'_, Result<Box<dyn Handle>, StartError>>;

    /// Where throw-away files go, in the backend's own terms.
    fn temp_dir(&self) -> PathBuf;

    /// Variables that commands see for now only: they are not part of what one command leaves to the next.
    fn passing(&self) -> Vec<String> {
        Vec::new()
    }

    /// What the model should be told about how commands run here, once.
    fn notice(&self) -> Option<String> {
        None
    }
}

/// A script and its surroundings.
#[derive(Clone, Debug, Default)]
pub struct Command {
    /// For `bash -c`.
    pub script: String,
    pub shell: Login,
    pub environment: Environment,
    pub dir: PathBuf,
    pub stdin: Stdin,
    pub tty: Tty,
    pub life: Life,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Login {
    #[default]
    No,
    /// Reads the profile first.
    Yes,
}

/// What variables a script begins with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Environment {
    /// The backend's own, without secrets.
    #[default]
    Whole,
    /// None: the script brings its own.
    Bare,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Life {
    /// Ends when Hermes does, however that ends.
    #[default]
    WithUs,
    /// May go on without Hermes.
    OnItsOwn,
}

/// A command that runs. Dropping it before its end kills it and all it started.
pub trait Handle: Send {
    /// The number of its process, if it has one on this machine.
    fn pid(&self) -> Option<u32>;

    /// What happens next. Dropping the future loses nothing.
    fn next(&mut self) -> BoxFuture<'_, Event>;

    /// Asks the command and all it started to end; they are killed if they don't.
    fn stop(&mut self);

    /// The way to its standard input, once; `None` if it has none.
    fn input(&mut self) -> Option<Input>;

    /// Lets it go on without us: dropping it kills nothing any more.
    fn release(&mut self);
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StartError(pub String);
