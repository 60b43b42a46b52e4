//! The handle everybody holds: opening, closing, health, and the way to the reader and writer.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use tracing::warn;

use crate::{
    connect::{Access, Db, Mode, OpenOptions},
    error::{Error, ErrorKind, Result, Sql},
    readers::Readers,
    shape::Shape,
    writer::Writer,
};

/// A session database. Cheap to clone; dropping the last clone closes the file.
#[derive(Clone, Debug)]
pub struct Store {
    // The readers come first so that they are dropped first: whoever closes last tidies the log.
    readers: Arc<Readers>,
    role: Arc<Role>,
    path: Arc<Path>,
    version: i64,
}

#[derive(Debug)]
enum Role {
    Writes(Writer),
    /// Opened only to look, or found to be not writable: then with the reason.
    OnlyReads(Error),
}

/// Whether what is said now will be there tomorrow.
#[derive(Clone, Debug, PartialEq)]
pub enum Health {
    Good,
    /// Nothing is saved any more, and why. Reading still works as far as it can.
    Degraded(Error),
}

impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Good => f.write_str("the session database is fine"),
            Self::Degraded(reason) => write!(f, "this conversation is not being saved: {reason}"),
        }
    }
}

impl Store {
    /// Opens the database at `path`, creating and migrating it if that is asked for.
    ///
    /// A file that exists but cannot be written opens for reading, with [`Health::Degraded`].
    pub async fn open(path: impl AsRef<Path>, options: OpenOptions) -> Result<Self> {
        let path = path.as_ref();
        if options.mode == Mode::ReadOnly {
            let reason = Error::ReadOnly {
                path: path.to_owned(),
                detail: "it was opened for reading".to_owned(),
            };
            return Self::open_for_reading(path, reason).await;
        }
        match Writer::start(path, options).await {
            Ok((writer, shape)) => {
                let access = Access::Live(path.to_owned());
                Ok(Self::assemble(path, access, shape, Role::Writes(writer)))
            }
            Err(reason) if reason.kind() == ErrorKind::ReadOnly && path.exists() => {
                warn!("{reason}");
                let store = Self::open_for_reading(path, reason.clone()).await;
                store.map_err(|_| reason)
            }
            Err(error) => Err(error),
        }
    }

    /// Like [`open`](Self::open), but leaves a home without a database as it is.
    pub async fn open_existing(
        path: impl AsRef<Path>,
        options: OpenOptions,
    ) -> Result<Option<Self>> {
        if !path.as_ref().exists() {
            return Ok(None);
        }
        Self::open(path, options).await.map(Some)
    }

    /// Finishes queued writes, checkpoints and closes the file, for all clones.
    pub async fn close(&self) {
        self.readers.close();
        if let Role::Writes(writer) = self.role.as_ref() {
            writer.close().await;
        }
    }

    pub fn health(&self) -> Health {
        let reason = match self.role.as_ref() {
            Role::Writes(writer) => writer.why_stopped(),
            Role::OnlyReads(reason) => Some(reason.clone()),
        };
        reason.map_or(Health::Good, Health::Degraded)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The layout number the file carries, 11 to 22.
    pub fn schema_version(&self) -> i64 {
        self.version
    }

    async fn open_for_reading(path: &Path, reason: Error) -> Result<Self> {
        let owned = path.to_owned();
        let look = move || -> Result<(Access, Shape)> {
            let found = Access::find(&owned).and_then(|access| {
                let shape = Shape::read(&access.open()?)?;
                Ok((access, shape))
            });
            found.map_err(|fault| fault.at(&owned))
        };
        let (access, shape) = spawn_blocking(path, look).await?;
        let role = Role::OnlyReads(reason);
        Ok(Self::assemble(path, access, Arc::new(shape), role))
    }

    fn assemble(path: &Path, access: Access, shape: Arc<Shape>, role: Role) -> Self {
        Self {
            version: shape.version,
            readers: Arc::new(Readers::new(path.to_owned(), access, shape)),
            role: Arc::new(role),
            path: Arc::from(path),
        }
    }

    /// Runs `work` on a reader connection, in one snapshot.
    pub(crate) async fn read<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnMut(&Db) -> Sql<T> + Send + 'static,
    {
        self.readers.run(work).await
    }

    /// Runs `work` in a write transaction; returns after the commit.
    pub(crate) async fn write<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnMut(&Db) -> Sql<T> + Send + 'static,
    {
        self.writer()?.run(work).await
    }

    pub(crate) fn writer(&self) -> Result<&Writer> {
        match self.role.as_ref() {
            Role::Writes(writer) => Ok(writer),
            Role::OnlyReads(reason) => Err(reason.clone()),
        }
    }
}

/// Runs blocking `work` off the async threads.
pub(crate) async fn spawn_blocking<T: Send + 'static>(
    path: &Path,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let task = tokio::task::spawn_blocking(work).await;
    task.unwrap_or_else(|e| {
        Err(Error::Unavailable {
            path: PathBuf::from(path),
            detail: e.to_string(),
        })
    })
}
