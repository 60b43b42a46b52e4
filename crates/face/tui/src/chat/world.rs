//! What the chat is given: the session when it is open, and the parts of the program it cannot know.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use hermes_home::config::Settings;
use hermes_home::{Env, Home};
use hermes_session::{Feed, Session};
use hermes_types::SessionId;
use tokio::sync::mpsc;

use crate::cells::Banner;
use crate::menu::{Candidate, Files, Words};

/// What there is before the session is.
pub struct World {
    pub home: Home,
    pub settings: Settings,
    pub env: Env,
    pub cwd: PathBuf,
    pub banner: Banner,
    /// What else belongs above the first prompt.
    pub greeting: Vec<String>,
    pub words: Arc<dyn Words + Send + Sync>,
    pub files: Arc<dyn Files + Send + Sync>,
    /// What other parts of the program have to tell the owner.
    pub told: mpsc::UnboundedReceiver<String>,
    /// The program has to end, …
    pub ended: BoxFuture<'static, ()>,
    /// … and what it may still do must be done by then.
    pub grace: Duration,
}

/// An open session.
pub struct Joined {
    pub session: Session,
    pub feed: Feed,
    /// Runs the session; ends when it is closed.
    pub live: BoxFuture<'static, ()>,
    pub jobs: Arc<dyn Jobs>,
    /// Skills and quick commands.
    pub more: Vec<Candidate>,
    pub lists: Arc<dyn Lists>,
    /// How the MCP servers are, in a word or two; nothing where there are none.
    pub servers: Arc<dyn Fn() -> Option<String> + Send + Sync>,
}

/// Background jobs: what happens to them reaches the model.
pub trait Jobs: Send + Sync {
    /// Waits until there is something to tell, and takes it.
    fn news(&self, session: SessionId) -> BoxFuture<'static, Vec<String>>;
}

/// Lists to choose from.
pub trait Lists: Send + Sync {
    /// What can follow a command; an error says why nothing can.
    fn rows(&self, command: &'static str) -> BoxFuture<'static, Result<Vec<Pickable>, String>>;
}

/// A row of a list.
#[derive(Clone, Debug)]
pub struct Pickable {
    /// What the command is given.
    pub argument: String,
    /// What the owner would say instead, if it has a name.
    pub name: String,
    pub label: String,
    pub about: String,
    pub group: String,
    pub current: bool,
    /// More about it, shown below the list.
    pub preview: String,
}

/// How a chat ended.
#[derive(Debug)]
pub enum Left {
    /// The owner left; where the conversation is, if there was one.
    Owner(Option<SessionId>),
    /// The program was told to end.
    Ended,
    /// The terminal is gone.
    Gone,
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("World").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Joined {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Joined").finish_non_exhaustive()
    }
}
