//! Pastes: cleaned, and one piece each when they are long, with a copy on disk.
//!
//! What is sent comes from memory; the copy is for the model, which can be told to read it again, and for
//! entries of the history.

use std::fs;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};

use hermes_home::{Home, Modes, clock, replace_cache};

use super::Editor;
use super::buffer::clean;
use super::token::Paste;

/// What a copy may hold to be taken back into the input.
const LARGEST: u64 = 64 << 20;

/// What follows an escape character for longer than this is text.
const LONGEST_REPORT: usize = 32;

/// When a paste is too long to be shown; 0 is never.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// `paste_collapse_threshold`: this many line breaks.
    pub newlines: usize,
    /// `paste_collapse_char_threshold`: more characters than this.
    pub chars: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            newlines: 5,
            chars: 2000,
        }
    }
}

/// Whether a token stands alone in its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line {
    Own,
    Same,
}

/// How a paste went in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pasted {
    /// Nothing was in it. Terminals send that when the clipboard holds an image.
    Empty,
    /// It stands in the input as it is, or as a token.
    Inserted,
    /// The same, but there is no copy of it on disk, for this reason.
    Unsaved(String),
}

/// A paste in the input whose text is nowhere any more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{label} cannot be sent: {reason}. Delete it from the input, or paste it again")]
pub struct Gone {
    pub label: String,
    pub reason: String,
}

/// Where pastes go, and how many there were.
#[derive(Debug)]
pub struct Pastes {
    dir: PathBuf,
    modes: Modes,
    limits: Limits,
    count: usize,
}

impl Pastes {
    pub fn new(home: &Home, limits: Limits) -> Self {
        Self {
            dir: home.dir().join("pastes"),
            modes: home.modes().clone(),
            limits,
            count: 0,
        }
    }

    /// Puts pasted text at the cursor; a token gets a line of its own.
    pub fn insert(&mut self, pasted: &str, editor: &mut Editor) -> Pasted {
        self.put(pasted, editor, Line::Own)
    }

    /// The same for what looks like a paste: it may be the middle of one, where no line break belongs.
    pub fn insert_guessed(&mut self, pasted: &str, editor: &mut Editor) -> Pasted {
        self.put(pasted, editor, Line::Same)
    }

    fn put(&mut self, pasted: &str, editor: &mut Editor, line: Line) -> Pasted {
        let text = normal(pasted);
        if text.is_empty() {
            return Pasted::Empty;
        }
        if !editor.takes_tokens() || !self.is_long(&text) {
            editor.insert(&text);
            return Pasted::Inserted;
        }
        let text = self.unfolded(text);
        self.count += 1;
        let saved = self.save(&text);
        let paste = Paste::new(self.count, text);
        match saved {
            Ok(file) => {
                editor.insert_paste(paste.saved(file), line);
                Pasted::Inserted
            }
            Err(error) => {
                editor.insert_paste(paste, line);
                Pasted::Unsaved(error.to_string())
            }
        }
    }

    /// Makes tokens again of those that stand in the input as text, as entries of the history have them.
    /// To be called before the editor is emptied: what cannot be found must not be sent.
    pub fn revive(&self, editor: &mut Editor) -> Result<(), Gone> {
        let raw = editor.raw().to_owned();
        // From the end, so that the places of those before stay right.
        for label in labels(&raw).into_iter().rev() {
            let Some(file) = self.copy_of(label.file(&raw)) else {
                continue;
            };
            let content = read(&file).map_err(|reason| Gone {
                label: raw[label.whole.clone()].to_owned(),
                reason,
            })?;
            let paste = Paste::new(label.number, content).saved(file);
            editor.replace_with_paste(label.whole, paste);
        }
        Ok(())
    }

    fn is_long(&self, text: &str) -> bool {
        let Limits { newlines, chars } = self.limits;
        let lines = newlines > 0 && text.matches('\n').count() >= newlines;
        lines || (chars > 0 && text.chars().nth(chars).is_some())
    }

    fn save(&self, text: &str) -> hermes_home::Result<PathBuf> {
        fs::create_dir_all(&self.dir).map_err(hermes_home::Error::io("create", &self.dir))?;
        let time = clock::now().strftime("%H%M%S").to_string();
        let mut file = self.dir.join(format!("paste_{}_{time}.txt", self.count));
        // Two processes that paste in the same second.
        if file.exists() {
            let name = format!("paste_{}_{time}_{}.txt", self.count, std::process::id());
            file = self.dir.join(name);
        }
        replace_cache(&file, text, &self.modes)?;
        Ok(file)
    }

    /// A paste can hold tokens as text, copied from an input. Those that can be found become their text.
    fn unfolded(&self, text: String) -> String {
        let mut whole = text;
        for label in labels(&whole).into_iter().rev() {
            let content = self
                .copy_of(label.file(&whole))
                .and_then(|file| read(&file).ok());
            if let Some(content) = content {
                whole.replace_range(label.whole, &content);
            }
        }
        whole
    }

    /// The file a label means, if it is one of ours.
    fn copy_of(&self, place: &str) -> Option<PathBuf> {
        let place = Path::new(place);
        let name = place.file_name()?;
        let ours = place.parent() == Some(&self.dir) || place.parent() == Some(Path::new(""));
        let named = name.to_str()?.starts_with("paste_");
        (ours && named).then(|| self.dir.join(name))
    }
}

/// A token written out: `[Pasted text #1: 7 lines → file]`.
struct Label {
    whole: Range<usize>,
    place: Range<usize>,
    number: usize,
}

impl Label {
    fn file<'t>(&self, text: &'t str) -> &'t str {
        &text[self.place.clone()]
    }
}

fn labels(text: &str) -> Vec<Label> {
    const OPEN: &str = "[Pasted text #";
    let starts = text.match_indices(OPEN);
    starts
        .filter_map(|(start, _)| {
            let inside = start + OPEN.len();
            let end = inside + text[inside..].find([']', '\n'])?;
            if !text[end..].starts_with(']') {
                return None;
            }
            let (number, rest) = text[inside..end].split_once(": ")?;
            let (lines, place) = rest.split_once(" → ")?;
            let counted = lines.trim_end_matches(['s']).strip_suffix(" line")?;
            counted.parse::<usize>().ok()?;
            Some(Label {
                whole: start..end + 1,
                place: end - place.len()..end,
                number: number.parse().ok()?,
            })
        })
        .collect()
}

fn read(file: &Path) -> Result<String, String> {
    let mut bytes = Vec::new();
    let opened = fs::File::open(file).map_err(|error| error.to_string())?;
    let mut bounded = opened.take(LARGEST + 1);
    bounded
        .read_to_end(&mut bytes)
        .map_err(|error| error.to_string())?;
    if bytes.len() as u64 > LARGEST {
        return Err("its copy is too large".to_owned());
    }
    Ok(clean(&String::from_utf8_lossy(&bytes)))
}

/// Pasted text without what terminals left in it: the marks around a paste, reports of the mouse and of the
/// cursor, and other control characters.
pub fn normal(pasted: &str) -> String {
    let mut kept = String::with_capacity(pasted.len());
    let mut rest = pasted;
    // Some programs in between take the escape character and leave the rest.
    rest = rest.strip_prefix("[200~").unwrap_or(rest);
    rest = rest.strip_suffix("[201~").unwrap_or(rest);
    while let Some(at) = rest.find('\x1b') {
        kept.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        rest = &rest[sequence(rest)..];
    }
    kept.push_str(rest);
    clean(&kept)
}

/// How long the sequence is that goes on here after its escape character.
fn sequence(text: &str) -> usize {
    let Some(body) = text.strip_prefix('[') else {
        return 0;
    };
    // The old mouse report: three bytes of any kind.
    if let Some(report) = body.strip_prefix('M') {
        return 2 + report.chars().take(3).map(char::len_utf8).sum::<usize>();
    }
    let parameters = body
        .find(|c: char| !matches!(c, '\x20'..='\x3f'))
        .unwrap_or(body.len());
    if parameters > LONGEST_REPORT {
        return 1;
    }
    let finished = body[parameters..].starts_with(|c: char| matches!(c, '\x40'..='\x7e'));
    1 + parameters + usize::from(finished)
}
