//! The one owner of all background jobs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hermes_home::redact::Redactor;
use hermes_proc::{Event, Group, last_chars};
use hermes_types::SessionId;
use tokio::sync::OnceCell;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use super::job::{Job, NewJob};
use super::notice::{Happened, Notice, Notices};
use super::record::Registry;
use super::watch::Sighting;
use crate::backend::Handle;
use crate::terminal::Password;

const MAX_JOBS: usize = 64;
/// An ended job can still be asked about for this long.
const KEEP_ENDED: Duration = Duration::from_secs(30 * 60);
/// How often to look at a job that was found, not started: nobody tells us when it ends.
const LOOK: Duration = Duration::from_secs(1);
/// From asking a found job to end to killing it.
const GRACE: Duration = Duration::from_secs(2);
/// Output that goes with the notice of an end.
const NOTICE_OUTPUT: usize = 2000;

/// Background jobs of all sessions. Clones are the same table.
#[derive(Clone, Debug)]
pub struct Processes(Arc<Table>);

#[derive(Debug)]
struct Table {
    /// In the order they were started.
    jobs: Mutex<Vec<Arc<Job>>>,
    /// The tasks that follow the jobs.
    tasks: TaskTracker,
    notices: Notices,
    registry: Option<Registry>,
    /// Sessions whose jobs of earlier times were looked for.
    met: Mutex<HashMap<SessionId, Arc<OnceCell<()>>>>,
    /// Held while the file is written, so that the last state wins.
    writing: Mutex<()>,
    redactor: Redactor,
}

/// What the session wants to hear of a job without asking.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Tell {
    #[default]
    Nothing,
    /// Its end.
    End,
    /// Lines with one of these in them.
    Lines(Vec<String>),
}

/// What happens to running jobs when Hermes ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Farewell {
    /// They end too: the owner closes the terminal.
    Kill,
    /// They go on, and the next Hermes finds them: a gateway restarts.
    Leave,
}

/// A command that was started, and for whom.
pub(crate) struct NewProcess {
    pub handle: Box<dyn Handle>,
    pub command: String,
    pub cwd: std::path::PathBuf,
    pub session: SessionId,
    pub tell: Tell,
    /// The first line it reads, for its ears only.
    pub secret: Option<Password>,
}

impl Processes {
    /// Jobs are forgotten with this process.
    pub fn new(redactor: Redactor) -> Self {
        Self::build(None, redactor)
    }

    /// Jobs are written down, and a Hermes that later has their session takes them up again.
    pub fn recorded_in(registry: Registry, redactor: Redactor) -> Self {
        Self::build(Some(registry), redactor)
    }

    fn build(registry: Option<Registry>, redactor: Redactor) -> Self {
        Self(Arc::new(Table {
            jobs: Mutex::default(),
            tasks: TaskTracker::new(),
            notices: Notices::default(),
            registry,
            met: Mutex::default(),
            writing: Mutex::default(),
            redactor,
        }))
    }

    /// Takes up what an earlier Hermes left running for this session; once.
    pub(super) async fn meet(&self, session: &SessionId) {
        if self.0.registry.is_none() {
            return;
        }
        let met = self.0.met(session);
        met.get_or_init(|| self.0.clone().recover(session.clone()))
            .await;
    }

    /// Puts a command that was started into the table; its id, and its process number.
    pub(crate) async fn adopt(&self, mut new: NewProcess) -> (String, Option<u32>) {
        let (notify, patterns) = match new.tell {
            Tell::Nothing => (false, Vec::new()),
            Tell::End => (true, Vec::new()),
            Tell::Lines(patterns) => (false, patterns),
        };
        let mut input = new.handle.input();
        if let (Some(input), Some(secret)) = (&mut input, &new.secret) {
            // One line fits into any pipe, so nobody waits; a job that is gone already needs none.
            let _ = input.write(&secret.line()).await;
        }
        let job = Arc::new(Job::started(NewJob {
            command: new.command,
            cwd: new.cwd,
            session: new.session,
            pid: new.handle.pid(),
            input,
            notify,
            patterns,
            secret: new.secret,
        }));
        self.0.make_room();
        self.0.jobs().push(job.clone());
        let (table, followed) = (self.0.clone(), job.clone());
        self.0
            .tasks
            .spawn(async move { table.follow(&followed, new.handle).await });
        self.0.save().await;
        (job.id.clone(), job.pid)
    }

    pub(super) fn get(&self, id: &str) -> Option<Arc<Job>> {
        self.0.jobs().iter().find(|job| job.id == id).cloned()
    }

    pub(super) fn of(&self, session: &SessionId) -> Vec<Arc<Job>> {
        self.0.make_room();
        let jobs = self.0.jobs();
        jobs.iter()
            .filter(|job| job.session == *session)
            .cloned()
            .collect()
    }

    /// Whether as many jobs run as there may be.
    pub(crate) fn is_full(&self) -> bool {
        let jobs = self.0.jobs();
        jobs.iter().filter(|job| job.end().is_none()).count() >= MAX_JOBS
    }

    /// Whether a session has jobs that run.
    pub fn any_running(&self, session: &SessionId) -> bool {
        let jobs = self.0.jobs();
        jobs.iter()
            .any(|job| job.session == *session && job.end().is_none())
    }

    pub(super) async fn kill(&self, job: &Job) {
        {
            let mut state = job.state();
            state.killed = true;
            // Who kills it knows that it ends.
            state.end_seen = true;
        }
        job.stop.cancel();
        job.wait().await;
    }

    /// What there is to tell this session; each is told once.
    pub fn drain_notices(&self, session: &SessionId) -> Vec<Notice> {
        self.0.notices.take(session, |notice| {
            matches!(notice.what, Happened::Completed { .. })
                && self
                    .get(&notice.process)
                    .is_some_and(|job| job.state().end_seen)
        })
    }

    /// Ready as soon as there may be something to tell this session, also about jobs of earlier times.
    pub async fn noticed(&self, session: &SessionId) {
        self.meet(session).await;
        self.noticed_here(session).await;
    }

    /// The same without looking for jobs of earlier times: who takes them up has to stay.
    pub async fn noticed_here(&self, session: &SessionId) {
        self.0.notices.wait(session).await;
    }

    /// `/stop`, `/reset`: ends all jobs of a session; says how many ran.
    pub async fn stop_session(&self, session: &SessionId) -> usize {
        let running: Vec<Arc<Job>> = self
            .of(session)
            .into_iter()
            .filter(|job| job.end().is_none())
            .collect();
        futures::future::join_all(running.iter().map(|job| self.kill(job))).await;
        running.len()
    }

    /// Ends the table itself; returns when nothing of it runs any more.
    pub async fn close(&self, farewell: Farewell) {
        let jobs = self.0.jobs().clone();
        let running = jobs.iter().filter(|job| job.end().is_none());
        match farewell {
            Farewell::Kill => {
                futures::future::join_all(running.map(|job| self.kill(job))).await;
            }
            Farewell::Leave => self.0.save().await,
        }
        jobs.iter().for_each(|job| job.release.cancel());
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }
}

impl Table {
    fn met(&self, session: &SessionId) -> Arc<OnceCell<()>> {
        let mut met = self.met.lock().unwrap_or_else(PoisonError::into_inner);
        met.entry(session.clone()).or_default().clone()
    }

    async fn recover(self: Arc<Self>, session: SessionId) {
        // In one piece on its own thread: who stops waiting must not lose what was found.
        // A panic there is logged by tokio; the table works without its file.
        let _ = tokio::task::spawn_blocking(move || self.take_up(&session)).await;
    }

    fn take_up(self: Arc<Self>, session: &SessionId) {
        let Some(registry) = &self.registry else {
            return;
        };
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let known = |id: &str| self.jobs().iter().any(|job| job.id == id);
        for record in registry.claim(session, known) {
            let job = Arc::new(Job::found(record));
            self.jobs().push(job.clone());
            let table = self.clone();
            self.tasks
                .spawn(async move { table.look_after(&job).await });
        }
    }

    fn jobs(&self) -> MutexGuard<'_, Vec<Arc<Job>>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn follow(self: Arc<Self>, job: &Arc<Job>, mut handle: Box<dyn Handle>) {
        let mut stopping = false;
        let exit = loop {
            tokio::select! {
                biased;
                () = job.stop.cancelled(), if !stopping => {
                    handle.stop();
                    stopping = true;
                }
                () = job.release.cancelled(), if !stopping => return handle.release(),
                event = handle.next() => match event {
                    Event::Output(text) => self.heard(job, &text),
                    Event::Ended(exit) => break exit,
                },
            }
        };
        self.ended(job, Some(exit.number())).await;
    }

    fn heard(&self, job: &Job, text: &str) {
        let mut state = job.state();
        state.output.push(text);
        let now = Instant::now();
        let sighting = state.watch.as_mut().and_then(|watch| watch.look(text, now));
        let what = match sighting {
            None => return,
            Some(Sighting::Match {
                pattern,
                output,
                suppressed,
            }) => Happened::Matched {
                pattern,
                output: job.shown(&output, &self.redactor),
                suppressed,
            },
            Some(Sighting::GivenUp { suppressed }) => {
                state.watch = None;
                state.notify = true;
                Happened::WatchGivenUp { suppressed }
            }
        };
        drop(state);
        self.notices.push_sighting(notice(job, what), now);
    }

    /// A job that was only found: it cannot be heard, but its end can be seen.
    async fn look_after(self: Arc<Self>, job: &Arc<Job>) {
        while let Some(group) = job.found_group() {
            tokio::select! {
                biased;
                () = job.stop.cancelled() => {
                    end(group).await;
                    break;
                }
                () = job.release.cancelled() => return,
                () = tokio::time::sleep(LOOK) => {
                    if group.is_gone() {
                        break;
                    }
                }
            }
        }
        self.ended(job, None).await;
    }

    async fn ended(self: Arc<Self>, job: &Job, exit_code: Option<i32>) {
        if job.has_ended(exit_code) {
            let said = job.state().output.text().to_owned();
            let output = job.shown(&said, &self.redactor);
            let what = Happened::Completed {
                exit_code: job.end().and_then(|end| end.exit_code),
                output: last_chars(&output, NOTICE_OUTPUT).to_owned(),
            };
            self.notices.push(notice(job, what));
        }
        self.save().await;
    }

    /// Drops jobs that ended long ago, then the oldest ended ones beyond the limit.
    fn make_room(&self) {
        let mut jobs = self.jobs();
        let old = |job: &Job| job.end().is_some_and(|end| end.at.elapsed() > KEEP_ENDED);
        jobs.retain(|job| !old(job));
        while jobs.len() >= MAX_JOBS {
            let Some(oldest) = jobs.iter().position(|job| job.end().is_some()) else {
                break;
            };
            jobs.remove(oldest);
        }
    }

    async fn save(self: &Arc<Self>) {
        let table = self.clone();
        // A panic while writing is logged by tokio; the table works without its file.
        let _ = tokio::task::spawn_blocking(move || table.write()).await;
    }

    fn write(&self) {
        let Some(registry) = &self.registry else {
            return;
        };
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let running: Vec<_> = self
            .jobs()
            .iter()
            .filter(|job| job.end().is_none())
            .map(|job| job.record())
            .collect();
        registry.save(&running);
    }
}

/// Asks all members to end, and kills those that don't; returns when nobody is left, or nothing helps.
async fn end(group: Group) {
    let wait = async |limit: Duration| {
        let deadline = Instant::now() + limit;
        while !group.is_gone() && Instant::now() < deadline {
            tokio::time::sleep(LOOK / 20).await;
        }
    };
    group.terminate();
    wait(GRACE).await;
    if !group.is_gone() {
        group.kill();
        wait(LOOK).await;
    }
}

fn notice(job: &Job, what: Happened) -> Notice {
    Notice {
        session: job.session.clone(),
        process: job.id.clone(),
        command: job.command.clone(),
        what,
    }
}
