//! `.worktreeinclude`: what a checkout needs although it is in no commit. Files are copied, directories linked.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};

const LIST: &str = ".worktreeinclude";
/// More than anybody writes by hand.
const MAX_LIST: u64 = 64 * 1024;
/// Larger files are compared by nobody: they count as changed.
const MAX_COMPARED: u64 = 16 * 1024 * 1024;

/// What was brought into a checkout.
#[derive(Debug, Default)]
pub(super) struct Included {
    from: PathBuf,
    to: PathBuf,
    /// Relative to both.
    paths: Vec<PathBuf>,
    pub warnings: Vec<String>,
}

impl Included {
    /// Brings everything on the repository's list. What cannot be brought is a warning.
    pub fn bring(repo: &Path, checkout: &Path) -> Self {
        let mut included = Self {
            from: repo.to_owned(),
            to: checkout.to_owned(),
            ..Self::default()
        };
        for line in list(repo).lines().map(str::trim) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            match bring_one(repo, checkout, line) {
                Ok(Some(path)) => included.paths.push(path),
                Ok(None) => {}
                Err(why) => included
                    .warnings
                    .push(format!("{LIST}: {line} was left out: {why}")),
            }
        }
        included
    }

    /// Those that are still as they were brought: they are nobody's work.
    pub fn untouched(&self) -> Vec<PathBuf> {
        let same = |path: &&PathBuf| {
            let (from, to) = (self.from.join(path), self.to.join(path));
            to.is_symlink() || same_content(&from, &to)
        };
        self.paths.iter().filter(same).cloned().collect()
    }
}

fn list(repo: &Path) -> String {
    let mut text = String::new();
    if let Ok(file) = File::open(repo.join(LIST)) {
        // Not readable as text is as good as not there.
        let _ = file.take(MAX_LIST).read_to_string(&mut text);
    }
    text
}

/// Brings one file or directory; what isn't there, or is in the commit, needs no bringing.
fn bring_one(repo: &Path, checkout: &Path, line: &str) -> Result<Option<PathBuf>, String> {
    let path: PathBuf = Path::new(line)
        .components()
        .filter(|part| *part != Component::CurDir)
        .collect();
    if path.as_os_str().is_empty() {
        return Err("it is the repository itself".to_owned());
    }
    let (from, to) = (repo.join(&path), checkout.join(&path));
    let Ok(source) = from.canonicalize() else {
        return Ok(None);
    };
    if !source.starts_with(resolved(repo)) {
        return Err("it leads out of the repository".to_owned());
    }
    if !lands_inside(&to, &resolved(checkout)) {
        return Err("it would be put outside the checkout".to_owned());
    }
    if source.is_dir() && to.symlink_metadata().is_ok() {
        return Ok(None);
    }
    let brought = to
        .parent()
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| {
            if source.is_dir() {
                symlink(&source, &to)
            } else if source.is_file() {
                fs::copy(&source, &to).map(drop)
            } else {
                Err(std::io::Error::other(
                    "it is neither a file nor a directory",
                ))
            }
        });
    brought
        .map(|()| Some(path))
        .map_err(|error| error.to_string())
}

/// Whether writing to `to` stays below `root`, wherever links on the way lead.
fn lands_inside(to: &Path, root: &Path) -> bool {
    let climbs = |path: &Path| path.components().any(|part| part == Component::ParentDir);
    if climbs(to) {
        return false;
    }
    // The first thing on the way up that exists, a link to nowhere included, decides.
    let existing = to.ancestors().find(|path| path.symlink_metadata().is_ok());
    existing
        .and_then(|path| path.canonicalize().ok())
        .is_some_and(|path| path.starts_with(root))
}

fn resolved(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

fn same_content(one: &Path, other: &Path) -> bool {
    let size = |path: &Path| fs::metadata(path).map(|data| data.len()).ok();
    let length = size(one);
    length.is_some_and(|length| length <= MAX_COMPARED)
        && length == size(other)
        && matches!((fs::read(one), fs::read(other)), (Ok(a), Ok(b)) if a == b)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use tempfile::TempDir;

    use super::*;

    /// A repository and a checkout side by side.
    fn places() -> (TempDir, PathBuf, PathBuf) {
        let dir = TempDir::new().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let (repo, checkout) = (root.join("repo"), root.join("repo/.worktrees/hermes-1"));
        fs::create_dir_all(&checkout).unwrap();
        (dir, repo, checkout)
    }

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn files_are_copied_and_directories_linked() {
        let (_dir, repo, checkout) = places();
        write(
            &repo.join(LIST),
            "# needed\n.env\n\n./deep/key\nmodules/\nmissing\n",
        );
        write(&repo.join(".env"), "A=1");
        write(&repo.join("deep/key"), "k");
        write(&repo.join("modules/m.js"), "m");
        let included = Included::bring(&repo, &checkout);
        assert_eq!(included.warnings, Vec::<String>::new());
        assert_eq!(fs::read_to_string(checkout.join(".env")).unwrap(), "A=1");
        assert_eq!(fs::read_to_string(checkout.join("deep/key")).unwrap(), "k");
        assert_eq!(
            fs::read_link(checkout.join("modules")).unwrap(),
            repo.join("modules")
        );
        let names = [".env", "deep/key", "modules"].map(PathBuf::from);
        assert_eq!(included.untouched(), names);
        write(&checkout.join(".env"), "A=2");
        assert_eq!(included.untouched(), names[1..]);
    }

    #[test]
    fn nothing_leads_out() {
        let (dir, repo, checkout) = places();
        let outside = dir.path().canonicalize().unwrap().join("outside");
        write(&outside.join("secret"), "s");
        write(&repo.join("into/file"), "f");
        write(&repo.join("file"), "f");
        symlink(&outside, repo.join("link")).unwrap();
        symlink(&outside, checkout.join("into")).unwrap();
        symlink(outside.join("new"), checkout.join("file")).unwrap();
        let check = |line: &str| {
            write(&repo.join(LIST), line);
            let included = Included::bring(&repo, &checkout);
            assert_eq!(included.warnings.len(), 1, "{line}: {included:?}");
            assert_eq!(included.paths, Vec::<PathBuf>::new(), "{line}");
        };
        check("../outside/secret");
        check("into/../../outside/secret");
        check("link/secret");
        check("link");
        check("into/file");
        check("file");
        check(".");
        check(&outside.join("secret").display().to_string());
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    }
}
