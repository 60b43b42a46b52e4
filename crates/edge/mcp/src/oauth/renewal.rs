//! Replacing a token: behind the lock, after another look, at the right endpoint, and stored before anybody uses it.

use std::time::{Duration, SystemTime};

use tokio::time::Instant;
use url::Url;

use crate::config::Secret;
use crate::failure::{Class, Failure};
use crate::oauth::assertion::NoRandom;
use crate::oauth::client::Client;
use crate::oauth::config::{Access, Grant};
use crate::oauth::discovery::{self, Found};
use crate::oauth::endpoint::{Refusal, TokenEndpoint};
use crate::oauth::store::{Document, Fields, StoreError, Vault};
use crate::oauth::tokens::{self, Tokens};
use crate::oauth::web::Web;

/// How long to wait for another program that is renewing the same token.
pub(crate) const LOCK_WAIT: Duration = Duration::from_secs(10);
const DISCOVERY: Duration = Duration::from_secs(10);

pub(crate) struct Renewal {
    access: Access,
    vault: Vault,
    web: Web,
}

impl Renewal {
    pub(crate) fn new(access: Access) -> Self {
        Self {
            vault: Vault::new(access.store.clone(), &access.server),
            web: Web::new(access.http.clone()),
            access,
        }
    }

    /// Makes sure that the stored token is another one than `old`.
    pub(crate) async fn run(&self, old: Option<&Secret>) -> Result<(), Failure> {
        let guard = self.vault.lock(LOCK_WAIT).await.map_err(unusable)?;
        let tokens = self.stored().await?;
        if let Some(tokens) = &tokens
            && old != Some(&tokens.access)
        {
            return Ok(());
        }
        if guard.is_none() {
            let message = format!(
                "another program has been renewing the token of {} for {} s",
                self.access.server,
                LOCK_WAIT.as_secs()
            );
            return Err(Failure::new(Class::NotSent, "Locked", message));
        }
        let fields = self.fetch(tokens.as_ref()).await?;
        let saved = self.vault.save(Document::Tokens, fields).await;
        // The lock is given back only now: whoever gets it next reads the new token.
        drop(guard);
        saved.map_err(unusable)
    }

    pub(crate) async fn stored(&self) -> Result<Option<Tokens>, Failure> {
        let stored = self.vault.load(Document::Tokens).await.map_err(unusable)?;
        Ok(stored.and_then(Tokens::read))
    }

    pub(crate) fn is_unattended(&self) -> bool {
        self.access.config.grant.is_unattended()
    }

    pub(crate) fn can_renew(&self, tokens: &Tokens) -> bool {
        tokens.refresh.is_some() || self.is_unattended()
    }

    pub(crate) fn wall(&self) -> SystemTime {
        self.access.clock.wall()
    }

    pub(crate) fn mono(&self) -> Instant {
        self.access.clock.mono()
    }

    /// Asks for new tokens; answers the document to store.
    async fn fetch(&self, old: Option<&Tokens>) -> Result<Fields, Failure> {
        let refresh = old.and_then(|tokens| tokens.refresh.as_ref());
        let asked = match (refresh, &self.access.config.grant) {
            (_, Grant::ClientCredentials { .. }) => self.client_credentials().await?,
            (_, Grant::CrossApp(provider)) => {
                let scope = self.access.config.scopes().join(" ");
                let endpoint = self.endpoint().await?;
                provider.vouch(&self.web, &endpoint, &scope).await
            }
            (Some(refresh), Grant::AuthorizationCode) => {
                let grant = [
                    ("grant_type", "refresh_token"),
                    ("refresh_token", refresh.expose()),
                ];
                self.endpoint().await?.ask(&self.web, &grant).await
            }
            (None, Grant::AuthorizationCode) => {
                let reason = match old {
                    Some(_) => "the token was refused, and there is none to renew it with",
                    None => "nobody has logged in yet",
                };
                return Err(self.needs_login(reason));
            }
        };
        match (asked, old) {
            (Ok(answer), Some(old)) => Ok(old.renewed(answer, self.wall())),
            (Ok(answer), None) => Ok(tokens::dated(answer, self.wall())),
            (Err(refusal), _) => Err(self.refused(refusal).await),
        }
    }

    async fn client_credentials(&self) -> Result<Result<Fields, Refusal>, Failure> {
        let scopes = self.access.config.scopes().join(" ");
        let mut grant = vec![("grant_type", "client_credentials")];
        if !scopes.is_empty() {
            grant.push(("scope", &scopes));
        }
        Ok(self.endpoint().await?.ask(&self.web, &grant).await)
    }

    async fn refused(&self, refusal: Refusal) -> Failure {
        match refusal {
            Refusal::Transient(failure) => failure,
            Refusal::Grant(text) => self.needs_login(&text),
            Refusal::Client(text) if self.access.config.client_id.is_some() => {
                self.needs_login(&text)
            }
            Refusal::Client(text) => match discard_registration(&self.vault).await {
                Ok(()) => self.needs_login(&text),
                Err(error) => unusable(error),
            },
        }
    }

    fn needs_login(&self, reason: &str) -> Failure {
        let message = format!("{}: {reason}", self.access.server);
        Failure::new(Class::Auth, "Not logged in", message)
    }

    /// For one request: a signature is good for one.
    async fn endpoint(&self) -> Result<TokenEndpoint, Failure> {
        let metadata = self.metadata().await?;
        let registration = self.vault.load(Document::Client).await.map_err(unusable)?;
        let client = Client::configured(&self.access.config, &metadata)
            .or_else(|| Client::registered(&registration?.fields, &metadata))
            .ok_or_else(|| self.needs_login("no client is registered"))?;
        let address = tokens::text(&metadata, "token_endpoint").unwrap_or_default();
        let url = Url::parse(address)
            .map_err(|_| self.needs_login("the token endpoint has no usable address"))?;
        let resource = tokens::text(&metadata, "resource").unwrap_or(&self.access.url);
        let audience = tokens::text(&metadata, "issuer").unwrap_or(address);
        let assertion = match &self.access.config.grant {
            Grant::ClientCredentials {
                signing_key: Some(key),
            } => Some(key.assertion(&client.id, audience, self.wall())),
            _ => None,
        };
        let unsigned =
            |error: NoRandom| Failure::new(Class::NotSent, "Not signed", error.to_string());
        Ok(TokenEndpoint {
            assertion: assertion.transpose().map_err(unsigned)?,
            url,
            client,
            resource: resource.to_owned(),
            audience: audience.to_owned(),
        })
    }

    /// What is stored about the authorization server, or else what it says now.
    async fn metadata(&self) -> Result<Fields, Failure> {
        let stored = self
            .vault
            .load(Document::Metadata)
            .await
            .map_err(unusable)?;
        if let Some(stored) = stored
            && tokens::text(&stored.fields, "token_endpoint").is_some()
        {
            return Ok(stored.fields);
        }
        let unknown = |why: String| Failure::new(Class::Gateway, "Discovery failed", why);
        let server = Url::parse(&self.access.url).map_err(|error| unknown(error.to_string()))?;
        let asked = discovery::discover(&self.web, &server, None);
        let Found { metadata, .. } = tokio::time::timeout(DISCOVERY, asked)
            .await
            .map_err(|_| unknown(format!("no answer within {} s", DISCOVERY.as_secs())))?
            .map_err(unknown)?;
        let mut fields = discovery::document(&metadata, &self.access.url);
        // Whether the server names itself otherwise is known after a login only.
        fields.remove("resource");
        let saved = self.vault.save(Document::Metadata, fields.clone()).await;
        saved.map_err(unusable)?;
        Ok(fields)
    }
}

/// Puts a registration the server does not know any more aside, so that the next login makes a new one.
pub(crate) async fn discard_registration(vault: &Vault) -> Result<(), StoreError> {
    if let Some(registration) = vault.load(Document::Client).await? {
        vault
            .save(Document::ClientBackup, registration.fields)
            .await?;
    }
    vault.remove(Document::Client).await?;
    vault.remove(Document::Metadata).await
}

/// The store failed: nothing was sent, and it may work again when the disk does.
fn unusable(error: StoreError) -> Failure {
    Failure::new(Class::NotSent, "Token store", error.to_string())
}
