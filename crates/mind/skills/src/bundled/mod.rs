//! The skills that come with Hermes: in the program, and from there into every home without touching what its owner
//! changed.

mod digest;
mod sync;

pub use sync::{Reset, Restore, Synced, reset, sync};

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use hermes_home::Env;

use crate::format::FILE;
use crate::{Error, Result};

mod table {
    include!(concat!(env!("OUT_DIR"), "/bundled.rs"));
}

/// Where other bundled skills are taken from than those in the program.
const OVERRIDE: &str = "HERMES_BUNDLED_SKILLS";

/// One skill to be seeded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundled {
    pub name: String,
    /// Its directory below `skills`.
    pub path: String,
    /// Its files by their paths within it.
    pub files: Vec<(String, Vec<u8>)>,
}

/// All skills to be seeded.
#[derive(Clone, Debug, Default)]
pub struct Bundle {
    pub skills: Vec<Bundled>,
    /// Descriptions of categories, by path below `skills`.
    pub categories: Vec<(String, Vec<u8>)>,
    /// Changes when anything in it does; `None`: must be looked at each time.
    pub stamp: Option<&'static str>,
}

impl Bundle {
    /// Those in the program, unless the environment names a directory.
    pub fn load(env: &Env) -> Result<Self> {
        match env.filled(OVERRIDE) {
            Some(dir) => Self::read(Path::new(dir)),
            None => Ok(Self::embedded()),
        }
    }

    /// The stamp of what [`load`](Self::load) would give, without loading it.
    fn stamp(env: &Env) -> Option<String> {
        env.filled(OVERRIDE)
            .is_none()
            .then(|| table::STAMP.to_owned())
    }

    pub fn embedded() -> Self {
        let files = table::FILES.iter();
        let files = files.map(|(path, bytes)| ((*path).to_owned(), bytes.to_vec()));
        Self {
            stamp: Some(table::STAMP),
            ..Self::of(files.collect())
        }
    }

    fn read(dir: &Path) -> Result<Self> {
        let mut files = BTreeMap::new();
        collect(dir, "", &mut files)?;
        Ok(Self::of(files))
    }

    /// Sorts files into skills and what is beside them.
    fn of(files: BTreeMap<String, Vec<u8>>) -> Self {
        let mut bundle = Self::default();
        let end = format!("/{FILE}");
        let dirs: Vec<String> = files
            .keys()
            .filter_map(|path| path.strip_suffix(&end))
            .map(str::to_owned)
            .collect();
        for (path, bytes) in files {
            let dir = dirs.iter().find(|dir| {
                path.strip_prefix(*dir)
                    .is_some_and(|rest| rest.starts_with('/'))
            });
            let Some(dir) = dir else {
                if path.ends_with("/DESCRIPTION.md") {
                    bundle.categories.push((path, bytes));
                }
                continue;
            };
            let file = (path[dir.len() + 1..].to_owned(), bytes);
            match bundle.skills.last_mut().filter(|skill| skill.path == *dir) {
                Some(skill) => skill.files.push(file),
                None => bundle.skills.push(Bundled {
                    name: dir.rsplit('/').next().unwrap_or(dir).to_owned(),
                    path: dir.clone(),
                    files: vec![file],
                }),
            }
        }
        bundle
    }
}

impl Bundled {
    pub fn digest(&self) -> String {
        let files = self.files.iter();
        digest::of(
            files
                .map(|(path, bytes)| (path.as_str(), bytes.as_slice()))
                .collect(),
        )
    }
}

/// All files below a directory, hidden ones too; links are not followed.
fn collect(dir: &Path, path: &str, files: &mut BTreeMap<String, Vec<u8>>) -> Result<()> {
    let wrong = |error| Error::io("read", dir, &error);
    for entry in fs::read_dir(dir).map_err(wrong)? {
        let entry = entry.map_err(wrong)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let below = if path.is_empty() {
            name
        } else {
            format!("{path}/{name}")
        };
        let kind = entry.file_type().map_err(wrong)?;
        if kind.is_dir() {
            collect(&entry.path(), &below, files)?;
        } else if kind.is_file() {
            files.insert(below, fs::read(entry.path()).map_err(wrong)?);
        }
    }
    Ok(())
}
