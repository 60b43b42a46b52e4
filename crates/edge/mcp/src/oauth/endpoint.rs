//! Asking a token endpoint for tokens, and reading its refusals.

use std::time::Duration;

use http::Response;
use reqwest::Request;
use reqwest::header::CONTENT_TYPE;
use serde_json::Value;
use url::{Url, form_urlencoded};

use crate::classify::excerpt;
use crate::config::Secret;
use crate::failure::{Class, Failure};
use crate::oauth::client::{AuthMethod, Client};
use crate::oauth::store::Fields;
use crate::oauth::tokens;
use crate::oauth::web::Web;

/// Bound of one request for tokens.
const REQUEST: Duration = Duration::from_secs(10);
const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// Where tokens come from, and who asks.
#[derive(Debug)]
pub(crate) struct TokenEndpoint {
    pub url: Url,
    pub client: Client,
    /// What the tokens are for.
    pub resource: String,
    /// What the server is called in what is signed for it.
    pub audience: String,
    /// A signature that proves who asks, in place of the secret.
    pub assertion: Option<Secret>,
}

/// Why there are no tokens.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Refusal {
    /// The grant is dead, or the request cannot ever succeed: only a login helps.
    Grant(String),
    /// The server does not know the client.
    Client(String),
    /// Nobody could tell.
    Transient(Failure),
}

impl TokenEndpoint {
    /// One request for tokens. `grant` is the part of the form that says on what grounds.
    pub(crate) async fn ask(&self, web: &Web, grant: &[(&str, &str)]) -> Result<Fields, Refusal> {
        let request = self.request(web, grant)?;
        let sent = web.send(request, REQUEST).await;
        read(&sent.map_err(Refusal::Transient)?)
    }

    fn request(&self, web: &Web, grant: &[(&str, &str)]) -> Result<Request, Refusal> {
        let Client { id, secret, method } = &self.client;
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.extend_pairs(grant);
        form.append_pair("resource", &self.resource);
        let mut request = web.post(self.url.clone());
        match (&self.assertion, method, secret) {
            (Some(assertion), ..) => {
                form.append_pair("client_id", id);
                form.append_pair("client_assertion_type", ASSERTION_TYPE);
                form.append_pair("client_assertion", assertion.expose());
            }
            (None, AuthMethod::Basic, Some(secret)) => {
                request = request.basic_auth(encoded(id), Some(encoded(secret.expose())));
            }
            (None, AuthMethod::Post, Some(secret)) => {
                form.append_pair("client_id", id);
                form.append_pair("client_secret", secret.expose());
            }
            _ => {
                form.append_pair("client_id", id);
            }
        }
        let request = request
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(form.finish());
        // Only an id or address that cannot be written as a request gets here.
        let built = request.build();
        built.map_err(|error| Refusal::Grant(error.without_url().to_string()))
    }
}

fn encoded(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

fn read(response: &Response<Vec<u8>>) -> Result<Fields, Refusal> {
    let status = response.status().as_u16();
    let fields = match serde_json::from_slice(response.body()) {
        Ok(Value::Object(fields)) => fields,
        _ => Fields::new(),
    };
    let error = tokens::text(&fields, "error");
    if response.status().is_success() && error.is_none() && has_token(&fields) {
        return Ok(fields);
    }
    let text = match (error, tokens::text(&fields, "error_description")) {
        (Some(error), Some(more)) => format!("{error}: {}", excerpt(more)),
        (Some(error), None) => error.to_owned(),
        (None, _) => excerpt(&String::from_utf8_lossy(response.body())),
    };
    match error {
        Some("invalid_client") if matches!(status, 400 | 401) => Err(Refusal::Client(text)),
        Some("temporarily_unavailable" | "server_error" | "slow_down") | None => {
            Err(transient(status, text))
        }
        Some(_) if status >= 500 || matches!(status, 408 | 429) => Err(transient(status, text)),
        Some(_) => Err(Refusal::Grant(text)),
    }
}

fn has_token(fields: &Fields) -> bool {
    tokens::text(fields, "access_token").is_some()
}

fn transient(status: u16, text: String) -> Refusal {
    let kind = format!("HTTP {status} from the token endpoint");
    Refusal::Transient(Failure::new(Class::Gateway, kind, text).with_status(status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_told_apart() {
        let check = |status: u16, body: &str, kind: &str| {
            let answer = Response::builder().status(status);
            let read = read(&answer.body(body.as_bytes().to_vec()).unwrap());
            let found = match read {
                Ok(_) => "tokens",
                Err(Refusal::Grant(_)) => "grant",
                Err(Refusal::Client(_)) => "client",
                Err(Refusal::Transient(_)) => "transient",
            };
            assert_eq!(found, kind, "{status} {body}");
        };
        check(200, r#"{"access_token":"a"}"#, "tokens");
        check(200, r#"{"error":"invalid_grant"}"#, "grant");
        check(400, r#"{"error":"invalid_grant"}"#, "grant");
        check(400, r#"{"error":"unauthorized_client"}"#, "grant");
        check(400, r#"{"error":"invalid_client"}"#, "client");
        check(401, r#"{"error":"invalid_client"}"#, "client");
        check(500, r#"{"error":"invalid_client"}"#, "transient");
        check(400, r#"{"error":"invalid_client_metadata"}"#, "grant");
        check(503, "invalid_grant", "transient");
        check(503, r#"{"error":"invalid_grant"}"#, "transient");
        check(429, r#"{"error":"slow_down"}"#, "transient");
        check(400, r#"{"error":"temporarily_unavailable"}"#, "transient");
        check(403, "<html>blocked</html>", "transient");
        check(302, "", "transient");
        check(200, "<html>login</html>", "transient");
    }
}
