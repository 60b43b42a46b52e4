//! What a server is and how it wants to be treated: plain data, already read and checked.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// One server. The defaults are those of a server nobody said anything about.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerConfig {
    pub name: String,
    pub endpoint: Endpoint,
    /// How long one operation may take; progress reported by the server extends it.
    pub timeout: Duration,
    /// The most that progress can extend an operation to.
    pub max_timeout: Duration,
    /// Bound for opening the connection, shaking hands and listing the tools.
    pub connect_timeout: Duration,
    /// How often a silent connection is probed. `None` never probes.
    pub keepalive: Option<Duration>,
    pub era: EraChoice,
    pub retry_ambiguous: RetryAmbiguous,
    /// Larger messages are a protocol failure.
    pub max_response_bytes: usize,
    pub sampling: bool,
    pub elicitation: bool,
}

/// Where the server is.
#[derive(Clone, Debug, PartialEq)]
pub enum Endpoint {
    Http(HttpEndpoint),
    Stdio(StdioEndpoint),
}

#[derive(Clone, Debug, PartialEq)]
pub struct HttpEndpoint {
    pub url: String,
    pub flavour: HttpFlavour,
    /// Sent with every request to the origin of `url`, and nowhere else.
    pub headers: BTreeMap<String, Secret>,
    pub tls: Tls,
    /// Skip the look at the content type that tells a web page from a server.
    pub skip_preflight: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpFlavour {
    /// One endpoint, answers as JSON or as events.
    Streamable,
    /// The transport of 2024-11-05: answers come on one long event stream.
    Sse,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tls {
    pub verify: Verify,
    pub client_cert: Option<ClientCert>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Verify {
    #[default]
    System,
    /// Only certificates signed by what this file holds.
    Bundle(PathBuf),
    Nothing,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCert {
    pub cert: PathBuf,
    /// `None`: in the same file as the certificate.
    pub key: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StdioEndpoint {
    pub program: PathBuf,
    pub args: Vec<String>,
    /// The whole environment of the child.
    pub env: BTreeMap<String, Secret>,
    pub dir: PathBuf,
    /// What the child writes to its standard error is appended here.
    pub stderr: Option<PathBuf>,
    /// Stop the child after this long without a call; the next call starts it again.
    pub idle_limit: Option<Duration>,
    /// Stop the child when it is older than this and nothing is in flight.
    pub lifetime: Option<Duration>,
}

/// Which generation of the protocol to try first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EraChoice {
    Auto,
    Legacy,
    Modern,
}

/// Whether a call whose outcome nobody knows may be made again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RetryAmbiguous {
    /// Only what the server calls read-only or idempotent.
    #[default]
    Auto,
    Always,
    Never,
}

impl ServerConfig {
    pub fn new(name: impl Into<String>, endpoint: Endpoint) -> Self {
        let era = match endpoint {
            Endpoint::Http(_) => EraChoice::Auto,
            Endpoint::Stdio(_) => EraChoice::Legacy,
        };
        Self {
            name: name.into(),
            endpoint,
            timeout: Duration::from_secs(300),
            max_timeout: Duration::from_secs(3600),
            connect_timeout: Duration::from_secs(60),
            keepalive: Some(Duration::from_secs(180)),
            era,
            retry_ambiguous: RetryAmbiguous::Auto,
            max_response_bytes: 32 << 20,
            sampling: false,
            elicitation: false,
        }
    }

    /// Every value of this entry that must not appear in a text. Those too short to be a secret are left out, and
    /// so is what every child inherits.
    pub fn secrets(&self) -> Vec<&str> {
        let values: Vec<&Secret> = match &self.endpoint {
            Endpoint::Http(http) => http.headers.values().collect(),
            Endpoint::Stdio(stdio) => {
                let own = stdio.env.iter().filter(|(name, _)| !is_inherited(name));
                own.map(|(_, value)| value).collect()
            }
        };
        let values = values.into_iter().map(Secret::expose);
        values.filter(|value| value.len() >= 8).collect()
    }
}

/// Where things are on this machine: no secret, and in many texts.
fn is_inherited(name: &str) -> bool {
    const PLACES: [&str; 8] = [
        "PATH", "HOME", "USER", "LANG", "LC_ALL", "TERM", "SHELL", "TMPDIR",
    ];
    PLACES.contains(&name) || name.starts_with("XDG_")
}

impl HttpEndpoint {
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            flavour: HttpFlavour::Streamable,
            headers: BTreeMap::new(),
            tls: Tls::default(),
            skip_preflight: false,
        }
    }
}

/// A value nobody should read in a log.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}
