//! `mcp_servers` of `config.yaml`, as servers that can be started.

mod expand;
mod http;
mod oauth;
mod platform;
mod policy;
mod section;
mod stdio;

use std::path::PathBuf;
use std::time::Duration;

use hermes_home::{Env, Home};
use hermes_mcp::{Endpoint, EraChoice, OAuthConfig, RetryAmbiguous, Secret, ServerConfig, Timing};
use serde_json::Value;

pub use expand::expand;
pub use platform::allowed;
pub use policy::{Audit, Filter, SamplingPolicy};
pub use stdio::child_env;

use crate::redact::Secrets;
use section::{Notes, Section};

/// One server: how to reach it, and how Hermes treats what it offers.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub server: ServerConfig,
    /// False: configured, but never started.
    pub enabled: bool,
    pub filter: Filter,
    pub parallel: bool,
    pub auth: Auth,
    pub sampling: SamplingPolicy,
    /// How long the owner has for a server's question; `None`: servers may not ask.
    pub elicitation: Option<Duration>,
    /// What must not appear in any text about this server.
    pub secrets: Secrets,
    /// What the owner should be told, once.
    pub warnings: Vec<String>,
}

/// How we say who we are.
#[derive(Clone, Debug, PartialEq)]
pub enum Auth {
    /// With nothing, or with the configured headers.
    Static,
    OAuth(Box<OAuthConfig>),
}

/// What the configuration is read with.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// The process's variables with the home's `.env` laid over them.
    pub env: &'a Env,
    pub home: &'a Home,
    /// Where children start.
    pub dir: &'a std::path::Path,
}

/// Everything under `mcp_servers`, by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Servers {
    pub entries: Vec<Entry>,
    pub disabled: Vec<String>,
    pub problems: Vec<Problem>,
}

/// Why a server cannot be started as it is configured.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("MCP server '{server}': {key}: {message}")]
pub struct Problem {
    pub server: String,
    pub key: String,
    pub message: String,
    pub kind: ProblemKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// It cannot work.
    Broken,
    /// It looks like somebody planted it; see [`crate::screen`].
    Suspicious,
}

impl Servers {
    /// Reads the section as the owner wrote it or with references filled in already; both come to the same.
    pub fn read(section: &Value, around: Surroundings<'_>) -> Self {
        let mut servers = Self::default();
        if around.env.is_on("HERMES_SAFE_MODE") {
            return servers;
        }
        let mut named: Vec<_> = section.as_object().into_iter().flatten().collect();
        named.sort_by_key(|(name, _)| *name);
        for (name, value) in named {
            match Entry::read(name, value, around) {
                _ if is_off(value, around.env) => servers.disabled.push(name.clone()),
                Ok(entry) => servers.entries.push(entry),
                Err(problem) => servers.problems.push(problem),
            }
        }
        servers
    }
}

/// Whether the entry is switched off; looked at even when the rest of it is broken.
fn is_off(value: &Value, env: &Env) -> bool {
    let mut switch = value.get("enabled").cloned().unwrap_or_default();
    expand(&mut switch, env);
    section::boolish(&switch) == Some(false)
}

impl Entry {
    pub fn name(&self) -> &str {
        &self.server.name
    }

    /// Reads one entry, whether it is enabled or not.
    pub fn read(name: &str, value: &Value, around: Surroundings<'_>) -> Result<Self, Problem> {
        let mut value = value.clone();
        let unset = expand(&mut value, around.env);
        let Value::Object(map) = &value else {
            let message = "expects a section with url or command";
            return Err(Problem::broken(name, "mcp_servers", message));
        };
        let notes = Notes::new(name);
        for name in unset {
            notes.warn(format!("${{{name}}} is not set; it stays as written"));
        }
        let section = Section::new(map, &notes);
        let draft = Draft::read(&section, around)?;
        let secrets = draft.secrets();
        let Draft { endpoint, auth, .. } = draft;
        let sampling = SamplingPolicy::read(&section.section("sampling"));
        let elicitation = policy::elicitation(&section.section("elicitation"));
        let mut server = treatment(&section, ServerConfig::new(name, endpoint));
        server.sampling = sampling.enabled;
        server.elicitation = elicitation.is_some();
        Ok(Self {
            server,
            enabled: section.boolish("enabled", true),
            filter: Filter::read(&section.section("tools")),
            parallel: section.boolish("supports_parallel_tool_calls", false),
            auth,
            sampling,
            elicitation,
            secrets,
            warnings: notes.into_warnings(),
        })
    }
}

/// Where the server is and how to be let in.
struct Draft {
    endpoint: Endpoint,
    auth: Auth,
    /// Values of the entry's own `env`, without what every child gets.
    own_env: Vec<Secret>,
}

impl Draft {
    fn read(section: &Section<'_>, around: Surroundings<'_>) -> Result<Self, Problem> {
        if section.get("url").is_none() {
            let (stdio, own_env) = stdio::read(section, around)?;
            return Ok(Self {
                endpoint: Endpoint::Stdio(stdio),
                auth: Auth::Static,
                own_env,
            });
        }
        if section.get("command").is_some() {
            section.notes().warn("has url and command; url is used");
        }
        let auth = match section.choice("auth", &[("oauth", true), ("header", false)], false) {
            true => Auth::OAuth(Box::new(oauth::read(&section.section("oauth"), around)?)),
            false => Auth::Static,
        };
        let mut http = http::read(section, around)?;
        // A server that wants a login answers the look at its content type with a refusal.
        http.skip_preflight |= auth != Auth::Static;
        Ok(Self {
            endpoint: Endpoint::Http(http),
            auth,
            own_env: Vec::new(),
        })
    }

    fn secrets(&self) -> Secrets {
        let headers = match &self.endpoint {
            Endpoint::Http(http) => http.headers.values().cloned().collect(),
            Endpoint::Stdio(_) => Vec::new(),
        };
        let client = match &self.auth {
            Auth::OAuth(oauth) => oauth.client_secret.clone(),
            Auth::Static => None,
        };
        Secrets::new(
            headers
                .into_iter()
                .chain(self.own_env.clone())
                .chain(client),
        )
    }
}

/// The keys that say how the connection is treated.
fn treatment(section: &Section<'_>, defaults: ServerConfig) -> ServerConfig {
    let eras = [
        ("auto", EraChoice::Auto),
        ("legacy", EraChoice::Legacy),
        ("modern", EraChoice::Modern),
    ];
    let retries = [
        ("auto", RetryAmbiguous::Auto),
        ("always", RetryAmbiguous::Always),
        ("never", RetryAmbiguous::Never),
    ];
    let bytes = section.count("max_response_bytes", 1, defaults.max_response_bytes as u64);
    ServerConfig {
        timeout: section.seconds("timeout", defaults.timeout),
        max_timeout: section.seconds("max_timeout", defaults.max_timeout),
        connect_timeout: section.seconds("connect_timeout", defaults.connect_timeout),
        keepalive: keepalive(section, defaults.keepalive),
        era: section.choice("protocol", &eras, defaults.era),
        retry_ambiguous: section.choice(
            "retry_ambiguous_calls",
            &retries,
            defaults.retry_ambiguous,
        ),
        max_response_bytes: usize::try_from(bytes).unwrap_or(usize::MAX),
        ..defaults
    }
}

/// Zero means never; too often is raised to what a server can bear.
fn keepalive(section: &Section<'_>, default: Option<Duration>) -> Option<Duration> {
    let key = "keepalive_interval";
    if section.number(key) == Some(0.0) {
        return None;
    }
    let asked = section.seconds(key, default?);
    Some(asked.max(Timing::default().keepalive_min))
}

impl Problem {
    fn broken(server: &str, key: &str, message: impl Into<String>) -> Self {
        Self {
            server: server.to_owned(),
            key: key.to_owned(),
            message: message.into(),
            kind: ProblemKind::Broken,
        }
    }
}

/// A path as people write it: `~` is their home, and what is relative begins where children start.
fn path(text: &str, around: Surroundings<'_>) -> PathBuf {
    let home = around.env.user_home();
    match text.strip_prefix('~') {
        Some("") => home,
        Some(rest) if rest.starts_with('/') => home.join(rest.trim_start_matches('/')),
        _ => around.dir.join(text),
    }
}

#[cfg(test)]
mod tests;
