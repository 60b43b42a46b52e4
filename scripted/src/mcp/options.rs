//! What the healthy server is like.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

/// Everything has a default: a server of both eras with all tools, open to everybody.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    pub era: Era,
    pub capabilities: Vec<Capability>,
    /// More tools, of any name. They do nothing but count.
    pub tools: Vec<String>,
    /// So many more: `tool_0001` and on.
    pub more_tools: usize,
    /// Entries per page of a list; 0 means all at once.
    pub page: usize,
    /// Lists have a next page for ever.
    pub endless: bool,
    /// A session unused for longer is forgotten.
    pub session_idle_ms: Option<u64>,
    /// Answers over Streamable HTTP come as a stream even if they are all there is to say.
    pub stream_answers: bool,
    /// Sessions can have a stream of their own (`GET`); otherwise 405.
    pub get_stream: bool,
    pub auth: Auth,
    /// Instead of the usual answer, by method or name of a tool: an object with `result` or `error`.
    pub answers: BTreeMap<String, Value>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Era {
    /// `initialize` and sessions.
    Legacy,
    /// `server/discover`, stateless.
    Modern,
    #[default]
    Both,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Capability {
    Tools,
    Resources,
    Prompts,
}

/// Who may come in.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Auth {
    #[default]
    Open,
    /// Whoever sends this header with this value.
    Key { header: String, value: String },
    /// Whoever has a token of ours.
    Oauth {
        expires_in_s: u64,
        /// A refresh token works once.
        rotate: bool,
        /// Clients known without registration.
        #[serde(default)]
        clients: Vec<String>,
    },
}

impl Default for Options {
    fn default() -> Self {
        Self {
            era: Era::default(),
            capabilities: vec![
                Capability::Tools,
                Capability::Resources,
                Capability::Prompts,
            ],
            tools: Vec::new(),
            more_tools: 0,
            page: 0,
            endless: false,
            session_idle_ms: None,
            stream_answers: false,
            get_stream: true,
            auth: Auth::default(),
            answers: BTreeMap::new(),
        }
    }
}

impl Options {
    pub(crate) fn session_idle(&self) -> Option<Duration> {
        self.session_idle_ms.map(Duration::from_millis)
    }

    pub(crate) fn has(&self, capability: Capability) -> bool {
        self.capabilities.contains(&capability)
    }
}
