//! What the tools, the prompt and the commands about skills share in one session.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hermes_home::config::Settings;
use hermes_home::{Env, Home};
use serde_json::Value;

use crate::find::{Library, Skill, disabled};
use crate::index::{self, Offer};
use crate::manage::disk;
use crate::provenance;
use crate::template::RunInline;
use crate::usage::{Act, Usage};

/// What commands may see because of skills.
#[derive(Clone, Copy, Debug)]
pub enum Passing<'a> {
    /// This variable, for which a loaded skill asks. It may be refused: no skill gets a provider's key.
    Variable { name: &'a str, value: &'a str },
    /// Nothing any more: another conversation begins.
    Nothing,
}

/// Lets commands see what loaded skills ask for.
pub type Grant = Arc<dyn Fn(Passing<'_>) + Send + Sync>;

/// The skills of one home, as one session sees them.
pub struct Skills {
    pub(crate) home: Home,
    pub(crate) library: Library,
    pub(crate) usage: Usage,
    disabled: BTreeSet<String>,
    pub(crate) template_vars: bool,
    pub(crate) guard: bool,
    /// `skills.config`: what the owner set for skills.
    pub(crate) config: Value,
    /// Variables as far as they are known now; what the owner is asked for is added.
    env: Mutex<Env>,
    grant: Option<Grant>,
    pub(crate) inline: Option<RunInline>,
    /// Files that were shown in this session: one may not be changed unseen by a reviewer.
    viewed: Mutex<HashSet<PathBuf>>,
    /// Variables the owner has already been asked for.
    asked: Mutex<HashSet<String>>,
    /// The names there were when somebody was last told.
    known: Mutex<Option<Vec<String>>>,
}

impl Skills {
    /// `platform` is how the session is reached: `cli` and so on.
    pub fn new(home: &Home, settings: &Settings, env: &Env, platform: &str) -> Self {
        let platform = env.filled("HERMES_PLATFORM").unwrap_or(platform);
        // Whoever was killed in the middle of a rollback must not leave an empty library behind.
        disk::settle(&home.skills_dir());
        Self {
            home: home.clone(),
            library: Library::new(home, settings, env),
            usage: Usage::new(&home.skills_dir(), home.modes()),
            disabled: disabled(settings, platform),
            template_vars: settings.is_on("skills.template_vars"),
            guard: settings.is_on("skills.guard_agent_created"),
            config: settings.get("skills.config").cloned().unwrap_or_default(),
            env: Mutex::new(env.clone()),
            grant: None,
            inline: None,
            viewed: Mutex::default(),
            asked: Mutex::default(),
            known: Mutex::default(),
        }
    }

    /// With a way to let commands see what loaded skills need.
    #[must_use]
    pub fn granting(self, grant: Grant) -> Self {
        let grant = Some(grant);
        Self { grant, ..self }
    }

    /// With a way to run the commands in skills' texts.
    #[must_use]
    pub fn running(self, inline: RunInline) -> Self {
        let inline = Some(inline);
        Self { inline, ..self }
    }

    pub fn library(&self) -> &Library {
        &self.library
    }

    pub fn usage(&self) -> &Usage {
        &self.usage
    }

    /// What can be used here: neither disabled nor made for another system, each name once, the home's own first.
    pub fn visible(&self) -> Vec<Skill> {
        self.visible_of(self.library.skills())
    }

    /// The part of the system prompt about skills.
    pub fn prompt(&self, offer: &Offer) -> Option<String> {
        let shelves = self.library.shelves();
        let mut categories: BTreeMap<String, String> = BTreeMap::new();
        for (name, about) in shelves
            .iter()
            .flat_map(|shelf| &shelf.category_descriptions)
        {
            categories
                .entry(name.clone())
                .or_insert_with(|| about.clone());
        }
        let all = shelves
            .into_iter()
            .flat_map(|shelf| self.library.placed(shelf));
        let mut skills = self.visible_of(all.collect());
        lock(&self.known).replace(names(&skills));
        skills.retain(|skill| offer.suits(skill));
        index::index(&skills, &categories, offer)
    }

    pub(crate) fn is_disabled(&self, skill: &Skill) -> bool {
        self.disabled.contains(skill.name()) || self.disabled.contains(&skill.found.dir_name)
    }

    fn visible_of(&self, all: Vec<Skill>) -> Vec<Skill> {
        // Of one name in several directories the first counts; within one, the owner must tell them apart.
        let mut taken: HashMap<String, Arc<Path>> = HashMap::new();
        let mut pairs = all.windows(2);
        let several = pairs.any(|pair| !Arc::ptr_eq(&pair[0].root, &pair[1].root));
        let mut first = |skill: &Skill| match taken.get(skill.name()) {
            _ if !several => true,
            Some(root) => *root == skill.root,
            None => {
                taken.insert(skill.name().to_owned(), Arc::clone(&skill.root));
                true
            }
        };
        let here = all
            .into_iter()
            .filter(|skill| skill.runs_on(std::env::consts::OS));
        let on = here.filter(|skill| !self.is_disabled(skill));
        on.filter(|skill| first(skill)).collect()
    }

    /// The value of a variable, if it has one.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        lock(&self.env).filled(name).map(str::to_owned)
    }

    pub(crate) fn learned(&self, name: &str, value: &str) {
        lock(&self.env).set(name, value);
    }

    /// Whether the owner has not been asked for it yet; from now on they have.
    pub(crate) fn ask_once(&self, name: &str) -> bool {
        lock(&self.asked).insert(name.to_owned())
    }

    pub(crate) fn grant(&self, name: &str, value: &str) {
        if let Some(grant) = &self.grant {
            grant(Passing::Variable { name, value });
        }
    }

    /// Another conversation begins: nothing was read or let through in it yet.
    pub fn forget_session(&self) {
        lock(&self.viewed).clear();
        lock(&self.asked).clear();
        if let Some(grant) = &self.grant {
            grant(Passing::Nothing);
        }
    }

    /// Looks at everything anew; says what has come and gone since the last time.
    pub fn reload(&self) -> String {
        self.library.forget();
        let now = names(&self.visible());
        let before = lock(&self.known).replace(now.clone());
        let before: BTreeSet<String> = before.unwrap_or_else(|| now.clone()).into_iter().collect();
        let now: BTreeSet<String> = now.into_iter().collect();
        let listed = |what: &str, names: Vec<&String>| {
            let names: Vec<&str> = names.into_iter().map(String::as_str).collect();
            (!names.is_empty()).then(|| format!("{what}: {}", names.join(", ")))
        };
        let news: Vec<String> = [
            listed("added", now.difference(&before).collect()),
            listed("removed", before.difference(&now).collect()),
        ]
        .into_iter()
        .flatten()
        .collect();
        let news = if news.is_empty() {
            "nothing has changed".to_owned()
        } else {
            news.join("; ")
        };
        format!("{} skills, {news}", now.len())
    }

    pub(crate) fn saw(&self, file: &Path) {
        lock(&self.viewed).insert(file.to_owned());
    }

    pub(crate) fn has_seen(&self, file: &Path) -> bool {
        lock(&self.viewed).contains(file)
    }

    /// Counts, where counting is meant. That it fails changes nothing for whoever uses the skill.
    pub(crate) fn count(&self, name: &str, act: Act) {
        if !provenance::is_counted(self.library.own(), name) {
            return;
        }
        if let Err(error) = self.usage.note(name, act) {
            tracing::warn!("the use of {name} was not counted: {error}");
        }
    }
}

impl std::fmt::Debug for Skills {
    /// Without the environment, which holds secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Skills")
            .field("library", &self.library)
            .finish_non_exhaustive()
    }
}

fn names(skills: &[Skill]) -> Vec<String> {
    let names = skills.iter().map(|skill| skill.found.name.clone());
    names.collect()
}

/// A panic elsewhere doesn't make a list wrong.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
