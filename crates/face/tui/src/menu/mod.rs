//! What could be meant: the list below the input, of commands, what goes with them, and files.
//!
//! The list is told of every change of the text; rows of files are looked for elsewhere and arrive later.
//! Nothing is highlighted until the owner moves to it, so Enter sends what was typed.

mod commands;
mod draw;
mod rank;
mod spot;

use std::collections::BTreeMap;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::input::{Editor, Pressed};

use rank::{Fit, Item};
use spot::{Spot, spot};

/// A row of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// What is matched and shown.
    pub label: String,
    pub about: String,
    /// What takes the place of what was typed.
    pub insert: String,
    pub kind: Kind,
    pub takes: Takes,
}

/// Where a candidate comes from, for the sign in front of its description.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    #[default]
    Plain,
    Skill,
    Quick,
}

/// Whether something must or may follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Takes {
    #[default]
    Nothing,
    Perhaps,
    Something,
}

impl Candidate {
    /// A word that goes in as it is shown.
    pub fn word(label: impl Into<String>, about: impl Into<String>) -> Self {
        let label = label.into();
        Self {
            insert: label.clone(),
            label,
            about: about.into(),
            kind: Kind::Plain,
            takes: Takes::Nothing,
        }
    }

    /// A skill, called by `/name` and perhaps some text.
    pub fn skill(name: &str, about: impl Into<String>) -> Self {
        Self {
            kind: Kind::Skill,
            takes: Takes::Perhaps,
            ..Self::word(format!("/{name}"), about)
        }
    }

    /// A command of the owner's configuration.
    pub fn quick(name: &str, about: impl Into<String>) -> Self {
        Self {
            kind: Kind::Quick,
            ..Self::word(format!("/{name}"), about)
        }
    }
}

/// What can follow a command: skins, personalities, toolsets.
pub trait Words {
    /// All that go with `command` (its name without slash, never an alias). `typed` is what stands there so
    /// far, for those who have too many to give all.
    fn arguments(&self, command: &str, typed: &str) -> Vec<Candidate>;
}

/// Files and references. Looking for them can take long: this is not called from here, but by whoever waits.
pub trait Files {
    /// What fits `typed`, an `@` word or the beginning of a path, best first.
    fn candidates(&self, typed: &str) -> Vec<Candidate>;
}

/// What the list is made from.
#[derive(Clone, Copy)]
pub struct Sources<'s> {
    /// Skills and quick commands.
    pub more: &'s [Candidate],
    pub words: &'s dyn Words,
    pub listed: &'s Listed,
}

/// What can follow commands that have a list to choose from, as far as that was asked for.
pub type Listed = BTreeMap<&'static str, Vec<Candidate>>;

/// Commands with many words to follow: models, and titles of conversations.
const LISTED: [&str; 2] = ["model", "resume"];

/// What has to be looked for elsewhere.
#[derive(Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Files, for [`Menu::arrived`].
    Files(String),
    /// What can follow this command, for [`Sources::listed`].
    List(&'static str),
}

/// The list and the row of it the owner has chosen.
#[derive(Debug, Default)]
pub struct Menu {
    open: Option<Open>,
    /// For what the files have not arrived.
    awaited: Option<Target>,
}

#[derive(Debug)]
struct Open {
    target: Target,
    items: Vec<Item>,
    selected: Option<usize>,
    /// The first row in view.
    top: usize,
}

/// What is to be replaced: this text before the cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Target {
    typed: String,
    of: Of,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    Commands,
    Arguments,
    Files,
}

impl Menu {
    /// Looks at the text anew. To be called when the editor says [`Pressed::Changed`] and when Tab comes back
    /// from everybody; not after a walk through the history, where the arrows belong to the walk.
    ///
    /// Says what it does not know and has to be looked for.
    pub fn update(&mut self, editor: &Editor, sources: Sources<'_>) -> Option<Wanted> {
        self.awaited = None;
        let before = editor.before_cursor();
        let inside = |c: char| c.is_alphanumeric() || "_-./".contains(c);
        if editor.after_cursor().starts_with(inside) {
            self.close();
            return None;
        }
        let found = match spot(before) {
            Some(Spot::Command(typed)) => {
                let items = commands::matching(typed, sources.more);
                Some((Of::Commands, typed, items))
            }
            Some(Spot::Argument { command, typed }) => {
                let name = commands::name_of(command);
                let mut words = sources.words.arguments(&name, typed);
                if let Some(command) = LISTED.into_iter().find(|listed| *listed == name) {
                    match sources.listed.get(command) {
                        Some(listed) => words.extend_from_slice(listed),
                        None => {
                            self.open = None;
                            return Some(Wanted::List(command));
                        }
                    }
                }
                let items = rank::ranked(words, typed);
                let path = spot::path(before).filter(|_| items.is_empty());
                match path {
                    Some(path) => return self.await_files(path),
                    None => Some((Of::Arguments, typed, items)),
                }
            }
            Some(Spot::File(typed)) => return self.await_files(typed),
            None => None,
        };
        self.open = found.and_then(|(of, typed, items)| Open::new(of, typed, items));
        None
    }

    /// Files that were looked for. Says whether they are still wanted.
    pub fn arrived(&mut self, typed: &str, candidates: Vec<Candidate>) -> bool {
        let wanted = |target: &mut Target| target.typed == typed;
        let Some(target) = self.awaited.take_if(wanted) else {
            return false;
        };
        let items = candidates
            .into_iter()
            .map(|candidate| rank::as_given(candidate, typed));
        self.open = Open::new(target.of, typed, items.collect());
        true
    }

    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    pub fn close(&mut self) {
        (self.open, self.awaited) = (None, None);
    }

    /// How the best candidate goes on behind what was typed.
    pub fn ghost(&self) -> Option<&str> {
        let open = self.open.as_ref()?;
        let item = open.items.get(open.selected.unwrap_or(0))?;
        let typed = match open.target.of {
            Of::Files => return None,
            Of::Commands | Of::Arguments => open.target.typed.as_str(),
        };
        let rest = item.candidate.insert.strip_prefix(typed)?;
        (!typed.trim_start_matches('/').is_empty() && !rest.is_empty()).then_some(rest)
    }

    /// The keys of an open list; without one only Tab, for the ghost text. Others come back.
    pub fn key(&mut self, key: KeyEvent, editor: &mut Editor) -> Pressed {
        if key.kind == KeyEventKind::Release {
            return Pressed::Nothing;
        }
        let control = key.modifiers == KeyModifiers::CONTROL;
        let plain = key.modifiers.is_empty();
        let Some(open) = &mut self.open else {
            if key.code == KeyCode::Esc {
                // What has not arrived is not wanted any more.
                self.awaited = None;
            }
            let taken = (key.code == KeyCode::Tab && plain).then(|| editor.accept_ghost());
            return taken
                .filter(|taken| *taken == Pressed::Changed)
                .unwrap_or(Pressed::Ignored(key));
        };
        match key.code {
            KeyCode::Down if plain => open.next(),
            KeyCode::Up if plain => open.previous(),
            KeyCode::Char('n') if control => open.next(),
            KeyCode::Char('p') if control => open.previous(),
            KeyCode::BackTab => open.previous(),
            KeyCode::Tab if plain => return self.accept(editor),
            KeyCode::Enter if plain && open.selected.is_some() => return self.run(editor),
            KeyCode::Esc => self.close(),
            _ => return Pressed::Ignored(key),
        }
        Pressed::Moved
    }

    /// Puts the chosen candidate, or else the first one, into the text.
    fn accept(&mut self, editor: &mut Editor) -> Pressed {
        let Some(open) = self.open.take() else {
            return Pressed::Nothing;
        };
        let Some(item) = open.items.get(open.selected.unwrap_or(0)) else {
            return Pressed::Nothing;
        };
        let insert = &item.candidate.insert;
        let unfinished = insert.ends_with(['/', ':']);
        let blank = match (open.target.of, item.candidate.takes) {
            (Of::Files, _) if !unfinished => " ",
            (_, Takes::Perhaps | Takes::Something) => " ",
            _ => "",
        };
        editor.complete(open.target.typed.len(), &format!("{insert}{blank}"));
        Pressed::Changed
    }

    /// Enter on a row: a command that needs nothing more is to be run.
    fn run(&mut self, editor: &mut Editor) -> Pressed {
        let chosen = self.open.as_ref().and_then(|open| {
            let item = open.items.get(open.selected?)?;
            let ready = open.target.of != Of::Files && item.candidate.takes != Takes::Something;
            ready.then(|| (open.target.typed.len(), item.candidate.insert.clone()))
        });
        match chosen {
            None => self.accept(editor),
            Some((bytes, insert)) => {
                self.close();
                editor.complete(bytes, &insert);
                Pressed::Run
            }
        }
    }

    /// What is shown stays until the new files are there, so that the list does not flicker.
    fn await_files(&mut self, typed: &str) -> Option<Wanted> {
        let target = Target {
            typed: typed.to_owned(),
            of: Of::Files,
        };
        match &mut self.open {
            Some(open) if open.target.of == Of::Files => {
                open.target = target.clone();
                open.selected = None;
            }
            _ => self.open = None,
        }
        self.awaited = Some(target);
        Some(Wanted::Files(typed.to_owned()))
    }
}

impl Open {
    /// Nothing, if there is nothing to choose.
    fn new(of: Of, typed: &str, items: Vec<Item>) -> Option<Self> {
        let done = match items.as_slice() {
            [] => true,
            [only] => only.fit == Fit::Exact,
            _ => false,
        };
        let target = Target {
            typed: typed.to_owned(),
            of,
        };
        (!done).then_some(Self {
            target,
            items,
            selected: None,
            top: 0,
        })
    }

    /// The next row; after the last comes the first.
    fn next(&mut self) {
        let next = self.selected.map_or(0, |at| at + 1);
        self.selected = Some(next % self.items.len().max(1));
    }

    fn previous(&mut self) {
        let at = self.selected.filter(|at| *at > 0);
        self.selected = Some(at.unwrap_or(self.items.len()).saturating_sub(1));
    }
}

impl std::fmt::Debug for Sources<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sources")
            .field("more", &self.more.len())
            .finish_non_exhaustive()
    }
}
