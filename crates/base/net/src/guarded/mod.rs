//! Fetching what somebody else chose: a model, a page, a message. Such an address must not lead into this
//! network, to the keys of this machine, or to where the owner does not want to go.
//!
//! A name is looked up once; all addresses it has are judged, and a connection is made to one of these or to
//! none, so a name that means something else a moment later changes nothing. Every redirect is a new request
//! that is judged like the first. Behind a proxy of the system the same is judged before it is asked, but it
//! looks the name up itself: whoever sets up a proxy trusts it.

mod address;
mod blocklist;
mod secrets;
mod url;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use ::url::Url;
use reqwest::dns::Resolve;
use reqwest::header::{AUTHORIZATION, COOKIE, HeaderMap, LOCATION, PROXY_AUTHORIZATION};
use reqwest::{Response, StatusCode};

pub use address::{Class, class};
pub use blocklist::{Blocked, Blocklist};
pub use secrets::{Secret, secret_in};
pub use url::read;

use self::url::{Place, bare, place};
use crate::addresses::Lookup;
use crate::client::{Error, Options, Redirects, client, client_at};

/// Where requests may go.
#[derive(Clone, Debug)]
pub struct Rules {
    pub private: Private,
    /// Hosts that may have private addresses, as `https://host`.
    pub trusted: Vec<String>,
    pub blocklist: Option<Arc<Blocklist>>,
    /// Answers that only send us elsewhere.
    pub max_redirects: usize,
    /// From the question to the first bytes of the answer, redirects included.
    pub patience: Duration,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            private: Private::Refused,
            trusted: Vec::new(),
            blocklist: None,
            max_redirects: 10,
            patience: Duration::from_secs(60),
        }
    }
}

/// Whether addresses of this network may be visited. Those of [`Class::Metadata`] never are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Private {
    Allowed,
    #[default]
    Refused,
}

/// Where the owner can say it.
#[derive(Clone, Copy, Debug, Default)]
pub struct PrivateSettings<'s> {
    /// HERMES_ALLOW_PRIVATE_URLS
    pub variable: Option<&'s str>,
    /// `security.allow_private_urls`
    pub security: bool,
    /// `browser.allow_private_urls`, its older name.
    pub browser: bool,
}

impl From<PrivateSettings<'_>> for Private {
    /// The variable wins, if it says anything.
    fn from(settings: PrivateSettings<'_>) -> Self {
        let variable = settings.variable.map(|text| text.trim().to_lowercase());
        let allowed = match variable.as_deref() {
            Some("true" | "1" | "yes") => true,
            Some("false" | "0" | "no") => false,
            _ => settings.security || settings.browser,
        };
        if allowed {
            Self::Allowed
        } else {
            Self::Refused
        }
    }
}

/// Why a page was not fetched.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    #[error("this is not a URL: {0}")]
    NotAUrl(String),
    #[error("only http and https are fetched, not {0}")]
    Scheme(String),
    #[error("{0} is a metadata service of the cloud and never visited")]
    Metadata(String),
    #[error("{0} has an address that is not public; security.allow_private_urls would allow it")]
    Private(String),
    #[error("{0} cannot be looked up, so nothing is known about it")]
    Unknown(String),
    #[error(transparent)]
    Policy(#[from] Blocked),
    #[error("it only leads elsewhere, {0} times")]
    TooManyRedirects(usize),
    #[error("no answer within {0:?}")]
    TooSlow(Duration),
    #[error(transparent)]
    Setup(#[from] Error),
    /// Without the URL, which may hold secrets.
    #[error("{}: {}", crate::trouble_kind(.0), crate::trouble_cause(.0))]
    Request(#[source] reqwest::Error),
}

/// A client for addresses somebody else chose.
pub struct Guarded {
    options: Options,
    rules: Rules,
    names: Arc<dyn Resolve>,
}

impl Guarded {
    pub fn new(options: Options, rules: Rules) -> Self {
        let names = Arc::new(Lookup(options.addresses));
        let options = Options {
            redirects: Redirects::Never,
            ..options
        };
        Self {
            options,
            rules,
            names,
        }
    }

    /// With another way to look up names.
    #[must_use]
    pub fn looking_up(self, names: Arc<dyn Resolve>) -> Self {
        Self { names, ..self }
    }

    /// Whether a page may be visited, for those that others fetch for us.
    pub async fn check(&self, url: &Url) -> Result<(), Refused> {
        self.in_time(self.judged(url)).await.map(drop)
    }

    /// Asks for a page, going where its server sends us. How much is read of the answer is up to the caller; its
    /// `url` is the last one.
    pub async fn get(&self, url: &Url, headers: HeaderMap) -> Result<Response, Refused> {
        self.in_time(self.follow(url.clone(), headers)).await
    }

    async fn in_time<T>(
        &self,
        work: impl Future<Output = Result<T, Refused>>,
    ) -> Result<T, Refused> {
        let patience = self.rules.patience;
        let done = tokio::time::timeout(patience, work).await;
        done.unwrap_or(Err(Refused::TooSlow(patience)))
    }

    async fn follow(&self, mut url: Url, mut headers: HeaderMap) -> Result<Response, Refused> {
        for _ in 0..=self.rules.max_redirects {
            let response = self.hop(&url, &headers).await?;
            let Some(next) = elsewhere(&response) else {
                return Ok(response);
            };
            if next.origin() != url.origin() {
                for private in [AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION] {
                    headers.remove(private);
                }
            }
            url = next;
        }
        Err(Refused::TooManyRedirects(self.rules.max_redirects))
    }

    /// One request, to an address that was judged.
    async fn hop(&self, url: &Url, headers: &HeaderMap) -> Result<Response, Refused> {
        let addresses = self.judged(url).await?;
        let client = match url.domain() {
            // Nothing is shared between hops: a client that knows one host at its judged addresses can make no
            // mistake about another.
            Some(name) => client_at(&self.options, name, &addresses)?,
            None => client(&self.options)?,
        };
        let request = client.get(url.clone()).headers(headers.clone());
        let sent = request.send().await;
        sent.map_err(|error| Refused::Request(error.without_url()))
    }

    /// The addresses a page may be fetched from.
    async fn judged(&self, url: &Url) -> Result<Vec<SocketAddr>, Refused> {
        let place = place(url)?;
        if let Some(blocklist) = &self.rules.blocklist {
            blocklist.check(url)?;
        }
        let addresses = match place {
            Place::Address(address) => vec![SocketAddr::new(address, 0)],
            Place::Name(name) => self.addresses_of(name).await?,
        };
        let host = || url.host_str().unwrap_or_default().to_owned();
        for address in &addresses {
            match class(address.ip()) {
                Class::Public => {}
                Class::Metadata => return Err(Refused::Metadata(host())),
                Class::Private if self.may_be_private(url) => {}
                Class::Private => return Err(Refused::Private(host())),
            }
        }
        Ok(addresses)
    }

    async fn addresses_of(&self, name: &str) -> Result<Vec<SocketAddr>, Refused> {
        let unknown = || Refused::Unknown(name.to_owned());
        let wanted = name.parse().map_err(|_| unknown())?;
        let found = self.names.resolve(wanted).await.map_err(|error| {
            tracing::debug!("{name}: {error}");
            unknown()
        })?;
        // What is judged is all that is used: no scope, and no port but the URL's.
        let found = found.map(|address| SocketAddr::new(address.ip(), 0));
        let found: Vec<SocketAddr> = found.collect();
        match found.is_empty() {
            true => Err(unknown()),
            false => Ok(found),
        }
    }

    fn may_be_private(&self, url: &Url) -> bool {
        let host = bare(url.host_str().unwrap_or_default());
        let is_this = |origin: &String| {
            let named = origin.split_once("://");
            named.is_some_and(|(scheme, name)| scheme == url.scheme() && name == host)
        };
        self.rules.private == Private::Allowed || self.rules.trusted.iter().any(is_this)
    }
}

impl std::fmt::Debug for Guarded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Guarded")
            .field("rules", &self.rules)
            .finish_non_exhaustive()
    }
}

/// Where an answer sends us.
fn elsewhere(response: &Response) -> Option<Url> {
    let sends = matches!(
        response.status(),
        StatusCode::MOVED_PERMANENTLY
            | StatusCode::FOUND
            | StatusCode::SEE_OTHER
            | StatusCode::TEMPORARY_REDIRECT
            | StatusCode::PERMANENT_REDIRECT
    );
    let place = response.headers().get(LOCATION).filter(|_| sends)?;
    let place = String::from_utf8_lossy(place.as_bytes());
    response.url().join(place.trim()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_wins_over_the_settings() {
        let check = |variable, (security, browser), expected| {
            let settings = PrivateSettings {
                variable,
                security,
                browser,
            };
            assert_eq!(Private::from(settings), expected, "{settings:?}");
        };
        check(None, (false, false), Private::Refused);
        check(None, (true, false), Private::Allowed);
        check(None, (false, true), Private::Allowed);
        check(Some("1"), (false, false), Private::Allowed);
        check(Some(" Yes "), (false, false), Private::Allowed);
        check(Some("false"), (true, true), Private::Refused);
        check(Some("no"), (true, true), Private::Refused);
        check(Some("perhaps"), (true, false), Private::Allowed);
        check(Some(""), (false, false), Private::Refused);
    }
}
