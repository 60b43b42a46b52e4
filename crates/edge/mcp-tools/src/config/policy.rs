//! What a server may show to the model, and what it may ask of us.

use std::time::Duration;

use super::section::Section;

/// `tools:`: which of a server's offers the model sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    /// Raw names; wins over `exclude`.
    pub include: Option<Vec<String>>,
    pub exclude: Vec<String>,
    pub resources: bool,
    pub prompts: bool,
}

impl Default for Filter {
    fn default() -> Self {
        Self {
            include: None,
            exclude: Vec::new(),
            resources: true,
            prompts: true,
        }
    }
}

impl Filter {
    pub(super) fn read(section: &Section<'_>) -> Self {
        Self {
            include: section.list("include").filter(|names| !names.is_empty()),
            exclude: section.list("exclude").unwrap_or_default(),
            resources: section.boolish("resources", true),
            prompts: section.boolish("prompts", true),
        }
    }

    /// Whether the tool of that raw name is wanted.
    pub fn admits(&self, tool: &str) -> bool {
        match &self.include {
            Some(names) => names.iter().any(|name| name == tool),
            None => !self.exclude.iter().any(|name| name == tool),
        }
    }

    /// Which tools are left out, for people; `None`: none.
    pub fn summary(&self) -> Option<String> {
        match &self.include {
            Some(names) => Some(format!("only {}", names.join(", "))),
            None if self.exclude.is_empty() => None,
            None => Some(format!("without {}", self.exclude.join(", "))),
        }
    }
}

/// `sampling:`: how much a server may think with our model.
#[derive(Clone, Debug, PartialEq)]
pub struct SamplingPolicy {
    pub enabled: bool,
    /// Instead of what the server hints at.
    pub model: Option<String>,
    /// Empty: any.
    pub allowed_models: Vec<String>,
    pub max_tokens_cap: u64,
    /// Bound of one request to the model.
    pub timeout: Duration,
    /// Requests in any 60 seconds.
    pub max_rpm: u64,
    /// Answers in a row that may ask for tools; 0: none.
    pub max_tool_rounds: u64,
    pub audit: Audit,
}

/// How loudly requests are written to the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audit {
    Debug,
    Info,
    Warning,
}

impl Default for SamplingPolicy {
    fn default() -> Self {
        Self {
            enabled: true,
            model: None,
            allowed_models: Vec::new(),
            max_tokens_cap: 4096,
            timeout: Duration::from_secs(30),
            max_rpm: 10,
            max_tool_rounds: 5,
            audit: Audit::Info,
        }
    }
}

impl SamplingPolicy {
    pub(super) fn read(section: &Section<'_>) -> Self {
        let default = Self::default();
        let levels = [
            ("debug", Audit::Debug),
            ("info", Audit::Info),
            ("warning", Audit::Warning),
            ("warn", Audit::Warning),
        ];
        Self {
            enabled: section.boolish("enabled", default.enabled),
            model: section.text("model"),
            allowed_models: section.list("allowed_models").unwrap_or_default(),
            max_tokens_cap: section.count("max_tokens_cap", 1, default.max_tokens_cap),
            timeout: section.seconds("timeout", default.timeout),
            max_rpm: section.count("max_rpm", 0, default.max_rpm),
            max_tool_rounds: section.count("max_tool_rounds", 0, default.max_tool_rounds),
            audit: section.choice("log_level", &levels, default.audit),
        }
    }
}

/// How long the owner has for a question of the server; `None`: it may not ask.
pub(super) fn elicitation(section: &Section<'_>) -> Option<Duration> {
    let timeout = section.seconds("timeout", Duration::from_secs(300));
    section.boolish("enabled", true).then_some(timeout)
}
