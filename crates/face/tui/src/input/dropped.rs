//! Files dragged into the terminal: it pastes their paths, quoted the way its shell wants them.

use std::path::{Path, PathBuf};

const IMAGES: &[&str] = &[
    "png", "jpg", "jpeg", "gif", "webp", "bmp", "tif", "tiff", "heic", "heif", "avif", "svg", "ico",
];

/// Blanks in a path at the beginning of a text.
const MOST_BLANKS: usize = 32;

/// A file somebody dragged in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dropped {
    Image(PathBuf),
    File(PathBuf),
}

/// What paths are read against.
#[derive(Clone, Copy)]
pub struct Ground<'g> {
    /// What `~` means.
    pub user_home: &'g Path,
    pub is_file: &'g dyn Fn(&Path) -> bool,
}

/// The files a paste consists of; none if anything else is in it.
pub fn dropped(pasted: &str, ground: Ground<'_>) -> Vec<Dropped> {
    let line = pasted.trim();
    if line.is_empty() || line.len() > 32 << 10 || line.contains('\n') {
        return Vec::new();
    }
    let as_one = located(line, ground).filter(|path| (ground.is_file)(path));
    let paths = match as_one {
        Some(path) => Some(vec![path]),
        None => words(line).and_then(|words| existing(&words, ground)),
    };
    paths.unwrap_or_default().into_iter().map(kind).collect()
}

/// The file a text begins with, and what is said with it.
pub fn leading<'t>(text: &'t str, ground: Ground<'_>) -> Option<(Dropped, &'t str)> {
    let text = text.trim_start();
    let first = text.lines().next().unwrap_or_default();
    if !first.starts_with(['/', '~', '\'', '"']) && !first.starts_with("file://") {
        return None;
    }
    // As far as a shell's first word goes: a blank in it is quoted.
    let ends = first
        .char_indices()
        .filter(|(_, c)| c.is_whitespace())
        .map(|(at, _)| at)
        .chain([first.len()]);
    ends.take(MOST_BLANKS).find_map(|end| {
        let [word] = words(&first[..end])?.try_into().ok()?;
        let path = located(&word, ground).filter(|path| (ground.is_file)(path))?;
        Some((kind(path), text[end..].trim()))
    })
}

/// What the model is told of a file it has to look at itself.
pub fn attached(path: &Path, said: &str) -> String {
    format!("[The user attached a file: {}]\n{said}", path.display())
        .trim_end()
        .to_owned()
}

fn existing(words: &[String], ground: Ground<'_>) -> Option<Vec<PathBuf>> {
    let found = |word: &String| located(word, ground).filter(|path| (ground.is_file)(path));
    words.iter().map(found).collect()
}

fn kind(path: PathBuf) -> Dropped {
    let ending = path.extension().and_then(|ending| ending.to_str());
    let ending = ending.unwrap_or_default().to_lowercase();
    match IMAGES.contains(&ending.as_str()) {
        true => Dropped::Image(path),
        false => Dropped::File(path),
    }
}

/// An absolute path in one of its spellings. Nobody drags a relative one.
fn located(word: &str, ground: Ground<'_>) -> Option<PathBuf> {
    if let Some(address) = word.strip_prefix("file://") {
        let path = &address[address.find('/')?..];
        return Some(PathBuf::from(decoded(path)?));
    }
    if let Some(rest) = word.strip_prefix("~/") {
        return Some(ground.user_home.join(rest));
    }
    if word.starts_with('/') {
        return Some(PathBuf::from(word));
    }
    windows(word)
}

/// `C:\a\b` as Linux under Windows sees it.
fn windows(word: &str) -> Option<PathBuf> {
    let (drive, rest) = word.split_once(':')?;
    let letter = drive.chars().next().filter(char::is_ascii_alphabetic)?;
    if drive.len() != 1 || !rest.starts_with(['\\', '/']) {
        return None;
    }
    let rest = rest.replace('\\', "/");
    Some(PathBuf::from(format!(
        "/mnt/{}{rest}",
        letter.to_ascii_lowercase()
    )))
}

/// `%20` and the like undone.
fn decoded(path: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &rest[2..];
    }
    String::from_utf8(bytes).ok()
}

/// The words of a line as a shell reads quotes and backslashes; none if a quote stays open.
fn words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, quote) {
            (c, Some(open)) if c == open => quote = None,
            (c, Some(_)) => word.get_or_insert_default().push(c),
            ('\'' | '"', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            // Before a letter it is Windows' own separator.
            ('\\', None) if chars.peek().is_some_and(|next| !next.is_alphanumeric()) => {
                word.get_or_insert_default().extend(chars.next());
            }
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, None) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

impl std::fmt::Debug for Ground<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ground")
            .field("user_home", &self.user_home)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn a_text_may_begin_with_a_file() {
        let there = ["/tmp/a b.png", "/home/me/x.pdf"];
        let is_file = |path: &Path| there.iter().any(|known| Path::new(known) == path);
        let ground = Ground {
            user_home: Path::new("/home/me"),
            is_file: &is_file,
        };
        let check = |text: &str, expected: Option<(Dropped, &str)>| {
            assert_eq!(leading(text, ground), expected, "{text}");
        };
        let image = || Dropped::Image("/tmp/a b.png".into());
        let file = || Dropped::File("/home/me/x.pdf".into());
        check("~/x.pdf", Some((file(), "")));
        check(
            "~/x.pdf sum it up\nplease",
            Some((file(), "sum it up\nplease")),
        );
        check("/tmp/a\\ b.png what is it?", Some((image(), "what is it?")));
        check("'/tmp/a b.png' what is it?", Some((image(), "what is it?")));
        for other in [
            "",
            "x.pdf",
            "look at ~/x.pdf",
            "/tmp/none is gone",
            "/help",
            "'",
        ] {
            check(other, None);
        }
    }

    #[test]
    fn paths_in_every_spelling() {
        let there = [
            "/tmp/a b.png",
            "/home/me/x.PDF",
            "/mnt/c/pics/y.jpg",
            "/tmp/c.rs",
        ];
        let is_file = |path: &Path| there.iter().any(|known| Path::new(known) == path);
        let ground = Ground {
            user_home: Path::new("/home/me"),
            is_file: &is_file,
        };
        let check = |pasted: &str, expected: &[Dropped]| {
            assert_eq!(dropped(pasted, ground), expected, "{pasted}");
        };
        let image = |path: &str| Dropped::Image(path.into());
        let file = |path: &str| Dropped::File(path.into());
        check("/tmp/a b.png", &[image("/tmp/a b.png")]);
        check("/tmp/a\\ b.png", &[image("/tmp/a b.png")]);
        check("'/tmp/a b.png' ", &[image("/tmp/a b.png")]);
        check("\"/tmp/a b.png\"", &[image("/tmp/a b.png")]);
        check("file:///tmp/a%20b.png", &[image("/tmp/a b.png")]);
        check("file://host/tmp/c.rs", &[file("/tmp/c.rs")]);
        check("~/x.PDF", &[file("/home/me/x.PDF")]);
        check("C:\\pics\\y.jpg", &[image("/mnt/c/pics/y.jpg")]);
        check("\"C:\\pics\\y.jpg\"", &[image("/mnt/c/pics/y.jpg")]);
        check(
            "/tmp/a\\ b.png '/tmp/c.rs'",
            &[image("/tmp/a b.png"), file("/tmp/c.rs")],
        );
        for other in [
            "",
            "hello",
            "/tmp/none",
            "c.rs",
            "see /tmp/c.rs",
            "'/tmp/c.rs",
            "file://",
            "é:/x",
            "%",
        ] {
            check(other, &[]);
        }
    }
}
