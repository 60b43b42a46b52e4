//! Which models there are to choose from: lists as providers give them now, as they were kept, or as the registry
//! has them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use hermes_home::config::Settings;
use hermes_home::{Env, Home};
use hermes_net::within;
use hermes_types::{ModelError, Scope};
use serde::Serialize;

use crate::catalogue::Row;
use crate::http::Http;
use crate::listing::ListedModel;
use crate::origin::Origin;
use crate::providers::{Provider, find, list_providers};
use crate::registry::{self, Registry};
use crate::resolve::{self, Sources};
use crate::route::Route;
use crate::similar::similarity;
use crate::timing::Timing;
use crate::{cost, limits, server, shelf};

/// The registry is a few megabytes.
const REGISTRY_TIME: Duration = Duration::from_secs(30);
const REGISTRY_IS_GOOD: Duration = Duration::from_secs(3_600);
/// A list that is no older, in seconds, is not asked for again.
const ASKED_JUST_NOW: i64 = 300;
/// Above it a name is a typing mistake, below the other it is just another name.
const SAME: f64 = 0.9;
const SIMILAR: f64 = 0.5;
const MAX_SIMILAR: usize = 3;
/// No model's name is longer, and comparing takes the square of it.
const MAX_NAME: usize = 200;

/// What everybody has to offer.
#[derive(Debug)]
pub struct Offers {
    settings: Settings,
    env: Env,
    home: PathBuf,
    http: Arc<Http>,
}

/// One provider's models.
#[derive(Clone, Debug, Serialize)]
pub struct Offer {
    pub provider: String,
    #[serde(flatten)]
    pub origin: Origin,
    pub models: Vec<ListedModel>,
}

/// A model that was searched for.
#[derive(Clone, Debug, Serialize)]
pub struct Found {
    pub provider: String,
    #[serde(flatten)]
    pub model: ListedModel,
    /// It could be used right now.
    #[serde(rename = "configured")]
    pub is_ready: bool,
}

/// What fetching one list came to: the number of models, or why there are none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refreshed {
    pub name: String,
    pub outcome: Result<usize, String>,
}

/// What the provider's list says about a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Checked {
    Listed,
    /// Surely this one was meant.
    Corrected(String),
    /// Not on the list; these are most like it.
    Unlisted {
        similar: Vec<String>,
    },
    /// There is no list to look at.
    Unknown,
}

impl Checked {
    /// The name to use, and what to say about it; nothing if all is well.
    pub fn settled(self, wanted: &str) -> (String, String) {
        let (name, note) = match self {
            Self::Listed | Self::Unknown => (None, String::new()),
            Self::Corrected(right) => (Some(right), format!("'{wanted}' is not listed")),
            Self::Unlisted { similar } if similar.is_empty() => {
                (None, "the provider does not list it".to_owned())
            }
            Self::Unlisted { similar } => {
                let similar = similar.join(", ");
                let note = format!("the provider does not list it; did you mean {similar}?");
                (None, note)
            }
        };
        (name.unwrap_or_else(|| wanted.to_owned()), note)
    }
}

impl Offers {
    pub fn new(home: &Home, settings: Settings, env: Env) -> Self {
        let http = Http::usual(&settings, &env);
        Self {
            home: home.dir().to_owned(),
            http: Arc::new(http),
            settings,
            env,
        }
    }

    /// A provider's models, as fresh as they can be had.
    pub async fn of(&self, provider: &str, scope: &Scope) -> Result<Offer, ModelError> {
        let provider = resolve::named(self.sources(), provider)?;
        let (offer, _) = futures::join!(self.listed(&provider, scope), self.fresh_registry(scope));
        let offer = match offer.origin {
            Origin::Nowhere { .. } => self.registered(&provider.row).unwrap_or(offer),
            _ => offer,
        };
        Ok(self.completed(offer, &provider.row))
    }

    /// All models whose names have all these words in them; first those that can be used now.
    pub async fn search(&self, words: &[String], scope: &Scope) -> Vec<Found> {
        self.fresh_registry(scope).await;
        let infos = list_providers(&self.home, &self.settings, &self.env);
        let ready: Vec<_> = infos.iter().map(|info| self.is_of_use(&info.id)).collect();
        let offers = infos.iter().zip(&ready).map(|(info, is_ready)| async {
            let provider = find(&self.settings, &info.id)?;
            let listed = match is_ready {
                true => self.listed(&provider, scope).await,
                false => self.registered(&provider.row)?,
            };
            let listed = match listed.origin {
                Origin::Nowhere { .. } => self.registered(&provider.row)?,
                _ => listed,
            };
            Some((self.completed(listed, &provider.row), *is_ready))
        });
        let offers = join_all(offers).await;
        let words: Vec<_> = words.iter().map(|word| word.to_lowercase()).collect();
        let mut found: Vec<_> = offers
            .into_iter()
            .flatten()
            .flat_map(|(offer, is_ready)| fitting(offer, &words, is_ready))
            .collect();
        found.sort_by_key(|found| !found.is_ready);
        found
    }

    /// Fetches the registry, and the list of everybody who can be used.
    pub async fn refresh(&self, scope: &Scope) -> Vec<Refreshed> {
        let infos = list_providers(&self.home, &self.settings, &self.env);
        let usable = infos.iter().filter(|info| self.is_of_use(&info.id));
        let providers = usable.filter_map(|info| find(&self.settings, &info.id));
        let lists = providers
            .filter(|provider| provider.row.listing)
            .map(|provider| async move {
                let outcome = self.live(&provider, scope).await;
                Refreshed {
                    name: provider.row.id,
                    outcome: outcome.map(|models| models.len()),
                }
            });
        let (registry, lists) = futures::join!(self.fetch_registry(scope), join_all(lists));
        let registry = Refreshed {
            name: "models.dev".to_owned(),
            outcome: registry,
        };
        std::iter::once(registry).chain(lists).collect()
    }

    /// Whether a provider has a model of this name; fixes what is surely a typing mistake.
    pub async fn check(&self, provider: &str, model: &str, scope: &Scope) -> Checked {
        let Some(provider) = find(&self.settings, provider) else {
            return Checked::Unknown;
        };
        let offer = self.listed(&provider, scope).await;
        check(&offer.models, model)
    }

    fn sources(&self) -> Sources<'_> {
        Sources {
            settings: &self.settings,
            env: &self.env,
            home: &self.home,
        }
    }

    /// Whether asking it makes sense: it has a key, or is the one in use. Servers that need none may not exist.
    fn is_of_use(&self, id: &str) -> bool {
        let Some(provider) = find(&self.settings, id) else {
            return false;
        };
        let set = find(&self.settings, self.settings.text("model.provider"));
        let is_set = set.is_some_and(|set| set.row.id == id);
        let is_own = id.starts_with("custom:");
        let is_ready = self.reach(&provider).is_ok();
        is_ready && (is_set || is_own || !provider.row.key_is_optional)
    }

    fn reach(&self, provider: &Provider) -> Result<Route, ModelError> {
        resolve::reach(self.sources(), &provider.row.id)
    }

    /// As it was kept a moment ago; from the server; or else as it was kept, however old.
    async fn listed(&self, provider: &Provider, scope: &Scope) -> Offer {
        let id = provider.row.id.clone();
        let kept = self.kept(provider);
        if let Some(kept) = &kept
            && kept.age_seconds() < ASKED_JUST_NOW
        {
            return Offer::kept(id, kept.clone());
        }
        match (self.live(provider, scope).await, kept) {
            (Ok(models), _) => Offer {
                provider: id,
                models,
                origin: Origin::Live,
            },
            (Err(_), Some(kept)) => Offer::kept(id, kept),
            (Err(why), None) => Offer {
                provider: id,
                models: Vec::new(),
                origin: Origin::Nowhere { why },
            },
        }
    }

    /// From the server; kept for later.
    async fn live(&self, provider: &Provider, scope: &Scope) -> Result<Vec<ListedModel>, String> {
        if !provider.row.listing {
            return Err(format!("{} has no list of models", provider.row.name));
        }
        let route = self.reach(provider).map_err(|error| error.message)?;
        let client = self.http.client(&route.base_url);
        let client = client.map_err(|error| error.message)?;
        let probe = Timing::default().probe;
        let asked = within(scope, probe, server::listing(&client, &route)).await;
        let models = asked.ok().flatten().filter(|models| !models.is_empty());
        let models = models.ok_or_else(|| format!("{} gives no list of models", route.base_url))?;
        shelf::keep(
            &self.home,
            &route.provider,
            route.base_url.as_str(),
            &models,
        );
        Ok(models)
    }

    fn kept(&self, provider: &Provider) -> Option<shelf::Kept> {
        let of_route = self.reach(provider).map(|route| route.base_url.to_string());
        let url = of_route.unwrap_or_else(|_| provider.row.base_url.clone());
        shelf::load(&self.home, &provider.row.id, &url)
    }

    /// As models.dev has them.
    fn registered(&self, row: &Row) -> Option<Offer> {
        let name = row.models_dev.as_ref()?;
        let models = Registry::load(&self.home)?.models(name);
        let age = registry::age(&self.home).unwrap_or_default();
        (!models.is_empty()).then(|| Offer {
            provider: row.id.clone(),
            models,
            origin: Origin::Registry { age },
        })
    }

    /// With what the list leaves out, where somebody else knows it.
    fn completed(&self, mut offer: Offer, row: &Row) -> Offer {
        let registry = Registry::load(&self.home);
        let known = row.models_dev.as_deref().zip(registry.as_ref());
        let lists_prices = row.quirks["list_prices"] == true;
        for model in &mut offer.models {
            let there = known.and_then(|(name, registry)| registry.model(name, &model.id));
            let (window, price) = match there {
                Some(there) => (there.context_length, there.price),
                None => (None, None),
            };
            let table = || cost::built_in(&model.id).filter(|_| lists_prices);
            let table = || table().map(|priced| priced.price);
            model.price = model.price.or(price).or_else(table);
            let by_name = || limits::known_context(&model.id);
            model.context_length = model.context_length.or(window).or_else(by_name);
        }
        offer
    }

    async fn fresh_registry(&self, scope: &Scope) {
        if registry::age(&self.home).is_none_or(|age| age > REGISTRY_IS_GOOD) {
            // An old one, or none, is what there is then.
            let _ = self.fetch_registry(scope).await;
        }
    }

    async fn fetch_registry(&self, scope: &Scope) -> Result<usize, String> {
        let address = registry::address(&self.env);
        let url = address
            .parse()
            .map_err(|_| format!("'{address}' is no address"))?;
        let client = self.http.client(&url).map_err(|error| error.message)?;
        let asked = within(scope, REGISTRY_TIME, server::fetch(&client, url)).await;
        let text = asked
            .ok()
            .flatten()
            .ok_or(format!("{address} does not answer"))?;
        registry::keep(&self.home, &text).ok_or_else(|| format!("{address} gives no registry"))
    }
}

impl Offer {
    fn kept(provider: String, kept: shelf::Kept) -> Self {
        let seconds = kept.age_seconds().try_into().unwrap_or_default();
        let age = Duration::from_secs(seconds);
        Self {
            provider,
            models: kept.models,
            origin: Origin::Kept { age },
        }
    }
}

fn fitting(offer: Offer, words: &[String], is_ready: bool) -> impl Iterator<Item = Found> + use<> {
    let words = words.to_vec();
    let provider = offer.provider;
    let models = offer.models.into_iter().filter(move |model| {
        let name = model.id.to_lowercase();
        words.iter().all(|word| name.contains(word))
    });
    models.map(move |model| Found {
        provider: provider.clone(),
        model,
        is_ready,
    })
}

fn check(models: &[ListedModel], name: &str) -> Checked {
    if models.is_empty() {
        return Checked::Unknown;
    }
    if models.iter().any(|model| model.id == name) {
        return Checked::Listed;
    }
    let name: String = name.chars().take(MAX_NAME).collect();
    let ids = models.iter().map(|model| &model.id);
    let mut ranked: Vec<(f64, &String)> = ids.map(|id| (similarity(&name, id), id)).collect();
    ranked.sort_by(|one, other| other.0.total_cmp(&one.0));
    match ranked.first() {
        Some((likeness, id)) if *likeness >= SAME => Checked::Corrected((*id).clone()),
        _ => {
            let similar = ranked
                .into_iter()
                .filter(|(likeness, _)| *likeness >= SIMILAR);
            let similar = similar.take(MAX_SIMILAR).map(|(_, id)| id.clone());
            Checked::Unlisted {
                similar: similar.collect(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn names_against_a_list() {
        let models = ["claude-sonnet-4.6", "claude-opus-4.7", "gpt-5.4"].map(|id| ListedModel {
            id: id.to_owned(),
            ..ListedModel::default()
        });
        let found = |name| check(&models, name);
        assert_eq!(found("gpt-5.4"), Checked::Listed);
        let corrected = Checked::Corrected("claude-sonnet-4.6".to_owned());
        assert_eq!(found("claude-sonet-4.6"), corrected);
        let similar = vec!["gpt-5.4".to_owned()];
        assert_eq!(found("gpt-5-mini"), Checked::Unlisted { similar });
        assert_eq!(found("zzzz"), Checked::Unlisted { similar: vec![] });
        assert_eq!(check(&[], "gpt-5.4"), Checked::Unknown);
    }
}
