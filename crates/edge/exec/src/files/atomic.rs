//! Replacing a user's file so that a reader, or a crash, sees the old content or the new, never a part.
//!
//! Unlike the files of `~/.hermes` a new file here gets the mode the owner's umask says.

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

/// Replaces `target`, which is no symlink, making the directories above it. Blocks.
pub(super) fn replace(target: &Path, content: &[u8]) -> io::Result<()> {
    let old = match fs::metadata(target) {
        Ok(old) if !old.is_file() => return Err(io::Error::other("it is not a regular file")),
        Ok(old) => Some(old),
        Err(_) => None,
    };
    let dir = target.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(dir)?;
    let temp = temp_beside(target);
    let written = write_temp(&temp, content, old.as_ref()).and_then(|()| fs::rename(&temp, target));
    if written.is_err() {
        // The first error is the one worth telling; a temp file that can't be removed was likely never made.
        let _ = fs::remove_file(&temp);
        return written;
    }
    // Makes the rename durable. Some file systems cannot sync a directory; the content is safe anyway.
    let _ = File::open(dir).and_then(|dir| dir.sync_all());
    Ok(())
}

fn write_temp(temp: &Path, content: &[u8], old: Option<&Metadata>) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    if old.is_some() {
        // Private until it has the old file's mode: nobody gets to read what they could not before.
        options.mode(0o600);
    }
    let mut file = options.open(temp)?;
    if let Some(old) = old {
        // Only root may give files away; for everybody else the file becomes theirs, as with any editor.
        let _ = chown(temp, Some(old.uid()), Some(old.gid()));
        file.set_permissions(Permissions::from_mode(old.mode() & 0o7777))?;
    }
    file.write_all(content)?;
    file.sync_all()
}

fn temp_beside(target: &Path) -> PathBuf {
    let mark = fastrand::u32(..);
    // Not built from the file's own name, which may already be as long as a name can be.
    target.with_file_name(format!(".hermes-{mark:08x}.tmp"))
}
