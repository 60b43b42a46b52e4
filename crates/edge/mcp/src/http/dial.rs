//! Opens HTTP connections to one server.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::future::BoxFuture;

use super::channel::Channel;
use super::legacy;
use super::preflight::{self, Seen};
use super::site::Site;
use super::streamable::Streamable;
use crate::auth::Authorizer;
use crate::config::{HttpEndpoint, HttpFlavour, ServerConfig};
use crate::failure::Failure;
use crate::link::{Dial, Inbox, Link};
use crate::timing::Timing;

pub(crate) struct HttpDial {
    site: Arc<Site>,
    flavour: HttpFlavour,
    /// Whether the URL still has to be looked at.
    is_unknown: AtomicBool,
    /// Nothing was dialled yet: the first connection gets more time.
    is_first: AtomicBool,
}

impl HttpDial {
    /// Fails, with a text that names the server, if this can never work.
    pub(crate) fn new(
        config: &ServerConfig,
        endpoint: &HttpEndpoint,
        timing: Timing,
        auth: Arc<dyn Authorizer>,
    ) -> Result<Self, Failure> {
        let site = Site::new(config, endpoint, timing, auth)?;
        Ok(Self {
            site: Arc::new(site),
            flavour: endpoint.flavour,
            is_unknown: AtomicBool::new(!endpoint.skip_preflight),
            is_first: AtomicBool::new(true),
        })
    }

    /// With a client of its own, so that no connection of an earlier generation is used again.
    async fn open(&self, inbox: Inbox) -> Result<Arc<dyn Link>, Failure> {
        let limit = self.site.connect_timeout;
        let connect = match self.is_first.swap(false, Ordering::Relaxed) {
            true => limit,
            false => limit.min(self.site.timing.tcp_connect),
        };
        let channel = Channel::open(self.site.clone(), connect).await?;
        if self.flavour == HttpFlavour::Sse {
            return Ok(Arc::new(legacy::open(channel, inbox, connect).await?));
        }
        if self.is_unknown.load(Ordering::Relaxed)
            && preflight::check(&channel).await? == Seen::Fine
        {
            self.is_unknown.store(false, Ordering::Relaxed);
        }
        Ok(Arc::new(Streamable::new(channel, inbox)))
    }
}

impl Dial for HttpDial {
    fn dial(&self, inbox: Inbox) -> BoxFuture<'_, Result<Arc<dyn Link>, Failure>> {
        Box::pin(self.open(inbox))
    }

    fn fallback(&self) -> Option<Arc<dyn Dial>> {
        let older = || Self {
            site: self.site.clone(),
            flavour: HttpFlavour::Sse,
            is_unknown: AtomicBool::new(false),
            is_first: AtomicBool::new(false),
        };
        match self.flavour {
            HttpFlavour::Streamable => Some(Arc::new(older())),
            HttpFlavour::Sse => None,
        }
    }
}
