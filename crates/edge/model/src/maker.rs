//! What clients are made of: shared by all the models of a session.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hermes_home::config::Settings;
use hermes_home::{Env, Home};
use hermes_net::within;
use hermes_types::{ModelError, Scope};

use crate::client::RouteClient;
use crate::dump::Dumps;
use crate::http::Http;
use crate::pool::Pools;
use crate::resolve::{self, Sources};
use crate::rotate::Keys;
use crate::route::Route;
use crate::server;
use crate::timing::Timing;
use crate::wish::Wish;

#[derive(Debug)]
pub(crate) struct Maker {
    pub settings: Settings,
    pub env: Env,
    pub home: PathBuf,
    pub http: Arc<Http>,
    dumps: Dumps,
    /// Shared by all clients, so that they spread over the keys there are.
    pools: Pools,
}

impl Maker {
    pub fn new(home: &Home, settings: Settings, env: Env) -> Self {
        let user_agent = concat!("HermesAgent/", env!("CARGO_PKG_VERSION"));
        let http = Http::new(user_agent, Timing::default().connect).with_network(&settings, &env);
        Self {
            home: home.dir().to_owned(),
            http: Arc::new(http),
            dumps: Dumps::new(home, &env),
            pools: Pools::default(),
            settings,
            env,
        }
    }

    pub fn sources(&self) -> Sources<'_> {
        Sources {
            settings: &self.settings,
            env: &self.env,
            home: &self.home,
        }
    }

    pub fn route(&self, wish: Wish) -> Result<Route, ModelError> {
        resolve::route(self.sources(), wish)
    }

    /// A client whose calls take at most this long; `None`: as long as the caller waits.
    pub fn client(&self, route: Route, call: Option<Duration>) -> RouteClient {
        let timing = Timing {
            call,
            ..Timing::new(&self.settings, &self.env, &route.provider, &route.model)
        };
        let http = self.http.clone();
        let keys = Keys::of(self.sources(), &route, &self.pools, http.clone());
        RouteClient::dumping(route, timing, http, self.dumps.clone())
            .at_home(self.home.clone())
            .with_keys(keys)
    }

    /// A route with what must be asked before it is used. Ollama forgets most of a conversation unless it is told
    /// how much to keep; nobody else is asked, because somebody waits.
    pub async fn settled(&self, mut route: Route, scope: &Scope) -> Route {
        let is_told = route.quirks.body.contains_key("options");
        if is_told || !route.is_local() || !server::is_ollama_port(&route.base_url) {
            return route;
        }
        let Ok(client) = self.http.client(&route.base_url) else {
            return route;
        };
        let probe = Timing::default().probe;
        let window = within(scope, probe, server::ollama_window(&client, &route)).await;
        if let Some(tokens) = window.ok().flatten() {
            route.quirks.keep(route.context.tokens.min(tokens));
        }
        route
    }
}
