//! One server as HTTP sees it: where it is, whom it trusts, and what every request to it carries.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hermes_net::{Identity, Options, Reach, Redirects, Sockets, Tls, TlsSettings, Trust};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Url};

use crate::auth::Authorizer;
use crate::config::{self, HttpEndpoint, ServerConfig, Verify};
use crate::failure::{Class, Failure};
use crate::timing::Timing;

const USER_AGENT: &str = concat!("HermesAgent/", env!("CARGO_PKG_VERSION"));
/// What only the transport itself can know.
const RESERVED: [&str; 3] = ["accept", "mcp-session-id", "last-event-id"];
pub(super) const VERSION: &str = "mcp-protocol-version";

/// Everything about a server that outlives its connections.
pub(super) struct Site {
    pub name: String,
    pub url: Url,
    /// Configured for every request.
    pub headers: HeaderMap,
    pub auth: Arc<dyn Authorizer>,
    pub timing: Timing,
    pub max_response: usize,
    pub connect_timeout: Duration,
    /// How long a request may be silent. The caller has a deadline of its own, which this must not undercut.
    pub patience: Duration,
    tls: TlsSettings,
    /// The last setup that could be read: files that are just being replaced must not end a connection.
    last_tls: Mutex<Option<Tls>>,
}

impl Site {
    pub(super) fn new(
        config: &ServerConfig,
        endpoint: &HttpEndpoint,
        timing: Timing,
        auth: Arc<dyn Authorizer>,
    ) -> Result<Self, Failure> {
        let name = config.name.clone();
        let url = parse(&endpoint.url).map_err(|why| setup(&name, &why))?;
        let headers = headers(&name, endpoint)?;
        let tls = tls_settings(&endpoint.tls);
        let is_encrypted = url.scheme() == "https";
        let last_tls = match tls == TlsSettings::default() || !is_encrypted {
            // The system's certificates can wait for the first connection.
            true => None,
            false => Some(Tls::load(&tls).map_err(|error| setup(&name, &error.to_string()))?),
        };
        Ok(Self {
            url,
            headers,
            auth,
            max_response: config.max_response_bytes,
            connect_timeout: config.connect_timeout,
            patience: (config.timeout.max(config.max_timeout)).max(timing.body_silence),
            timing,
            tls,
            last_tls: Mutex::new(last_tls),
            name,
        })
    }

    /// The TLS setup of a new connection. Files are read again each time, since certificates get replaced.
    pub(super) async fn tls(&self) -> Result<Tls, Failure> {
        let settings = self.tls.clone();
        let is_encrypted = self.url.scheme() == "https";
        let load = move || match is_encrypted {
            true => Tls::load(&settings),
            false => Tls::nobody(),
        };
        let loaded = match tokio::task::spawn_blocking(load).await {
            Ok(loaded) => loaded.map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        let mut last = self.last_tls.lock().unwrap_or_else(PoisonError::into_inner);
        match (loaded, &*last) {
            (Ok(tls), _) => {
                *last = Some(tls.clone());
                Ok(tls)
            }
            (Err(error), Some(tls)) => {
                tracing::warn!(
                    server = self.name,
                    "certificates kept as they were: {error}"
                );
                Ok(tls.clone())
            }
            (Err(error), None) => Err(setup(&self.name, &error)),
        }
    }

    /// A client without connections.
    pub(super) fn client(
        &self,
        tls: &Tls,
        sockets: Sockets,
        connect: Duration,
    ) -> Result<Client, Failure> {
        let reach = match is_loopback(&self.url) {
            true => Reach::Loopback,
            false => Reach::World,
        };
        let mut options = Options::new(USER_AGENT, connect, reach);
        options.redirects = Redirects::Never;
        options.sockets = sockets;
        options.tls = Some(tls.clone());
        hermes_net::client(&options).map_err(|error| setup(&self.name, &error.to_string()))
    }

    pub(super) fn is_same_origin(&self, url: &Url) -> bool {
        self.url.origin() == url.origin()
    }
}

/// A failure that only a change of the configuration can end.
pub(super) fn setup(server: &str, why: &str) -> Failure {
    Failure::new(
        Class::Setup,
        "Setup",
        format!("MCP server '{server}': {why}"),
    )
}

/// A URL without what may be secret in it.
pub(super) fn shown(url: &Url) -> String {
    format!("{}{}", url.origin().ascii_serialization(), url.path())
}

fn parse(text: &str) -> Result<Url, String> {
    let url = Url::parse(text.trim()).map_err(|error| format!("its url is not a URL: {error}"))?;
    match url.scheme() {
        "http" | "https" => {}
        other => return Err(format!("its url has the scheme {other}, not http or https")),
    }
    match url.host_str() {
        Some(host) if !host.is_empty() => Ok(url),
        _ => Err("its url names no host".to_owned()),
    }
}

fn headers(server: &str, endpoint: &HttpEndpoint) -> Result<HeaderMap, Failure> {
    let mut headers = HeaderMap::new();
    for (name, value) in &endpoint.headers {
        if RESERVED.contains(&&*name.to_ascii_lowercase()) {
            tracing::warn!(
                server,
                "the header {name} cannot be configured and is ignored"
            );
            continue;
        }
        let bad = |what: &str| {
            setup(
                server,
                &format!("the header {name:?} has an invalid {what}"),
            )
        };
        let key = HeaderName::try_from(name).map_err(|_| bad("name"))?;
        let mut value = HeaderValue::try_from(value.expose()).map_err(|_| bad("value"))?;
        value.set_sensitive(true);
        headers.insert(key, value);
    }
    Ok(headers)
}

fn tls_settings(tls: &config::Tls) -> TlsSettings {
    TlsSettings {
        trust: match &tls.verify {
            Verify::System => Trust::System,
            Verify::Bundle(path) => Trust::Bundle(path.clone()),
            Verify::Nothing => Trust::Anybody,
        },
        identity: tls.client_cert.as_ref().map(|ours| Identity {
            cert: ours.cert.clone(),
            key: ours.key.clone(),
        }),
    }
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || address
            .parse()
            .is_ok_and(|address: IpAddr| address.is_loopback())
}
