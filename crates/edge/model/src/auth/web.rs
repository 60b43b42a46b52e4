//! Asking a login server something: one request, one answer, bounded in time and size.

use std::time::Duration;

use hermes_net::{Ended, within};
use hermes_types::Scope;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::{RequestBuilder, Url};
use serde_json::Value;
use url::form_urlencoded;

use super::AuthError;
use crate::http::Http;

/// No answer of a login server is larger.
const MAX_BODY: usize = 1 << 20;

#[derive(Clone, Copy)]
pub(crate) struct Web<'a> {
    pub http: &'a Http,
    pub scope: &'a Scope,
    /// For one request.
    pub limit: Duration,
}

/// What a server said. A body that isn't JSON is `Null`.
#[derive(Debug)]
pub(crate) struct Answer {
    pub status: u16,
    pub body: Value,
    host: String,
}

impl Web<'_> {
    /// Posts a form, with one more header if it has a value.
    pub async fn form(
        &self,
        url: &str,
        fields: &[(&str, &str)],
        header: (&str, &str),
    ) -> Result<Answer, AuthError> {
        let (url, post) = self.post(url)?;
        let body = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(fields)
            .finish();
        let mut post = post
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(body);
        if !header.1.is_empty() {
            post = post.header(header.0, header.1);
        }
        self.ask(&url, post).await
    }

    /// Posts JSON, with a bearer token if there is one.
    pub async fn json(&self, url: &str, body: &Value, bearer: &str) -> Result<Answer, AuthError> {
        let (url, mut post) = self.post(url)?;
        if !bearer.is_empty() {
            post = post.bearer_auth(bearer);
        }
        self.ask(&url, post.json(body)).await
    }

    fn post(&self, url: &str) -> Result<(Url, RequestBuilder), AuthError> {
        let url: Url = url
            .parse()
            .map_err(|_| AuthError::invalid(format!("'{url}' is not an address")))?;
        let client = self.http.client(&url);
        let client = client.map_err(|error| unreachable(&url, error.message))?;
        let post = client.post(url.clone()).header(ACCEPT, "application/json");
        Ok((url, post))
    }

    async fn ask(&self, url: &Url, post: RequestBuilder) -> Result<Answer, AuthError> {
        let exchange = async {
            let mut response = post.send().await?;
            let mut body = Vec::new();
            while let Some(bytes) = response.chunk().await? {
                body.extend_from_slice(&bytes);
                if body.len() > MAX_BODY {
                    break;
                }
            }
            Ok((response.status().as_u16(), body))
        };
        match within(self.scope, self.limit, exchange).await {
            Ok(Ok((status, body))) => Ok(Answer {
                status,
                body: serde_json::from_slice(&body).unwrap_or_default(),
                host: host(url),
            }),
            Ok(Err(error)) => {
                let error: reqwest::Error = error;
                Err(unreachable(url, hermes_net::trouble_cause(&error)))
            }
            Err(Ended::Cancelled) => Err(AuthError::Cancelled),
            Err(_) => {
                let reason = format!("no answer within {} s", self.limit.as_secs());
                Err(unreachable(url, reason))
            }
        }
    }
}

impl Answer {
    /// The body of a good answer.
    pub fn good(self) -> Result<Value, AuthError> {
        match self.status {
            200..300 if self.body.is_object() => Ok(self.body),
            200..300 => Err(AuthError::Unreachable {
                host: self.host,
                reason: "its answer is no JSON object".to_owned(),
            }),
            _ => Err(self.refused()),
        }
    }

    /// The server's own word for what is wrong.
    pub fn code(&self) -> &str {
        let error = &self.body["error"];
        let codes = [&error["code"], &error["type"], error];
        codes
            .into_iter()
            .find_map(Value::as_str)
            .unwrap_or_default()
    }

    pub fn refused(&self) -> AuthError {
        let texts = [
            &self.body["error_description"],
            &self.body["error"]["message"],
            &self.body["message"],
        ];
        let text = texts
            .into_iter()
            .find_map(Value::as_str)
            .unwrap_or_default();
        let said = [self.code(), text]
            .into_iter()
            .filter(|text| !text.is_empty());
        let said: Vec<_> = said.collect();
        let reason = match said.as_slice() {
            [] => format!("HTTP {}", self.status),
            said => format!("{} (HTTP {})", said.join(": "), self.status),
        };
        let code = match (self.code(), self.status) {
            // Whatever it calls it: what was sent is not good for a token.
            ("", 401 | 403) => "invalid_grant",
            (code, _) => code,
        };
        AuthError::Refused {
            host: self.host.clone(),
            code: code.to_owned(),
            reason: reason.replace(char::is_control, " "),
        }
    }
}

fn host(url: &Url) -> String {
    url.host_str().unwrap_or_default().to_owned()
}

fn unreachable(url: &Url, reason: String) -> AuthError {
    AuthError::Unreachable {
        host: host(url),
        reason,
    }
}
