//! Profiles: several complete homes under one root, each with its own settings, memory and sessions.

mod alias;
mod archive;
mod copy;

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

pub use alias::Alias;
pub use archive::{export, import};
use copy::Skip;

use crate::config::Document;
use crate::{Env, Error, Home, Result, write, yaml};

/// A valid profile name: lower case, starts with a letter or digit, at most 64 characters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name(String);

/// Names that mean something else to people or to us.
const RESERVED: &[&str] = &["hermes", "default", "test", "tmp", "root", "sudo"];

impl Name {
    pub fn parse(text: &str) -> Result<Self> {
        let name = text.trim().to_lowercase();
        if !Self::is_valid(&name) {
            return Err(Error::invalid(format!(
                "'{text}' cannot be a profile name: use up to 64 lower-case letters, digits, - and _, beginning with a letter or digit"
            )));
        }
        Ok(Self(name))
    }

    /// Parses the name of a profile about to be made.
    pub fn for_new(text: &str) -> Result<Self> {
        let name = Self::parse(text)?;
        match RESERVED.contains(&name.as_str()) {
            true => Err(Error::invalid(format!(
                "'{name}' is a reserved name; choose another"
            ))),
            false => Ok(name),
        }
    }

    pub fn is_valid(text: &str) -> bool {
        let starts_well = text.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
        starts_well && text.len() <= 64 && text.chars().all(fits)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a new profile starts from.
#[derive(Clone, Debug)]
pub enum Origin {
    /// Empty, with bundled skills or (marked) without.
    Fresh { bundled_skills: bool },
    /// Settings, keys, persona, skills and memories of another home.
    Settings(PathBuf),
    /// Another home whole, without its caches and run-time files.
    Everything(PathBuf),
}

/// What `profile list` shows of one.
#[derive(Clone, Debug)]
pub struct Info {
    pub name: String,
    pub dir: PathBuf,
    pub active: bool,
    pub model: String,
    pub gateway_running: bool,
    pub skills: usize,
    pub alias: Option<PathBuf>,
}

/// The profiles of one root.
#[derive(Clone, Debug)]
pub struct Profiles {
    home: Home,
    user_home: PathBuf,
    path: String,
}

impl Profiles {
    pub fn of(home: &Home, env: &Env) -> Self {
        Self {
            home: home.clone(),
            user_home: env.user_home(),
            path: env.get("PATH").unwrap_or_default().to_owned(),
        }
    }

    /// The directory of a profile, which must exist.
    pub fn dir(&self, name: &str) -> Result<PathBuf> {
        if name.trim().eq_ignore_ascii_case("default") {
            return Ok(self.home.root().to_owned());
        }
        let name = Name::parse(name)?;
        let dir = self.slot(&name);
        if !dir.is_dir() {
            return Err(Error::NoProfile {
                name: name.0,
                root: self.home.root().to_owned(),
            });
        }
        Ok(dir)
    }

    /// What there is, the default one first.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = match fs::read_dir(self.home.root().join("profiles")) {
            Ok(entries) => entries
                .flatten()
                .filter(|entry| entry.path().is_dir())
                .filter_map(|entry| entry.file_name().into_string().ok())
                .filter(|name| Name::is_valid(name))
                .collect(),
            Err(_) => Vec::new(), // no profiles were ever made
        };
        names.sort();
        names.insert(0, "default".to_owned());
        names
    }

    pub fn list(&self) -> Result<Vec<Info>> {
        self.names().iter().map(|name| self.info(name)).collect()
    }

    pub fn info(&self, name: &str) -> Result<Info> {
        let dir = self.dir(name)?;
        let name = name.trim().to_lowercase();
        let home = self.home.at(&dir);
        let alias = Name::parse(&name)
            .ok()
            .map(|name| self.alias(&name))
            .filter(Alias::is_ours);
        Ok(Info {
            active: self.active() == name,
            model: model_of(&home),
            gateway_running: home.gateway_running(),
            skills: count_skills(&home.skills_dir()),
            alias: alias.map(|alias| alias.path().to_owned()),
            name,
            dir,
        })
    }

    /// The profile used when none is asked for.
    pub fn active(&self) -> String {
        let text = fs::read_to_string(self.home.root().join("active_profile")).unwrap_or_default();
        match text.trim() {
            "" => "default".to_owned(),
            name => name.to_owned(),
        }
    }

    /// Makes `name` the one used when none is asked for.
    pub fn activate(&self, name: &str) -> Result<()> {
        self.dir(name)?;
        let marker = self.home.root().join("active_profile");
        match name.trim().to_lowercase().as_str() {
            "default" => remove_if_there(&marker),
            name => write::replace_file(&marker, format!("{name}\n"), self.home.modes()),
        }
    }

    pub fn create(&self, name: &Name, origin: &Origin) -> Result<PathBuf> {
        let dir = self.slot(name);
        if dir.exists() {
            return Err(Error::invalid(format!(
                "profile '{name}' already exists at {}",
                dir.display()
            )));
        }
        let filled = self.fill(&dir, origin);
        if filled.is_err() {
            // Half a profile would be taken for a whole one; the error that follows is the news.
            let _ = fs::remove_dir_all(&dir);
        }
        filled.map(|()| dir)
    }

    fn fill(&self, dir: &Path, origin: &Origin) -> Result<()> {
        let modes = self.home.modes();
        for sub in [
            "",
            "memories",
            "sessions",
            "skills",
            "skins",
            "logs",
            "plans",
            "workspace",
            "cron",
            "home",
        ] {
            let path = dir.join(sub);
            modes
                .create_dir(&path)
                .map_err(Error::io("create", &path))?;
        }
        match origin {
            Origin::Fresh {
                bundled_skills: true,
            } => {}
            Origin::Fresh {
                bundled_skills: false,
            } => {
                write::replace_file(&dir.join(".no-bundled-skills"), "", modes)?;
            }
            Origin::Settings(source) => copy::settings(source, dir)?,
            Origin::Everything(source) => {
                let skip = if source == self.home.root() {
                    Skip::RootExtras
                } else {
                    Skip::RuntimeFiles
                };
                copy::tree(source, dir, skip)?;
            }
        }
        self.home.at(dir).ensure()
    }

    pub fn rename(&self, old: &Name, new: &Name) -> Result<PathBuf> {
        let from = self.dir(old.as_str())?;
        let to = self.slot(new);
        if to.exists() {
            return Err(Error::invalid(format!("profile '{new}' already exists")));
        }
        self.refuse_while_running(old, &from)?;
        fs::rename(&from, &to).map_err(Error::io("rename", &from))?;
        if self.active() == old.as_str() {
            self.activate(new.as_str())?;
        }
        rename_honcho_host(&to.join("honcho.json"), old, new, &self.home)?;
        if self.alias(old).is_ours() {
            self.alias(old).remove()?;
            self.alias(new).write()?;
        }
        Ok(to)
    }

    pub fn delete(&self, name: &Name) -> Result<()> {
        let dir = self.dir(name.as_str())?;
        self.refuse_while_running(name, &dir)?;
        if self.active() == name.as_str() {
            self.activate("default")?;
        }
        if self.alias(name).is_ours() {
            self.alias(name).remove()?;
        }
        fs::remove_dir_all(&dir).map_err(Error::io("remove", &dir))
    }

    /// The wrapper command for a profile.
    pub fn alias(&self, name: &Name) -> Alias {
        Alias::new(&self.user_home, &self.path, name)
    }

    fn slot(&self, name: &Name) -> PathBuf {
        self.home.root().join("profiles").join(name.as_str())
    }

    fn refuse_while_running(&self, name: &Name, dir: &Path) -> Result<()> {
        match self.home.at(dir).gateway_running() {
            true => Err(Error::invalid(format!(
                "a gateway is running in profile '{name}'; stop it first (`hermes -p {name} gateway stop` of the program that started it)"
            ))),
            false => Ok(()),
        }
    }
}

fn model_of(home: &Home) -> String {
    let Ok(document) = Document::load(&home.config_path()) else {
        return String::new();
    };
    ["model.default", "model.model", "model"]
        .iter()
        .filter_map(|key| document.get(&yaml::Path::parse(key).ok()?)?.as_str())
        .next()
        .unwrap_or_default()
        .to_owned()
}

/// Counts `SKILL.md` files; dot directories hold sidecars, not skills.
fn count_skills(dir: &Path) -> usize {
    let Ok(entries) = fs::read_dir(dir) else {
        return 0;
    };
    entries
        .flatten()
        .filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'))
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| {
            usize::from(entry.path().join("SKILL.md").is_file()) + count_skills(&entry.path())
        })
        .sum()
}

fn remove_if_there(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::io("remove", path)(error))
        }
        _ => Ok(()),
    }
}

/// The Honcho memory service knows each profile by `hermes.<name>`.
fn rename_honcho_host(path: &Path, old: &Name, new: &Name, home: &Home) -> Result<()> {
    let Ok(text) = fs::read_to_string(path) else {
        return Ok(());
    };
    let Ok(mut config) = serde_json::from_str::<Value>(&text) else {
        return Ok(());
    };
    let Some(hosts) = config.get_mut("hosts").and_then(Value::as_object_mut) else {
        return Ok(());
    };
    if let Some(host) = hosts.shift_remove(&format!("hermes.{old}")) {
        hosts.insert(format!("hermes.{new}"), host);
        write::replace_file(path, format!("{config:#}\n"), home.modes())?;
    }
    Ok(())
}
