//! What was learned, when, by whom and from which conversation: an append-only list beside the files themselves.
//!
//! `learning/journal.jsonl` has a line for every change of a notes file or a skill, with what it was before and
//! after; the contents lie in `learning/blobs`, named by their hash. Whoever changes something has the
//! journal look at it before and after: what it finds before was done by somebody else. Losing the journal loses
//! history, never memory.

mod blobs;
mod diff;
mod tree;
mod undo;
mod watch;
mod words;

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hermes_home::{FileLock, Home, Modes};
use hermes_types::SessionId;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::manage::disk;
use crate::memory::Target;
use crate::{Error, Result};
use blobs::Blobs;
pub use tree::Tree;
pub use undo::{Undo, Undone};
pub use words::{NOTHING, Wanted};

/// How long to wait for another process that is writing.
const PATIENCE: Duration = Duration::from_secs(5);

/// Bytes of the journal that are read: about a hundred thousand changes. What is older is history nobody goes back to.
const LONGEST: u64 = 32 << 20;

/// What can be learned.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "what", content = "name")]
pub enum Subject {
    Memory(Target),
    /// Its folder below `skills`.
    Skill(String),
}

/// Who changes something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// The agent while it talked with its owner.
    Agent,
    /// The agent afterwards, by itself.
    Review,
    Curator,
    /// The owner through a command of ours.
    Owner,
    /// Somebody else: an editor, another program.
    Outside,
}

/// Who, and in which conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Author {
    pub by: By,
    pub session: Option<SessionId>,
}

impl Author {
    pub const fn of(by: By) -> Self {
        Self { by, session: None }
    }

    #[must_use]
    pub fn in_session(&self, session: &SessionId) -> Self {
        Self {
            by: self.by,
            session: Some(session.clone()),
        }
    }
}

/// One line of the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    pub number: u64,
    pub at: Timestamp,
    #[serde(flatten)]
    pub subject: Subject,
    pub by: By,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The tree before; `None`: there was nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// The entry this one took back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undoes: Option<u64>,
}

#[derive(Clone, Debug)]
pub struct Journal {
    home: PathBuf,
    modes: Modes,
    blobs: Blobs,
}

impl Journal {
    pub fn new(home: &Home) -> Self {
        let dir = home.dir().join("learning");
        Self {
            home: home.dir().to_owned(),
            modes: home.modes().clone(),
            blobs: Blobs::new(dir.join("blobs"), home.modes().clone()),
        }
    }

    /// Looks at a subject off the async threads, and notes it if it is not what it was. Nothing that is
    /// learned fails because it cannot be noted.
    pub async fn look(self: &Arc<Self>, subject: Subject, author: Author) {
        let own = self.clone();
        let kept = tokio::task::spawn_blocking(move || own.keep(&subject, &author)).await;
        match kept {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::warn!("what was learned could not be noted: {error}"),
            Err(error) => tracing::warn!("what was learned could not be noted: {error}"),
        }
    }

    /// The same for everything there is.
    pub async fn look_around(self: &Arc<Self>, author: Author) {
        let own = self.clone();
        let noted = tokio::task::spawn_blocking(move || own.keep_all(&author)).await;
        match noted {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::warn!("what was learned could not be noted: {error}"),
            Err(error) => tracing::warn!("what was learned could not be noted: {error}"),
        }
    }

    /// Notes a subject if it is not what it was; gives the line, if there is one.
    pub fn keep(&self, subject: &Subject, author: &Author) -> Result<Option<Entry>> {
        let _lock = self.lock()?;
        self.append(&self.entries()?, subject, author, None)
    }

    /// Beside a session that has just begun: notes what others did since the last one. Whoever drops it does not wait
    /// for the rest, which is found the next time.
    pub async fn catch_up(self: Arc<Self>) {
        let stop = StopOnDrop(Arc::default());
        let is_over = stop.0.clone();
        let work = move || self.keep_until(&Author::of(By::Outside), &is_over);
        match tokio::task::spawn_blocking(work).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::warn!("what others changed could not be noted: {error}"),
            Err(error) => tracing::warn!("what others changed could not be noted: {error}"),
        }
    }

    /// Notes everything that is not what it was, and gives how much that is.
    pub fn keep_all(&self, author: &Author) -> Result<usize> {
        self.keep_until(author, &AtomicBool::new(false))
    }

    fn keep_until(&self, author: &Author, is_over: &AtomicBool) -> Result<usize> {
        // Somebody was killed while a skill changed places: that is no change.
        disk::settle(&self.home.join("skills"));
        let mut subjects = self.present();
        subjects.extend(self.entries()?.into_iter().map(|entry| entry.subject));
        subjects.sort();
        subjects.dedup();
        let _lock = self.lock()?;
        let mut entries = self.entries()?;
        let before = entries.len();
        for subject in &subjects {
            if is_over.load(Ordering::Relaxed) {
                break;
            }
            match self.append(&entries, subject, author, None) {
                Ok(noted) => entries.extend(noted),
                // What cannot be read now is looked at the next time; the others are none the worse for it.
                Err(error) => tracing::warn!("{} could not be noted: {error}", subject.title()),
            }
        }
        Ok(entries.len() - before)
    }

    /// All lines that can be read, oldest first; of a journal that is very long, the newest.
    pub fn entries(&self) -> Result<Vec<Entry>> {
        let path = self.path();
        let bytes = match newest(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Error::io("read", &path, &error)),
        };
        // A line that a kill cut off is no line, and hides no other, also if it ends within a character.
        let lines = bytes.split(|byte| *byte == b'\n');
        Ok(lines
            .filter_map(|line| serde_json::from_slice(line).ok())
            .collect())
    }

    /// The files of a tree, with their contents.
    pub fn files(&self, tree: Option<&str>) -> Result<Vec<(String, Vec<u8>)>> {
        let Some(hash) = tree else {
            return Ok(Vec::new());
        };
        let tree = Tree::read(&self.blobs, hash)?;
        let files = tree.files.into_iter();
        files
            .map(|(name, hash)| Ok((name, self.blobs.get(&hash)?)))
            .collect()
    }

    fn lock(&self) -> Result<FileLock> {
        let dir = self.home.join("learning");
        fs::create_dir_all(&dir).map_err(|error| Error::io("create", &dir, &error))?;
        Ok(FileLock::within(&self.path(), PATIENCE)?)
    }

    /// Needs the lock, and the lines there are.
    fn append(
        &self,
        entries: &[Entry],
        subject: &Subject,
        author: &Author,
        undoes: Option<u64>,
    ) -> Result<Option<Entry>> {
        let last = entries.iter().rev().find(|entry| entry.subject == *subject);
        let before = last.and_then(|entry| entry.after.clone());
        let root = subject.root(&self.home);
        if matches!(subject, Subject::Memory(_)) && root.is_dir() {
            let odd = std::io::Error::from(ErrorKind::IsADirectory);
            return Err(Error::io("read", &root, &odd));
        }
        let tree = Tree::of(&root)?;
        let after = tree.map(|tree| tree.save(&self.blobs)).transpose()?;
        if before == after {
            return Ok(None);
        }
        let entry = Entry {
            number: entries.last().map_or(1, |entry| entry.number + 1),
            at: Timestamp::now(),
            subject: subject.clone(),
            by: author.by,
            session: author.session.as_ref().map(|id| id.as_str().to_owned()),
            before,
            after,
            undoes,
        };
        self.write(&entry)?;
        Ok(Some(entry))
    }

    fn write(&self, entry: &Entry) -> Result<()> {
        let path = self.path();
        let failed = |error| Error::io("write", &path, &error);
        let mut options = OpenOptions::new();
        options.create(true).append(true).read(true);
        if let Some(mode) = self.modes.secret {
            options.mode(mode);
        }
        let mut file = options.open(&path).map_err(failed)?;
        // After half a line of a process that was killed, on a line of its own.
        let torn = is_torn(&mut file).map_err(failed)?;
        let line = serde_json::to_string(entry).unwrap_or_default();
        let line = format!("{}{line}\n", if torn { "\n" } else { "" });
        file.write_all(line.as_bytes()).map_err(failed)
    }

    /// What there is now.
    fn present(&self) -> Vec<Subject> {
        let memories = Target::ALL.into_iter().map(Subject::Memory);
        let memories = memories.filter(|subject| subject.root(&self.home).exists());
        let skills = tree::skills(&self.home.join("skills")).into_iter();
        memories.chain(skills.map(Subject::Skill)).collect()
    }

    fn path(&self) -> PathBuf {
        self.home.join("learning/journal.jsonl")
    }
}

/// The end of a file, from the beginning of a line.
fn newest(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let skipped = file.metadata()?.len().saturating_sub(LONGEST);
    file.seek(SeekFrom::Start(skipped))?;
    let mut bytes = Vec::new();
    // One that is being written to does not grow while it is read.
    file.take(LONGEST).read_to_end(&mut bytes)?;
    if skipped > 0 {
        let begun = bytes.iter().position(|byte| *byte == b'\n');
        bytes.drain(..begun.map_or(bytes.len(), |at| at + 1));
    }
    Ok(bytes)
}

fn is_torn(file: &mut File) -> io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(false);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

/// Says so when nobody waits any more.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Subject {
    /// The file or folder it is.
    pub fn root(&self, home: &Path) -> PathBuf {
        match self {
            Self::Memory(target) => crate::memory::Memory::path(home, *target),
            Self::Skill(folder) => home.join("skills").join(folder),
        }
    }

    /// For people: `MEMORY.md`, `skill git-bisect`.
    pub fn title(&self) -> String {
        match self {
            Self::Memory(target) => target.file().to_owned(),
            Self::Skill(folder) => {
                let name = folder.rsplit('/').next().unwrap_or(folder);
                format!("skill {name}")
            }
        }
    }
}
