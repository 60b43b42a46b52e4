//! Sending somebody to a login page and taking what they come back with to the token endpoint.

use rmcp::transport::auth::{AuthorizationRequest, AuthorizationSession, OAuthTokenResponse};
use serde_json::{Value, json};
use url::Url;

use crate::oauth::client::Client;
use crate::oauth::discovery::{self, Found, Line};
use crate::oauth::flow::{Flow, Gained};
use crate::oauth::login::{LoginError, LoginPrompt, LoginUi};
use crate::oauth::redirect::Redirect;
use crate::oauth::renewal::discard_registration;
use crate::oauth::store::{Document, Fields};
use crate::oauth::tokens;
use hermes_net::callback::{self, Brought, Callback};

/// One trip to the browser and back.
pub(crate) struct Trip<'a> {
    pub flow: Flow<'a>,
    /// `None` for a configured client.
    pub registration: Option<Fields>,
    pub redirect: Redirect,
    pub scopes: Vec<String>,
}

impl Trip<'_> {
    pub(crate) async fn run(
        mut self,
        found: Found,
        ui: &mut dyn LoginUi,
    ) -> Result<Gained, LoginError> {
        let document = discovery::document(&found.metadata, &self.flow.access.url);
        let line = found.line.clone();
        let client = self.client(&document)?;
        let session = self.session(found, &client).await?;
        let page = self.page(&session)?;
        let (code, issuer) = self.answer(&page, ui).await?;
        let exchanged = session
            .handle_callback_with_issuer(&code, &page.state, issuer.as_deref())
            .await;
        match exchanged {
            Ok(answer) => Ok(self.gained(document, &page, &answer)),
            Err(error) => {
                self.forget_client(&line).await?;
                Err(LoginError::Exchange {
                    server: self.flow.server(),
                    reason: line.explain(&error),
                })
            }
        }
    }

    fn client(&self, metadata: &Fields) -> Result<Client, LoginError> {
        let client = match &self.registration {
            Some(fields) => Client::registered(fields, metadata),
            None => Client::configured(&self.flow.access.config, metadata),
        };
        client.ok_or_else(|| LoginError::Registration {
            server: self.flow.server(),
            reason: "there is no client id".to_owned(),
        })
    }

    /// If the server did not know the stored client, the next login must not use it again.
    async fn forget_client(&self, line: &Line) -> Result<(), LoginError> {
        if line.noted().error.as_deref() != Some("invalid_client") {
            return Ok(());
        }
        let stored = self.flow.vault.load(Document::Client).await?;
        if stored.is_some() && stored.map(|stored| stored.fields) == self.registration {
            discard_registration(self.flow.vault).await?;
        }
        Ok(())
    }

    async fn session(
        &self,
        found: Found,
        client: &Client,
    ) -> Result<AuthorizationSession, LoginError> {
        let Found {
            mut manager,
            mut metadata,
            line,
        } = found;
        // The library chooses by this list; we have chosen already.
        let methods = json!([client.method.name()]);
        let key = "token_endpoint_auth_methods_supported".to_owned();
        metadata.additional_fields.insert(key, methods);
        manager.set_metadata(metadata);
        let mut request = AuthorizationRequest::new(&self.redirect.uri)
            .with_preregistered_client(&client.id)
            .with_scopes(&self.scopes);
        if let Some(secret) = &client.secret {
            request = request.with_client_secret(secret.expose());
        }
        let session = AuthorizationSession::new(manager, request).await;
        session.map_err(|(_, error)| LoginError::Discovery {
            server: self.flow.server(),
            reason: line.explain(&error),
        })
    }

    /// The page to log in at, with what is configured for it.
    fn page(&self, session: &AuthorizationSession) -> Result<Page, LoginError> {
        let url = session.get_authorization_url();
        let mut url = Url::parse(url)
            .map_err(|error| LoginError::Address(url.to_owned(), error.to_string()))?;
        let find = |name: &str| {
            let mut pairs = url.query_pairs();
            pairs
                .find(|(key, _)| key == name)
                .map(|(_, value)| value.into_owned())
        };
        let state = find("state").unwrap_or_default();
        let resource = find("resource").unwrap_or_default();
        for (name, value) in &self.flow.access.config.authorize_params {
            if url.query_pairs().any(|(key, _)| key == *name) {
                tracing::warn!(name, "this part of the login address is not ours to change");
                continue;
            }
            url.query_pairs_mut().append_pair(name, value);
        }
        Ok(Page {
            url: url.into(),
            state,
            resource,
        })
    }

    async fn answer(
        &mut self,
        page: &Page,
        ui: &mut dyn LoginUi,
    ) -> Result<(String, Option<String>), LoginError> {
        ui.show(&LoginPrompt {
            url: page.url.clone(),
            redirect_uri: self.redirect.uri.clone(),
            port: self.redirect.port,
        });
        let listener = self.redirect.listener.as_mut();
        match wait(listener, ui, &page.state).await {
            Brought::Code { code, issuer } => Ok((code, issuer)),
            Brought::Refused(reason) => Err(LoginError::Refused {
                server: self.flow.server(),
                reason,
            }),
            Brought::Skipped | Brought::WrongState | Brought::Nothing => Err(LoginError::Skipped),
        }
    }

    fn gained(self, mut metadata: Fields, page: &Page, answer: &OAuthTokenResponse) -> Gained {
        let answer = match serde_json::to_value(answer) {
            Ok(Value::Object(fields)) => fields,
            _ => Fields::new(),
        };
        metadata.insert("resource".to_owned(), json!(page.resource));
        Gained {
            tokens: tokens::dated(answer, self.flow.access.clock.wall()),
            metadata,
            registration: self.registration,
        }
    }
}

struct Page {
    url: String,
    /// What marks the answer to this question.
    state: String,
    /// What the tokens are for.
    resource: String,
}

/// Waits for the browser or for a pasted line, whichever brings an answer first.
async fn wait(mut listener: Option<&mut Callback>, ui: &mut dyn LoginUi, state: &str) -> Brought {
    let mut pastes = true;
    loop {
        let visit = async {
            match listener.as_mut() {
                Some(listener) => listener.next(state).await,
                None => std::future::pending().await,
            }
        };
        let line = tokio::select! {
            brought = visit => return brought,
            line = ui.pasted(), if pastes => line,
        };
        let Some(line) = line else {
            if listener.is_none() {
                return Brought::Skipped;
            }
            pastes = false;
            continue;
        };
        match callback::read_pasted(&line, state) {
            Brought::Nothing => ui.complain("that is not the address the browser was sent to"),
            Brought::WrongState => ui.complain("that address belongs to another login"),
            brought => return brought,
        }
    }
}
