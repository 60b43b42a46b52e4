//! What is no text: known by its name, or by its first bytes.

use std::path::Path;

const IMAGES: &[&str] = &[
    "png", "jpg", "jpeg", "gif", "bmp", "ico", "webp", "tiff", "tif",
];

#[rustfmt::skip]
const OTHERS: &[&str] = &[
    "mp4", "mov", "avi", "mkv", "webm", "wmv", "flv", "m4v", "mpeg", "mpg", // video
    "mp3", "wav", "ogg", "flac", "aac", "m4a", "wma", "aiff", "opus", // audio
    "zip", "tar", "gz", "bz2", "7z", "rar", "xz", "z", "tgz", "iso", // archives
    "exe", "dll", "so", "dylib", "bin", "o", "a", "obj", "lib", "app", "msi", "deb", "rpm", // programs
    "doc", "docx", "xls", "xlsx", "ppt", "pptx", "odt", "ods", "odp", // documents
    "ttf", "otf", "woff", "woff2", "eot", // fonts
    "pyc", "pyo", "class", "jar", "war", "ear", "node", "wasm", "rlib", // bytecode
    "sqlite", "sqlite3", "db", "mdb", "idx", // databases
    "psd", "ai", "eps", "sketch", "fig", "xd", "blend", "3ds", "max", // design
    "swf", "fla", "lockb", "dat", "data",
];

/// How many characters tell text from data.
const SAMPLE_CHARS: usize = 1000;

/// How many bytes hold them at most.
pub(super) const SAMPLE_BYTES: usize = SAMPLE_CHARS * 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Image,
    Binary,
    /// As far as the name tells.
    Text,
}

pub(super) fn by_name(path: &Path) -> Kind {
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    let among = |known: &[&str]| known.iter().any(|one| extension.eq_ignore_ascii_case(one));
    if among(IMAGES) {
        Kind::Image
    } else if among(OTHERS) {
        Kind::Binary
    } else {
        Kind::Text
    }
}

/// Whether the beginning of a file is no text: more than 30 % control characters or bytes that are no UTF-8.
pub(super) fn looks_binary(start: &[u8]) -> bool {
    let sample = &start[..start.len().min(SAMPLE_BYTES)];
    let odd = |c: &char| {
        *c == char::REPLACEMENT_CHARACTER || (c.is_ascii_control() && !"\n\r\t".contains(*c))
    };
    let text = String::from_utf8_lossy(sample);
    let chars = text.chars().take(SAMPLE_CHARS);
    let (all, strange) = chars.fold((0, 0), |(all, strange), c| {
        (all + 1, strange + usize::from(odd(&c)))
    });
    strange * 10 > all * 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let check = |name: &str, expected: Kind| assert_eq!(by_name(Path::new(name)), expected);
        check("x.PNG", Kind::Image);
        check("x.tar", Kind::Binary);
        check("x.pdf", Kind::Text);
        check("Makefile", Kind::Text);
        check(".db", Kind::Text);
        check("a.b/c", Kind::Text);
    }

    #[test]
    fn contents() {
        let check = |bytes: &[u8], expected: bool| assert_eq!(looks_binary(bytes), expected);
        check(b"", false);
        check(b"plain\r\n\ttext", false);
        check("«ünï»".as_bytes(), false);
        check(b"\x7fELF\x02\x01\x01\0\0\0\0\0", true);
        check(b"caf\xe9 au lait", false); // Latin-1 can still be read
        check(&[0x89, 0xfe, 0xfa, 0x80], true);
        // A character cut by the end of the sample is one of a thousand.
        check("ä".repeat(3000).as_bytes(), false);
    }
}
