//! A result too long for the conversation goes into a file, and a preview takes its place.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use hermes_types::Workspace;

/// How much of a result stays in the conversation.
pub const PREVIEW_CHARS: usize = 1500;

/// Marks a result that has been put away already.
const OPEN: &str = "<persisted-output>";
const CLOSE: &str = "</persisted-output>";

const MAX_NAME: usize = 120;

/// Puts long results where `read_file` finds them.
#[derive(Clone, Debug)]
pub struct Spill {
    dir: PathBuf,
}

impl Spill {
    /// Below `tmp`, the temporary directory of the workspace the files will be written to.
    pub fn new(tmp: &Path) -> Self {
        Self {
            dir: tmp.join("hermes-results"),
        }
    }

    /// What stands in the conversation for `text`, the result of call `id`.
    pub async fn put(&self, workspace: &dyn Workspace, id: &str, text: &str) -> String {
        let path = self.dir.join(file_name(id));
        match workspace.write(&path, text.as_bytes()).await {
            Ok(()) => block(text, &path),
            Err(error) => {
                tracing::warn!("a long tool result was not saved: {error}");
                cut(text)
            }
        }
    }

    /// Whether a result is already a stand-in.
    pub fn is_stand_in(text: &str) -> bool {
        text.starts_with(OPEN)
    }
}

fn block(text: &str, path: &Path) -> String {
    let (shown, more) = preview(text);
    format!(
        "{OPEN}\nThis result was too long for the conversation: {} characters ({}).\n\
         All of it is in {}\n\
         read_file with offset and limit shows any part of it.\n\n\
         The first {} characters:\n{shown}{more}\n{CLOSE}",
        grouped(text.chars().count()),
        size(text.len()),
        path.display(),
        shown.chars().count(),
    )
}

fn cut(text: &str) -> String {
    let (shown, more) = preview(text);
    format!(
        "{shown}{more}\n\n[Truncated to {} of {} characters; the rest could not be saved.]",
        shown.chars().count(),
        grouped(text.chars().count())
    )
}

/// The beginning, ending with a whole line if that keeps at least half of it; and what says there is more.
fn preview(text: &str) -> (&str, &'static str) {
    let Some((end, _)) = text.char_indices().nth(PREVIEW_CHARS) else {
        return (text, "");
    };
    let shown = &text[..end];
    let cut = shown
        .rfind('\n')
        .filter(|at| shown[..*at].chars().count() > PREVIEW_CHARS / 2);
    (cut.map_or(shown, |at| &shown[..=at]), "\n...")
}

/// A safe name from an id the model's provider made up; different ids get different names.
fn file_name(id: &str) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    let stem: String = id
        .chars()
        .map(|c| if safe(c) { c } else { '_' })
        .take(MAX_NAME)
        .collect();
    let stem = stem.trim_matches(|c: char| "._-".contains(c));
    if stem == id && !stem.is_empty() {
        return format!("{stem}.txt");
    }
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    let stem = if stem.is_empty() { "result" } else { stem };
    format!("{stem}_{:012x}.txt", hasher.finish() & 0xffff_ffff_ffff)
}

fn size(bytes: usize) -> String {
    let kilo = bytes as f64 / 1024.0;
    if kilo < 1024.0 {
        format!("{kilo:.1} KB")
    } else {
        format!("{:.1} MB", kilo / 1024.0)
    }
}

/// `1234567` as `1,234,567`.
pub(super) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_become_file_names() {
        let check = |id: &str, expected: &str| assert_eq!(file_name(id), expected);
        check("call_1", "call_1.txt");
        check("toolu_01A.b-c", "toolu_01A.b-c.txt");
        for odd in [
            "../../etc/passwd",
            "a b; rm -rf /",
            "",
            "…",
            ".hidden",
            "x/y",
        ] {
            let name = file_name(odd);
            assert!(!name.starts_with('.') && !name.contains('/'), "{name}");
            assert_ne!(name, file_name(&format!("{odd}'")));
        }
        assert!(file_name(&"x".repeat(500)).len() < 150);
    }

    #[test]
    fn a_preview_ends_with_a_line_if_it_can() {
        let line = "ä".repeat(99) + "\n";
        let check = |text: &str, chars: usize, more: &str| {
            let (shown, rest) = preview(text);
            assert_eq!((shown.chars().count(), rest), (chars, more));
        };
        check("short", 5, "");
        check(&"x".repeat(1500), 1500, "");
        check(&"x".repeat(1501), 1500, "\n...");
        check(&line.repeat(16), 1500, "\n...");
        check(&("a".repeat(760) + "\n" + &"b".repeat(2000)), 761, "\n...");
        check(&("a".repeat(700) + "\n" + &"b".repeat(2000)), 1500, "\n...");
    }

    #[test]
    fn sizes() {
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(grouped(999), "999");
        assert_eq!(size(150_000), "146.5 KB");
        assert_eq!(size(3 << 20), "3.0 MB");
    }
}
