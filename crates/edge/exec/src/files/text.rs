//! A text file as the model sees it, with what must come back when it is written: byte order mark and line ends.

use std::borrow::Cow;

use hermes_types::{FileError, Workspace};

use super::place::Place;

/// Larger files are not edited in memory; `sed` in a terminal does that better.
const MAX_EDIT: usize = 16 * 1024 * 1024;

const BOM: &str = "\u{feff}";

/// Text without its mark and, if all line ends are `\r\n`, with plain ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TextFile {
    pub text: String,
    pub style: Style,
}

/// How a file wants to be written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Style {
    pub bom: bool,
    pub ending: Ending,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Ending {
    #[default]
    Lf,
    Crlf,
    /// Both: then nothing is translated, so that no line changes that nobody touched.
    Mixed,
}

/// What is at a path before it is changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Before {
    Missing,
    Text(TextFile),
    /// A file that cannot be edited as text, and why.
    Opaque(&'static str),
}

impl Before {
    pub async fn load(place: &Place, workspace: &dyn Workspace) -> Result<Self, FileError> {
        match workspace.read(&place.real, 0, MAX_EDIT + 1).await {
            Ok(bytes) => Ok(Self::from_bytes(bytes)),
            Err(FileError::NotFound(_)) => Ok(Self::Missing),
            Err(error) => Err(error),
        }
    }

    fn from_bytes(bytes: Vec<u8>) -> Self {
        if bytes.len() > MAX_EDIT {
            return Self::Opaque("it is larger than 16 MB");
        }
        match String::from_utf8(bytes) {
            Ok(text) => Self::Text(TextFile::decode(&text)),
            Err(_) => Self::Opaque("it is not UTF-8 text"),
        }
    }

    pub fn text(&self) -> Option<&TextFile> {
        match self {
            Self::Text(file) => Some(file),
            _ => None,
        }
    }

    pub fn style(&self) -> Style {
        self.text().map(|file| file.style).unwrap_or_default()
    }
}

impl TextFile {
    pub fn decode(raw: &str) -> Self {
        let (bom, raw) = match raw.strip_prefix(BOM) {
            Some(rest) => (true, rest),
            None => (false, raw),
        };
        let ending = Ending::of(raw);
        let text = match ending {
            Ending::Crlf => raw.replace("\r\n", "\n"),
            Ending::Lf | Ending::Mixed => raw.to_owned(),
        };
        Self {
            text,
            style: Style { bom, ending },
        }
    }
}

impl Style {
    /// The bytes of a text in this style.
    pub fn encode(self, text: &str) -> Vec<u8> {
        let bom = if self.bom && !text.starts_with(BOM) {
            BOM
        } else {
            ""
        };
        let body = match self.ending {
            Ending::Crlf => Cow::Owned(text.replace('\n', "\r\n")),
            Ending::Lf | Ending::Mixed => Cow::Borrowed(text),
        };
        [bom.as_bytes(), body.as_bytes()].concat()
    }

    /// Text somebody brings, with line ends that [`encode`](Self::encode) will turn into the file's.
    pub fn adopt(self, text: &str) -> Cow<'_, str> {
        if self.ending != Ending::Mixed && text.contains("\r\n") {
            Cow::Owned(text.replace("\r\n", "\n"))
        } else {
            Cow::Borrowed(text)
        }
    }
}

impl Ending {
    fn of(text: &str) -> Self {
        let all = text.matches('\n').count();
        match text.matches("\r\n").count() {
            0 => Self::Lf,
            both if both == all => Self::Crlf,
            _ => Self::Mixed,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn marks_and_line_ends_are_set_aside() {
        let check = |raw: &str, text: &str, bom: bool, ending: Ending| {
            let style = Style { bom, ending };
            let text = text.to_owned();
            assert_eq!(TextFile::decode(raw), TextFile { text, style });
        };
        check("", "", false, Ending::Lf);
        check("\u{feff}a\r\nb\r\n", "a\nb\n", true, Ending::Crlf);
        check("a\r\nb\n", "a\r\nb\n", false, Ending::Mixed);
        check("a\rb\n", "a\rb\n", false, Ending::Lf);
        check("a\r\r\n", "a\r\n", false, Ending::Crlf);
    }

    #[test]
    fn what_cannot_be_edited() {
        let check = |bytes: Vec<u8>, editable: bool| {
            assert_eq!(Before::from_bytes(bytes).text().is_some(), editable);
        };
        check(b"caf\xe9".to_vec(), false);
        check(vec![b'a'; MAX_EDIT], true);
        check(vec![b'a'; MAX_EDIT + 1], false);
    }

    proptest! {
        #[test]
        fn a_file_comes_back_byte_for_byte(raw in "\u{feff}?([a-c]|\r|\n|\r\n){0,40}") {
            let file = TextFile::decode(&raw);
            prop_assert_eq!(file.style.encode(&file.text), raw.into_bytes());
        }
    }
}
