//! What commands may see of our environment.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hermes_home::Env;
use hermes_home::envvars::{self, Category};

/// A PATH that finds the system's own programs.
const SANE_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Names of other programs' secrets that we were handed by their conventions.
const FIXED: [&str; 12] = [
    "ANTHROPIC_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "LLM_MODEL",
    "DEEPSEEK_API_KEY",
    "MISTRAL_API_KEY",
    "GROQ_API_KEY",
    "TOGETHER_API_KEY",
    "PERPLEXITY_API_KEY",
    "COHERE_API_KEY",
    "FIREWORKS_API_KEY",
    "HELICONE_API_KEY",
    "GH_TOKEN",
];
const PREFIXES: [&str; 9] = [
    "OPENAI_",
    "ANTHROPIC_BASE_",
    "HASS_",
    "EMAIL_",
    "GATEWAY_ALLOWED_",
    "GITHUB_APP_",
    "MODAL_",
    "DAYTONA_",
    "VERCEL_",
];

/// Names the filter lets through.
#[derive(Clone, Debug, Default)]
pub struct Passthrough {
    /// `terminal.env_passthrough`: the owner decides, also about secrets.
    pub owner: Vec<String>,
    /// What loaded skills ask for; never a provider's credentials.
    pub skills: Vec<String>,
}

/// Variables that are let through after the start, because a skill that was loaded asks for them.
#[derive(Clone, Default)]
pub struct Granted(Arc<Mutex<BTreeMap<String, String>>>);

impl Granted {
    /// Lets commands see a variable, unless it opens a provider's account; says whether they do.
    pub fn grant(&self, name: &str, value: &str) -> bool {
        let allowed = !matches!(kind(name), Kind::Provider);
        if allowed {
            self.vars().insert(name.to_owned(), value.to_owned());
        }
        allowed
    }

    /// Another conversation: what was let through for the last one isn't any more.
    pub fn clear(&self) {
        self.vars().clear();
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.vars().keys().cloned().collect()
    }

    pub(crate) fn all(&self) -> Vec<(String, String)> {
        let vars = self.vars();
        vars.iter()
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }

    /// A panic elsewhere doesn't make a variable wrong.
    fn vars(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Granted {
    /// Without the values, which are secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.vars().keys()).finish()
    }
}

/// The environment of a command: ours without secrets, with a PATH that works. A home of its own for programs,
/// `<hermes home>/home`, is used if the owner made one.
pub fn child_env(
    env: &Env,
    passthrough: &Passthrough,
    hermes_home: &Path,
) -> Vec<(String, String)> {
    let mut child: Env = env
        .iter()
        .filter(|(name, _)| passes(name, passthrough))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let path = env.filled("PATH").unwrap_or_default();
    if !path.split(':').any(|dir| dir == "/usr/bin") {
        let separator = if path.is_empty() { "" } else { ":" };
        child.set("PATH", format!("{path}{separator}{SANE_PATH}"));
    }
    let own_home = hermes_home.join("home");
    if own_home.is_dir() {
        child.set("HOME", own_home.to_string_lossy());
    }
    child
        .iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

fn passes(name: &str, passthrough: &Passthrough) -> bool {
    let listed = |names: &[String]| names.iter().any(|listed| listed == name);
    match kind(name) {
        Kind::Free => true,
        Kind::Kept => listed(&passthrough.owner) || listed(&passthrough.skills),
        Kind::Provider => listed(&passthrough.owner),
    }
}

enum Kind {
    Free,
    /// Needed by some tool of ours, not by commands.
    Kept,
    /// Opens a model provider's account.
    Provider,
}

fn kind(name: &str) -> Kind {
    match envvars::find(name) {
        Some(var) if var.category == Category::Provider => Kind::Provider,
        Some(var) if var.secret || matches!(var.category, Category::Tool | Category::Messaging) => {
            Kind::Kept
        }
        _ if PREFIXES.iter().any(|prefix| name.starts_with(prefix)) || FIXED.contains(&name) => {
            Kind::Provider
        }
        _ if auxiliary(name) || relay(name) => Kind::Provider,
        _ => Kind::Free,
    }
}

fn auxiliary(name: &str) -> bool {
    name.starts_with("AUXILIARY_") && (name.ends_with("_API_KEY") || name.ends_with("_BASE_URL"))
}

fn relay(name: &str) -> bool {
    name.starts_with("GATEWAY_RELAY_")
        && ["_SECRET", "_KEY", "_TOKEN"]
            .iter()
            .any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, expected: bool) {
        let passthrough = Passthrough {
            owner: vec!["MY_VAR".to_owned(), "TAVILY_API_KEY".to_owned()],
            skills: vec!["OPENAI_API_KEY".to_owned(), "TELEGRAM_BOT_TOKEN".to_owned()],
        };
        let env = Env::from([(name, "value")]);
        let child = child_env(&env, &passthrough, Path::new("/nonexistent"));
        let found = child.iter().any(|(seen, _)| seen == name);
        assert_eq!(found, expected, "{name}");
    }

    // spec: terminal-and-safety §13.17
    #[test]
    fn secrets_stay_here() {
        for name in [
            "HOME",
            "LANG",
            "MY_VAR",
            "EDITOR",
            "SSH_AUTH_SOCK",
            "HERMES_HOME",
        ] {
            check(name, true);
        }
        for name in [
            "OPENAI_API_KEY",
            "OPENAI_BASE_URL",
            "ANTHROPIC_API_KEY",
            "OPENROUTER_API_KEY",
            "SLACK_BOT_TOKEN",
            "TELEGRAM_ALLOWED_USERS",
            "GH_TOKEN",
            "MODAL_TOKEN_SECRET",
            "AUXILIARY_VISION_API_KEY",
            "GATEWAY_RELAY_X_SECRET",
            "SUDO_PASSWORD",
            "EMAIL_PASSWORD",
        ] {
            check(name, false);
        }
        // The owner may pass anything on, a skill no provider's key.
        check("TAVILY_API_KEY", true);
        check("TELEGRAM_BOT_TOKEN", true);
    }

    #[test]
    fn skills_get_what_they_need_but_no_providers_key() {
        let granted = Granted::default();
        assert!(granted.grant("NOTION_API_KEY", "n") && granted.grant("MY_VAR", "m"));
        for name in [
            "OPENAI_API_KEY",
            "ANTHROPIC_API_KEY",
            "GH_TOKEN",
            "OPENROUTER_API_KEY",
        ] {
            assert!(!granted.grant(name, "x"), "{name}");
        }
        let names: Vec<String> = granted.all().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["MY_VAR", "NOTION_API_KEY"]);
        assert_eq!(format!("{granted:?}"), r#"{"MY_VAR", "NOTION_API_KEY"}"#);
        granted.clear();
        assert!(granted.all().is_empty());
    }

    #[test]
    fn programs_are_found() {
        let path = |given: &[(&str, &str)]| {
            let env = given
                .iter()
                .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()))
                .collect();
            let child = child_env(&env, &Passthrough::default(), Path::new("/nonexistent"));
            child
                .into_iter()
                .find(|(name, _)| name == "PATH")
                .unwrap()
                .1
        };
        assert_eq!(path(&[("PATH", "/a:/usr/bin")]), "/a:/usr/bin");
        assert_eq!(path(&[("PATH", "/a")]), format!("/a:{SANE_PATH}"));
        assert_eq!(path(&[]), SANE_PATH);
    }
}
