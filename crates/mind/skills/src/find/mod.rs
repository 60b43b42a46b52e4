//! Which skills there are: the home's own and those of further directories, kept in a snapshot between runs.

mod manifest;
mod shelf;
mod snapshot;

pub use shelf::{Found, Shelf};

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_home::config::Settings;
use hermes_home::{Env, Home, Modes};
use serde_json::Value;

use crate::format::names;

/// What a skill without a category is listed under.
pub const NO_CATEGORY: &str = "general";

/// The directories that hold skills.
#[derive(Clone, Debug)]
pub struct Library {
    /// The home's own first: it wins where names clash.
    roots: Vec<PathBuf>,
    snapshot: PathBuf,
    modes: Modes,
}

/// A skill and where it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Skill {
    pub found: Found,
    pub root: Arc<Path>,
    pub place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Below the home's `skills`.
    Own,
    /// Below one of `skills.external_dirs`.
    External,
}

impl Skill {
    pub fn dir(&self) -> PathBuf {
        self.root.join(&self.found.path)
    }

    pub fn name(&self) -> &str {
        &self.found.name
    }

    pub fn category(&self) -> Option<&str> {
        self.found
            .path
            .contains('/')
            .then_some(self.found.category.as_str())
    }

    /// Whether its author meant it for this system.
    pub fn runs_on(&self, os: &str) -> bool {
        let listed = &self.found.platforms;
        listed.is_empty() || listed.iter().any(|name| same_system(name, os))
    }

    /// Whether it goes by this name.
    pub fn is_called(&self, name: &str) -> bool {
        self.found.name == name || self.found.dir_name == name
    }
}

fn same_system(named: &str, os: &str) -> bool {
    match named.to_lowercase().as_str() {
        "macos" | "darwin" | "mac" | "osx" => os == "macos",
        "windows" | "win32" | "win" => os == "windows",
        other => other == os,
    }
}

impl Library {
    pub fn new(home: &Home, settings: &Settings, env: &Env) -> Self {
        let mut roots = vec![home.skills_dir()];
        for given in names(settings.get("skills.external_dirs")) {
            let dir = home.dir().join(expanded(&given, env));
            if !roots.contains(&dir) {
                roots.push(dir);
            }
        }
        Self {
            roots,
            snapshot: home.dir().join(".skills_prompt_snapshot.json"),
            modes: home.modes().clone(),
        }
    }

    /// The home's own directory of skills.
    pub fn own(&self) -> &Path {
        &self.roots[0]
    }

    pub fn roots(&self) -> &[PathBuf] {
        &self.roots
    }

    /// Everything there is, one shelf for each directory that exists.
    pub fn shelves(&self) -> Vec<Shelf> {
        let mut kept = snapshot::read(&self.snapshot);
        let mut walked = false;
        let mut shelves = Vec::new();
        for root in self.roots.iter().filter(|root| root.is_dir()) {
            let known = kept.iter().position(|shelf| shelf.root == *root);
            let known = known
                .map(|at| kept.swap_remove(at))
                .filter(Shelf::still_holds);
            shelves.push(known.unwrap_or_else(|| {
                walked = true;
                Shelf::walk(root)
            }));
        }
        if walked {
            for trouble in shelves.iter().flat_map(|shelf| &shelf.troubles) {
                tracing::warn!("{trouble}");
            }
            snapshot::write(&self.snapshot, &shelves, &self.modes);
        }
        shelves
    }

    /// All skills, also those that are disabled or meant for another system.
    pub fn skills(&self) -> Vec<Skill> {
        self.shelves()
            .into_iter()
            .flat_map(|shelf| self.placed(shelf))
            .collect()
    }

    /// What could not be read, and why.
    pub fn troubles(&self) -> Vec<String> {
        self.shelves()
            .into_iter()
            .flat_map(|shelf| shelf.troubles)
            .collect()
    }

    /// Something was written: the snapshot is worth nothing any more.
    pub fn forget(&self) {
        // Whatever is left of it no longer matches the files anyway.
        let _ = std::fs::remove_file(&self.snapshot);
    }

    pub(crate) fn placed(&self, shelf: Shelf) -> impl Iterator<Item = Skill> + use<> {
        let place = if shelf.root == self.roots[0] {
            Place::Own
        } else {
            Place::External
        };
        let root: Arc<Path> = shelf.root.into();
        shelf.skills.into_iter().map(move |found| Skill {
            found,
            root: Arc::clone(&root),
            place,
        })
    }
}

/// Which skills are switched off: for this platform if it has a list of its own, else for all.
pub fn disabled(settings: &Settings, platform: &str) -> BTreeSet<String> {
    let own = settings
        .get("skills.platform_disabled")
        .and_then(|all| all.get(platform))
        .filter(|list| !list.is_null());
    let list: Option<&Value> = own.or_else(|| settings.get("skills.disabled"));
    names(list).into_iter().collect()
}

/// `~`, `$NAME` and `${NAME}`; a variable nobody set stays as it is.
fn expanded(given: &str, env: &Env) -> PathBuf {
    let mut path = String::new();
    let mut rest = given;
    if let Some(below) = given
        .strip_prefix('~')
        .filter(|b| b.is_empty() || b.starts_with('/'))
    {
        path.push_str(&env.user_home().to_string_lossy());
        rest = below;
    }
    while let Some(at) = rest.find('$') {
        path.push_str(&rest[..at]);
        let tail = &rest[at + 1..];
        let (name, after) = match tail
            .strip_prefix('{')
            .and_then(|braced| braced.split_once('}'))
        {
            Some(parts) => parts,
            None => {
                let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
                tail.split_at(tail.find(|c| !is_name(c)).unwrap_or(tail.len()))
            }
        };
        match env.get(name) {
            Some(value) => path.push_str(value),
            None => path.push_str(&rest[at..rest.len() - after.len()]),
        }
        rest = after;
    }
    path.push_str(rest);
    path.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_the_owner() {
        let env = Env::from([("HOME", "/h"), ("TEAM", "/t")]);
        let check = |given: &str, expected: &str| {
            assert_eq!(expanded(given, &env), Path::new(expected), "{given}");
        };
        check("~/skills", "/h/skills");
        check("~", "/h");
        check("~other/x", "~other/x");
        check("$TEAM/a", "/t/a");
        check("${TEAM}x/b", "/tx/b");
        check("$NOPE/a", "$NOPE/a");
        check("${NOPE}/a", "${NOPE}/a");
        check("rel/dir", "rel/dir");
    }
}
