//! The models of a session: the main one, and for side tasks the same or another.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hermes_home::config::Settings;
use hermes_home::{Env, Home};
use hermes_net::within;
use hermes_types::{ModelClient, ModelError, Models, Purpose, Scope};

use crate::catalogue::catalogue;
use crate::client::RouteClient;
use crate::context::{self, ContextLength, Source};
use crate::http::Http;
use crate::resolve::{self, Sources};
use crate::route::Route;
use crate::timing::Timing;
use crate::wish::{Overrides, Wish};

/// Gives out clients according to the settings. Built once per session.
#[derive(Debug)]
pub struct RoutedModels {
    settings: Settings,
    env: Env,
    home: PathBuf,
    http: Arc<Http>,
    main: Route,
    context: OnceLock<ContextLength>,
    /// One client for the whole session, so that what it learns about its server stays.
    client: OnceLock<Arc<RouteClient>>,
}

impl RoutedModels {
    /// Decides about the main model. Asks nobody; fails if there is no model, no key, no such provider.
    pub fn new(
        home: &Home,
        settings: Settings,
        env: Env,
        overrides: &Overrides,
    ) -> Result<Self, ModelError> {
        let sources = Sources {
            settings: &settings,
            env: &env,
            home: home.dir(),
        };
        let main = resolve::resolve(sources, overrides)?;
        let user_agent = concat!("HermesAgent/", env!("CARGO_PKG_VERSION"));
        let http = Http::new(user_agent, Timing::default().connect);
        Ok(Self {
            home: home.dir().to_owned(),
            http: Arc::new(http),
            context: OnceLock::new(),
            client: OnceLock::new(),
            settings,
            env,
            main,
        })
    }

    /// The main model's route.
    pub fn route(&self) -> &Route {
        &self.main
    }

    /// The main model's window. Asks the server once if nobody else knows for certain, and never for long. Call it
    /// before the first client is taken, so that the client knows the answer too.
    pub async fn context(&self, scope: &Scope) -> ContextLength {
        if let Some(known) = self.context.get() {
            return *known;
        }
        let mut found = self.main.context;
        if !found.is_certain()
            && !catalogue().knows_host(&self.main.base_url)
            && let Some(tokens) = self.ask(scope).await
        {
            found = ContextLength {
                tokens,
                source: Source::Server,
            };
        }
        *self.context.get_or_init(|| found)
    }

    async fn ask(&self, scope: &Scope) -> Option<u64> {
        let client = self.http.client(&self.main.base_url).ok()?;
        let asked = within(
            scope,
            Timing::default().probe,
            context::ask(&client, &self.main),
        );
        asked.await.ok().flatten()
    }

    fn sources(&self) -> Sources<'_> {
        Sources {
            settings: &self.settings,
            env: &self.env,
            home: &self.home,
        }
    }

    fn main_client(&self) -> Arc<RouteClient> {
        let make = || {
            let mut route = self.main.clone();
            if let Some(context) = self.context.get() {
                route.context = *context;
            }
            let timing = self.timing(&route);
            Arc::new(RouteClient::new(route, timing, self.http.clone()))
        };
        self.client.get_or_init(make).clone()
    }

    fn timing(&self, route: &Route) -> Timing {
        Timing::new(&self.settings, &self.env, &route.provider, &route.model)
    }

    /// A side task's own client. Without a setting of its own it is the main model with the task's time limit.
    fn side_task(&self, task: &str) -> Result<RouteClient, ModelError> {
        let route = match Wish::side_task(self.sources(), task) {
            None => self.main.clone(),
            Some(wish) if wish.provider.is_empty() && wish.base_url.is_empty() => {
                let mut route = self.main.clone();
                if !wish.model.is_empty() {
                    route = self.other_model(wish.model)?;
                }
                route.quirks.body.extend(wish.extra_body);
                route
            }
            Some(wish) => resolve::route(self.sources(), self.with_model(wish))?,
        };
        let mut timing = self.timing(&route);
        let limit = self.settings.number(&format!("auxiliary.{task}.timeout"));
        timing.call = Duration::try_from_secs_f64(limit)
            .ok()
            .filter(|limit| !limit.is_zero());
        Ok(RouteClient::new(route, timing, self.http.clone()))
    }

    /// The main provider with another model.
    fn other_model(&self, model: String) -> Result<Route, ModelError> {
        let overrides = Overrides {
            provider: Some(self.main.provider.clone()),
            model: Some(model),
        };
        resolve::resolve(self.sources(), &overrides)
    }

    fn with_model(&self, wish: Wish) -> Wish {
        let model = match wish.model.is_empty() {
            true => self.main.model.clone(),
            false => wish.model,
        };
        let provider = match wish.provider.is_empty() {
            true => "custom".to_owned(),
            false => wish.provider,
        };
        Wish {
            model,
            provider,
            ..wish
        }
    }
}

impl Models for RoutedModels {
    fn client(&self, purpose: &Purpose) -> Result<Arc<dyn ModelClient>, ModelError> {
        match purpose {
            Purpose::Main => Ok(self.main_client()),
            Purpose::Aux(task) => Ok(Arc::new(self.side_task(task)?)),
        }
    }
}
