//! Which keys a provider has at an address: those of its pool, and those in variables and settings. A key that
//! belongs to one host is not sent to another.

use hermes_home::config::Settings;
use hermes_types::ModelError;
use jiff::Timestamp;
use reqwest::Url;

use crate::auth::{self, AuthFile, Condition, Credential, Document, Seed, is_subscription};
use crate::catalogue::{KeyVariable, Row};
use crate::providers::{self, Provider, is_usable};
use crate::resolve::{Sources, not_configured};
use crate::route::{Key, Route};
use crate::wish::Wish;
use crate::{aws, endpoints, host};

/// What servers that want no key are sent: some refuse an empty one.
pub(crate) const NO_KEY: &str = "no-key-required";
/// What a key from the pool is called where a variable or setting would be named.
pub(crate) const OF_POOL: &str = "auth.json";

/// Where a provider is.
pub(crate) struct Address {
    pub url: Url,
    /// Nobody asked for another one than the catalogue's.
    pub is_usual: bool,
}

/// The key to begin with.
pub(crate) struct Chosen {
    pub key: Key,
    /// What it is called.
    pub name: String,
    /// Where it belongs.
    pub url: Url,
}

impl Address {
    /// The address a route was decided by.
    pub fn of(sources: Sources<'_>, row: &Row, route: &Route) -> Self {
        let usual = endpoints::of_key(sources.home, row, &route.key).or_else(|| usual(row));
        Self {
            is_usual: usual.as_ref() == Some(&route.base_url),
            url: route.base_url.clone(),
        }
    }

    /// Some keys belong to another address than the usual one.
    fn of_key(&self, sources: Sources<'_>, row: &Row, key: &Key) -> Url {
        let own = || endpoints::of_key(sources.home, row, key).or_else(|| usual(row));
        let own = self.is_usual.then(own).flatten();
        own.unwrap_or_else(|| self.url.clone())
    }
}

fn usual(row: &Row) -> Option<Url> {
    row.base_url.trim_end_matches('/').parse().ok()
}

/// The key to begin with.
pub(crate) fn find(
    sources: Sources<'_>,
    wish: &Wish,
    provider: &Provider,
    address: &Address,
) -> Result<Chosen, ModelError> {
    let row = &provider.row;
    if is_usable(&wish.key) {
        let key = Key::new(wish.key.trim());
        return Ok(Chosen {
            url: address.of_key(sources, row, &key),
            name: wish.key_name.clone(),
            key,
        });
    }
    let is_amazons = row.credentials.is_some() || wish.api_mode.starts_with("bedrock");
    if let Some(chosen) = first(sources, provider, address, |entry| {
        !is_amazons || !entry.source().starts_with("env:")
    }) {
        return Ok(chosen);
    }
    let (key, name) = if is_amazons {
        aws::key(sources.settings, sources.env, &address.url)?
    } else if row.key_is_optional {
        (Key::new(NO_KEY), "model.api_key".to_owned())
    } else {
        return Err(missing(sources, provider, &address.url));
    };
    let url = address.url.clone();
    Ok(Chosen { key, name, url })
}

/// The first credential that is good, or else the first there is.
fn first(
    sources: Sources<'_>,
    provider: &Provider,
    address: &Address,
    fits: impl Fn(&Credential) -> bool,
) -> Option<Chosen> {
    let row = &provider.row;
    let now = Timestamp::now();
    let usable: Vec<_> = credentials(sources, provider, address)
        .into_iter()
        .filter(|entry| fits(entry) && auth::is_alive(&row.id, entry, now))
        .filter_map(|entry| Some((place(sources, &entry, row, address)?, entry)))
        .collect();
    let is_good = |(_, entry): &&(Url, Credential)| entry.condition(now) == Condition::Good;
    let (url, entry) = usable.iter().find(is_good).or(usable.first())?;
    Some(Chosen {
        key: entry.key(&row.id),
        name: name(entry, provider),
        url: url.clone(),
    })
}

/// Everything a provider has: its pool, and what is not in it yet.
pub(crate) fn credentials(
    sources: Sources<'_>,
    provider: &Provider,
    address: &Address,
) -> Vec<Credential> {
    let pool = pool_name(sources.settings, provider, &address.url);
    auth::merge(
        &document(sources),
        &pool,
        &seeds(sources, provider, address),
    )
}

pub(crate) fn document(sources: Sources<'_>) -> Document {
    AuthFile::new(sources.home, sources.env).read()
}

/// Whether a login or a key in `auth.json` makes a provider usable.
pub(crate) fn has_pool(document: &Document, provider: &str) -> bool {
    let now = Timestamp::now();
    let entries = auth::merge(document, provider, &[]);
    entries
        .iter()
        .any(|entry| auth::is_alive(provider, entry, now))
}

/// The provider the owner logged in with last.
pub(crate) fn active(document: &Document) -> Option<String> {
    let provider = document.active()?;
    has_pool(document, provider).then(|| provider.to_owned())
}

/// Where the models of a login are, if it says so.
pub(crate) fn login_url(sources: Sources<'_>, row: &Row) -> Option<String> {
    let login = row.login.as_ref()?;
    let entries = auth::merge(&document(sources), login, &[]);
    let mut urls = entries.iter().map(|entry| entry.text("inference_base_url"));
    urls.find(|url| !url.is_empty()).map(str::to_owned)
}

/// The name of a provider's pool. An address written out is the named provider's that has it.
pub(crate) fn pool_name(settings: &Settings, provider: &Provider, url: &Url) -> String {
    let id = &provider.row.id;
    let named = (id == "custom")
        .then(|| providers::at(settings, url))
        .flatten();
    named.unwrap_or_else(|| id.clone())
}

/// Keys in variables and settings that may be sent there.
pub(crate) fn seeds(sources: Sources<'_>, provider: &Provider, address: &Address) -> Vec<Seed> {
    let row = &provider.row;
    let seed = |source: String, label: &str, key: &str| {
        let key = Key::new(key.trim());
        let url = address.of_key(sources, row, &key);
        let base_url = url.as_str().trim_end_matches('/').to_owned();
        let seed = Seed {
            source,
            label: label.to_owned(),
            key,
            base_url,
        };
        (seed, url)
    };
    if let Some(key) = provider.own_text(&["api_key"]).filter(|key| is_usable(key)) {
        return vec![seed(format!("config:{}", row.name), &row.name, key).0];
    }
    let variables = row.keys.iter().filter_map(|variable| {
        let value = value(sources, variable)?;
        if row.why_not(variable, value).is_some() || is_subscription(&row.id, value) {
            return None;
        }
        let (seed, url) = seed(format!("env:{}", variable.name), &variable.name, value);
        let belongs = |domain: &String| host::is_under(&url, domain);
        variable.host.as_ref().is_none_or(belongs).then_some(seed)
    });
    // Where any server can be, a key is a guess; one guess is enough.
    let count = if row.key_is_optional { 1 } else { usize::MAX };
    variables.take(count).collect()
}

/// Where a credential may be used if the provider is at `address`; `None`: nowhere.
pub(crate) fn place(
    sources: Sources<'_>,
    entry: &Credential,
    row: &Row,
    address: &Address,
) -> Option<Url> {
    let (url, usual) = (&address.url, usual(row));
    let is_usual = address.is_usual || usual.as_ref() == Some(url);
    let own: Option<Url> = entry.base_url().trim_end_matches('/').parse().ok();
    let own = match own {
        own if address.is_usual && (own.is_none() || own == usual) => {
            Some(address.of_key(sources, row, &entry.key(&row.id)))
        }
        own => own,
    };
    match own {
        None => {
            let is_here = usual.is_none_or(|usual| usual.origin() == url.origin());
            is_here.then(|| url.clone())
        }
        Some(own) if own.origin() == url.origin() => Some(if is_usual { own } else { url.clone() }),
        // Its owner wants another server than the one the key was given for, or has moved.
        Some(_) if !is_usual || row.id.starts_with("custom") => None,
        Some(own) => Some(own),
    }
}

/// What the key of an entry is called.
pub(crate) fn name(entry: &Credential, provider: &Provider) -> String {
    let source = entry.source();
    if let Some(variable) = source.strip_prefix("env:") {
        return variable.to_owned();
    }
    if source.starts_with("config:") {
        let own_name = provider.row.id.trim_start_matches("custom:");
        return format!("providers.{own_name}.api_key");
    }
    format!("{OF_POOL}: {}", entry.label())
}

fn value<'a>(sources: Sources<'a>, variable: &KeyVariable) -> Option<&'a str> {
    let value = sources.env.filled(&variable.name);
    value.filter(|value| variable.takes(value))
}

fn missing(sources: Sources<'_>, provider: &Provider, url: &Url) -> ModelError {
    let row = &provider.row;
    let is_usual = |key: &&KeyVariable| key.name.ends_with("_API_KEY");
    let usual = row.keys.iter().find(is_usual).or(row.keys.first());
    let Some(variable) = usual else {
        return not_configured(match row.login.is_some() {
            true => format!(
                "{} takes no key, only a login, and there is none that is good. Log in with \
                 `hermes auth add {}`, or choose another provider with `hermes model`",
                row.name, row.id
            ),
            false => format!("There is no key for {}", row.name),
        });
    };
    let name = &variable.name;
    let is_elsewhere = variable
        .host
        .as_ref()
        .is_some_and(|domain| !host::is_under(url, domain));
    if is_elsewhere {
        return not_configured(format!(
            "{name} is only sent to {}, not to {}. Give this address its own key: \
             `hermes config set model.api_key <key>`",
            variable.host.as_deref().unwrap_or_default(),
            url.host_str().unwrap_or_default(),
        ));
    }
    let why = match set_aside(sources, row) {
        Some(why) => return why,
        None => unused(sources, row).map(|why| format!(" ({why})")),
    };
    let login = match row.login.is_some() {
        true => format!(", log in with `hermes auth add {}`", row.id),
        false => String::new(),
    };
    not_configured(format!(
        "There is no key for {}: {name} is not set{}. Set it with `hermes config set {name} <key>`{login}, \
         or choose another provider with `hermes model`",
        row.name,
        why.unwrap_or_default(),
    ))
}

/// What to say if a variable holds a key that was refused or removed here.
fn set_aside(sources: Sources<'_>, row: &Row) -> Option<ModelError> {
    let (name, key) = row.keys.iter().find_map(|variable| {
        let value = value(sources, variable)?;
        let is_meant = row.why_not(variable, value).is_none();
        is_meant.then_some((&variable.name, value))
    })?;
    let message = match is_subscription(&row.id, key) {
        true => format!(
            "{name} holds the token of a subscription, which {} does not allow in other programs. \
             Use an API key: `hermes auth add {}`",
            row.name, row.id
        ),
        false => format!(
            "{name} was removed from {}'s keys with `hermes auth remove`. `hermes auth add {}` lets it in again",
            row.name, row.id
        ),
    };
    Some(not_configured(message))
}

/// Why a key that is there is not used.
fn unused<'r>(sources: Sources<'_>, row: &'r Row) -> Option<&'r str> {
    let why = |variable: &KeyVariable| {
        let value = sources.env.filled(&variable.name)?;
        row.why_not(variable, value)
    };
    let named = row.unsupported.iter().find(|entry| {
        let is_set = || sources.env.filled(&entry.variable).is_some();
        !entry.variable.is_empty() && is_set()
    });
    let named = named.map(|entry| entry.why.as_str());
    named.or_else(|| row.keys.iter().find_map(why))
}

#[cfg(test)]
mod tests {
    use hermes_home::{Env, config};
    use serde_json::json;

    use super::*;
    use crate::catalogue::catalogue;

    #[test]
    fn a_key_goes_where_it_belongs() {
        let dir = tempfile::tempdir().unwrap();
        let env = Env::default();
        let document = config::Document::parse(dir.path(), String::new());
        let settings = Settings::from_document(&document, &env);
        let sources = Sources {
            settings: &settings,
            env: &env,
            home: dir.path(),
        };
        let check = |provider: &str, own: &str, url: &str, expected: Option<&str>| {
            let mut row = catalogue().by_id(provider).unwrap().clone();
            if provider == "custom" && url.contains("named") {
                row.base_url = url.to_owned();
            }
            let entry = Credential::read(&json!({"access_token": "k", "base_url": own})).unwrap();
            let address = Address {
                url: url.parse().unwrap(),
                is_usual: url == row.base_url,
            };
            let found = place(sources, &entry, &row, &address);
            let found = found.map(|url| url.as_str().trim_end_matches('/').to_owned());
            assert_eq!(found.as_deref(), expected, "{provider} {own} {url}");
        };
        let router = "https://openrouter.ai/api/v1";
        check("openrouter", "", router, Some(router));
        check("openrouter", router, router, Some(router));
        check(
            "openrouter",
            "https://eu.openrouter.ai/api/v1",
            router,
            Some("https://eu.openrouter.ai/api/v1"),
        );
        // The owner has the provider somewhere else.
        check("openrouter", router, "https://proxy.test/v1", None);
        check("openrouter", "", "https://proxy.test/v1", None);
        check(
            "openrouter",
            "https://proxy.test/v2",
            "https://proxy.test/v1",
            Some("https://proxy.test/v1"),
        );
        check(
            "custom",
            "",
            "http://127.0.0.1:9/v1",
            Some("http://127.0.0.1:9/v1"),
        );
        check(
            "custom",
            "http://127.0.0.1:8/v1",
            "http://127.0.0.1:9/v1",
            None,
        );
        check(
            "custom",
            "https://127.0.0.1:9/v1",
            "http://127.0.0.1:9/v1",
            None,
        );
        check("custom", "http://named.old/v1", "http://named.new/v1", None);
        check(
            "custom",
            "http://named.new/v1",
            "http://named.new/v1",
            Some("http://named.new/v1"),
        );
    }
}
