//! Contents by their hash: written once, never changed.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use hermes_home::{Modes, replace_cache};
use ring::digest::{SHA256, digest};

use crate::{Error, Result};

#[derive(Clone, Debug)]
pub struct Blobs {
    dir: PathBuf,
    modes: Modes,
}

impl Blobs {
    pub fn new(dir: PathBuf, modes: Modes) -> Self {
        Self { dir, modes }
    }

    /// Keeps a content and gives its name.
    pub fn put(&self, content: &[u8]) -> Result<String> {
        let hash = hex(digest(&SHA256, content).as_ref());
        let path = self.path(&hash);
        // One that was cut short by a power cut is written anew.
        let is_there = fs::metadata(&path).is_ok_and(|meta| meta.len() == content.len() as u64);
        if !is_there {
            if let Some(dir) = path.parent() {
                fs::create_dir_all(dir).map_err(|error| Error::io("create", dir, &error))?;
            }
            // Many at once when the journal begins; a power cut loses history, not memory.
            replace_cache(&path, content, &self.modes)?;
        }
        Ok(hash)
    }

    /// What was kept, or that it is gone: something else is never taken for it.
    pub fn get(&self, hash: &str) -> Result<Vec<u8>> {
        let path = self.path(hash);
        let content = fs::read(&path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => Error::Gone(hash.to_owned()),
            _ => Error::io("read", &path, &error),
        })?;
        match hex(digest(&SHA256, &content).as_ref()) == hash {
            true => Ok(content),
            false => Err(Error::Gone(hash.to_owned())),
        }
    }

    fn path(&self, hash: &str) -> PathBuf {
        let (first, rest) = hash.split_at_checked(2).unwrap_or(("", hash));
        self.dir.join(first).join(rest)
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
