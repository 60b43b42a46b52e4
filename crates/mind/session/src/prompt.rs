//! The system prompt: parts joined once, then sent byte for byte with every request of the session.

use std::path::PathBuf;

use hermes_home::Home;
use hermes_text::scan::screened;
use jiff::Zoned;

use crate::rules::project_rules;

/// Where the session happens; everything the prompt says about the world.
#[derive(Clone, Debug)]
pub struct Surroundings {
    pub cwd: PathBuf,
    pub user_home: PathBuf,
    pub model: String,
    pub provider: String,
    pub started: Zoned,
    /// Whether files of the project and the owner's persona are read.
    pub rules: bool,
    /// Whether there are tools at all.
    pub tools: bool,
    /// `agent.tool_use_enforcement` says so for this model.
    pub enforce: bool,
    /// How the answer is shown: `cli` and so on.
    pub platform: &'static str,
    /// The checkout of the session's own, if it has one.
    pub worktree: Option<OwnCheckout>,
    /// The skills there are, if the session can use them.
    pub skills: Option<String>,
    /// Skills the owner wants to be followed from the start.
    pub preloaded: Option<String>,
    /// What is remembered of earlier sessions.
    pub memory: Option<String>,
}

/// A git worktree that belongs to the session.
#[derive(Clone, Debug)]
pub struct OwnCheckout {
    pub path: PathBuf,
    pub branch: String,
    pub repo: PathBuf,
}

impl OwnCheckout {
    /// What the model must know about it.
    pub fn note(&self) -> String {
        include_str!("prompts/worktree.md")
            .trim()
            .replace("{path}", &self.path.display().to_string())
            .replace("{branch}", &self.branch)
            .replace("{repo}", &self.repo.display().to_string())
    }
}

/// Names of models that announce instead of acting unless told otherwise.
const ANNOUNCERS: &[&str] = &["gpt", "codex", "gemini", "gemma", "grok", "glm"];

impl Surroundings {
    /// Whether `setting` (auto, true, false or a list of name parts) asks for enforcement with this model.
    pub fn enforces(setting: &serde_json::Value, model: &str) -> bool {
        let model = model.to_lowercase();
        let named = |names: &[&str]| {
            names
                .iter()
                .any(|name| model.contains(&name.to_lowercase()))
        };
        match setting {
            serde_json::Value::Bool(on) => *on,
            serde_json::Value::Array(names) => named(
                &names
                    .iter()
                    .filter_map(serde_json::Value::as_str)
                    .collect::<Vec<_>>(),
            ),
            serde_json::Value::String(text) if text != "auto" => text == "true",
            _ => named(ANNOUNCERS),
        }
    }
}

/// Builds the prompt of a new session.
pub fn system_prompt(home: &Home, around: &Surroundings) -> String {
    let parts = [
        Some(identity(home, around)),
        around
            .tools
            .then(|| include_str!("prompts/tools.md").trim().to_owned()),
        (around.tools && around.enforce).then(|| include_str!("prompts/act.md").trim().to_owned()),
        around.skills.clone(),
        Some(environment(around)),
        (around.platform == "cli").then(|| include_str!("prompts/cli.md").trim().to_owned()),
        around.worktree.as_ref().map(OwnCheckout::note),
        around.preloaded.clone(),
        around.rules.then(|| project_rules(&around.cwd)).flatten(),
        around.memory.clone(),
        Some(closing(around)),
    ];
    parts
        .into_iter()
        .flatten()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("\n\n")
}

fn identity(home: &Home, around: &Surroundings) -> String {
    let soul = around
        .rules
        .then(|| std::fs::read_to_string(home.soul()).ok())
        .flatten();
    match soul.filter(|text| !text.trim().is_empty()) {
        Some(text) => screened("SOUL.md", text.trim()),
        None => include_str!("prompts/identity.md").trim().to_owned(),
    }
}

fn environment(around: &Surroundings) -> String {
    format!(
        "Host: {}\nUser home directory: {}\nCurrent working directory: {}",
        std::env::consts::OS,
        around.user_home.display(),
        around.cwd.display()
    )
}

/// The day, not the minute: a finer clock would break caches between sessions.
fn closing(around: &Surroundings) -> String {
    format!(
        "Conversation started: {}\nModel: {}\nProvider: {}",
        around.started.strftime("%A, %B %d, %Y"),
        around.model,
        around.provider
    )
}
