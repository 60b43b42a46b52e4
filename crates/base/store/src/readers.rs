//! The connections that read: opened when first needed, used on blocking threads, kept for later.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::Semaphore;

use crate::{
    connect::{Access, Db},
    error::{Error, Result, Sql},
    retry::retry_busy,
    shape::Shape,
};

/// More would only fight for the same disk.
const CONNECTIONS: usize = 4;

#[derive(Debug)]
pub(crate) struct Readers {
    inner: Arc<Inner>,
    slots: Semaphore,
}

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    access: Access,
    shape: Arc<Shape>,
    idle: Mutex<Vec<Db>>,
}

impl Readers {
    pub fn new(path: PathBuf, access: Access, shape: Arc<Shape>) -> Self {
        let inner = Inner {
            path,
            access,
            shape,
            idle: Mutex::default(),
        };
        Self {
            inner: Arc::new(inner),
            slots: Semaphore::new(CONNECTIONS),
        }
    }

    /// Runs `work` in one read transaction, so that all its queries see the same state.
    pub async fn run<T, F>(&self, mut work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnMut(&Db) -> Sql<T> + Send + 'static,
    {
        let gone = |detail: String| Error::Unavailable {
            path: self.inner.path.clone(),
            detail,
        };
        let slot = self.slots.acquire().await;
        let slot = slot.map_err(|_| gone("it has been closed".to_owned()))?;
        let inner = self.inner.clone();
        let task = tokio::task::spawn_blocking(move || {
            let db = inner.take()?;
            let result = retry_busy(|| in_snapshot(&db, &mut work));
            inner.give_back(db);
            result.map_err(|fault| fault.at(&inner.path))
        });
        let result = task.await.map_err(|e| gone(e.to_string()))?;
        drop(slot);
        result
    }

    /// Closes what is idle and refuses what comes.
    pub fn close(&self) {
        self.slots.close();
        self.inner.lock().clear();
    }
}

impl Inner {
    fn take(&self) -> Result<Db> {
        if let Some(db) = self.lock().pop() {
            return Ok(db);
        }
        let conn = self.access.open().map_err(|fault| fault.at(&self.path))?;
        Ok(Db {
            conn,
            shape: self.shape.clone(),
        })
    }

    fn give_back(&self, db: Db) {
        if db.conn.is_autocommit() {
            self.lock().push(db);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Db>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn in_snapshot<T>(db: &Db, work: &mut impl FnMut(&Db) -> Sql<T>) -> Sql<T> {
    db.conn.execute_batch("BEGIN")?;
    let result = work(db);
    // Nothing was written, so there is nothing a failed end could lose; the connection is dropped.
    let _ = db.conn.execute_batch("ROLLBACK");
    result
}
