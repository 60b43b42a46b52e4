//! The one place where HTTP clients are built: one TLS provider, one set of timeouts, honest about who we are.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use reqwest::redirect::{Attempt, Policy};
use reqwest::{Client, ClientBuilder};

use crate::addresses::{Addresses, Lookup};
use crate::tls::{Tls, TlsError};

/// Redirects within one host are rare and short; more of them is a loop.
const MAX_REDIRECTS: usize = 5;

/// How a client introduces itself and how far it reaches.
#[derive(Clone, Debug)]
pub struct Options {
    /// `HermesAgent/<version>`: we never claim to be somebody else's program.
    pub user_agent: String,
    pub connect_timeout: Duration,
    pub reach: Reach,
    pub redirects: Redirects,
    pub sockets: Sockets,
    pub addresses: Addresses,
    /// Whom to trust, where `reach` alone does not say it.
    pub tls: Option<Tls>,
}

impl Options {
    pub fn new(user_agent: impl Into<String>, connect_timeout: Duration, reach: Reach) -> Self {
        Self {
            user_agent: user_agent.into(),
            connect_timeout,
            reach,
            redirects: Redirects::WithinHost,
            sockets: Sockets::Kept,
            addresses: Addresses::All,
            tls: None,
        }
    }
}

/// Where requests of a client go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Anywhere: the system's proxies and trusted certificates count.
    World,
    /// Plain HTTP to this machine: no proxy could reach it, and loading certificates would only cost time.
    Loopback,
}

/// What becomes of an answer that sends us elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redirects {
    /// Followed as long as the host stays.
    WithinHost,
    /// Handed to the caller.
    Never,
}

/// How long connections live. A dead one is given up within half a minute of the peer's silence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sockets {
    /// Kept for reuse, as long as the library likes.
    Kept,
    /// Reused only right after they were used: what is idle for longer may have been dropped on the way without a
    /// word.
    Wary,
    /// Used once.
    Single,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot set up the HTTP client: {0}")]
    Client(#[source] reqwest::Error),
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// Builds a client. It is cheap to clone and shares its connections with its clones. Building another one costs
/// little too: certificates are loaded once.
pub fn client(options: &Options) -> Result<Client, Error> {
    builder(options)?.build().map_err(Error::Client)
}

/// As [`client`], but `host` is at these addresses and nowhere else.
pub(crate) fn client_at(
    options: &Options,
    host: &str,
    addresses: &[SocketAddr],
) -> Result<Client, Error> {
    let builder = builder(options)?.resolve_to_addrs(host, addresses);
    builder.build().map_err(Error::Client)
}

fn builder(options: &Options) -> Result<ClientBuilder, Error> {
    let tls = match &options.tls {
        Some(tls) => tls.clone(),
        None if options.reach == Reach::Loopback => Tls::nobody()?,
        None => Tls::system()?,
    };
    let builder = Client::builder()
        .user_agent(&options.user_agent)
        .connect_timeout(options.connect_timeout)
        .tls_backend_preconfigured(tls.into_config());
    let builder = match options.reach {
        Reach::World => builder,
        Reach::Loopback => builder.no_proxy(),
    };
    let builder = match options.redirects {
        Redirects::WithinHost => builder.redirect(Policy::custom(within_host)),
        Redirects::Never => builder.redirect(Policy::none()),
    };
    let builder = match options.sockets {
        Sockets::Kept => watched(builder),
        Sockets::Wary => watched(builder).pool_idle_timeout(seconds(5)),
        Sockets::Single => watched(builder).pool_max_idle_per_host(0),
    };
    Ok(match options.addresses {
        Addresses::All => builder,
        Addresses::V4 => builder.dns_resolver(Arc::new(Lookup(Addresses::V4))),
    })
}

/// A machine that slept or changed its network has connections that are dead without knowing it; requests in
/// them would wait for ever, and with HTTP/2 their retries would wait in the same one.
fn watched(builder: ClientBuilder) -> ClientBuilder {
    let builder = builder
        .http2_keep_alive_interval(seconds(15))
        .http2_keep_alive_timeout(seconds(15))
        .tcp_keepalive(seconds(15))
        .tcp_keepalive_interval(seconds(5))
        .tcp_keepalive_retries(3);
    #[cfg(target_os = "linux")]
    let builder = builder.tcp_user_timeout(seconds(30));
    builder
}

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// Keys travel in headers nobody strips on the way to another host, so we don't go there.
fn within_host(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let here = attempt.url().host_str().map(str::to_owned);
    let first = attempt.previous().first();
    let stays = first.is_some_and(|url| url.host_str() == here.as_deref());
    if stays && attempt.previous().len() <= MAX_REDIRECTS {
        attempt.follow()
    } else {
        attempt.stop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_built_without_a_network() {
        for reach in [Reach::World, Reach::Loopback] {
            for sockets in [Sockets::Kept, Sockets::Wary, Sockets::Single] {
                let mut options = Options::new("HermesAgent/test", Duration::from_secs(30), reach);
                options.sockets = sockets;
                options.redirects = Redirects::Never;
                client(&options).unwrap();
            }
        }
    }
}
