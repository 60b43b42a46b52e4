//! What is known about a server's OAuth before anybody asked it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::config::Secret;
use crate::oauth::assertion::SigningKey;
use crate::oauth::cross_app::IdentityProvider;
use crate::oauth::store::TokenStore;
use crate::timing::Clock;

/// What it takes to get at the tokens of one server.
#[derive(Clone)]
pub struct Access {
    /// The name the server is known by here; its documents are stored under it.
    pub server: String,
    /// The server's address: what the tokens are for.
    pub url: String,
    pub config: OAuthConfig,
    pub store: Arc<dyn TokenStore>,
    /// Must not follow redirects: credentials go where they were meant to go or nowhere.
    pub http: reqwest::Client,
    pub clock: Arc<dyn Clock>,
}

/// How to log in to a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OAuthConfig {
    /// What the user reads on the consent page.
    pub client_name: String,
    /// A client somebody registered by hand. `None` registers one.
    pub client_id: Option<String>,
    pub client_secret: Option<Secret>,
    /// The address of a document that describes this client, for servers that take one as its id.
    pub client_metadata_url: Option<String>,
    /// What to ask for; `None` asks for what the server says is needed.
    pub scope: Option<String>,
    pub grant: Grant,
    /// The name of this machine in the redirect address. The listener is on 127.0.0.1 whatever it says.
    pub redirect_host: String,
    /// `None` takes the registered one, or any that is free.
    pub redirect_port: Option<u16>,
    /// The whole redirect address, where something in between hands the answer on to us.
    pub redirect_uri: Option<String>,
    /// How long the user has to log in.
    pub timeout: Duration,
    /// Added to the address the user logs in at.
    pub authorize_params: BTreeMap<String, String>,
}

/// Who logs in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grant {
    /// A person, in a browser.
    AuthorizationCode,
    /// The program itself, with its client id, and its key if it has one or else its secret.
    ClientCredentials { signing_key: Option<SigningKey> },
    /// Somebody the identity provider of their company has logged in already.
    CrossApp(Box<IdentityProvider>),
}

impl Grant {
    /// Whether tokens can be had without anybody in front of the program.
    pub(crate) fn is_unattended(&self) -> bool {
        !matches!(self, Self::AuthorizationCode)
    }
}

impl OAuthConfig {
    pub fn new(client_name: impl Into<String>) -> Self {
        Self {
            client_name: client_name.into(),
            client_id: None,
            client_secret: None,
            client_metadata_url: None,
            scope: None,
            grant: Grant::AuthorizationCode,
            redirect_host: "127.0.0.1".to_owned(),
            redirect_port: None,
            redirect_uri: None,
            timeout: Duration::from_secs(300),
            authorize_params: BTreeMap::new(),
        }
    }

    /// What must not be shown.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &Secret> {
        let provider = match &self.grant {
            Grant::CrossApp(provider) => Some(provider),
            Grant::AuthorizationCode | Grant::ClientCredentials { .. } => None,
        };
        let theirs = provider.into_iter().flat_map(|provider| {
            let login = [&provider.id_token];
            login.into_iter().chain(&provider.client_secret)
        });
        self.client_secret.iter().chain(theirs)
    }

    /// The scopes asked for by configuration, one by one.
    pub(crate) fn scopes(&self) -> Vec<String> {
        let scope = self.scope.as_deref().unwrap_or_default();
        scope.split_whitespace().map(str::to_owned).collect()
    }
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access")
            .field("server", &self.server)
            .field("url", &self.url)
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}
