//! Pieces of the input that are one thing each: a long paste, an image.
//!
//! In the text a token is one character of a range nobody has signs for; what it stands for is kept beside.

use std::path::PathBuf;
use std::sync::Arc;

/// The first of the characters that stand for tokens, at the end of the last private plane: icon fonts
/// use the beginnings.
const FIRST: u32 = 0x10_f000;
const COUNT: u32 = 0xff0;

/// A picture somebody put into the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// What its badge says, counted from 1.
    pub number: usize,
    pub path: PathBuf,
}

impl Image {
    /// What stands for it in the text that is sent.
    pub fn label(&self) -> String {
        format!("[Image #{}]", self.number)
    }
}

/// What a token stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    Paste(Paste),
    Image(Image),
}

/// A paste too long to be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paste {
    number: usize,
    lines: usize,
    pub content: Arc<str>,
    file: Option<PathBuf>,
}

impl Token {
    /// What stands in the input.
    pub fn shown(&self) -> String {
        match self {
            Self::Paste(paste) => {
                let name = paste.file.as_ref().and_then(|file| file.file_name());
                paste.label(&name.unwrap_or_default().to_string_lossy())
            }
            Self::Image(image) => format!("[📎 Image #{}]", image.number),
        }
    }

    /// What is sent.
    pub fn text(&self) -> String {
        match self {
            Self::Paste(paste) => paste.content.to_string(),
            Self::Image(image) => image.label(),
        }
    }

    /// What the history keeps: where the paste lies, or all of it if it lies nowhere.
    pub fn record(&self) -> String {
        match self {
            Self::Paste(Paste { file: None, .. }) | Self::Image(_) => self.text(),
            Self::Paste(paste) => {
                let file = paste.file.as_deref().unwrap_or("".as_ref());
                paste.label(&file.to_string_lossy())
            }
        }
    }
}

impl Paste {
    /// A paste of which there is no copy.
    pub fn new(number: usize, content: String) -> Self {
        Self {
            number,
            lines: content.lines().count(),
            content: content.into(),
            file: None,
        }
    }

    pub fn saved(self, file: PathBuf) -> Self {
        Self {
            file: Some(file),
            ..self
        }
    }

    fn label(&self, place: &str) -> String {
        let lines = self.lines;
        let unit = if lines == 1 { "line" } else { "lines" };
        let arrow = if place.is_empty() { "" } else { " → " };
        format!(
            "[Pasted text #{}: {lines} {unit}{arrow}{place}]",
            self.number
        )
    }
}

/// The tokens of one editor.
#[derive(Clone, Debug, Default)]
pub struct Tokens(Vec<Token>);

impl Tokens {
    /// Keeps a token and says which character stands for it; nothing if there are too many.
    pub fn add(&mut self, token: Token) -> Option<char> {
        let index = u32::try_from(self.0.len()).ok()?;
        if index >= COUNT {
            return None;
        }
        self.0.push(token);
        Some(mark(index))
    }

    pub fn get(&self, c: char) -> Option<&Token> {
        let index = u32::from(c).checked_sub(FIRST)?;
        self.0.get(usize::try_from(index).ok()?)
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// `text` with every token said by `say`.
    pub fn expand(&self, text: &str, say: impl Fn(&Token) -> String) -> String {
        let mut whole = String::with_capacity(text.len());
        for c in text.chars() {
            match self.get(c) {
                Some(token) => whole.push_str(&say(token)),
                None => whole.push(c),
            }
        }
        whole
    }
}

/// The character that stands for the token of this index.
pub fn mark(index: u32) -> char {
    char::from_u32(FIRST + index).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// Whether a character stands for a token.
pub fn is_mark(c: char) -> bool {
    (FIRST..FIRST + COUNT).contains(&u32::from(c))
}
