//! Bringing the bundled skills into a home. What its owner changed, removed or made under the same name stays theirs.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use hermes_home::{Env, FileLock, Home, replace_cache, replace_file};

use super::{Bundle, Bundled, digest};
use crate::Result;
use crate::find::Shelf;
use crate::manage::disk::Care;
use crate::manage::{archive, disk};
use crate::provenance;

const MANIFEST: &str = ".bundled_manifest";
/// What was seeded last: the stamp, then the names. One look at it is all a start costs.
const STAMP: &str = ".bundled_stamp";

/// What a sync did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Synced {
    pub copied: Vec<String>,
    pub updated: Vec<String>,
    /// Changed by the owner, so left alone.
    pub modified: Vec<String>,
    /// The owner has another skill of that name.
    pub taken: Vec<String>,
}

/// What a reset does with a skill that differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restore {
    /// It stays.
    Keep,
    /// It goes to the archive, and the bundled one comes back.
    Replace,
}

/// What became of a reset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reset {
    NotBundled,
    Copied,
    Unchanged,
    /// It differs and was left alone.
    Kept,
    Restored {
        kept: PathBuf,
    },
}

impl Reset {
    /// What to tell whoever wanted it; as an error if nothing was done about a difference.
    pub fn told(&self, name: &str) -> std::result::Result<String, String> {
        match self {
            Self::Copied => Ok(format!("{name} is back")),
            Self::Unchanged => Ok(format!("{name} is as it came")),
            Self::Restored { kept } => Ok(format!(
                "{name} is as it came; yours is kept at {}",
                kept.display()
            )),
            Self::NotBundled => Err(format!(
                "no skill '{name}' comes with Hermes; `hermes skills list --source builtin` shows those that do"
            )),
            Self::Kept => Err(format!(
                "'{name}' was changed and stays as it is; --restore puts the bundled one in its place and keeps yours"
            )),
        }
    }
}

/// Seeds what is new and renews what is old. `None`: nothing has changed since the last time, or none are wanted.
pub fn sync(home: &Home, env: &Env) -> Result<Option<Synced>> {
    if home.dir().join(".no-bundled-skills").exists() {
        return Ok(None);
    }
    if Bundle::stamp(env).is_some_and(|stamp| Desk::last_stamp(&home.skills_dir()) == Some(stamp)) {
        return Ok(None);
    }
    let bundle = Bundle::load(env)?;
    let mut desk = Desk::open(home)?;
    let mut synced = Synced::default();
    for skill in &bundle.skills {
        desk.settle(skill, &mut synced)?;
    }
    for (path, bytes) in &bundle.categories {
        desk.describe(path, bytes)?;
    }
    desk.close(&bundle)?;
    Ok(Some(synced))
}

/// Brings one bundled skill back.
pub fn reset(home: &Home, env: &Env, name: &str, restore: Restore) -> Result<Reset> {
    let bundle = Bundle::load(env)?;
    let Some(skill) = bundle.skills.iter().find(|skill| skill.name == name) else {
        return Ok(Reset::NotBundled);
    };
    let mut desk = Desk::open(home)?;
    let place = desk.place_of(skill);
    let is_there = place.is_dir();
    let same = is_there && digest::of_dir(&place)? == skill.digest();
    let done = match (is_there, restore) {
        (true, _) if same => Reset::Unchanged,
        (true, Restore::Keep) => Reset::Kept,
        (true, Restore::Replace) => {
            let kept = archive::put_away(&place, &desk.own)?;
            desk.copy(skill, &place)?;
            Reset::Restored { kept }
        }
        (false, _) => {
            desk.copy(skill, &place)?;
            Reset::Copied
        }
    };
    if done != Reset::Kept {
        desk.record(skill);
    }
    desk.save_manifest()?;
    Ok(done)
}

/// The home's skills while nobody else changes them.
struct Desk {
    own: PathBuf,
    home: Home,
    manifest: BTreeMap<String, Option<String>>,
    /// Names that were seeded before, whatever the manifest says now.
    seeded: Vec<String>,
    suppressed: Vec<String>,
    shelf: Shelf,
    _lock: FileLock,
}

impl Desk {
    fn open(home: &Home) -> Result<Self> {
        let own = home.skills_dir();
        let lock = disk::lock(&own)?;
        let stamp = fs::read_to_string(own.join(STAMP)).unwrap_or_default();
        Ok(Self {
            manifest: provenance::bundled(&own),
            seeded: stamp.lines().skip(1).map(str::to_owned).collect(),
            suppressed: names(
                &fs::read_to_string(own.join(".curator_suppressed")).unwrap_or_default(),
            ),
            shelf: Shelf::walk(&own),
            home: home.clone(),
            own,
            _lock: lock,
        })
    }

    fn last_stamp(own: &Path) -> Option<String> {
        let text = fs::read_to_string(own.join(STAMP)).ok()?;
        text.lines().next().map(str::to_owned)
    }

    /// Does with one skill what its history asks for.
    fn settle(&mut self, skill: &Bundled, synced: &mut Synced) -> Result<()> {
        let place = self.place_of(skill);
        let recorded = self.manifest.get(&skill.name).cloned();
        let known = recorded.is_some() || self.seeded.contains(&skill.name);
        let name = || skill.name.clone();
        if !place.is_dir() {
            // Known but gone: its owner removed it.
            if !known && !self.suppressed.contains(&skill.name) {
                self.copy(skill, &place)?;
                self.record(skill);
                synced.copied.push(name());
            }
            return Ok(());
        }
        let current = digest::of_dir(&place)?;
        if current == skill.digest() {
            self.record(skill);
        } else if let Some(Some(before)) = recorded {
            if before == current {
                self.renew(skill, &place)?;
                self.record(skill);
                synced.updated.push(name());
            } else {
                synced.modified.push(name());
            }
        } else if known {
            // From a time without digests: whether it was changed cannot be told.
            synced.modified.push(name());
        } else {
            synced.taken.push(name());
        }
        Ok(())
    }

    /// Where the skill is or would be; its owner may have filed it elsewhere.
    fn place_of(&self, skill: &Bundled) -> PathBuf {
        let usual = self.own.join(&skill.path);
        let elsewhere = || {
            let mut found = self.shelf.skills.iter();
            let found =
                found.find(|found| found.name == skill.name || found.dir_name == skill.name);
            found.map(|found| self.own.join(&found.path))
        };
        match usual.is_dir() {
            true => usual,
            false => elsewhere().unwrap_or(usual),
        }
    }

    fn copy(&self, skill: &Bundled, place: &Path) -> Result<()> {
        disk::create_dir(
            place,
            &files(skill),
            Care::Remakable(self.home.modes()),
            &self.own,
        )
    }

    fn renew(&self, skill: &Bundled, place: &Path) -> Result<()> {
        disk::replace_dir(
            place,
            &files(skill),
            Care::Remakable(self.home.modes()),
            &self.own,
        )
    }

    fn record(&mut self, skill: &Bundled) {
        self.manifest
            .insert(skill.name.clone(), Some(skill.digest()));
    }

    /// Says what a category is for, unless somebody already does.
    fn describe(&self, path: &str, bytes: &[u8]) -> Result<()> {
        let file = self.own.join(path);
        match file.parent() {
            Some(dir) if dir.is_dir() && !file.exists() => {
                Ok(replace_cache(&file, bytes, self.home.modes())?)
            }
            _ => Ok(()),
        }
    }

    /// Writes down what is bundled now. Names we no longer bring leave; those of other programs stay.
    fn close(mut self, bundle: &Bundle) -> Result<()> {
        let is_bundled = |name: &String| bundle.skills.iter().any(|skill| skill.name == *name);
        let gone: Vec<String> = self
            .seeded
            .iter()
            .filter(|name| !is_bundled(name))
            .cloned()
            .collect();
        self.manifest.retain(|name, _| !gone.contains(name));
        self.save_manifest()?;
        let names = bundle.skills.iter().map(|skill| skill.name.as_str());
        let stamp = bundle.stamp.unwrap_or("none");
        let lines: Vec<&str> = std::iter::once(stamp).chain(names).collect();
        Ok(replace_file(
            &self.own.join(STAMP),
            lines.join("\n") + "\n",
            self.home.modes(),
        )?)
    }

    fn save_manifest(&self) -> Result<()> {
        let line = |(name, digest): (&String, &Option<String>)| match digest {
            Some(digest) => format!("{name}:{digest}\n"),
            None => format!("{name}\n"),
        };
        let text: String = self.manifest.iter().map(line).collect();
        let path = self.own.join(MANIFEST);
        if fs::read_to_string(&path).is_ok_and(|old| old == text) {
            return Ok(());
        }
        Ok(replace_file(&path, text, self.home.modes())?)
    }
}

fn files(skill: &Bundled) -> Vec<(&str, &[u8])> {
    let files = skill.files.iter();
    files
        .map(|(path, bytes)| (path.as_str(), bytes.as_slice()))
        .collect()
}

/// Names, one a line or as a JSON list.
fn names(text: &str) -> Vec<String> {
    let words = text.split(|c: char| c.is_whitespace() || ",[]\"".contains(c));
    words
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}
