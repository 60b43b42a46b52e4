//! Logging in: a person, a browser, and new tokens at the end, or everything as it was.

use std::io;

use futures::future::BoxFuture;

use crate::failure::Failure;
use crate::oauth::authorizer::refresh;
use crate::oauth::config::Access;
use crate::oauth::flow::{Flow, Gained};
use crate::oauth::renewal::LOCK_WAIT;
use crate::oauth::store::{Document, StoreError, Vault};
use crate::oauth::web::Web;

/// The person in front of the program.
pub trait LoginUi: Send {
    /// Says where to log in, and opens a browser where there is one.
    fn show(&mut self, prompt: &LoginPrompt);

    /// A line somebody pasted; `None` when there will be none. Dropped when the browser comes back by itself.
    fn pasted(&mut self) -> BoxFuture<'_, Option<String>>;

    /// Says why a pasted line is no answer.
    fn complain(&mut self, text: &str);
}

/// What the user has to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginPrompt {
    /// Where to log in.
    pub url: String,
    /// Where the browser is sent afterwards.
    pub redirect_uri: String,
    /// The port of this machine that waits for it, if one does.
    pub port: Option<u16>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoginOptions {
    /// The `WWW-Authenticate` the server refused a request with, if one was made.
    pub challenge: Option<String>,
    pub registration: Registration,
}

/// Which client to log in as, where none is configured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Registration {
    /// The one registered before, as long as it fits.
    #[default]
    Reuse,
    /// A new one: the server may have forgotten the old one without saying so.
    New,
}

/// Why nobody is logged in now.
#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    #[error("{0:?} is not a usable address: {1}")]
    Address(String, String),
    #[error("cannot find out how to log in to {server}: {reason}")]
    Discovery { server: String, reason: String },
    #[error(
        "cannot listen on port {port} for the login to {server}: {source}; set oauth.redirect_port to a free one"
    )]
    Port {
        server: String,
        port: u16,
        source: io::Error,
    },
    #[error(
        "cannot register with {server}: {reason}; register a client by hand and set oauth.client_id"
    )]
    Registration { server: String, reason: String },
    #[error("{server} does not support PKCE with S256, without which a login is not safe")]
    Pkce { server: String },
    #[error("the login to {server} was refused: {reason}")]
    Refused { server: String, reason: String },
    #[error("{server} gave no token: {reason}")]
    Exchange { server: String, reason: String },
    #[error("the login was skipped")]
    Skipped,
    #[error("nobody logged in to {server} within {seconds} s")]
    TimedOut { server: String, seconds: u64 },
    #[error(transparent)]
    Failed(#[from] Failure),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Logs in to a server and stores what came of it. Whatever was stored stays until there is something better.
pub async fn login(
    access: &Access,
    ui: &mut dyn LoginUi,
    options: LoginOptions,
) -> Result<(), LoginError> {
    if access.config.grant.is_unattended() {
        return Ok(refresh(access).await?);
    }
    let vault = Vault::new(access.store.clone(), &access.server);
    let web = Web::new(access.http.clone());
    let flow = Flow {
        access,
        vault: &vault,
        web: &web,
    };
    let limit = access.config.timeout;
    match tokio::time::timeout(limit, flow.run(ui, &options)).await {
        Ok(gained) => keep(&vault, gained?).await,
        Err(_) => Err(LoginError::TimedOut {
            server: access.server.clone(),
            seconds: limit.as_secs(),
        }),
    }
}

/// Stores what a login brought. If one document cannot be stored, the others go back to what they were.
async fn keep(vault: &Vault, gained: Gained) -> Result<(), LoginError> {
    // Somebody may be renewing the old token; a lock that never comes free must not cost the login.
    let _guard = vault.lock(LOCK_WAIT).await?;
    let mut documents = vec![(Document::Metadata, gained.metadata)];
    documents.extend(gained.registration.map(|fields| (Document::Client, fields)));
    documents.push((Document::Tokens, gained.tokens));
    let mut before = Vec::new();
    for (document, fields) in documents {
        before.push((document, vault.load(document).await?));
        if let Err(error) = vault.save(document, fields).await {
            for (document, stored) in before {
                // The failure to report is the first one.
                let _ = match stored {
                    Some(stored) => vault.save(document, stored.fields).await,
                    None => vault.remove(document).await,
                };
            }
            return Err(error.into());
        }
    }
    Ok(())
}
