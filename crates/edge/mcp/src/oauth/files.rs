//! Tokens as files in one directory that only their owner can read.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde_json::Value;
use tracing::warn;

use crate::oauth::store::{Document, Fields, StoreError, StoreGuard, Stored, TokenStore};

/// No document is larger; a larger file is none.
const MAX_BYTES: u64 = 1 << 20;
const MAX_STEM: usize = 128;

/// A directory of token files: `<server>.json` and its companions.
#[derive(Clone, Debug)]
pub struct FileTokens {
    dir: PathBuf,
}

impl FileTokens {
    /// The directory is created when something is stored.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    fn path(&self, server: &str, document: Document) -> PathBuf {
        let suffix = match document {
            Document::Tokens => "json",
            Document::Client => "client.json",
            Document::ClientBackup => "client.json.bak",
            Document::Metadata => "meta.json",
        };
        self.dir.join(format!("{}.{suffix}", stem(server)))
    }

    fn make_dir(&self) -> io::Result<()> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.dir)?;
        let mode = fs::metadata(&self.dir)?.permissions().mode();
        if mode & 0o077 != 0 {
            // Made by another program, or by hand; where it isn't ours to change, the files are still closed.
            if let Err(error) = fs::set_permissions(&self.dir, Permissions::from_mode(0o700)) {
                warn!(dir = %self.dir.display(), %error, "others can list the token directory");
            }
        }
        Ok(())
    }

    fn replace(&self, path: &Path, fields: &Fields) -> io::Result<()> {
        self.make_dir()?;
        let text = serde_json::to_vec_pretty(fields)?;
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{:012x}.tmp", fastrand::u64(..1 << 48)));
        let temp = path.with_file_name(name);
        let written = write_new(&temp, &text).and_then(|()| fs::rename(&temp, path));
        if written.is_err() {
            // The first failure is the one to report; a left-over is only litter.
            let _ = fs::remove_file(&temp);
        }
        written?;
        File::open(&self.dir)?.sync_all()
    }
}

impl TokenStore for FileTokens {
    fn load(&self, server: &str, document: Document) -> Result<Option<Stored>, StoreError> {
        let path = self.path(server, document);
        match read(&path) {
            Ok(stored) => Ok(stored),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed("read", &path, error)),
        }
    }

    fn save(&self, server: &str, document: Document, fields: &Fields) -> Result<(), StoreError> {
        let path = self.path(server, document);
        self.replace(&path, fields)
            .map_err(|error| failed("write", &path, error))
    }

    fn remove(&self, server: &str, document: Document) -> Result<(), StoreError> {
        let path = self.path(server, document);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(failed("remove", &path, error))
            }
            _ => Ok(()),
        }
    }

    fn try_lock(&self, server: &str) -> Result<Option<StoreGuard>, StoreError> {
        let path = self.dir.join(format!("{}.lock", stem(server)));
        let locked = self.make_dir().and_then(|()| {
            let mut options = OpenOptions::new();
            let file = options
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .open(&path)?;
            match file.try_lock() {
                // Closing the file gives the lock back, also when the process dies. The file stays: a lock on
                // a removed file would lock nobody out.
                Ok(()) => Ok(Some(StoreGuard::new(file))),
                Err(TryLockError::WouldBlock) => Ok(None),
                Err(TryLockError::Error(error)) => Err(error),
            }
        });
        locked.map_err(|error| failed("lock", &path, error))
    }
}

fn write_new(path: &Path, text: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(text)?;
    file.sync_all()
}

fn read(path: &Path) -> io::Result<Option<Stored>> {
    let file = File::open(path)?;
    let modified = file.metadata()?.modified().ok();
    let mut text = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut text)?;
    match serde_json::from_slice(&text) {
        Ok(Value::Object(fields)) => Ok(Some(Stored { fields, modified })),
        _ => {
            warn!(file = %path.display(), "not a JSON object: treated as absent");
            Ok(None)
        }
    }
}

fn failed(verb: &str, path: &Path, source: io::Error) -> StoreError {
    StoreError {
        action: format!("{verb} {}", path.display()),
        source,
    }
}

/// A server's name as part of a file name.
fn stem(server: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let plain: String = server
        .chars()
        .map(|c| if is_plain(c) { c } else { '_' })
        .collect();
    let stem: String = plain.trim_matches('_').chars().take(MAX_STEM).collect();
    if stem.is_empty() {
        "default".to_owned()
    } else {
        stem
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;
    use tempfile::TempDir;

    use super::*;

    fn fields(value: Value) -> Fields {
        value.as_object().unwrap().clone()
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn names_become_file_names() {
        for (name, file) in [
            ("git-hub", "git-hub"),
            ("my server/1", "my_server_1"),
            ("../../etc", "etc"),
            ("__", "default"),
            ("", "default"),
            ("né", "né"),
        ] {
            assert_eq!(stem(name), file);
        }
        assert_eq!(stem(&"a".repeat(500)).len(), MAX_STEM);
    }

    #[test]
    fn only_the_owner_can_read_what_is_stored() {
        let temp = TempDir::new().unwrap();
        let dir = temp.path().join("tokens");
        let store = FileTokens::new(&dir);
        let document = fields(json!({"access_token": "a", "odd": [1, null]}));
        store.save("x", Document::Tokens, &document).unwrap();
        let _guard = store.try_lock("x").unwrap().unwrap();
        assert_eq!(mode(&dir), 0o700);
        assert_eq!(mode(&dir.join("x.json")), 0o600);
        assert_eq!(mode(&dir.join("x.lock")), 0o600);
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 2);
        let stored = store.load("x", Document::Tokens).unwrap().unwrap();
        assert_eq!(stored.fields, document);
        fs::set_permissions(&dir, Permissions::from_mode(0o755)).unwrap();
        store.save("x", Document::Tokens, &document).unwrap();
        assert_eq!(mode(&dir), 0o700);
    }

    #[test]
    fn what_is_no_document_is_not_there() {
        let temp = TempDir::new().unwrap();
        let store = FileTokens::new(temp.path());
        assert_eq!(store.load("x", Document::Tokens).unwrap(), None);
        for text in ["", "{\"access_token\": \"a", "[1]", "\u{0}\u{0}"] {
            fs::write(temp.path().join("x.json"), text).unwrap();
            assert_eq!(store.load("x", Document::Tokens).unwrap(), None, "{text}");
        }
        store.remove("x", Document::Tokens).unwrap();
        store.remove("x", Document::Tokens).unwrap();
    }

    #[test]
    fn a_lock_is_held_by_one_at_a_time() {
        let temp = TempDir::new().unwrap();
        let store = FileTokens::new(temp.path());
        let guard = store.try_lock("x").unwrap().unwrap();
        assert!(store.try_lock("x").unwrap().is_none());
        assert!(store.try_lock("y").unwrap().is_some());
        drop(guard);
        assert!(store.try_lock("x").unwrap().is_some());
    }
}
