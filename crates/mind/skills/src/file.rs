//! Reading a file of a skill without being led astray: not to somebody else's file, not into a pipe that never
//! ends, and not more than there is room for.

use std::fmt;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::OFlag;

/// Bytes of one file that are read; more is no text for a model.
pub(crate) const MOST: u64 = 1024 * 1024;

/// Opens a plain file; gives what the disk says of it as well.
///
/// A link is followed where it stays in its directory or leads to a file of the same name, as those do who keep
/// their skills elsewhere. Anything else, such as a `SKILL.md` that is really a file of secrets, is refused.
pub(crate) fn open(path: &Path) -> io::Result<(File, Metadata)> {
    // Whether it is a link shows only if it is not followed; nobody waits for the other end of a pipe.
    let own = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    let file = match open_with(path, own) {
        Err(error) if error.raw_os_error() == Some(Errno::ELOOP as i32) => {
            check_link(path)?;
            open_with(path, OFlag::O_NONBLOCK)
        }
        opened => opened,
    }?;
    let meta = file.metadata()?;
    match meta.file_type() {
        kind if kind.is_file() => Ok((file, meta)),
        kind if kind.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        _ => Err(io::Error::other("not a plain file")),
    }
}

/// The beginning of a file, at most [`MOST`] bytes, and how many it has.
pub(crate) fn read(path: &Path) -> io::Result<(Vec<u8>, u64)> {
    let (file, meta) = open(path)?;
    let mut bytes = Vec::new();
    file.take(MOST).read_to_end(&mut bytes)?;
    Ok((bytes, meta.len()))
}

/// What is wrong with bytes that should be text. Their last character may be cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoText {
    /// Nothing to be read.
    Binary,
    /// Most of it can be read.
    Encoding,
}

pub(crate) fn judge(bytes: &[u8]) -> Result<(), NoText> {
    if bytes.contains(&0) {
        return Err(NoText::Binary);
    }
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_some() => Err(NoText::Encoding),
        _ => Ok(()),
    }
}

impl fmt::Display for NoText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Binary => "no text: it has zero bytes (UTF-16? save it as UTF-8)",
            Self::Encoding => "not UTF-8: some of its characters cannot be read",
        })
    }
}

fn open_with(path: &Path, flags: OFlag) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(flags.bits());
    options.open(path)
}

fn check_link(path: &Path) -> io::Result<()> {
    let real = fs::canonicalize(path)?;
    let dir = path.parent().map(fs::canonicalize).transpose()?;
    let stays = dir.is_some_and(|dir| real.starts_with(dir));
    if stays || real.file_name() == path.file_name() {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "a link that leads to another file, {}",
        real.display()
    )))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_lead_to_files_of_the_same_name_or_stay() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir_all(at("skill")).unwrap();
        fs::create_dir_all(at("shared")).unwrap();
        for file in ["secrets", "shared/SKILL.md", "skill/README.md"] {
            fs::write(at(file), "x").unwrap();
        }
        let check = |target: &str, wrong: &str| {
            let link = at("skill/SKILL.md");
            symlink(target, &link).unwrap();
            match read(&link) {
                Ok((bytes, 1)) => {
                    assert_eq!((bytes.as_slice(), wrong), (&b"x"[..], ""), "{target}")
                }
                Ok(odd) => panic!("{odd:?}"),
                Err(error) => assert!(
                    !wrong.is_empty() && error.to_string().contains(wrong),
                    "{target}: {error}"
                ),
            }
            fs::remove_file(link).unwrap();
        };
        check("README.md", "");
        check("../shared/SKILL.md", "");
        check("../secrets", "leads to another file");
        check("../shared", "leads to another file");
        check("SKILL.md", "symbolic links");
        check("nowhere", "No such file");
    }

    #[test]
    fn nobody_waits_for_a_pipe() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("SKILL.md");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(open(&pipe).unwrap_err().to_string().contains("plain file"));
    }

    #[test]
    fn text_may_be_cut_off_but_not_broken() {
        assert_eq!(judge("wörter".as_bytes()), Ok(()));
        assert_eq!(judge(&"wö".as_bytes()[..2]), Ok(()));
        assert_eq!(judge(b"a\0b"), Err(NoText::Binary));
        assert_eq!(judge(&[b'a', 0xff, b'b']), Err(NoText::Encoding));
    }
}
