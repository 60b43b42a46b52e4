//! What a crate has to say about its own health; `hermes doctor` collects and prints these.

use std::fmt;

/// How bad a finding is. Only `Error` makes `hermes doctor` fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Ok,
    Warning,
    Error,
}

/// Mends what the finding describes and says what it did. Only offered where nothing can be lost.
pub type Repair = Box<dyn FnOnce() -> Result<String, String> + Send>;

/// One line of a health report.
pub struct Finding {
    pub level: Level,
    /// What was looked at and how it is, in one line.
    pub text: String,
    /// Why the owner should care. Empty for `Ok`.
    pub why: String,
    /// The exact thing to do about it. Empty for `Ok`.
    pub fix: String,
    /// A safe automatic repair, run by `doctor --fix`.
    pub repair: Option<Repair>,
}

impl Finding {
    pub fn ok(text: impl Into<String>) -> Self {
        Self::new(Level::Ok, text.into(), "", "")
    }

    pub fn warning(
        text: impl Into<String>,
        why: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self::new(Level::Warning, text.into(), why, fix)
    }

    pub fn error(text: impl Into<String>, why: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::new(Level::Error, text.into(), why, fix)
    }

    /// Attaches what `doctor --fix` may run.
    #[must_use]
    pub fn with_repair(
        mut self,
        repair: impl FnOnce() -> Result<String, String> + Send + 'static,
    ) -> Self {
        self.repair = Some(Box::new(repair));
        self
    }

    fn new(level: Level, text: String, why: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            level,
            text,
            why: why.into(),
            fix: fix.into(),
            repair: None,
        }
    }
}

impl fmt::Debug for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Finding")
            .field("level", &self.level)
            .field("text", &self.text)
            .field("why", &self.why)
            .field("fix", &self.fix)
            .field("repair", &self.repair.is_some())
            .finish()
    }
}
