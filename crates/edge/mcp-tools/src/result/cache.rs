//! Images, sounds and documents of servers, as files of the home.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use hermes_home::{Home, Modes, replace_file};
use hermes_types::image_kind;
use ring::digest::{SHA256, digest};

/// Larger things are described, not stored.
const LARGEST: usize = 50 << 20;
/// Longest part of a file's name that a server may choose: in characters, and in bytes.
const NAME_CHARS: usize = 150;
const NAME_BYTES: usize = 200;

/// Where things of each kind go.
#[derive(Clone, Debug)]
pub struct Caches {
    images: PathBuf,
    audio: PathBuf,
    documents: PathBuf,
    modes: Modes,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stored {
    /// The file and its size.
    At(PathBuf, usize),
    TooLarge,
    Failed(String),
}

impl Caches {
    /// Homes made by older versions keep their directories.
    pub fn of(home: &Home) -> Self {
        let dir = |new: &str, old: &str| match home.dir().join(old) {
            old if old.is_dir() => old,
            _ => home.dir().join("cache").join(new),
        };
        Self {
            images: dir("images", "image_cache"),
            audio: dir("audio", "audio_cache"),
            documents: dir("documents", "document_cache"),
            modes: home.modes().clone(),
        }
    }

    pub(super) fn image(&self, data: &str, mime: &str) -> Stored {
        let name = |bytes: &[u8]| format!("img_{}.{}", mark(bytes), image_extension(bytes, mime));
        self.store(&self.images, data, name)
    }

    pub(super) fn audio(&self, data: &str, mime: &str) -> Stored {
        let kind = extension(mime).unwrap_or("wav");
        let name = |bytes: &[u8]| format!("audio_{}.{kind}", mark(bytes));
        self.store(&self.audio, data, name)
    }

    pub(super) fn document(&self, data: &str, uri: &str, mime: &str) -> Stored {
        let name = |bytes: &[u8]| format!("doc_{}_{}", mark(bytes), file_name(uri, mime));
        self.store(&self.documents, data, name)
    }

    fn store(&self, dir: &Path, data: &str, name: impl Fn(&[u8]) -> String) -> Stored {
        if decoded_len(data) > LARGEST {
            return Stored::TooLarge;
        }
        let Some(bytes) = decode(data) else {
            return Stored::Failed("its base64 cannot be read".to_owned());
        };
        let path = dir.join(name(&bytes));
        // The name holds a mark of the content: what is there already is the same.
        let is_there = fs::metadata(&path).is_ok_and(|meta| meta.len() == bytes.len() as u64);
        let made = DirBuilder::new()
            .recursive(true)
            .mode(self.modes.dir)
            .create(dir);
        let written = match made {
            _ if is_there => Ok(()),
            Ok(()) => replace_file(&path, &bytes, &self.modes).map_err(|error| error.to_string()),
            Err(error) => Err(format!("cannot create {}: {error}", dir.display())),
        };
        match written {
            Ok(()) => Stored::At(path, bytes.len()),
            Err(why) => Stored::Failed(why),
        }
    }
}

/// How many bytes base64 stands for, without reading it.
pub(super) fn decoded_len(data: &str) -> usize {
    let data = data.trim_end();
    let padding = data.bytes().rev().take_while(|b| *b == b'=').count();
    (data.len() - padding) * 3 / 4
}

/// Tolerates line breaks, missing padding and the alphabet of URLs.
fn decode(data: &str) -> Option<Vec<u8>> {
    let config =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let alphabet = match data.contains(['-', '_']) {
        true => &URL_SAFE,
        false => &STANDARD,
    };
    let engine = GeneralPurpose::new(alphabet, config);
    match data.contains(char::is_whitespace) {
        true => engine
            .decode(data.split_whitespace().collect::<String>())
            .ok(),
        false => engine.decode(data).ok(),
    }
}

fn mark(bytes: &[u8]) -> String {
    let digest = digest(&SHA256, bytes);
    digest.as_ref()[..6]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// What the bytes say counts more than what the server says.
fn image_extension(bytes: &[u8], mime: &str) -> &'static str {
    match image_kind(bytes) {
        Some("jpeg") => "jpg",
        Some(kind) => kind,
        None if bytes.starts_with(b"BM") => "bmp",
        None => extension(mime).unwrap_or("png"),
    }
}

fn extension(mime: &str) -> Option<&'static str> {
    let kind = mime.split(';').next().unwrap_or_default().trim();
    Some(match kind.to_lowercase().as_str() {
        "image/png" => "png",
        "image/jpeg" | "image/jpg" => "jpg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        "image/bmp" => "bmp",
        "image/svg+xml" => "svg",
        "image/tiff" => "tiff",
        "audio/wav" | "audio/x-wav" | "audio/wave" => "wav",
        "audio/mpeg" | "audio/mp3" => "mp3",
        "audio/ogg" | "audio/opus" => "ogg",
        "audio/flac" => "flac",
        "audio/aac" => "aac",
        "audio/mp4" | "audio/x-m4a" => "m4a",
        "audio/webm" => "webm",
        "application/pdf" => "pdf",
        "application/json" => "json",
        "application/zip" => "zip",
        "application/xml" | "text/xml" => "xml",
        "text/plain" => "txt",
        "text/html" => "html",
        "text/csv" => "csv",
        "text/markdown" => "md",
        _ => return None,
    })
}

/// Only the last part of the address's path, without anything that could lead elsewhere.
fn file_name(uri: &str, mime: &str) -> String {
    let path = uri.split(['?', '#']).next().unwrap_or_default();
    let last = match path.split_once("://") {
        // The host is no name.
        Some((_, rest)) => rest.split_once('/').map_or("", |(_, path)| path),
        None => path.split_once(':').map_or(path, |(_, rest)| rest),
    };
    let last = last.rsplit(['/', '\\']).next().unwrap_or_default();
    let name: String = last
        .chars()
        .filter(|c| !c.is_control())
        .take(NAME_CHARS)
        .collect();
    let name = name.trim().trim_start_matches('.');
    match &name[..name.floor_char_boundary(NAME_BYTES)] {
        "" => format!("resource.{}", extension(mime).unwrap_or("bin")),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_come_from_the_last_part_of_the_path() {
        let check = |uri: &str, expected: &str| {
            assert_eq!(file_name(uri, "application/pdf"), expected, "{uri}");
        };
        check("file:///tmp/report.pdf", "report.pdf");
        check("https://h/a/b.txt?x=/../c#d", "b.txt");
        check("https://h", "resource.pdf");
        check("https://h/a/", "resource.pdf");
        check("file:///a/..", "resource.pdf");
        check("x:..\\..\\evil.exe", "evil.exe");
        check("mem:note\u{1b}[31m\n.md", "note[31m.md");
        check("", "resource.pdf");
        assert_eq!(file_name(&format!("a:/{}", "n".repeat(300)), "").len(), 150);
        assert_eq!(file_name("a:b/", ""), "resource.bin");
    }

    #[test]
    fn sizes_are_told_without_decoding() {
        for (data, size) in [
            ("", 0),
            ("aA==", 1),
            ("aGk=", 2),
            ("aGkh", 3),
            ("aGkhaGk", 5),
            ("aGk=\n", 2),
        ] {
            assert_eq!(decoded_len(data), size, "{data}");
            assert_eq!(decode(data).unwrap().len(), size, "{data}");
        }
        assert_eq!(decode("a-_b"), decode("a+/b"));
        assert_eq!(decode("not base64!"), None);
    }

    proptest! {
        #[test]
        fn no_name_leads_elsewhere(uri in ".{0,400}") {
            let name = file_name(&uri, "");
            prop_assert!(!name.is_empty() && name.len() <= NAME_BYTES);
            prop_assert!(!name.contains(['/', '\0', '\n']) && !name.starts_with('.'));
        }
    }
}
