//! Access by the word of a company's identity provider: it turns the login somebody already has into an assertion
//! (ID-JAG) for the authorization server, which takes that instead of another login.

use url::Url;

use crate::config::Secret;
use crate::oauth::client::{AuthMethod, Client};
use crate::oauth::endpoint::{Refusal, TokenEndpoint};
use crate::oauth::store::Fields;
use crate::oauth::tokens;
use crate::oauth::web::Web;

const EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";

/// The identity provider, who we are to it, and the login it has given out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentityProvider {
    pub token_endpoint: Url,
    pub client_id: String,
    pub client_secret: Option<Secret>,
    pub id_token: Secret,
}

impl IdentityProvider {
    /// Gets tokens from `server`; `scope` may be empty.
    pub(crate) async fn vouch(
        &self,
        web: &Web,
        server: &TokenEndpoint,
        scope: &str,
    ) -> Result<Fields, Refusal> {
        let assertion = self.assertion(web, server, scope).await?;
        let mut grant = vec![("grant_type", BEARER), ("assertion", assertion.expose())];
        if !scope.is_empty() {
            grant.push(("scope", scope));
        }
        server.ask(web, &grant).await
    }

    async fn assertion(
        &self,
        web: &Web,
        server: &TokenEndpoint,
        scope: &str,
    ) -> Result<Secret, Refusal> {
        let mut grant = vec![
            ("grant_type", EXCHANGE),
            ("requested_token_type", ID_JAG),
            ("subject_token", self.id_token.expose()),
            ("subject_token_type", ID_TOKEN),
            ("audience", &server.audience),
        ];
        if !scope.is_empty() {
            grant.push(("scope", scope));
        }
        let answer = self.endpoint(server).ask(web, &grant).await;
        let answer = answer.map_err(|refusal| match refusal {
            // It is not the authorization server's registration that is unknown.
            Refusal::Client(text) => Refusal::Grant(format!("identity provider: {text}")),
            other => other,
        })?;
        let kind = tokens::text(&answer, "issued_token_type");
        tokens::secret(&answer, "access_token")
            .filter(|_| kind == Some(ID_JAG))
            .ok_or_else(|| Refusal::Grant("the identity provider gave another token".to_owned()))
    }

    fn endpoint(&self, server: &TokenEndpoint) -> TokenEndpoint {
        let method = match self.client_secret {
            Some(_) => AuthMethod::Post,
            None => AuthMethod::None,
        };
        TokenEndpoint {
            url: self.token_endpoint.clone(),
            client: Client {
                id: self.client_id.clone(),
                secret: self.client_secret.clone(),
                method,
            },
            resource: server.resource.clone(),
            audience: self.token_endpoint.to_string(),
            assertion: None,
        }
    }
}
