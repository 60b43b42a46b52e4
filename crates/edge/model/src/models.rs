//! The models of a session: the main one with what stands in for it, and for side tasks the same or another.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use hermes_home::config::Settings;
use hermes_home::{Env, Home};
use hermes_types::{ModelClient, ModelError, ModelErrorKind, Models, Purpose, Scope};

use crate::chain::{Chain, Links, Unpaid};
use crate::client::RouteClient;
use crate::context::{self, ContextLength};
use crate::fallback;
use crate::family;
use crate::inquiry::Inquiry;
use crate::link::Link;
use crate::maker::Maker;
use crate::providers::find;
use crate::resolve::{self, Sources, not_configured};
use crate::route::Route;
use crate::side::{self, Instead, SideTask, Who};
use crate::standby::Standby;
use crate::timing::Timing;
use crate::wish::{Overrides, Wish};

/// Gives out clients according to the settings. Built once per session.
#[derive(Debug)]
pub struct RoutedModels {
    /// The main model as it is now; side tasks and children go by it too.
    live: Mutex<Arc<Main>>,
    notice: Option<String>,
}

/// What settings and keys come to, until they are read again.
#[derive(Debug)]
struct Ground {
    maker: Arc<Maker>,
    /// The owner's fallbacks, shared by all chains: what one learns about them, all know.
    fallbacks: Vec<Arc<Link>>,
    unpaid: Arc<Unpaid>,
}

impl Ground {
    fn new(home: &Home, settings: Settings, env: Env) -> Self {
        let maker = Arc::new(Maker::new(home, settings, env));
        let wishes = fallback::wishes(maker.sources());
        let link = |wish: Wish| Arc::new(Link::wished(maker.clone(), wish, None));
        Self {
            fallbacks: wishes.into_iter().map(link).collect(),
            unpaid: Arc::default(),
            maker,
        }
    }

    fn sources(&self) -> Sources<'_> {
        self.maker.sources()
    }
}

/// A main model: decided, asked about, used.
#[derive(Debug)]
struct Main {
    ground: Arc<Ground>,
    overrides: Overrides,
    decided: Route,
    /// With what its server told about it.
    asked: OnceLock<Route>,
    /// One for as long as the model is used, so that what it learns about its server stays.
    link: OnceLock<Arc<Link>>,
    client: OnceLock<Arc<Chain>>,
}

impl Main {
    fn new(ground: Arc<Ground>, decided: Route, overrides: Overrides) -> Self {
        Self {
            ground,
            overrides,
            decided,
            asked: OnceLock::new(),
            link: OnceLock::new(),
            client: OnceLock::new(),
        }
    }

    fn route(&self) -> &Route {
        self.asked.get().unwrap_or(&self.decided)
    }
}

impl RoutedModels {
    /// Decides about the main model. Asks nobody; fails if there is no model, no key, no such provider. A server
    /// next door may be left to name its only model: [`context`](Self::context) asks it. Where nobody named a
    /// model, the first fallback that can be used takes the place of one that can't: see [`notice`](Self::notice).
    pub fn new(
        home: &Home,
        settings: Settings,
        env: Env,
        overrides: &Overrides,
    ) -> Result<Self, ModelError> {
        let ground = Arc::new(Ground::new(home, settings, env));
        let (decided, notice) = match resolve::resolve(ground.sources(), overrides) {
            Ok(route) => (route, None),
            Err(error) => stand_in(error, overrides, &ground.fallbacks)?,
        };
        let main = Main::new(ground, decided, overrides.clone());
        Ok(Self {
            live: Mutex::new(Arc::new(main)),
            notice,
        })
    }

    /// What the owner should know: that the main model can't be used, and who takes its place.
    pub fn notice(&self) -> Option<&str> {
        self.notice.as_deref()
    }

    /// The main model's route. Without a model, as long as the server has not been asked for its only one.
    pub fn route(&self) -> Route {
        self.live().route().clone()
    }

    fn live(&self) -> Arc<Main> {
        self.live
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Whether the model's own name is known. If not, it is a server's only one or the newest of a family, and
    /// [`context`](Self::context) asks for it.
    pub fn is_named(&self) -> bool {
        is_named(self.live().route())
    }

    /// The main model's window. Asks the server once for what nobody else knows for certain, and never for long.
    /// Call it before the first client is taken, so that the client knows the answers too.
    pub async fn context(&self, scope: &Scope) -> ContextLength {
        self.asked(&self.live(), scope).await
    }

    /// What the owner should be told about how the main model was chosen.
    pub fn warnings(&self) -> Vec<String> {
        let main = self.live();
        let stale = resolve::stale_base_url(main.ground.sources(), main.route());
        self.notice.iter().cloned().chain(stale).collect()
    }

    /// Another main model from now on, by the name a person types; also for side tasks and children. Nothing
    /// changes if it can't be used.
    pub async fn switch(
        &self,
        name: impl Into<Overrides>,
        scope: &Scope,
    ) -> Result<Arc<dyn ModelClient>, ModelError> {
        let ground = self.live().ground.clone();
        self.replace(ground, name.into(), scope).await
    }

    /// Goes by other settings and keys from now on, for side tasks and children too. A model that was named for this
    /// session stays. Nothing changes if it can't be used any more.
    pub async fn reload(
        &self,
        home: &Home,
        settings: Settings,
        env: Env,
        scope: &Scope,
    ) -> Result<Arc<dyn ModelClient>, ModelError> {
        let ground = Arc::new(Ground::new(home, settings, env));
        let overrides = self.live().overrides.clone();
        self.replace(ground, overrides, scope).await
    }

    async fn replace(
        &self,
        ground: Arc<Ground>,
        overrides: Overrides,
        scope: &Scope,
    ) -> Result<Arc<dyn ModelClient>, ModelError> {
        let route = resolve::resolve(ground.sources(), &overrides)?;
        let main = Arc::new(Main::new(ground, route, overrides));
        let window = self.asked(&main, scope).await;
        if main.route().model.is_empty() {
            return Err(resolve::no_model());
        }
        if let Some(refusal) = context::refusal(&main.route().model, window) {
            return Err(not_configured(refusal));
        }
        *self.live.lock().unwrap_or_else(PoisonError::into_inner) = main.clone();
        Ok(self.main_client(&main))
    }

    async fn asked(&self, main: &Main, scope: &Scope) -> ContextLength {
        if main.asked.get().is_none() {
            let inquiry = Inquiry {
                sources: main.ground.sources(),
                overrides: &main.overrides,
                http: &main.ground.maker.http,
                scope,
            };
            let route = inquiry.about(main.decided.clone()).await;
            // Two at once ask twice; the first answer stays.
            let _ = main.asked.set(route);
        }
        main.route().context
    }

    fn main_client(&self, main: &Main) -> Arc<Chain> {
        let make = || Arc::new(self.chain(main, main.route(), self.main_link(main)));
        main.client.get_or_init(make).clone()
    }

    fn main_link(&self, main: &Main) -> Arc<Link> {
        let make = || {
            let client = main.ground.maker.client(main.route().clone(), None);
            Arc::new(Link::made(client))
        };
        main.link.get_or_init(make).clone()
    }

    /// A route with the owner's fallbacks behind it.
    fn chain(&self, main: &Main, route: &Route, link: Arc<Link>) -> Chain {
        let links = std::iter::once(link).chain(main.ground.fallbacks.iter().cloned());
        let cooldown = Timing::default().cooldown;
        let links = Links::new(links.collect(), Standby::Fallback, cooldown);
        Chain::of(route.info(), links)
    }

    /// What a child thinks with: its own chain, so that its turns are its own.
    fn child(&self, main: &Main) -> Result<Chain, ModelError> {
        let maker = &main.ground.maker;
        let route = match Wish::child(maker.sources()) {
            None => return Ok(self.chain(main, main.route(), self.main_link(main))),
            Some(wish) if wish.provider.is_empty() => self.other_model(main, wish.model)?,
            Some(wish) => maker.route(self.with_model(main, wish))?,
        };
        let link = Link::made(maker.client(route.clone(), None));
        Ok(self.chain(main, &route, Arc::new(link)))
    }

    /// A side task's own client.
    fn side_task(&self, main: &Main, task: &str) -> Result<Chain, ModelError> {
        let maker = &main.ground.maker;
        let set = SideTask::new(&maker.settings, task);
        let first = match &set.who {
            Who::Chosen(wish) => Some(maker.route(self.with_model(main, wish.clone()))?),
            Who::Auto(Some(model)) | Who::Main(Some(model)) => {
                Some(self.other_model(main, model.clone())?)
            }
            Who::Main(None) => Some(main.route().clone()),
            Who::Auto(None) => match side::instead(&main.route().provider, task) {
                Instead::Nothing => Some(main.route().clone()),
                Instead::Model(model) => Some(self.other_model(main, model.to_owned())?),
                Instead::Blind => None,
            },
        };
        let first = first.map(|mut route| {
            route.quirks.body.extend(set.extra_body.clone());
            let link = Link::made(maker.client(route, set.timeout));
            match set.who {
                Who::Auto(None) => link.beside(&self.main_link(main)),
                _ => link,
            }
        });
        let others = match set.who {
            Who::Auto(_) => self.helpers(main, &set, task),
            Who::Main(_) | Who::Chosen(_) => Vec::new(),
        };
        self.side_chain(main, first.into_iter().chain(others).collect(), &set, task)
    }

    /// Who does a side task where the main model can't: first those the owner chose to stand in for it.
    fn helpers(&self, main: &Main, set: &SideTask, task: &str) -> Vec<Link> {
        let ground = &main.ground;
        let link = |wish: Wish| {
            let wish = Wish {
                extra_body: set.extra_body.clone(),
                ..wish
            };
            Link::wished(ground.maker.clone(), wish, set.timeout)
        };
        let own = ground.fallbacks.iter();
        let own = own.filter_map(|other| Some(link(other.wish()?.clone()).beside(other)));
        let known = side::helpers(&ground.maker.settings, task).into_iter();
        own.chain(known.map(link)).collect()
    }

    fn side_chain(
        &self,
        main: &Main,
        links: Vec<Link>,
        set: &SideTask,
        task: &str,
    ) -> Result<Chain, ModelError> {
        let place = links.iter().position(|link| link.route().is_ok());
        let usable = links.into_iter().skip(place.unwrap_or(usize::MAX));
        let usable: Vec<_> = usable.map(Arc::new).collect();
        let info = usable.first().and_then(|link| link.route().ok());
        let Some(info) = info.map(Route::info) else {
            return Err(not_configured(format!(
                "No model can do this: set `auxiliary.{task}.provider` and its key"
            )));
        };
        let mut links = Links::new(usable, Standby::SideTask, Timing::default().cooldown);
        links.temperature = set.temperature;
        links.unpaid = main.ground.unpaid.clone();
        Ok(Chain::of(info, links))
    }

    /// The model somebody names, and nobody in its place.
    fn named(&self, main: &Main, name: &str) -> Result<RouteClient, ModelError> {
        let overrides = Overrides {
            model: Some(name.to_owned()),
            provider: None,
        };
        let route = resolve::resolve(main.ground.sources(), &overrides)?;
        Ok(main.ground.maker.client(route, None))
    }

    /// The main provider with another model.
    fn other_model(&self, main: &Main, model: String) -> Result<Route, ModelError> {
        let overrides = Overrides {
            provider: Some(main.route().provider.clone()),
            model: Some(model),
        };
        resolve::resolve(main.ground.sources(), &overrides)
    }

    /// A wish without a model gets the provider's own, its cheap one, or the main model.
    fn with_model(&self, main: &Main, wish: Wish) -> Wish {
        if !wish.model.is_empty() {
            return wish;
        }
        let provider = find(&main.ground.maker.settings, &wish.provider);
        let has_own = provider
            .as_ref()
            .is_some_and(|provider| provider.own_text(&["default_model", "model"]).is_some());
        if has_own {
            return wish;
        }
        let cheap = provider.and_then(|provider| side::cheap(&provider.row.id));
        let model = cheap.map_or_else(|| main.route().model.clone(), str::to_owned);
        Wish { model, ..wish }
    }
}

impl Models for RoutedModels {
    fn client(&self, purpose: &Purpose) -> Result<Arc<dyn ModelClient>, ModelError> {
        let main = self.live();
        if main.route().model.is_empty() {
            return Err(resolve::no_model());
        }
        match purpose {
            Purpose::Main => Ok(self.main_client(&main)),
            Purpose::Aux(task) => Ok(Arc::new(self.side_task(&main, task)?)),
            Purpose::Child => Ok(Arc::new(self.child(&main)?)),
            Purpose::Named(name) => Ok(Arc::new(self.named(&main, name)?)),
        }
    }
}

/// The first fallback that can be used, in place of a main model nobody named for this run and that can't be used.
fn stand_in(
    error: ModelError,
    overrides: &Overrides,
    fallbacks: &[Arc<Link>],
) -> Result<(Route, Option<String>), ModelError> {
    let is_named = overrides.model.is_some() || overrides.provider.is_some();
    let usable = fallbacks.iter().find_map(|link| link.route().ok());
    match usable {
        Some(route) if !is_named && error.kind == ModelErrorKind::NotConfigured => {
            let notice = format!("{error}\n{} answers instead", route.title());
            Ok((route.clone(), Some(notice)))
        }
        _ => Err(error),
    }
}

fn is_named(route: &Route) -> bool {
    !route.model.is_empty() && !family::is_family(&route.model)
}
