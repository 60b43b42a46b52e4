//! `hermes import`: putting a backup's files back into a root.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use zip::ZipArchive;
use zip::read::ZipFile;

use super::{CopyDatabase, Progress, RUNTIME, is_database};
use crate::{Error, Home, Result};

/// What came back.
#[derive(Debug, Default)]
pub struct Restored {
    pub files: usize,
    /// Members whose path leads outside the root; never written.
    pub blocked: Vec<String>,
    /// What could not be written, with the reason.
    pub failed: Vec<String>,
}

/// Private whatever the archive says.
const SECRET: &[&str] = &[".env", "auth.json", "state.db"];

/// Restores every member that stays inside the root and isn't a run-time file.
pub fn restore(
    home: &Home,
    archive: &Path,
    copy: CopyDatabase<'_>,
    progress: Progress<'_>,
) -> Result<Restored> {
    if home.at(home.root()).gateway_running() || home.gateway_running() {
        return Err(Error::invalid(
            "a gateway is running on this home; stop it before importing",
        ));
    }
    let mut zip = open(archive)?;
    let names: Vec<String> = zip
        .file_names()
        .filter_map(|name| Some(name.ok()?.into_owned()))
        .collect();
    let prefix = prefix(&names);
    if !["config.yaml", ".env", "state.db"].iter().any(|known| {
        names
            .iter()
            .any(|name| name.strip_prefix(prefix) == Some(known))
    }) {
        return Err(Error::invalid(format!(
            "{} is not a Hermes backup: it has no config.yaml, .env or state.db",
            archive.display()
        )));
    }
    let mut restored = Restored::default();
    for index in 0..zip.len() {
        let mut member = zip
            .by_index(index)
            .map_err(|error| Error::io("read", archive)(error.into()))?;
        if member.is_dir() {
            continue;
        }
        let Some(relative) = safe_path(&member, prefix) else {
            restored.blocked.push(
                member
                    .name()
                    .map_or_else(|_| format!("member {index}"), |name| name.into_owned()),
            );
            continue;
        };
        let name = relative.file_name().unwrap_or_default().to_string_lossy();
        if RUNTIME.contains(&name.as_ref()) {
            continue;
        }
        progress(&relative);
        match write(&home.root().join(&relative), &mut member, copy) {
            Ok(()) => restored.files += 1,
            Err(reason) => restored
                .failed
                .push(format!("{}: {reason}", relative.display())),
        }
    }
    Ok(restored)
}

fn open(archive: &Path) -> Result<ZipArchive<File>> {
    let file = File::open(archive).map_err(Error::io("open", archive))?;
    ZipArchive::new(file)
        .map_err(|_| Error::invalid(format!("{} is not a zip file", archive.display())))
}

/// Some archivers put everything under the directory's own name.
fn prefix(names: &[String]) -> &'static str {
    [".hermes/", "hermes/"]
        .into_iter()
        .find(|prefix| names.iter().all(|name| name.starts_with(prefix)))
        .unwrap_or("")
}

fn safe_path(member: &ZipFile<'_, File>, prefix: &str) -> Option<PathBuf> {
    let name = member.name().ok()?;
    // An absolute name is stripped to a relative one by the library; to us it is suspicious.
    let suspicious = name.starts_with(['/', '\\']) || name.contains("..") || member.is_symlink();
    let path = member.enclosed_name()?;
    let path = path.strip_prefix(prefix).unwrap_or(&path);
    (!suspicious && !path.as_os_str().is_empty()).then(|| path.to_owned())
}

fn write(
    target: &Path,
    member: &mut ZipFile<'_, File>,
    copy: CopyDatabase<'_>,
) -> std::result::Result<(), String> {
    let text = |error: io::Error| error.to_string();
    let dir = target.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(dir).map_err(text)?;
    let temp = dir.join(format!(".import-{:08x}.partial", fastrand::u32(..)));
    let put = unpack(&temp, target, member).map_err(text).and_then(|()| {
        if is_database(target) && target.exists() {
            // Through SQLite, which locks out other users and takes care of the journal beside it.
            copy(&temp, target)
        } else {
            fs::rename(&temp, target).map_err(text)
        }
    });
    let _ = fs::remove_file(&temp); // gone already after a rename
    put
}

fn unpack(temp: &Path, target: &Path, member: &mut ZipFile<'_, File>) -> io::Result<()> {
    let mut file = File::create(temp)?;
    let secret = SECRET
        .iter()
        .any(|name| target.file_name().is_some_and(|file| file == *name));
    let mode = if secret {
        0o600
    } else {
        member.unix_mode().unwrap_or(0o600) & 0o777
    };
    file.set_permissions(Permissions::from_mode(mode))?;
    io::copy(member, &mut file)?;
    file.sync_all()
}
