//! The one place where HTTP clients are built: one TLS provider, one set of timeouts, honest about who we are.

use std::time::Duration;

use reqwest::redirect::{Attempt, Policy};

/// Redirects within one host are rare and short; more of them is a loop.
const MAX_REDIRECTS: usize = 5;

/// How a client introduces itself and how far it reaches.
#[derive(Clone, Debug)]
pub struct Options {
    /// `HermesAgent/<version>`: we never claim to be somebody else's program.
    pub user_agent: String,
    pub connect_timeout: Duration,
    pub reach: Reach,
}

/// Where requests of a client go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Anywhere: the system's proxies and trusted certificates count.
    World,
    /// Plain HTTP to this machine: no proxy could reach it, and loading certificates would only cost time.
    Loopback,
}

#[derive(Debug, thiserror::Error)]
#[error("cannot set up the HTTP client: {0}")]
pub struct Error(#[source] reqwest::Error);

/// Builds a client. It keeps connections open for reuse and is cheap to clone: build one, share it.
pub fn client(options: &Options) -> Result<reqwest::Client, Error> {
    // Fails only if a provider is there already, which is what we want.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = reqwest::Client::builder()
        .user_agent(&options.user_agent)
        .connect_timeout(options.connect_timeout)
        .redirect(Policy::custom(within_host));
    let builder = match options.reach {
        Reach::World => builder,
        Reach::Loopback => builder.no_proxy().tls_certs_only([]),
    };
    builder.build().map_err(Error)
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
            let options = Options {
                user_agent: "HermesAgent/test".to_owned(),
                connect_timeout: Duration::from_secs(30),
                reach,
            };
            client(&options).unwrap();
        }
    }
}
