//! Reading a command line the way a shell would: which programs it starts, with which words.
//!
//! Not a shell: it follows everything that could *run*, takes both ways of every branch, and resolves only what
//! is written in the text itself. What it cannot resolve stays as written. One pass over the text; only what is
//! text inside text (backticks, documents) is read once more for each level, and levels are counted.

mod document;
mod list;
mod parameter;
mod word;
mod words;

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use document::Pending;
use list::Frame;
pub(crate) use words::{MARKS, assignment, printed};

/// Substitutions inside substitutions.
const MAX_DEPTH: usize = 16;
/// All that comes out of variables and braces, in bytes.
const MAX_EXPANDED: usize = 1 << 18;
/// How much of a text that could not be resolved is kept in its word.
const MAX_KEPT: usize = 256;

/// Everything a text would run, also inside substitutions.
#[derive(Debug, Default)]
pub(crate) struct Script {
    pub pipelines: Vec<Vec<Simple>>,
    /// Names of functions the text defines.
    pub functions: HashSet<String>,
    /// Texts that programs are given to read.
    pub documents: Vec<String>,
    /// What is known of variables at its end.
    pub vars: HashMap<String, String>,
    /// A quote or a parenthesis was never closed.
    pub malformed: bool,
    /// Nested too deeply, or it grows beyond all measure: not all of it was followed.
    pub cut: bool,
    /// Characters looked at, also those that came out of variables.
    pub steps: usize,
    /// Bytes that came out of variables and braces.
    pub expanded: usize,
}

/// One program with its words: quotes, escapes and what is known of variables resolved.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Simple {
    pub words: Vec<String>,
    /// `>` or `<` and the like, with what comes after.
    pub redirects: Vec<(&'static str, String)>,
    /// What it is given to read, written in the command line itself: which of the script's documents.
    pub documents: Vec<usize>,
    /// What runs to make its words.
    pub substitutions: Vec<Substitution>,
    /// What stands behind it: `|`, `&`, `;`, …
    pub joint: &'static str,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Substitution {
    pub how: How,
    /// Which of the script's pipelines it is made of.
    pub pipelines: Range<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// `$(…)`
    Dollar,
    Backticks,
    /// `<(…)` and `>(…)`
    Process,
}

pub(crate) fn parse(text: &str, known: Vec<(String, String)>) -> Script {
    parse_after(text, known, 0)
}

/// As [`parse`], where so much has come out of variables already.
pub(crate) fn parse_after(text: &str, known: Vec<(String, String)>, expanded: usize) -> Script {
    let chars: Vec<char> = text.chars().collect();
    let mut script = Script {
        expanded,
        ..Script::default()
    };
    script.vars.extend(known);
    Reader::new(&chars, 0, &mut script).run();
    script
}

impl Script {
    pub fn commands(&self) -> impl Iterator<Item = &Simple> {
        self.pipelines.iter().flatten()
    }

    /// Texts one of its commands reads.
    pub fn documents_of<'s>(
        &'s self,
        simple: &'s Simple,
    ) -> impl Iterator<Item = &'s String> + Clone {
        simple.documents.iter().map(|at| &self.documents[*at])
    }
}

struct Reader<'t, 's> {
    text: &'t [char],
    pos: usize,
    depth: usize,
    /// What all levels of reading add to.
    script: &'s mut Script,
    /// Documents that begin with the next line.
    pending: Vec<Pending>,
    frame: Frame,
}

impl<'t, 's> Reader<'t, 's> {
    fn new(text: &'t [char], depth: usize, script: &'s mut Script) -> Self {
        Self {
            text,
            pos: 0,
            depth,
            script,
            pending: Vec::new(),
            frame: Frame::default(),
        }
    }

    /// The whole text as commands.
    fn run(mut self) -> Range<usize> {
        self.list(list::End::Text).0
    }

    /// A text of its own inside this one, such as what stands in backticks.
    fn inside(&mut self, text: &[char], read: impl FnOnce(Reader<'_, '_>)) -> Range<usize> {
        let start = self.script.pipelines.len();
        if self.depth < MAX_DEPTH {
            read(Reader::new(text, self.depth + 1, self.script));
        } else {
            self.script.cut = true;
        }
        start..self.script.pipelines.len()
    }

    /// The next character, lines that are only broken for the eye joined.
    fn peek(&mut self) -> Option<char> {
        while self.text.get(self.pos) == Some(&'\\') && self.text.get(self.pos + 1) == Some(&'\n') {
            self.pos += 2;
        }
        self.text.get(self.pos).copied()
    }

    fn take(&mut self) -> Option<char> {
        self.peek()?;
        self.take_raw()
    }

    /// As it stands, for places where a backslash is a backslash.
    fn take_raw(&mut self) -> Option<char> {
        let c = self.text.get(self.pos).copied()?;
        self.pos += 1;
        self.script.steps += 1;
        Some(c)
    }

    fn take_if(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        self.pos += usize::from(found);
        found
    }

    fn written(&self, from: usize) -> String {
        let end = self.pos.min(self.text.len());
        self.text[from.min(end)..end].iter().collect()
    }

    /// What could not be resolved stays as written; of a long one, only what kind it is.
    fn keep_as_written(&mut self, from: usize, kind: &str) {
        if self.pos - from > MAX_KEPT {
            self.word().push_str(kind);
        } else {
            let written = self.written(from);
            self.word().push_str(&written);
        }
    }

    fn malformed(&mut self) {
        self.script.malformed = true;
    }

    /// Whether so much more may still come out of variables and braces.
    fn grows_by(&mut self, bytes: usize) -> bool {
        let script = &mut *self.script;
        let fits = script.expanded + bytes <= MAX_EXPANDED;
        if fits {
            script.expanded += bytes;
            script.steps += bytes;
        }
        script.cut |= !fits;
        fits
    }
}
