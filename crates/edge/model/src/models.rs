//! The models of a session: the main one, and for side tasks the same or another.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hermes_home::config::Settings;
use hermes_home::{Env, Home};
use hermes_types::{ModelClient, ModelError, Models, Purpose, Scope};

use crate::client::RouteClient;
use crate::context::ContextLength;
use crate::dump::Dumps;
use crate::family;
use crate::http::Http;
use crate::inquiry::Inquiry;
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
    dumps: Dumps,
    main: Route,
    overrides: Overrides,
    /// The main route with what its server told about it.
    asked: OnceLock<Route>,
    /// One client for the whole session, so that what it learns about its server stays.
    client: OnceLock<Arc<RouteClient>>,
}

impl RoutedModels {
    /// Decides about the main model. Asks nobody; fails if there is no model, no key, no such provider. A server
    /// next door may be left to name its only model: [`context`](Self::context) asks it.
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
        let http = Http::usual(&settings, &env);
        Ok(Self {
            home: home.dir().to_owned(),
            http: Arc::new(http),
            dumps: Dumps::new(home, &env),
            overrides: overrides.clone(),
            asked: OnceLock::new(),
            client: OnceLock::new(),
            settings,
            env,
            main,
        })
    }

    /// The main model's route. Without a model, as long as the server has not been asked for its only one.
    pub fn route(&self) -> &Route {
        self.asked.get().unwrap_or(&self.main)
    }

    /// Whether the model's own name is known. If not, it is a server's only one or the newest of a family, and
    /// [`context`](Self::context) asks for it.
    pub fn is_named(&self) -> bool {
        let model = &self.route().model;
        !model.is_empty() && !family::is_family(model)
    }

    /// The main model's window. Asks the server once for what nobody else knows for certain, and never for long.
    /// Call it before the first client is taken, so that the client knows the answers too.
    pub async fn context(&self, scope: &Scope) -> ContextLength {
        if self.asked.get().is_none() {
            let route = self.ask(scope).await;
            // Two at once ask twice; the first answer stays.
            let _ = self.asked.set(route);
        }
        self.route().context
    }

    async fn ask(&self, scope: &Scope) -> Route {
        let inquiry = Inquiry {
            sources: self.sources(),
            overrides: &self.overrides,
            http: &self.http,
            scope,
        };
        inquiry.about(self.main.clone()).await
    }

    /// What the owner should be told about how the main model was chosen.
    pub fn warnings(&self) -> Vec<String> {
        let stale = resolve::stale_base_url(self.sources(), self.route());
        stale.into_iter().collect()
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
            let route = self.route().clone();
            let timing = self.timing(&route);
            Arc::new(self.routed(route, timing))
        };
        self.client.get_or_init(make).clone()
    }

    fn routed(&self, route: Route, timing: Timing) -> RouteClient {
        RouteClient::dumping(route, timing, self.http.clone(), self.dumps.clone())
    }

    fn timing(&self, route: &Route) -> Timing {
        Timing::new(&self.settings, &self.env, &route.provider, &route.model)
    }

    /// A side task's own client. Without a setting of its own it is the main model with the task's time limit.
    fn side_task(&self, task: &str) -> Result<RouteClient, ModelError> {
        let route = match Wish::side_task(self.sources(), task) {
            None => self.route().clone(),
            Some(wish) if wish.provider.is_empty() && wish.base_url.is_empty() => {
                let mut route = self.route().clone();
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
        Ok(self.routed(route, timing))
    }

    /// The model somebody names.
    fn named(&self, name: &str) -> Result<RouteClient, ModelError> {
        let overrides = Overrides {
            model: Some(name.to_owned()),
            provider: None,
        };
        let route = resolve::resolve(self.sources(), &overrides)?;
        let timing = self.timing(&route);
        Ok(self.routed(route, timing))
    }

    /// The main provider with another model.
    fn other_model(&self, model: String) -> Result<Route, ModelError> {
        let overrides = Overrides {
            provider: Some(self.route().provider.clone()),
            model: Some(model),
        };
        resolve::resolve(self.sources(), &overrides)
    }

    fn with_model(&self, wish: Wish) -> Wish {
        let model = match wish.model.is_empty() {
            true => self.route().model.clone(),
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
        if self.route().model.is_empty() {
            return Err(resolve::no_model());
        }
        match purpose {
            Purpose::Main => Ok(self.main_client()),
            Purpose::Aux(task) => Ok(Arc::new(self.side_task(task)?)),
            Purpose::Child => Ok(self.main_client()),
            Purpose::Named(name) => Ok(Arc::new(self.named(name)?)),
        }
    }
}
