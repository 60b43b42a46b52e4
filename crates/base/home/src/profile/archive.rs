//! A profile as one `.tar.gz`, to carry to another machine. Credentials never go along.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Component, Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use tar::{Archive, Builder, EntryType};

use super::{Name, Profiles};
use crate::{Error, Result};

/// Left out of every export.
const SECRETS: &[&str] = &[
    "auth.json",
    ".env",
    "auth.lock",
    "mcp-tokens",
    "auth",
    ".anthropic_oauth.json",
];
/// Run-time files of the machine it came from.
const RUNTIME: &[&str] = &[
    "gateway.pid",
    "gateway.lock",
    "gateway_state.json",
    "processes.json",
    "cron.pid",
];
/// Left out of the default profile's export: it is the root, with everything else in it.
const ROOT_ONLY: &[&str] = &[
    "profiles",
    "hermes-agent",
    "logs",
    "cache",
    "checkpoints",
    "backups",
    "state-snapshots",
    "bin",
    "node_modules",
    "active_profile",
    "image_cache",
    "audio_cache",
    "document_cache",
    "browser_screenshots",
    "models_dev_cache.json",
];

/// Writes the archive and says how many files went in.
pub fn export(profiles: &Profiles, name: &str, target: &Path) -> Result<usize> {
    let source = profiles.dir(name)?;
    let name = name.trim().to_lowercase();
    let is_root = name == "default";
    let partial = target.with_extension("partial");
    let written = pack(&source, &name, is_root, &partial).and_then(|count| {
        fs::rename(&partial, target)
            .map(|()| count)
            .map_err(Error::io("write", target))
    });
    if written.is_err() {
        let _ = fs::remove_file(&partial); // the failure itself is reported
    }
    written
}

fn pack(source: &Path, name: &str, is_root: bool, partial: &Path) -> Result<usize> {
    let file = File::create(partial).map_err(Error::io("create", partial))?;
    let mut tar = Builder::new(GzEncoder::new(file, Compression::default()));
    tar.follow_symlinks(false);
    let mut count = 0;
    let mut pending = vec![PathBuf::new()];
    while let Some(relative) = pending.pop() {
        let dir = source.join(&relative);
        for entry in fs::read_dir(&dir)
            .map_err(Error::io("read", &dir))?
            .flatten()
        {
            let relative = relative.join(entry.file_name());
            let kind = entry.file_type().map_err(Error::io("read", entry.path()))?;
            if left_out(&relative, is_root) {
                continue;
            }
            if kind.is_dir() {
                pending.push(relative);
            } else if kind.is_file() {
                let inside = Path::new(name).join(&relative);
                tar.append_path_with_name(entry.path(), inside)
                    .map_err(Error::io("pack", entry.path()))?;
                count += 1;
            }
        }
    }
    tar.into_inner()
        .and_then(GzEncoder::finish)
        .map_err(Error::io("write", partial))?;
    Ok(count)
}

fn left_out(relative: &Path, is_root: bool) -> bool {
    let name = relative.file_name().unwrap_or_default().to_string_lossy();
    let top = relative.components().count() == 1;
    let database = name.ends_with(".db") || name.ends_with(".db-wal") || name.ends_with(".db-shm");
    name == "__pycache__"
        || name.ends_with(".lock")
        || top && (SECRETS.contains(&name.as_ref()) || RUNTIME.contains(&name.as_ref()))
        || is_root && top && (ROOT_ONLY.contains(&name.as_ref()) || database)
}

/// Unpacks an archive as a new profile. Nothing is kept if anything in it is not what it should be.
pub fn import(profiles: &Profiles, archive: &Path, wanted: Option<&str>) -> Result<Name> {
    let top = only_top(archive)?;
    let name = Name::for_new(wanted.unwrap_or(&top))?;
    let dir = profiles.slot(&name);
    if dir.exists() {
        return Err(Error::invalid(format!(
            "profile '{name}' already exists; pass --name to import under another"
        )));
    }
    let unpacked = unpack(archive, &dir).and_then(|()| profiles.home.at(&dir).ensure());
    if unpacked.is_err() {
        let _ = fs::remove_dir_all(&dir); // half a profile is worse than none; the failure is reported
    }
    unpacked.map(|()| name)
}

fn open(archive: &Path) -> Result<Archive<GzDecoder<File>>> {
    let file = File::open(archive).map_err(Error::io("open", archive))?;
    Ok(Archive::new(GzDecoder::new(file)))
}

/// Reads the whole archive once before anything is written; gives the one directory all is in.
fn only_top(archive: &Path) -> Result<String> {
    let mut tops = BTreeSet::new();
    for entry in open(archive)?
        .entries()
        .map_err(Error::io("read", archive))?
    {
        let entry = entry.map_err(Error::io("read", archive))?;
        let path = entry
            .path()
            .map_err(Error::io("read", archive))?
            .into_owned();
        let kind = entry.header().entry_type();
        let plain = path
            .components()
            .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if !plain
            || !matches!(kind, EntryType::Regular | EntryType::Directory)
            || path.to_string_lossy().contains(':')
        {
            return Err(Error::invalid(format!(
                "{} holds '{}', which is not an ordinary file inside the profile; nothing was imported",
                archive.display(),
                path.display()
            )));
        }
        if let Some(Component::Normal(top)) = path
            .components()
            .find(|part| matches!(part, Component::Normal(_)))
        {
            tops.insert(top.to_string_lossy().into_owned());
        }
    }
    match Vec::from_iter(tops).as_slice() {
        [top] => Ok(top.clone()),
        _ => Err(Error::invalid(format!(
            "{} is not a profile export: it must hold exactly one directory",
            archive.display()
        ))),
    }
}

fn unpack(archive: &Path, dir: &Path) -> Result<()> {
    for entry in open(archive)?
        .entries()
        .map_err(Error::io("read", archive))?
    {
        let mut entry = entry.map_err(Error::io("read", archive))?;
        let path = entry
            .path()
            .map_err(Error::io("read", archive))?
            .into_owned();
        let relative: PathBuf = path
            .components()
            .filter(|part| matches!(part, Component::Normal(_)))
            .skip(1)
            .collect();
        let target = dir.join(relative);
        if entry.header().entry_type() == EntryType::Directory {
            fs::create_dir_all(&target).map_err(Error::io("create", &target))?;
            continue;
        }
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent).map_err(Error::io("create", parent))?;
        }
        let mut file = File::create(&target).map_err(Error::io("create", &target))?;
        io::copy(&mut entry, &mut file).map_err(Error::io("write", &target))?;
    }
    Ok(())
}
