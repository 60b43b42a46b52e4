//! The one thread of a process that writes: it owns its connection, takes one job after another and
//! answers each only after the commit.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    thread::JoinHandle,
};

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};
use tracing::warn;

use crate::{
    checkpoint::{Checkpoints, checkpoint},
    connect::{Db, OpenOptions, open_writer},
    error::{Error, Fault, Result, Sql},
    merge::Merging,
    once::first_time,
    retry::retry_busy,
    schema,
    shape::Shape,
};

/// How many jobs may wait. A sender beyond that waits itself.
const QUEUE: usize = 256;

/// A passive checkpoint follows this many writes.
const CHECKPOINT_EVERY: u32 = 50;

#[derive(Debug)]
pub(crate) struct Writer {
    jobs: mpsc::Sender<Command>,
    /// Taken by whoever waits for the end.
    thread: Mutex<Option<JoinHandle<()>>>,
    latch: Latch,
    path: PathBuf,
}

/// Why writing has stopped, once it has.
pub(crate) type Latch = Arc<Mutex<Option<Error>>>;

enum Command {
    Run(Box<dyn Job>),
    Close,
}

impl Writer {
    /// Opens the file on a thread of its own, and says what it found there.
    pub async fn start(path: &Path, options: OpenOptions) -> Result<(Self, Arc<Shape>)> {
        let (jobs, queue) = mpsc::channel(QUEUE);
        let (ready, opened) = oneshot::channel();
        let latch = Latch::default();
        let (file, reasons) = (path.to_owned(), latch.clone());
        let thread = std::thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || match open(&file, &options) {
                Ok(db) => {
                    let shape = db.shape.clone();
                    if ready.send(Ok(shape)).is_ok() {
                        Worker::new(db, file, reasons).run(queue);
                    }
                }
                // Nobody waits any more: then nobody needs the answer.
                Err(fault) => drop(ready.send(Err(fault.at(&file)))),
            })
            .map_err(|e| Error::io(path, &e))?;
        let writer = Self {
            jobs,
            thread: Mutex::new(Some(thread)),
            latch,
            path: path.to_owned(),
        };
        let shape = opened.await.unwrap_or_else(|_| Err(writer.closed()))?;
        Ok((writer, shape))
    }

    /// Runs `work` in a transaction of its own; returns after the commit.
    pub async fn run<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnMut(&Db) -> Sql<T> + Send + 'static,
    {
        self.submit(work, Boundary::Transaction).await
    }

    /// Runs `work` outside a transaction, for statements that bring their own.
    pub async fn run_bare<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnMut(&Db) -> Sql<T> + Send + 'static,
    {
        self.submit(work, Boundary::None).await
    }

    pub fn why_stopped(&self) -> Option<Error> {
        lock(&self.latch).clone()
    }

    /// Finishes what is queued, checkpoints and closes the file. Later jobs are refused.
    pub async fn close(&self) {
        if self.jobs.send(Command::Close).await.is_ok() {
            self.jobs.closed().await;
        }
        let thread = lock(&self.thread).take();
        if let Some(thread) = thread {
            // The thread has nothing left to do but to close its connection.
            let _ = tokio::task::spawn_blocking(|| thread.join()).await;
        }
    }

    async fn submit<T, F>(&self, work: F, boundary: Boundary) -> Result<T>
    where
        T: Send + 'static,
        F: FnMut(&Db) -> Sql<T> + Send + 'static,
    {
        if let Some(reason) = self.why_stopped() {
            return Err(reason);
        }
        let (reply, answer) = oneshot::channel();
        let task = Task {
            work,
            boundary,
            outcome: None,
            reply,
        };
        let sent = self.jobs.send(Command::Run(Box::new(task))).await;
        sent.map_err(|_| self.closed())?;
        answer.await.unwrap_or_else(|_| Err(self.closed()))
    }

    fn closed(&self) -> Error {
        Error::Unavailable {
            path: self.path.clone(),
            detail: "it has been closed".to_owned(),
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // With the last sender gone the thread drains its queue and leaves. Waiting for it makes
        // "dropped" mean "closed"; every append has been answered already, so it is short.
        let (gone, _) = mpsc::channel(1);
        self.jobs = gone;
        if let Some(thread) = lock(&self.thread).take() {
            // A panic there has been reported by the panic hook.
            let _ = thread.join();
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Boundary {
    Transaction,
    None,
}

/// Work whose result type the thread need not know.
trait Job: Send {
    fn boundary(&self) -> Boundary;
    fn run(&mut self, db: &Db) -> Sql<()>;
    fn finish(self: Box<Self>, committed: Result<()>);
}

struct Task<T, F> {
    work: F,
    boundary: Boundary,
    outcome: Option<T>,
    reply: oneshot::Sender<Result<T>>,
}

impl<T: Send, F: FnMut(&Db) -> Sql<T> + Send> Job for Task<T, F> {
    fn boundary(&self) -> Boundary {
        self.boundary
    }

    fn run(&mut self, db: &Db) -> Sql<()> {
        self.outcome = Some((self.work)(db)?);
        Ok(())
    }

    fn finish(self: Box<Self>, committed: Result<()>) {
        let answer = match (committed, self.outcome) {
            (Ok(()), Some(value)) => Ok(value),
            (Err(error), _) => Err(error),
            // A job that succeeded has a value; without one there is nothing to say.
            (Ok(()), None) => return,
        };
        // Whoever asked may have been cancelled; the write stands all the same.
        let _ = self.reply.send(answer);
    }
}

struct Worker {
    db: Db,
    path: PathBuf,
    latch: Latch,
    writes: u32,
    checkpoints: Checkpoints,
    merging: Merging,
}

impl Worker {
    fn new(db: Db, path: PathBuf, latch: Latch) -> Self {
        let checkpoints = Checkpoints::new(&path);
        Self {
            db,
            path,
            latch,
            writes: 0,
            checkpoints,
            merging: Merging::default(),
        }
    }

    fn run(mut self, mut queue: mpsc::Receiver<Command>) {
        while let Some(command) = queue.blocking_recv() {
            match command {
                Command::Run(job) => self.handle(job),
                Command::Close => queue.close(),
            }
        }
        self.checkpoints.stop();
        // Closing the last connection empties and removes the log; if others still use the file, a
        // passive checkpoint is all that may be done.
        checkpoint(&self.db.conn);
    }

    fn handle(&mut self, mut job: Box<dyn Job>) {
        let stopped = lock(&self.latch).clone();
        let result = match stopped {
            Some(reason) => Err(reason),
            None => self
                .attempt_and_mend(job.as_mut())
                .map_err(|f| f.at(&self.path)),
        };
        if let Err(error) = &result
            && error.ends_writing()
            && job.boundary() == Boundary::Transaction
        {
            warn!("{error}; nothing more will be saved until Hermes is started again");
            lock(&self.latch).get_or_insert_with(|| error.clone());
        }
        let committed = result.is_ok();
        job.finish(result);
        if committed {
            self.merging.after_write(&self.db.conn);
            self.writes += 1;
            if self.writes.is_multiple_of(CHECKPOINT_EVERY) {
                self.checkpoints.request();
            }
        }
    }

    /// A damaged search index must not cost a conversation: it only repeats what `messages` holds,
    /// so it is built again, once, and the job gets its second chance.
    fn attempt_and_mend(&self, job: &mut dyn Job) -> Sql<()> {
        match self.attempt(job) {
            Err(fault) if fault.is_search_damage() && first_time("search index", &self.path) => {
                warn!(
                    "{}: {fault}; rebuilding the search index",
                    self.path.display()
                );
                in_transaction(&self.db.conn, || schema::rebuild_search(&self.db.conn))?;
                self.attempt(job)
            }
            other => other,
        }
    }

    fn attempt(&self, job: &mut dyn Job) -> Sql<()> {
        match job.boundary() {
            Boundary::Transaction => in_transaction(&self.db.conn, || job.run(&self.db)),
            Boundary::None => job.run(&self.db),
        }
    }
}

/// The write lock is taken at the start, so contention shows there and not in the middle.
pub(crate) fn in_transaction<T>(conn: &Connection, work: impl FnOnce() -> Sql<T>) -> Sql<T> {
    let execute = |sql: &str| retry_busy(|| conn.execute_batch(sql).map_err(Fault::from));
    execute("BEGIN IMMEDIATE")?;
    let result = work().and_then(|value| execute("COMMIT").map(|()| value));
    if result.is_err() && !conn.is_autocommit() {
        // The error that brought us here is the one to report.
        let _ = conn.execute_batch("ROLLBACK");
    }
    result
}

fn open(path: &Path, options: &OpenOptions) -> Sql<Db> {
    let conn = open_writer(path, options)?;
    let shape = Arc::new(Shape::read(&conn)?);
    Ok(Db { conn, shape })
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
