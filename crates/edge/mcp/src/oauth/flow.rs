//! The way to a login: who gives out tokens, who we are to them, where the browser comes back to.

use rmcp::transport::auth::AuthorizationMetadata;
use serde_json::json;
use url::Url;

use crate::oauth::client;
use crate::oauth::config::Access;
use crate::oauth::discovery::{self, Found};
use crate::oauth::login::{LoginError, LoginOptions, LoginUi, Registration};
use crate::oauth::redirect::{self, Redirect};
use crate::oauth::store::{Document, Fields, Vault};
use crate::oauth::trip::Trip;
use crate::oauth::web::Web;

/// The documents a login ends with.
pub(crate) struct Gained {
    pub tokens: Fields,
    pub metadata: Fields,
    /// `None` for a configured client.
    pub registration: Option<Fields>,
}

#[derive(Clone, Copy)]
pub(crate) struct Flow<'a> {
    pub access: &'a Access,
    pub vault: &'a Vault,
    pub web: &'a Web,
}

impl Flow<'_> {
    pub(crate) async fn run(
        &self,
        ui: &mut dyn LoginUi,
        options: &LoginOptions,
    ) -> Result<Gained, LoginError> {
        let server = Url::parse(&self.access.url)
            .map_err(|error| LoginError::Address(self.access.url.clone(), error.to_string()))?;
        let asked = discovery::discover(self.web, &server, options.challenge.as_deref()).await;
        let found = asked.map_err(|reason| LoginError::Discovery {
            server: self.server(),
            reason,
        })?;
        if rules_out_pkce(&found.metadata) {
            return Err(LoginError::Pkce {
                server: self.server(),
            });
        }
        let old = match options.registration {
            Registration::Reuse => self.vault.load(Document::Client).await?,
            Registration::New => None,
        };
        let old = old.map(|stored| stored.fields);
        let redirect = redirect::reserve(self.access, old.as_ref()).await?;
        let scopes = self.scopes(&found).await;
        let registration = self.registration(&found, old, &redirect, &scopes).await?;
        let trip = Trip {
            flow: *self,
            registration,
            redirect,
            scopes,
        };
        trip.run(found, ui).await
    }

    pub(crate) fn server(&self) -> String {
        self.access.server.clone()
    }

    /// What to ask for: what is configured, else what the server asked for, else what it has.
    async fn scopes(&self, found: &Found) -> Vec<String> {
        let known = found.metadata.scopes_supported.as_deref();
        let known = known.unwrap_or_default();
        let mut configured = self.access.config.scopes();
        if configured.is_empty() {
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            return found.manager.select_initial_scopes(&known).await;
        }
        let offline = "offline_access".to_owned();
        if known.contains(&offline) && !configured.contains(&offline) {
            configured.push(offline);
        }
        configured
    }

    /// The client to log in as; `None` if it is the configured one.
    async fn registration(
        &self,
        found: &Found,
        old: Option<Fields>,
        redirect: &Redirect,
        scopes: &[String],
    ) -> Result<Option<Fields>, LoginError> {
        let config = &self.access.config;
        if config.client_id.is_some() {
            return Ok(None);
        }
        if let Some(url) = &config.client_metadata_url
            && takes_documents(&found.metadata)
        {
            let document = json!({"client_id": url, "redirect_uris": [redirect.uri]});
            return Ok(document.as_object().cloned());
        }
        let now = self.access.clock.wall();
        if let Some(old) = old
            && client::is_reusable(&old, &found.metadata, &redirect.uri, now)
        {
            return Ok(Some(old));
        }
        let made = client::register(self.web, config, &found.metadata, &redirect.uri, scopes).await;
        made.map(Some).map_err(|reason| LoginError::Registration {
            server: self.server(),
            reason,
        })
    }
}

/// A server that says nothing about PKCE usually knows it all the same.
fn rules_out_pkce(metadata: &AuthorizationMetadata) -> bool {
    let methods = metadata.code_challenge_methods_supported.as_ref();
    methods.is_some_and(|methods| !methods.iter().any(|name| name == "S256"))
}

fn takes_documents(metadata: &AuthorizationMetadata) -> bool {
    let key = "client_id_metadata_document_supported";
    metadata.additional_fields.get(key) == Some(&json!(true))
}
