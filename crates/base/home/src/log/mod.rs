//! The log files under `logs/`: written from tracing events, read back by `hermes logs`.
//!
//! Lines have the format of the Python program, so that either program's reader understands both. Every
//! process of a home appends to the same files. A line names its session if it is logged inside a span of
//! level INFO with a field `session`, or has that field itself.

mod component;
mod file;
mod follow;
mod layer;
mod level;
mod line;
mod list;
mod query;
mod tail;

use std::path::{Path, PathBuf};
use std::str::FromStr;

use tracing::Subscriber;
use tracing_subscriber::layer::SubscriberExt;

pub use component::Component;
pub use file::{Access, Rotation};
pub use follow::Follow;
pub use level::Level;
pub use list::{LogInfo, list};
pub use query::{Query, parse_since};
pub use tail::tail;

use crate::redact::Redactor;
use crate::{Error, Result};

/// How this process logs.
#[derive(Clone, Debug)]
pub struct Settings {
    pub dir: PathBuf,
    /// What reaches `agent.log`: `logging.level`.
    pub level: Level,
    /// Of `agent.log`: `logging.max_size_mb` and `logging.backup_count`.
    pub rotation: Rotation,
    pub role: Role,
    pub access: Access,
    pub console: Console,
    pub redactor: Redactor,
}

impl Settings {
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            level: Level::Info,
            rotation: Rotation::megabytes(5, 3),
            role: Role::default(),
            access: Access::default(),
            console: Console::default(),
            redactor: Redactor::default(),
        }
    }
}

/// The gateway also keeps a log of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    #[default]
    Other,
    Gateway,
}

/// Whether stderr gets a copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Console {
    #[default]
    Quiet,
    /// Of what may need a look: for programs nobody watches.
    Warnings,
    /// `--verbose`.
    Debug,
}

/// Sends the events of this process to its log files. Nothing is opened before the first line, and nothing is
/// held back, so there is nothing to flush at the end.
pub fn init(settings: &Settings) -> Result<()> {
    tracing::subscriber::set_global_default(subscriber(settings))
        .map_err(|_| Error::invalid("logging was already started in this process"))
}

/// What [`init`] installs, for one thread or test.
pub fn subscriber(settings: &Settings) -> impl Subscriber + Send + Sync + use<> {
    tracing_subscriber::registry().with(layer::LogLayer::new(settings))
}

/// The log files by the names `hermes logs` takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogName {
    #[default]
    Agent,
    Errors,
    Gateway,
}

impl LogName {
    pub fn path(self, dir: &Path) -> PathBuf {
        dir.join(match self {
            Self::Agent => "agent.log",
            Self::Errors => "errors.log",
            Self::Gateway => "gateway.log",
        })
    }
}

impl FromStr for LogName {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "agent" => Ok(Self::Agent),
            "errors" => Ok(Self::Errors),
            "gateway" => Ok(Self::Gateway),
            _ => Err(Error::invalid(format!(
                "no log named '{text}'; there are agent, errors and gateway"
            ))),
        }
    }
}
