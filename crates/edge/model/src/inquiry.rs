//! What only a server, or what is kept of earlier answers, can tell about a route: the model's own name, its
//! window, its price. Asked once, and never for long.

use hermes_net::within;
use hermes_types::{ModelError, Scope};
use reqwest::Client;

use crate::catalogue::{Row, catalogue};
use crate::context::{ContextLength, Source};
use crate::cost::{PriceSource, Priced};
use crate::http::Http;
use crate::listing::{self, ListedModel};
use crate::registry::Registry;
use crate::resolve::{self, Sources};
use crate::route::{EffortField, Mode, Route};
use crate::timing::Timing;
use crate::wish::Overrides;
use crate::{endpoints, family, server, shelf};

/// How long a provider's list is good, in seconds.
const LIST_IS_GOOD: i64 = 3_600;

pub(crate) struct Inquiry<'a> {
    pub sources: Sources<'a>,
    pub overrides: &'a Overrides,
    pub http: &'a Http,
    pub scope: &'a Scope,
}

impl Inquiry<'_> {
    /// The route with all that can be found out about it.
    pub async fn about(&self, route: Route) -> Route {
        let Ok(client) = self.http.client(&route.base_url) else {
            return route;
        };
        let mut route = self.at_its_endpoint(&client, route).await;
        if !is_named(&route) || is_window_listed(&route) {
            let models = self.list(&client, &route).await;
            route = self.listed(route, &models);
        }
        if route.is_local() && !route.model.is_empty() {
            route = self.told_next_door(&client, route).await;
        }
        self.looked_up(route)
    }

    async fn in_time<T>(&self, asked: impl Future<Output = Option<T>>) -> Option<T> {
        let probe = Timing::default().probe;
        within(self.scope, probe, asked).await.ok().flatten()
    }

    /// With the one address, of several, that takes the key.
    async fn at_its_endpoint(&self, client: &Client, route: Route) -> Route {
        let is_usual = |row: &&Row| {
            let usual = row.base_url.trim_end_matches('/');
            !row.endpoints.is_empty() && route.base_url.as_str().trim_end_matches('/') == usual
        };
        let row = catalogue().by_id(&route.provider).filter(is_usual);
        let Some(row) = row else { return route };
        if endpoints::detected(self.sources.home, row, &route.key).is_some() {
            return route;
        }
        let tried = endpoints::try_all(client, &row.endpoints, &route.key);
        let Some(endpoint) = self.in_time(tried).await else {
            return route;
        };
        endpoints::keep(self.sources.home, row, endpoint, &route.key);
        // What was kept is found by resolving again.
        resolve::resolve(self.sources, self.overrides).unwrap_or(route)
    }

    /// The provider's list: as it was kept, if that is good enough, or as its server gives it.
    async fn list(&self, client: &Client, route: &Route) -> Vec<ListedModel> {
        let (home, url) = (self.sources.home, route.base_url.as_str());
        let is_known = catalogue().knows_host(&route.base_url);
        if is_known
            && let Some(kept) = shelf::load(home, &route.provider, url)
            && kept.age_seconds() < LIST_IS_GOOD
        {
            return kept.models;
        }
        let models = self.in_time(server::listing(client, route)).await;
        let models = models.unwrap_or_default();
        if is_known && !models.is_empty() {
            shelf::keep(home, &route.provider, url, &models);
        }
        models
    }

    /// The route with what a list of models adds.
    fn listed(&self, route: Route, models: &[ListedModel]) -> Route {
        let name = server::name_in(models, &route.model);
        let named = name.and_then(|name| self.renamed(name).ok());
        let mut route = named.unwrap_or(route);
        if let Some(model) = listing::find(models, &route.model) {
            if is_window_listed(&route) {
                learn(&mut route, model.context_length, Source::Server);
            }
            charge(&mut route, model, PriceSource::Provider);
            know_efforts(&mut route, model);
        }
        route
    }

    /// The route with the name its server gave the model.
    fn renamed(&self, model: String) -> Result<Route, ModelError> {
        let overrides = Overrides {
            model: Some(model),
            ..self.overrides.clone()
        };
        resolve::resolve(self.sources, &overrides)
    }

    /// What servers on one's own machine tell in their own ways.
    async fn told_next_door(&self, client: &Client, mut route: Route) -> Route {
        if route.provider == "lmstudio" {
            if let Some(model) = self.in_time(server::in_lm_studio(client, &route)).await {
                learn(&mut route, model.context_length, Source::Server);
                know_efforts(&mut route, &model);
            }
            return route;
        }
        if may_be_ollama(&route)
            && let Some(tokens) = self.in_time(server::ollama_window(client, &route)).await
        {
            be_kept(&mut route, tokens);
        } else if !route.context.is_certain()
            && let Some(tokens) = self.in_time(server::llama_window(client, &route)).await
        {
            learn(&mut route, Some(tokens), Source::Server);
        }
        route
    }

    /// What is on the shelf about it, and in the registry.
    fn looked_up(&self, mut route: Route) -> Route {
        let home = self.sources.home;
        if route.context.is_certain() && route.quirks.price.is_some() {
            return route;
        }
        let kept = shelf::load(home, &route.provider, route.base_url.as_str());
        let kept = kept.map(|kept| kept.models).unwrap_or_default();
        if let Some(model) = kept.iter().find(|model| model.id == route.model) {
            learn(&mut route, model.context_length, Source::Registry);
            charge(&mut route, model, PriceSource::Provider);
        }
        match catalogue().by_id(&route.provider) {
            Some(row) if row.id == "bedrock" => {}
            Some(row) if row.models_dev.is_some() => self.registered(&mut route, row),
            _ => self.as_elsewhere(&mut route),
        }
        route
    }

    fn registered(&self, route: &mut Route, row: &Row) {
        if route.context.is_certain() && route.quirks.price.is_some() {
            return;
        }
        let registry = Registry::load(self.sources.home);
        let name = row.models_dev.as_deref().unwrap_or_default();
        let model = registry.and_then(|registry| registry.model(name, &route.model));
        if let Some(model) = model {
            learn(route, model.context_length, Source::Registry);
            charge(route, &model, PriceSource::Registry);
        }
    }

    /// A model nobody here knows may be on the longest list there is.
    fn as_elsewhere(&self, route: &mut Route) {
        if route.context.is_certain() {
            return;
        }
        let Some(router) = catalogue().by_id("openrouter") else {
            return;
        };
        let Some(kept) = shelf::load(self.sources.home, &router.id, &router.base_url) else {
            return;
        };
        let bare = |id: &str| id.rsplit('/').next().unwrap_or(id).to_lowercase();
        let wanted = bare(&route.model);
        if let Some(model) = kept.models.iter().find(|model| bare(&model.id) == wanted) {
            learn(route, model.context_length, Source::Registry);
        }
    }
}

/// Whether the model's own name is known, and not only its family's.
pub(crate) fn is_named(route: &Route) -> bool {
    !route.model.is_empty() && !family::is_family(&route.model)
}

/// Whether the server's list says how much the model takes. What the tables know about well-known hosts' models is
/// better than what most of these hosts list.
fn is_window_listed(route: &Route) -> bool {
    let says_so = |row: &Row| row.windows_listed;
    let is_better = catalogue().by_id(&route.provider).is_some_and(says_so);
    !route.context.is_certain() && (is_better || !catalogue().knows_host(&route.base_url))
}

/// Whether to ask for what only Ollama tells: how much of a conversation it could keep. It keeps little unless
/// every request says otherwise, and nothing in its replies shows that the rest is gone.
fn may_be_ollama(route: &Route) -> bool {
    let is_open = !route.context.is_certain() || server::is_ollama_port(&route.base_url);
    route.mode == Mode::ChatCompletions && is_open && !route.quirks.body.contains_key("options")
}

/// Has an Ollama server keep as much as it can and its owner wants.
fn be_kept(route: &mut Route, tokens: u64) {
    learn(route, Some(tokens), Source::Server);
    route.quirks.keep(route.context.tokens.min(tokens));
}

/// Takes a window from this source, unless a better one spoke already.
fn learn(route: &mut Route, tokens: Option<u64>, source: Source) {
    let is_news = !route.context.is_certain() && route.context.source != Source::Registry;
    if let Some(tokens) = tokens.filter(|_| is_news) {
        route.context = ContextLength { tokens, source };
    }
}

fn charge(route: &mut Route, model: &ListedModel, source: PriceSource) {
    if route.quirks.price.is_none() {
        route.quirks.price = model.price.map(|price| Priced { price, source });
    }
}

fn know_efforts(route: &mut Route, model: &ListedModel) {
    if model.efforts.is_empty() {
        return;
    }
    route.quirks.efforts.clone_from(&model.efforts);
    if route.provider == "copilot" {
        route.quirks.effort = EffortField::Reasoning;
    }
}
