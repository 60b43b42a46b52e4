//! What a confined command may do, and how that maps to paths.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// What may be done. What no list names can be read and not changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// May be changed. Never the root directory.
    pub writable: Vec<PathBuf>,
    /// May not be changed even inside of what may.
    pub fixed: Vec<PathBuf>,
    /// May not be read either.
    pub hidden: Vec<PathBuf>,
    /// Doors to programs outside that would act for whoever knocks. Shut where that can be done.
    pub doors: Vec<PathBuf>,
    pub network: Network,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Network {
    #[default]
    On,
    Off,
}

/// What may be done to a path and all below it that no other rule names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Write,
    Read,
    None,
}

/// Parents before their children; the longest path that fits counts.
pub(super) type Rules = BTreeMap<PathBuf, Access>;

impl Policy {
    /// With every path as it is without links.
    pub(super) fn settled(mut self) -> Self {
        for list in [&mut self.writable, &mut self.fixed, &mut self.hidden] {
            for path in list {
                *path = real(path);
            }
        }
        self
    }

    /// The rules for what is there now, without those that change nothing.
    pub(super) fn rules(&self) -> Rules {
        // A place that became a link since is another place.
        let same = |path: &PathBuf| fs::canonicalize(path).ok().filter(|now| now == path);
        let writable = self.writable.iter().filter_map(same);
        let writable = writable.filter(|path| path.parent().is_some());
        let now = |path: &PathBuf| fs::canonicalize(path).ok();
        let all = writable.map(|path| (path, Access::Write));
        let all = all.chain(
            self.fixed
                .iter()
                .filter_map(now)
                .map(|path| (path, Access::Read)),
        );
        let all = all.chain(
            self.hidden
                .iter()
                .filter_map(now)
                .map(|path| (path, Access::None)),
        );
        // Of two rules for one path the stricter, which comes later.
        pinned(telling(all.collect()))
    }
}

/// What the nearest rule above `path` says.
fn inherited(rules: &Rules, path: &Path) -> (Option<PathBuf>, Access) {
    let above = path.ancestors().skip(1);
    let nearest = above.filter_map(|dir| rules.get_key_value(dir)).next();
    nearest.map_or((None, Access::Read), |(dir, access)| {
        (Some(dir.clone()), *access)
    })
}

fn telling(all: Rules) -> Rules {
    let mut rules = Rules::new();
    for (path, access) in all {
        if inherited(&rules, &path).1 != access {
            rules.insert(path, access);
        }
    }
    rules
}

/// A directory that may be changed could be renamed, with what must stay hidden in it: the next command would not
/// find that in its place any more. So all directories on the way to such a path get rules of their own.
fn pinned(mut rules: Rules) -> Rules {
    let pins: Vec<PathBuf> = rules
        .keys()
        .filter_map(|path| match inherited(&rules, path) {
            (Some(top), Access::Write) => Some((path, top)),
            _ => None,
        })
        .flat_map(|(path, top)| {
            let way = path.ancestors().skip(1).map(Path::to_owned);
            way.take_while(move |dir| *dir != top)
        })
        .collect();
    for pin in pins {
        rules.entry(pin).or_insert(Access::Write);
    }
    rules
}

/// The path without links, as far as it exists.
fn real(path: &Path) -> PathBuf {
    match (fs::canonicalize(path), path.parent(), path.file_name()) {
        (Ok(real), ..) => real,
        (Err(_), Some(parent), Some(name)) => real(parent).join(name),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn tree() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(dir.path()).unwrap();
        for sub in ["home/.config/gh", "home/.ssh", "home/work", "other"] {
            fs::create_dir_all(top.join(sub)).unwrap();
        }
        (dir, top)
    }

    fn shown(rules: &Rules, top: &Path) -> Vec<String> {
        let line = |(path, access): (&PathBuf, &Access)| {
            format!("{} {access:?}", path.strip_prefix(top).unwrap().display())
        };
        rules.iter().map(line).collect()
    }

    #[test]
    fn the_longest_path_counts_and_the_way_to_it_is_pinned() {
        let (_dir, top) = tree();
        let at = |paths: &[&str]| -> Vec<PathBuf> { paths.iter().map(|p| top.join(p)).collect() };
        let policy = Policy {
            writable: at(&["home", "home/work", "missing"]),
            fixed: at(&["other", "home/.config"]),
            hidden: at(&["home/.config/gh", "home/.ssh", "home/.netrc"]),
            ..Policy::default()
        };
        let rules = policy.settled().rules();
        let expected = [
            "home Write",
            "home/.config Read",
            "home/.config/gh None",
            "home/.ssh None",
        ];
        assert_eq!(shown(&rules, &top), expected);

        let policy = Policy {
            writable: vec![top.clone()],
            hidden: at(&["home/.config/gh"]),
            ..Policy::default()
        };
        let rules = policy.settled().rules();
        let expected = [
            " Write",
            "home Write",
            "home/.config Write",
            "home/.config/gh None",
        ];
        assert_eq!(shown(&rules, &top), expected);
    }

    #[test]
    fn links_do_not_move_the_bounds() {
        let (_dir, top) = tree();
        symlink(top.join("home/.ssh"), top.join("keys")).unwrap();
        let policy = Policy {
            writable: vec![top.join("home/work")],
            hidden: vec![top.join("keys")],
            ..Policy::default()
        };
        let policy = policy.settled();
        let expected = ["home/.ssh None", "home/work Write"];
        assert_eq!(shown(&policy.rules(), &top), expected);
        fs::remove_dir(top.join("home/work")).unwrap();
        symlink(top.join("other"), top.join("home/work")).unwrap();
        assert_eq!(shown(&policy.rules(), &top), ["home/.ssh None"]);
    }

    #[test]
    fn the_root_directory_is_never_writable() {
        let policy = Policy {
            writable: vec!["/".into()],
            ..Policy::default()
        };
        assert_eq!(policy.settled().rules(), Rules::new());
    }
}
