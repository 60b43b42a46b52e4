//! The shelves on disk, so that a start needs not read every skill. Only a cache: whatever is wrong with it, it is
//! made anew.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use hermes_home::{Modes, replace_cache};
use serde::{Deserialize, Serialize};

use super::manifest::Manifest;
use super::shelf::{Found, Shelf};

const VERSION: u32 = 1;
/// A larger file is nothing we wrote.
const MAX_SIZE: u64 = 64 * 1024 * 1024;

/// The home's own shelf in the shape other programs know, the others behind it.
#[derive(Deserialize, Serialize)]
struct File {
    version: u32,
    manifest: Manifest,
    skills: Vec<Found>,
    category_descriptions: BTreeMap<String, String>,
    root: PathBuf,
    dirs: BTreeMap<String, i64>,
    troubles: Vec<String>,
    #[serde(default)]
    is_partial: bool,
    external: Vec<Shelf>,
}

pub fn read(path: &Path) -> Vec<Shelf> {
    let small = fs::metadata(path).is_ok_and(|meta| meta.len() <= MAX_SIZE);
    let text = small.then(|| fs::read_to_string(path).ok()).flatten();
    let file: Option<File> = text.and_then(|text| serde_json::from_str(&text).ok());
    let Some(file) = file.filter(|file| file.version == VERSION) else {
        return Vec::new();
    };
    let own = Shelf {
        root: file.root,
        manifest: file.manifest,
        dirs: file.dirs,
        skills: file.skills,
        category_descriptions: file.category_descriptions,
        troubles: file.troubles,
        is_partial: file.is_partial,
    };
    std::iter::once(own).chain(file.external).collect()
}

pub fn write(path: &Path, shelves: &[Shelf], modes: &Modes) {
    let Some((own, external)) = shelves.split_first() else {
        return;
    };
    let own = own.clone();
    let file = File {
        version: VERSION,
        manifest: own.manifest,
        skills: own.skills,
        category_descriptions: own.category_descriptions,
        root: own.root,
        dirs: own.dirs,
        troubles: own.troubles,
        is_partial: own.is_partial,
        external: external.to_vec(),
    };
    let written = serde_json::to_vec(&file).map_err(|error| error.to_string());
    let written = written
        .and_then(|bytes| replace_cache(path, bytes, modes).map_err(|error| error.to_string()));
    if let Err(error) = written {
        // A home that cannot be written to only starts more slowly.
        tracing::debug!("no snapshot of the skills: {error}");
    }
}
