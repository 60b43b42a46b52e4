//! The seam to wherever tokens are kept, and the async way to it.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::{Map, Value};
use tokio::time::Instant;

/// Between two looks at a lock somebody else holds.
const LOCK_POLL: Duration = Duration::from_millis(25);

/// Keeps the documents of any number of servers. Every method may block; none is called on an async thread.
pub trait TokenStore: Send + Sync {
    /// What is stored; a document that cannot be read as one counts as absent.
    fn load(&self, server: &str, document: Document) -> Result<Option<Stored>, StoreError>;

    /// Replaces a document. When it returns, the new one survives a power cut.
    fn save(&self, server: &str, document: Document, fields: &Fields) -> Result<(), StoreError>;

    /// Removes a document; an absent one is fine.
    fn remove(&self, server: &str, document: Document) -> Result<(), StoreError>;

    /// Takes the lock of a server against all other programs that share the store; `None` if it is taken.
    fn try_lock(&self, server: &str) -> Result<Option<StoreGuard>, StoreError>;
}

/// The fields of a document. Those nobody here knows are kept.
pub type Fields = Map<String, Value>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Document {
    /// The answer of the token endpoint, and when it expires.
    Tokens,
    /// The registration of this client.
    Client,
    /// A registration the server no longer knew.
    ClientBackup,
    /// What the authorization server says about itself.
    Metadata,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    pub fields: Fields,
    /// When it was written, if the store knows.
    pub modified: Option<SystemTime>,
}

/// Holds a lock until it is dropped.
#[must_use = "dropping it gives the lock back"]
pub struct StoreGuard {
    _held: Box<dyn Send>,
}

impl StoreGuard {
    pub fn new(held: impl Send + 'static) -> Self {
        Self {
            _held: Box::new(held),
        }
    }
}

impl fmt::Debug for StoreGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoreGuard")
    }
}

/// The store could not do what it should.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action}: {source}")]
pub struct StoreError {
    /// What it tried, and where.
    pub action: String,
    pub source: io::Error,
}

/// The documents of one server, from async code.
#[derive(Clone)]
pub(crate) struct Vault {
    store: Arc<dyn TokenStore>,
    server: Arc<str>,
}

impl Vault {
    pub(crate) fn new(store: Arc<dyn TokenStore>, server: &str) -> Self {
        Self {
            store,
            server: server.into(),
        }
    }

    pub(crate) async fn load(&self, document: Document) -> Result<Option<Stored>, StoreError> {
        self.blocking(move |store, server| store.load(server, document))
            .await
    }

    pub(crate) async fn save(&self, document: Document, fields: Fields) -> Result<(), StoreError> {
        self.blocking(move |store, server| store.save(server, document, &fields))
            .await
    }

    pub(crate) async fn remove(&self, document: Document) -> Result<(), StoreError> {
        self.blocking(move |store, server| store.remove(server, document))
            .await
    }

    /// The lock, or `None` if it was not to be had in time.
    pub(crate) async fn lock(&self, patience: Duration) -> Result<Option<StoreGuard>, StoreError> {
        let end = Instant::now() + patience;
        loop {
            let guard = self
                .blocking(|store, server| store.try_lock(server))
                .await?;
            if guard.is_some() || Instant::now() >= end {
                return Ok(guard);
            }
            tokio::time::sleep(LOCK_POLL).await;
        }
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn TokenStore, &str) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let Self { store, server } = self.clone();
        let done = tokio::task::spawn_blocking(move || work(&*store, &server)).await;
        done.unwrap_or_else(|panic| {
            Err(StoreError {
                action: format!("use the token store for {}", self.server),
                source: io::Error::other(panic),
            })
        })
    }
}
