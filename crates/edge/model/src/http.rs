//! The HTTP clients of this crate: built when first needed, shared by all routes.

use std::sync::OnceLock;
use std::time::Duration;

use hermes_net::{Options, Reach};
use hermes_types::{ModelError, ModelErrorKind};
use reqwest::{Client, Url};

use crate::host;

#[derive(Debug)]
pub struct Http {
    user_agent: String,
    connect_timeout: Duration,
    world: OnceLock<Client>,
    loopback: OnceLock<Client>,
}

impl Http {
    pub fn new(user_agent: impl Into<String>, connect_timeout: Duration) -> Self {
        Self {
            user_agent: user_agent.into(),
            connect_timeout,
            world: OnceLock::new(),
            loopback: OnceLock::new(),
        }
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
        let options = Options {
            user_agent: self.user_agent.clone(),
            connect_timeout: self.connect_timeout,
            reach,
        };
        let client = hermes_net::client(&options)
            .map_err(|error| ModelError::new(ModelErrorKind::NotConfigured, error.to_string()))?;
        // Two at once build two; the first one stays.
        Ok(cell.get_or_init(|| client).clone())
    }
}
