//! What was typed before, newest last: walking through it, searching it, and how a line once went on.

mod file;
mod search;

use std::collections::BTreeMap;
use std::path::PathBuf;

use hermes_home::redact::Redactor;
use hermes_home::{Home, Modes};

use super::{Editor, Stash};

pub use search::{Search, Searched};

/// How many entries are kept in mind.
const MOST: usize = 10_000;
/// Longer ones are not kept at all.
const LONGEST: usize = 256 << 10;

/// The entries of `<home>/.hermes_history`, and where in them the owner is.
#[derive(Debug)]
pub struct History {
    path: PathBuf,
    modes: Modes,
    entries: Vec<String>,
    /// Which entry stands in the editor; `entries.len()` is what is being typed.
    at: usize,
    /// What was typed at places the owner has left, and not sent.
    left: BTreeMap<usize, Stash>,
}

impl History {
    /// Reads the newest entries. A file that cannot be read is an empty history.
    pub fn open(home: &Home) -> Self {
        let path = home.dir().join(".hermes_history");
        let entries = file::read(&path, MOST).unwrap_or_else(|error| {
            tracing::warn!(path = %path.display(), %error, "the input history cannot be read");
            Vec::new()
        });
        Self {
            at: entries.len(),
            path,
            modes: home.modes().clone(),
            entries,
            left: BTreeMap::new(),
        }
    }

    /// Remembers what was sent, and begins anew at the end. A secret is remembered until Hermes ends, but
    /// not written down.
    pub fn add(&mut self, entry: &str) -> hermes_home::Result<()> {
        self.left.clear();
        let entry = entry.trim_end();
        let repeated = self.entries.last().is_some_and(|last| last == entry);
        let wanted = !entry.trim().is_empty() && entry.len() <= LONGEST && !repeated;
        if wanted {
            self.entries.push(entry.to_owned());
            let surplus = self.entries.len().saturating_sub(MOST);
            self.entries.drain(..surplus);
        }
        self.at = self.entries.len();
        match wanted && !is_secret(entry) {
            true => file::append(&self.path, entry, &self.modes),
            false => Ok(()),
        }
    }

    /// Puts the entry before this one into the editor. What stands there is kept for the way back.
    pub fn older(&mut self, editor: &mut Editor) -> bool {
        match self.at.checked_sub(1) {
            Some(at) => self.visit(at, editor),
            None => false,
        }
    }

    /// Puts the entry after this one into the editor; after the last one stands what was being typed.
    pub fn newer(&mut self, editor: &mut Editor) -> bool {
        match self.at < self.entries.len() {
            true => self.visit(self.at + 1, editor),
            false => false,
        }
    }

    /// Leaves the walk: what stands in the editor is a text of its own now.
    pub fn rest(&mut self) {
        self.left.clear();
        self.at = self.entries.len();
    }

    /// How `typed` went on the last time it began an entry.
    pub fn suggest(&self, typed: &str) -> Option<&str> {
        if typed.trim().is_empty() || typed.contains('\n') {
            return None;
        }
        let entries = self.entries.iter().rev();
        let rests = entries.filter_map(|entry| entry.strip_prefix(typed));
        rests
            .map(|rest| rest.lines().next().unwrap_or_default())
            .find(|rest| !rest.is_empty())
    }

    /// Begins a search for what the owner types next.
    pub fn search(&self) -> Search {
        Search::new(self.entries.clone())
    }

    pub fn entries(&self) -> &[String] {
        &self.entries
    }

    fn visit(&mut self, at: usize, editor: &mut Editor) -> bool {
        let typed = editor.stash();
        let untouched = self
            .entries
            .get(self.at)
            .is_some_and(|entry| *entry == editor.shown());
        if !untouched {
            self.left.insert(self.at, typed);
        }
        self.at = at;
        match (self.left.get(&at), self.entries.get(at)) {
            (Some(stash), _) => editor.restore(stash),
            (None, Some(entry)) => editor.set(entry),
            (None, None) => editor.set(""),
        }
        true
    }
}

fn is_secret(text: &str) -> bool {
    Redactor::default().force(text) != text
}
