//! Reading files and folders: as much as may be attached, and nothing that is no text. Everything here blocks.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use ignore::WalkBuilder;

use crate::Bound;
use crate::parse::Lines;
use crate::place::{Ground, Refused, is_kernel};

/// Looked through to find lines far down.
const MAX_SCANNED: u64 = 64 << 20;
/// The beginning tells text from data.
const SAMPLE: usize = 8_192;
const MAX_ENTRIES: usize = 200;
/// Looked at to choose these.
const MAX_WALKED: usize = 20_000;

/// What is attached.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Shown between fences, as this language.
    Fenced {
        language: &'static str,
        text: String,
    },
    /// Told in a line.
    Note(String),
}

pub(crate) fn file(
    ground: &Ground,
    asked: &str,
    lines: Option<Lines>,
    bound: Bound,
) -> Result<Content, Refused> {
    let path = ground.find(asked)?;
    let meta = fs::metadata(&path).map_err(Refused::Unreadable)?;
    // A pipe or a device would keep us waiting.
    if !meta.is_file() {
        return Err(Refused::Not("file"));
    }
    let file = File::open(&path).map_err(Refused::Unreadable)?;
    let mut reader = BufReader::with_capacity(SAMPLE, file);
    let sample = reader.fill_buf().map_err(Refused::Unreadable)?;
    if is_binary(sample) {
        let (kind, size) = (kind(&path), size(meta.len()));
        return Ok(Content::Note(format!(
            "{} is a binary file ({kind}, {size}); its content is not shown.",
            path.display()
        )));
    }
    let bytes = match lines {
        None => {
            let mut bytes = Vec::new();
            let mut reader = reader.take(bound.bytes as u64);
            reader
                .read_to_end(&mut bytes)
                .map_err(Refused::Unreadable)?;
            bytes
        }
        Some(lines) => some_lines(reader, lines, bound)?,
    };
    Ok(Content::Fenced {
        language: language(&path),
        text: String::from_utf8_lossy(&bytes).into_owned(),
    })
}

fn some_lines(reader: impl BufRead, lines: Lines, bound: Bound) -> Result<Vec<u8>, Refused> {
    let mut reader = reader.take(MAX_SCANNED);
    let (mut kept, mut line) = (Vec::new(), Vec::new());
    let mut number = 0;
    while number < lines.last && kept.len() < bound.bytes {
        line.clear();
        let read = reader.read_until(b'\n', &mut line);
        if read.map_err(Refused::Unreadable)? == 0 {
            break;
        }
        number += 1;
        if number >= lines.first {
            kept.extend_from_slice(&line);
        }
    }
    match kept.is_empty() {
        true => Err(Refused::NoLines),
        false => Ok(kept),
    }
}

/// What lies in a folder: what is near its top, if that is more than can be told.
pub(crate) fn folder(ground: &Ground, asked: &str) -> Result<Content, Refused> {
    let path = ground.find(asked)?;
    if !path.is_dir() {
        return Err(Refused::Not("folder"));
    }
    let mut entries: Vec<(usize, String)> = Vec::new();
    let mut is_cut = false;
    for entry in walk(&path).filter_map(Result::ok) {
        let Ok(inner) = entry.path().strip_prefix(&path) else {
            continue;
        };
        if entry.depth() == 0 || ground.is_secret(entry.path()) {
            continue;
        }
        if entries.len() == MAX_WALKED {
            is_cut = true;
            break;
        }
        let name = inner.display().to_string();
        let line = match entry.file_type() {
            Some(kind) if kind.is_dir() => format!("{name}/"),
            _ => match entry.metadata() {
                Ok(meta) => format!("{name} ({})", size(meta.len())),
                Err(_) => name, // gone meanwhile, or not ours to look at
            },
        };
        entries.push((entry.depth(), line));
    }
    entries.sort();
    is_cut |= entries.len() > MAX_ENTRIES;
    entries.truncate(MAX_ENTRIES);
    let mut lines: Vec<String> = entries.into_iter().map(|(_, line)| line).collect();
    lines.sort();
    if lines.is_empty() {
        lines.push("(nothing that is not ignored)".to_owned());
    }
    if is_cut {
        lines.push(format!("… only {MAX_ENTRIES} entries are listed"));
    }
    let text = lines.join("\n") + "\n";
    Ok(Content::Fenced { language: "", text })
}

/// All below a directory that no ignore file leaves out.
pub(crate) fn walk(dir: &Path) -> ignore::Walk {
    WalkBuilder::new(dir)
        .hidden(false)
        .require_git(false)
        .git_global(false)
        .filter_entry(|entry| entry.file_name() != ".git" && !is_kernel(entry.path()))
        .build()
}

fn is_binary(sample: &[u8]) -> bool {
    let odd = |c: &char| {
        *c == char::REPLACEMENT_CHARACTER
            || (c.is_ascii_control() && !"\n\r\t\x0c\x1b".contains(*c))
    };
    let text = String::from_utf8_lossy(sample);
    let strange = text.chars().filter(odd).count();
    sample.contains(&0) || strange * 10 > text.chars().count() * 3
}

fn kind(path: &Path) -> &'static str {
    match extension(path).as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "bmp" => "image/bmp",
        "ico" => "image/x-icon",
        "tif" | "tiff" => "image/tiff",
        "pdf" => "application/pdf",
        "zip" => "application/zip",
        "gz" | "tgz" => "application/gzip",
        "tar" => "application/x-tar",
        "wasm" => "application/wasm",
        "db" | "sqlite" | "sqlite3" => "application/vnd.sqlite3",
        "mp3" => "audio/mpeg",
        "wav" => "audio/wav",
        "ogg" => "audio/ogg",
        "mp4" => "video/mp4",
        "webm" => "video/webm",
        "ttf" | "otf" | "woff" | "woff2" => "font",
        _ => "application/octet-stream",
    }
}

fn language(path: &Path) -> &'static str {
    match extension(path).as_str() {
        "rs" => "rust",
        "py" => "python",
        "js" | "mjs" | "cjs" => "javascript",
        "ts" | "mts" => "typescript",
        "jsx" => "jsx",
        "tsx" => "tsx",
        "go" => "go",
        "java" => "java",
        "kt" => "kotlin",
        "swift" => "swift",
        "c" | "h" => "c",
        "cc" | "cpp" | "cxx" | "hpp" | "hh" => "cpp",
        "cs" => "csharp",
        "rb" => "ruby",
        "php" => "php",
        "lua" => "lua",
        "sh" | "bash" | "zsh" => "bash",
        "sql" => "sql",
        "html" | "htm" => "html",
        "css" => "css",
        "scss" => "scss",
        "json" => "json",
        "yaml" | "yml" => "yaml",
        "toml" => "toml",
        "xml" => "xml",
        "md" | "markdown" => "markdown",
        "diff" | "patch" => "diff",
        _ => "",
    }
}

fn extension(path: &Path) -> String {
    let end = path.extension().unwrap_or_default();
    end.to_string_lossy().to_lowercase()
}

/// `12 B`, `3.4 KB`
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        ..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} KB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_data() {
        let check = |bytes: &[u8], expected: bool| assert_eq!(is_binary(bytes), expected);
        check(b"", false);
        check("plain, «ünï» 文字\r\n\t".as_bytes(), false);
        check(b"caf\xe9 au lait", false);
        check(b"a\0b", true);
        check(&[0x89, 0xfe, 0xfa, 0x80], true);
    }

    #[test]
    fn lines_are_counted_from_one() {
        let check = |first, last, expected: Option<&str>| {
            let found = some_lines(
                "a\nb\nc".as_bytes(),
                Lines { first, last },
                Bound { bytes: 100 },
            );
            let found = found.ok().map(|bytes| String::from_utf8(bytes).unwrap());
            assert_eq!(found.as_deref(), expected, "{first}-{last}");
        };
        check(1, 1, Some("a\n"));
        check(2, 3, Some("b\nc"));
        check(3, 99, Some("c"));
        check(4, 5, None);
        check(3, 2, None);
        check(0, 0, None);
    }
}
