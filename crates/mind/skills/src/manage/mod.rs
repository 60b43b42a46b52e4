//! Changing skills: one at a time across all processes, whole or not at all, and read back afterwards.

pub(crate) mod archive;
pub(crate) mod disk;
mod words;

pub(crate) use words::Consent;
pub use words::{Change, Changed, Origin, Refused};

use std::fs;
use std::path::Path;

use disk::Care;
use hermes_text::{Mismatch, Occurrences, did_you_mean, replace};

use crate::Error;
use crate::find::Skill;
use crate::format::{Document, FILE, MAX_CONTENT, check_category, check_content, check_name};
use crate::guard::{self, Ruling, Tree, Trust, Verdict};
use crate::provenance::Source;
use crate::service::Skills;
use crate::usage::{Act, Author};

/// Bytes of a file that is no `SKILL.md`.
const MAX_FILE: usize = 1024 * 1024;
/// Characters of a file that are shown when a patch doesn't fit.
const PREVIEW: usize = 500;

type Outcome = std::result::Result<Changed, Refused>;

impl Skills {
    /// Carries out a change. May wait for another process that changes skills.
    pub fn change(&self, name: &str, change: &Change, origin: Origin) -> Outcome {
        self.change_with(name, change, origin, Consent::NotAsked)
    }

    pub(crate) fn change_with(
        &self,
        name: &str,
        change: &Change,
        origin: Origin,
        consent: Consent,
    ) -> Outcome {
        let _lock = disk::lock(self.library.own())?;
        let known = || self.existing(name, origin);
        let done = match change {
            Change::Create { content, category } => {
                self.create(name, content, category.as_deref(), origin, consent)
            }
            Change::Edit { content } => self.edit(&known()?, content, origin, consent),
            Change::Patch {
                old,
                new,
                occurrences,
                file,
            } => {
                let (skill, file) = (known()?, file.as_deref().unwrap_or(FILE));
                let text = self.patched(&skill, file, (old, new), *occurrences, origin)?;
                self.put(&skill, file, &text, "patched", consent)
            }
            Change::Delete { absorbed_into } => {
                self.archive(&known()?, absorbed_into.as_deref(), origin)
            }
            Change::WriteFile { path, content } => {
                disk::check_support_path(path)?;
                check_size(content)?;
                self.put(&known()?, path, content, "written", consent)
            }
            Change::RemoveFile { path } => remove_file(&known()?, path),
        };
        self.library.forget();
        done
    }

    fn create(
        &self,
        name: &str,
        content: &str,
        category: Option<&str>,
        origin: Origin,
        consent: Consent,
    ) -> Outcome {
        check_name(name)?;
        let category = category.filter(|category| !category.is_empty());
        category.map(check_category).transpose()?;
        let document = check_content(content)?;
        let target =
            category.map_or_else(|| name.to_owned(), |category| format!("{category}/{name}"));
        let target = self.library.own().join(target);
        let key = document.name(name);
        self.check_free(name, &target)?;
        self.check_free(&key, &target)?;
        if target.exists() {
            return Err(taken(name, &target));
        }
        self.judge(&Tree::of(FILE, content), consent)?;
        let files = [(FILE, content.as_bytes())];
        disk::create_dir(
            &target,
            &files,
            Care::Precious(self.home.modes()),
            self.library.own(),
        )?;
        disk::verify(&target.join(FILE), content)?;
        let author = match origin {
            Origin::Foreground => Author::Owner,
            Origin::Review | Origin::Curator => Author::Agent,
        };
        if let Err(error) = self.usage.created(&key, author) {
            tracing::warn!("{key}: {error}");
        }
        self.saw(&target.join(FILE));
        Ok(Changed {
            kind: "created",
            name: name.to_owned(),
            message: format!(
                "Skill '{name}' created. It is listed from the next session on; skill_view shows it now."
            ),
            path: target,
        })
    }

    fn edit(&self, skill: &Skill, content: &str, origin: Origin, consent: Consent) -> Outcome {
        let document = check_content(content)?;
        self.check_seen(skill, FILE, origin)?;
        self.check_renamed(skill, &document)?;
        self.put(skill, FILE, content, "updated", consent)
    }

    /// A skill may take another name, but not one that is taken.
    fn check_renamed(&self, skill: &Skill, to: &Document) -> std::result::Result<(), Refused> {
        let name = to.name(&skill.found.dir_name);
        match name == skill.found.name {
            true => Ok(()),
            false => self.check_free(&name, &skill.dir()),
        }
    }

    /// Whether no skill but the one at `own` has this name.
    fn check_free(&self, name: &str, own: &Path) -> std::result::Result<(), Refused> {
        let known = self.library.skills();
        let mut others = known.iter().filter(|skill| skill.dir() != own);
        match others.find(|skill| skill.is_called(name)) {
            Some(other) => Err(taken(name, &other.dir())),
            None => Ok(()),
        }
    }

    /// The text of a file after a patch; the file itself is left alone.
    fn patched(
        &self,
        skill: &Skill,
        file: &str,
        (old, new): (&str, &str),
        occurrences: Occurrences,
        origin: Origin,
    ) -> std::result::Result<String, Refused> {
        if file != FILE {
            disk::check_support_path(file)?;
        }
        self.check_seen(skill, file, origin)?;
        let path = disk::inside(&skill.dir(), file)?;
        let text = fs::read_to_string(&path)
            .map_err(|error| Refused::new(format!("{}: {error}", path.display())))?;
        let changed = replace(&text, old, new, occurrences).map_err(|missed| {
            let preview: String = text.chars().take(PREVIEW).collect();
            let hint = match missed {
                Mismatch::NotFound => did_you_mean(old, &text),
                _ => String::new(),
            };
            Refused::new(format!("{missed}.{hint}")).with("file_preview", preview)
        })?;
        match file {
            FILE => {
                let document = check_content(&changed).map_err(|error| {
                    Refused::new(format!(
                        "The patch would break SKILL.md, so nothing was changed: {error}"
                    ))
                })?;
                self.check_renamed(skill, &document)?;
            }
            _ => check_size(&changed)?,
        }
        Ok(changed)
    }

    /// Writes one file of a skill.
    fn put(
        &self,
        skill: &Skill,
        file: &str,
        content: &str,
        kind: &'static str,
        consent: Consent,
    ) -> Outcome {
        let path = disk::inside(&skill.dir(), file)?;
        if self.guard {
            let mut tree = Tree::read(&skill.dir()).unwrap_or_default();
            tree.put(file, content);
            self.judge(&tree, consent)?;
        }
        disk::replace(&path, content, self.home.modes())?;
        disk::verify(&path, content)?;
        self.saw(&skill.dir().join(file));
        self.count(skill.name(), Act::Changed);
        let name = &skill.found.name;
        let message = match kind {
            "updated" => format!("Skill '{name}' updated."),
            "patched" => format!("Patched {file} of skill '{name}'."),
            _ => format!("File '{file}' written to skill '{name}'."),
        };
        Ok(Changed {
            kind,
            name: name.clone(),
            message,
            path,
        })
    }

    fn judge(&self, tree: &Tree, consent: Consent) -> std::result::Result<(), Refused> {
        if !self.guard || consent == Consent::Given {
            return Ok(());
        }
        let findings = guard::scan(tree);
        match Trust::AgentCreated.rule(Verdict::of(&findings)) {
            Ruling::Allow => Ok(()),
            Ruling::Ask | Ruling::Block => Err(Refused::Dangerous { findings }),
        }
    }

    /// A skill that may be changed on this behalf.
    fn existing(&self, name: &str, origin: Origin) -> std::result::Result<Skill, Refused> {
        let skill = self
            .resolve(name)
            .map_err(|missing| Refused::new(missing.to_string()))?;
        if skill.found.path.ends_with(".md") {
            return Err(Refused::new(format!(
                "'{name}' is a single file at {}; change it with the file tools",
                skill.dir().display()
            )));
        }
        if origin != Origin::Foreground {
            self.is_ours(&skill).map_err(|why| {
                Refused::new(format!(
                    "'{name}' {why}; only skills made by the agent itself may be changed here"
                ))
            })?;
        }
        Ok(skill)
    }

    /// Whether the agent made it on its own and nobody has claimed it.
    fn is_ours(&self, skill: &Skill) -> std::result::Result<(), &'static str> {
        let record = self.usage.record(skill.name()).unwrap_or_default();
        match self.source(skill) {
            Source::External => Err("lies in an external directory"),
            Source::Bundled => Err("came with Hermes"),
            Source::Hub => Err("was installed from the hub"),
            Source::Local if record.is_pinned() => Err("is pinned"),
            Source::Local if !record.is_agents() => Err("was written by a person"),
            Source::Local => Ok(()),
        }
    }

    fn check_seen(
        &self,
        skill: &Skill,
        file: &str,
        origin: Origin,
    ) -> std::result::Result<(), Refused> {
        if origin == Origin::Foreground || self.has_seen(&skill.dir().join(file)) {
            return Ok(());
        }
        Err(Refused::new(format!(
            "Read {file} of '{}' with skill_view first; what was not read is not changed",
            skill.name()
        )))
    }
}

fn taken(name: &str, by: &Path) -> Refused {
    Refused::new(format!(
        "A skill named '{name}' already exists at {}. Use patch or edit to change it.",
        by.display()
    ))
}

fn remove_file(skill: &Skill, path: &str) -> Outcome {
    disk::check_support_path(path)?;
    let file = disk::inside(&skill.dir(), path)?;
    if !file.is_file() && !file.is_symlink() {
        return Err(Refused::new(format!(
            "There is no file '{path}' in the skill '{}'",
            skill.name()
        )));
    }
    fs::remove_file(&file).map_err(|error| Error::io("remove", &file, &error))?;
    disk::remove_empty(&file, &skill.dir());
    Ok(Changed {
        kind: "removed",
        name: skill.found.name.clone(),
        message: format!("File '{path}' removed from skill '{}'.", skill.name()),
        path: file,
    })
}

fn check_size(content: &str) -> std::result::Result<(), Refused> {
    let count = content.chars().count();
    if content.len() > MAX_FILE || count > MAX_CONTENT {
        return Err(Refused::new(format!(
            "The file has {count} characters and {} bytes; at most {MAX_CONTENT} and {MAX_FILE} are allowed",
            content.len()
        )));
    }
    Ok(())
}
