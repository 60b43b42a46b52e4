//! One skill, or one of its files, as the model reads it.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use hermes_home::envvars::{self, Category};
use serde_json::{Map, Value, json};

use crate::file::{self, NoText};
use crate::find::{Place, Skill};
use crate::format::{Document, FILE, SUPPORT_DIRS, Variable};
use crate::guard;
use crate::provenance;
use crate::resolve::Missing;
use crate::service::Skills;
use crate::template;
use crate::usage::Act;

/// Files told of one kind.
const MAX_LISTED: usize = 200;

/// A skill that was found and may be read.
#[derive(Clone, Debug)]
pub struct View {
    pub skill: Skill,
    pub file: PathBuf,
    pub document: Document,
    /// Its whole text.
    pub content: String,
}

impl Skills {
    /// Finds a skill by any of its names and reads it.
    pub fn view(&self, name: &str) -> Result<View, Missing> {
        self.open(self.resolve(name)?)
    }

    /// Reads a skill, if it may be used here.
    pub(crate) fn open(&self, skill: Skill) -> Result<View, Missing> {
        if !skill.runs_on(std::env::consts::OS) {
            return Err(Missing::Unsupported {
                name: skill.found.name.clone(),
                platforms: skill.found.platforms.clone(),
            });
        }
        if self.is_disabled(&skill) {
            return Err(Missing::Disabled(skill.found.name));
        }
        let file = if skill.found.path.ends_with(".md") {
            skill.dir()
        } else {
            skill.dir().join(FILE)
        };
        let unreadable =
            |why: &dyn fmt::Display| Missing::Unreadable(format!("{}: {why}", file.display()));
        let (bytes, size) = file::read(&file).map_err(|error| unreadable(&error))?;
        if let Err(odd @ NoText::Binary) = file::judge(&bytes) {
            return Err(unreadable(&odd));
        }
        let mut content = String::from_utf8_lossy(&bytes).into_owned();
        if size > file::MOST {
            content.push_str(&more(size));
        }
        Ok(View {
            document: Document::parse(&content),
            skill,
            file,
            content,
        })
    }

    /// The text to follow, with everything filled in.
    pub async fn text(&self, view: &View, session: &str) -> String {
        let text = if self.template_vars {
            template::fill(&view.content, &view.dir(), session)
        } else {
            view.content.clone()
        };
        match &self.inline {
            Some(run) if self.may_run(&view.skill) => {
                template::run_inline(&text, &view.dir(), run).await
            }
            _ => text,
        }
    }

    /// Only texts of the owner's own making run commands when they are read.
    fn may_run(&self, skill: &Skill) -> bool {
        skill.place == Place::Own
            && !provenance::installed(self.library.own()).contains(skill.name())
    }

    /// What the model is told about the whole skill.
    pub async fn show(&self, view: &View, session: &str) -> Value {
        self.saw(&view.file);
        self.warn_about(view);
        let (skill, document) = (&view.skill, &view.document);
        let linked = view.linked_files();
        let setup = self.setup(view);
        let mut result = json!({
            "success": true,
            "name": skill.found.name,
            "description": skill.found.description,
            "tags": document.tags(),
            "related_skills": document.related(),
            "content": self.text(view, session).await,
            "path": view.file.to_string_lossy(),
            "skill_dir": view.dir().to_string_lossy(),
            "linked_files": if linked.is_empty() { Value::Null } else { Value::Object(linked.clone()) },
        });
        if !linked.is_empty() {
            result["usage_hint"] = json!(
                "Load a file with skill_view(name, file_path), for example file_path='references/x.md'; run scripts with terminal."
            );
        }
        for (key, value) in setup {
            result[key] = value;
        }
        for key in ["compatibility", "metadata"] {
            if let Some(value) = document.front.get(key) {
                result[key] = value.clone();
            }
        }
        self.count(skill.name(), Act::Viewed);
        result
    }

    /// One of its files.
    pub fn show_file(&self, view: &View, path: &str) -> Value {
        let wrong = |error: String| json!({"success": false, "error": error});
        if !crate::format::is_inside(path) {
            return wrong(format!(
                "'{path}' must be a path inside the skill, without '..'"
            ));
        }
        let file = view.dir().join(path);
        let (Ok(real), Ok(dir)) = (fs::canonicalize(&file), fs::canonicalize(view.dir())) else {
            let mut result = wrong(format!(
                "There is no file '{path}' in the skill '{}'",
                view.skill.name()
            ));
            result["available_files"] = Value::Object(view.linked_files());
            return result;
        };
        if !real.starts_with(&dir) {
            return wrong(format!("'{path}' leads out of the skill's directory"));
        }
        if !real.is_file() {
            return wrong(format!("'{path}' is not a file"));
        }
        match read_text(&real) {
            Err(error) => wrong(format!("{path}: {error}")),
            Ok(shown) => {
                self.saw(&file);
                self.count(view.skill.name(), Act::Viewed);
                let mut result = json!({"success": true, "name": view.skill.name(), "file": path});
                match shown {
                    Shown::Text(text) => result["content"] = json!(text),
                    Shown::Binary(size) => {
                        result["content"] = json!(format!("[binary file, {size} bytes]"));
                        result["is_binary"] = json!(true);
                    }
                }
                result
            }
        }
    }

    /// What is needed and what is there. What is there is let through to commands.
    pub(crate) fn setup(&self, view: &View) -> Map<String, Value> {
        let document = &view.document;
        let wanted = document.variables();
        let mut missing = Vec::new();
        for variable in &wanted {
            match self.variable(&variable.name) {
                Some(value) => self.grant(&variable.name, &value),
                None if !variable.optional => missing.push(variable.name.clone()),
                None => {}
            }
        }
        let (files, refused) = document.credential_files();
        for path in refused {
            tracing::warn!(
                "{} asks for {path}, outside the home; refused",
                view.file.display()
            );
        }
        let absent = |file: &String| !self.home.dir().join(file).is_file();
        let absent: Vec<String> = files.into_iter().filter(absent).collect();
        let needed = !missing.is_empty() || !absent.is_empty();
        let names: Vec<&String> = wanted.iter().map(|variable| &variable.name).collect();
        let mut setup = Map::new();
        let mut set = |key: &str, value: Value| setup.insert(key.to_owned(), value);
        set("required_environment_variables", json!(names));
        set("missing_required_environment_variables", json!(missing));
        set("missing_credential_files", json!(absent));
        set("setup_needed", json!(needed));
        set("setup_skipped", json!(false));
        set(
            "readiness_status",
            json!(if needed { "setup_needed" } else { "available" }),
        );
        if needed {
            set("setup_note", json!(setup_note(&missing, &absent)));
            let help = wanted.iter().find_map(|variable| variable.help.clone());
            if let Some(help) = document.setup_help().or(help) {
                set("setup_help", json!(help));
            }
        }
        setup
    }

    /// Variables the owner could be asked for now: needed, not there, not a provider's, and not asked for before.
    pub(crate) fn askable(&self, view: &View) -> Vec<Variable> {
        let wanted = view.document.variables().into_iter();
        wanted
            .filter(|variable| !variable.optional && self.variable(&variable.name).is_none())
            .filter(|variable| {
                let known = envvars::find(&variable.name);
                known.is_none_or(|known| {
                    !matches!(known.category, Category::Provider | Category::Process)
                })
            })
            .filter(|variable| self.ask_once(&variable.name))
            .collect()
    }

    /// Orders hidden in a skill, or a place outside of all roots: still served, but not silently.
    fn warn_about(&self, view: &View) {
        for finding in guard::orders(FILE, &view.content) {
            tracing::warn!("{}: {finding}", view.file.display());
        }
        let real = fs::canonicalize(&view.file).unwrap_or_else(|_| view.file.clone());
        let roots = self.library.roots().iter();
        let mut roots = roots.filter_map(|root| fs::canonicalize(root).ok());
        if !roots.any(|root| real.starts_with(root)) {
            tracing::warn!(
                "{} lies outside the directories of skills, at {}",
                view.file.display(),
                real.display()
            );
        }
    }
}

impl View {
    /// Where its files are.
    pub fn dir(&self) -> PathBuf {
        self.file.parent().unwrap_or(Path::new("/")).to_owned()
    }

    /// Its files by kind.
    pub fn linked_files(&self) -> Map<String, Value> {
        let mut linked = Map::new();
        // A flat skill shares its directory with others.
        if self.file.file_name().is_none_or(|name| name != FILE) {
            return linked;
        }
        for kind in SUPPORT_DIRS {
            let mut files = Vec::new();
            list_files(&self.dir().join(kind), kind, &mut files, 0);
            if !files.is_empty() {
                files.sort();
                linked.insert(kind.to_owned(), json!(files));
            }
        }
        linked
    }
}

fn setup_note(variables: &[String], files: &[String]) -> String {
    let mut parts = Vec::new();
    if !variables.is_empty() {
        parts.push(format!("variables not set: {}", variables.join(", ")));
    }
    if !files.is_empty() {
        parts.push(format!(
            "files not found in the Hermes home: {}",
            files.join(", ")
        ));
    }
    format!(
        "Setup needed: {}. The owner can set a variable with `hermes config set NAME VALUE`.",
        parts.join("; ")
    )
}

enum Shown {
    Text(String),
    Binary(u64),
}

fn read_text(path: &Path) -> std::io::Result<Shown> {
    let (bytes, size) = file::read(path)?;
    if file::judge(&bytes).is_err() {
        return Ok(Shown::Binary(size));
    }
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    if size > file::MOST {
        text.push_str(&more(size));
    }
    Ok(Shown::Text(text))
}

/// What stands for the rest of a file.
fn more(size: u64) -> String {
    format!("\n[… the file has {size} bytes; read the rest with read_file]")
}

fn list_files(dir: &Path, path: &str, files: &mut Vec<String>, depth: usize) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with('.') || name == "__pycache__" || files.len() >= MAX_LISTED {
            continue;
        }
        let below = format!("{path}/{name}");
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth < 4 => {
                list_files(&entry.path(), &below, files, depth + 1);
            }
            Ok(kind) if kind.is_file() || kind.is_symlink() => files.push(below),
            _ => {}
        }
    }
}
