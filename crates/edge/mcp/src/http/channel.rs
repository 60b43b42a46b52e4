//! Sends HTTP requests to one site: with credentials, never elsewhere, and with a verdict on what comes back.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use hermes_net::{Sockets, Tls, backoff};
use reqwest::header::{
    AUTHORIZATION, HeaderMap, HeaderValue, LOCATION, RETRY_AFTER, WWW_AUTHENTICATE,
};
use reqwest::{Client, Method, Response, Url};
use tokio::time::timeout;

use super::body;
use super::site::{Site, shown};
use crate::classify::{self, HttpAnswer};
use crate::config::Secret;
use crate::failure::{Class, Failure, Refused};

/// A server that moved its endpoint moved it once, or twice.
const MAX_REDIRECTS: usize = 3;

/// A way to a site, with connections of its own.
pub(super) struct Channel {
    pub site: Arc<Site>,
    client: Client,
    tls: Tls,
}

/// A request on its way.
#[derive(Clone)]
pub(super) struct Outgoing {
    pub method: Method,
    pub url: Url,
    pub headers: HeaderMap,
    pub body: Bytes,
    /// How long to wait for the head of the answer.
    pub patience: Duration,
    /// The request names a session, in whatever way.
    pub has_session: bool,
}

/// An answer of any status, and the token it was asked with.
struct Answered {
    response: Response,
    token: Option<Secret>,
}

impl Channel {
    pub(super) async fn open(site: Arc<Site>, connect: Duration) -> Result<Self, Failure> {
        let tls = site.tls().await?;
        let client = site.client(&tls, Sockets::Wary, connect)?;
        Ok(Self { site, client, tls })
    }

    /// A way of its own to the same site.
    pub(super) fn fresh(&self) -> Result<Self, Failure> {
        let connect = self.site.connect_timeout.min(self.site.timing.tcp_connect);
        let client = self.site.client(&self.tls, Sockets::Single, connect)?;
        Ok(Self {
            site: self.site.clone(),
            client,
            tls: self.tls.clone(),
        })
    }

    /// The head of a good answer. Everything else is a classified failure.
    pub(super) async fn send(&self, outgoing: &Outgoing) -> Result<Response, Failure> {
        let answered = self.exchange(outgoing).await?;
        match answered.response.status().as_u16() {
            200..300 => Ok(answered.response),
            300..400 => Err(self.redirected(&answered.response)),
            _ => Err(self.refused(answered, outgoing.has_session).await),
        }
    }

    /// The head of any answer that is no redirect we follow.
    pub(super) async fn look(&self, outgoing: &Outgoing) -> Result<Response, Failure> {
        Ok(self.exchange(outgoing).await?.response)
    }

    async fn exchange(&self, outgoing: &Outgoing) -> Result<Answered, Failure> {
        let mut url = outgoing.url.clone();
        let mut redirects = 0;
        loop {
            let answered = self.once(outgoing, &url).await?;
            match self.next_hop(&answered.response, &url) {
                Some(target) if redirects < MAX_REDIRECTS => url = target,
                _ => return Ok(answered),
            }
            redirects += 1;
        }
    }

    async fn once(&self, outgoing: &Outgoing, url: &Url) -> Result<Answered, Failure> {
        let token = self.site.auth.token().await?;
        let mut headers = self.site.headers.clone();
        for (name, value) in &outgoing.headers {
            headers.insert(name, value.clone());
        }
        if let Some(token) = &token {
            headers.insert(AUTHORIZATION, bearer(token)?);
        }
        let request = self
            .client
            .request(outgoing.method.clone(), url.clone())
            .headers(headers)
            .body(outgoing.body.clone());
        let response = match timeout(outgoing.patience, request.send()).await {
            Ok(sent) => sent.map_err(|error| broken(&error, url))?,
            Err(_) => return Err(body::silent(outgoing.patience)),
        };
        Ok(Answered { response, token })
    }

    /// Where an answer sends us, if we go there: the same request, to the same origin.
    fn next_hop(&self, response: &Response, from: &Url) -> Option<Url> {
        let keeps_request = matches!(response.status().as_u16(), 307 | 308);
        let target = from.join(header(response, LOCATION.as_str())?).ok()?;
        (keeps_request && self.site.is_same_origin(&target)).then_some(target)
    }

    fn redirected(&self, response: &Response) -> Failure {
        let status = response.status().as_u16();
        let target =
            header(response, LOCATION.as_str()).and_then(|to| response.url().join(to).ok());
        let message = match target {
            Some(target) if self.site.is_same_origin(&target) => {
                format!(
                    "the server sends us on to {}, which is not followed",
                    shown(&target)
                )
            }
            Some(target) => format!(
                "the server sends us to another origin, {}; it was not followed and no credentials were sent there",
                target.origin().ascii_serialization()
            ),
            None => "the server sends us on, but does not say where".to_owned(),
        };
        Failure::new(Class::App, format!("HTTP {status}"), message).with_status(status)
    }

    async fn refused(&self, answered: Answered, had_session: bool) -> Failure {
        let Answered { response, token } = answered;
        let status = response.status().as_u16();
        let retry_after = header(&response, RETRY_AFTER.as_str());
        let retry_after =
            retry_after.and_then(|wait| backoff::retry_after(wait, SystemTime::now()));
        let challenge = header(&response, WWW_AUTHENTICATE.as_str()).map(str::to_owned);
        let body = body::beginning(response, self.site.timing.error_body).await;
        let failure = classify::http(HttpAnswer {
            status,
            body: &body,
            had_session,
            retry_after,
            challenge: challenge.as_deref(),
        });
        match failure.class {
            Class::Auth | Class::Scope(_) => failure.with_refused(Refused { token, challenge }),
            _ => failure,
        }
    }
}

/// What an error of the HTTP client means for the request.
pub(super) fn broken(error: &reqwest::Error, url: &Url) -> Failure {
    let class = match hermes_net::was_never_sent(error) {
        true => Class::NotSent,
        false => Class::Cut,
    };
    let origin = url.origin().ascii_serialization();
    let message = match hermes_net::trouble_cause(error) {
        cause if cause.is_empty() => origin,
        cause => format!("{origin}: {cause}"),
    };
    Failure::new(class, hermes_net::trouble_kind(error), message)
}

pub(super) fn header<'a>(response: &'a Response, name: &str) -> Option<&'a str> {
    response.headers().get(name)?.to_str().ok()
}

/// What the body is said to be, without its parameters.
pub(super) fn content_type(response: &Response) -> String {
    let value = header(response, "content-type").unwrap_or_default();
    let essence = value.split(';').next().unwrap_or_default();
    essence.trim().to_ascii_lowercase()
}

pub(super) fn is_json(content_type: &str) -> bool {
    content_type == "application/json" || content_type.ends_with("+json")
}

fn bearer(token: &Secret) -> Result<HeaderValue, Failure> {
    let value = HeaderValue::try_from(format!("Bearer {}", token.expose()));
    let mut value = value.map_err(|_| {
        Failure::new(
            Class::Auth,
            "Credentials",
            "the access token cannot be sent in a header",
        )
    })?;
    value.set_sensitive(true);
    Ok(value)
}
