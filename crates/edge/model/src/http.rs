//! The HTTP clients of this crate: built when first needed, shared by all routes.

use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use hermes_home::Env;
use hermes_home::config::Settings;
use hermes_net::{Addresses, Options, Reach, Tls, TlsSettings, Trust};
use hermes_types::{ModelError, ModelErrorKind};
use reqwest::{Client, Url};

use crate::host;
use crate::timing::Timing;

/// Variables that name a file of trusted certificates. Only the first is ours: what the others say counts if it
/// can be read.
const BUNDLES: [&str; 3] = ["HERMES_CA_BUNDLE", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"];

#[derive(Debug)]
pub struct Http {
    user_agent: String,
    connect_timeout: Duration,
    addresses: Addresses,
    trust: Trust,
    world: OnceLock<Client>,
    loopback: OnceLock<Client>,
}

impl Http {
    pub fn new(user_agent: impl Into<String>, connect_timeout: Duration) -> Self {
        Self {
            user_agent: user_agent.into(),
            connect_timeout,
            addresses: Addresses::All,
            trust: Trust::System,
            world: OnceLock::new(),
            loopback: OnceLock::new(),
        }
    }

    /// As all of Hermes does it.
    pub(crate) fn usual(settings: &Settings, env: &Env) -> Self {
        let user_agent = concat!("HermesAgent/", env!("CARGO_PKG_VERSION"));
        Self::new(user_agent, Timing::default().connect).with_network(settings, env)
    }

    /// The network as its owner set it up: `network.force_ipv4`, and whose certificates count.
    #[must_use]
    pub fn with_network(mut self, settings: &Settings, env: &Env) -> Self {
        if settings.is_on("network.force_ipv4") {
            self.addresses = Addresses::V4;
        }
        let files = BUNDLES
            .iter()
            .filter_map(|name| Some((*name, env.filled(name)?)));
        let mut usable =
            files.filter(|(name, path)| *name == BUNDLES[0] || Path::new(path).is_file());
        if let Some((_, path)) = usable.next() {
            self.trust = Trust::Bundle(path.into());
        }
        self
    }

    pub(crate) fn client(&self, url: &Url) -> Result<Client, ModelError> {
        let is_here = url.scheme() == "http" && host::is_loopback(url);
        let (cell, reach) = match is_here {
            true => (&self.loopback, Reach::Loopback),
            false => (&self.world, Reach::World),
        };
        if let Some(client) = cell.get() {
            return Ok(client.clone());
        }
        let client = self.build(reach).map_err(|error| {
            let hint = match self.trust {
                Trust::Bundle(_) => format!(" (named by {})", BUNDLES.join(" or ")),
                _ => String::new(),
            };
            ModelError::new(ModelErrorKind::NotConfigured, format!("{error}{hint}"))
        })?;
        // Two at once build two; the first one stays.
        Ok(cell.get_or_init(|| client).clone())
    }

    fn build(&self, reach: Reach) -> Result<Client, hermes_net::Error> {
        let mut options = Options::new(&*self.user_agent, self.connect_timeout, reach);
        options.addresses = self.addresses;
        if reach == Reach::World && self.trust != Trust::System {
            let trusted = TlsSettings {
                trust: self.trust.clone(),
                identity: None,
            };
            options.tls = Some(Tls::load(&trusted)?);
        }
        hermes_net::client(&options)
    }
}
