//! What an owner does with keys: look at them, add, remove, wake them up, log out.

use hermes_home::config::Settings;
use hermes_home::redact::mask_display;
use hermes_home::{Env, Home};
use jiff::Timestamp;
use reqwest::Url;
use serde_json::json;

use super::endpoints::Endpoints;
use super::entry::{Condition, Credential, Kind};
use super::file::{AuthFile, Document};
use super::seed::{DEVICE_CODE, next_priority};
use super::{AuthError, Seed, login_way, merge};
use crate::catalogue::catalogue;
use crate::http::Http;
use crate::keys::{self, Address};
use crate::pool::Strategy;
use crate::providers::{self, Provider, is_usable};
use crate::resolve::Sources;
use crate::route::Key;
use crate::timing::Timing;

/// The key the settings name for the main model.
const MODEL_CONFIG: &str = "model_config";

#[derive(Debug)]
pub struct PoolDesk<'a> {
    home: &'a Home,
    settings: &'a Settings,
    env: &'a Env,
    file: AuthFile,
}

/// The credentials of one provider.
#[derive(Clone, Debug, PartialEq)]
pub struct PoolList {
    pub provider: String,
    pub strategy: &'static str,
    pub entries: Vec<Listed>,
}

/// A credential as it can be shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// From 1, in the order they are used.
    pub index: usize,
    pub id: String,
    pub label: String,
    pub kind: Kind,
    pub source: String,
    /// Masked.
    pub key: String,
    pub base_url: String,
    pub condition: Condition,
    /// What the server said when it failed.
    pub message: String,
    pub requests: u64,
}

/// What was removed, and what its owner should know about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Removed {
    pub index: usize,
    pub label: String,
    /// Where its key still lies; it is ignored from now on.
    pub still_in: Option<String>,
}

impl<'a> PoolDesk<'a> {
    pub fn new(home: &'a Home, settings: &'a Settings, env: &'a Env) -> Self {
        Self {
            file: AuthFile::new(home.dir(), env),
            home,
            settings,
            env,
        }
    }

    /// The name of the pool somebody means.
    pub fn pool(&self, name: &str) -> Result<String, AuthError> {
        let tidy = providers::tidy(name);
        if let Some(provider) = providers::find(self.settings, &tidy) {
            return Ok(provider.row.id);
        }
        let tidy = match tidy.as_str() {
            "codex" => "openai-codex",
            name => name,
        };
        let is_known =
            login_way(tidy).is_some() || self.file.read().pools().iter().any(|known| known == tidy);
        match is_known {
            true => Ok(tidy.to_owned()),
            false => Err(AuthError::invalid(format!(
                "there is no provider '{name}'; `hermes model list` shows those there are"
            ))),
        }
    }

    /// One provider's credentials, or those of all that have some.
    pub fn list(&self, only: Option<&str>, now: Timestamp) -> Vec<PoolList> {
        let document = self.file.read();
        let names = match only {
            Some(name) => vec![name.to_owned()],
            None => self.names(&document),
        };
        let lists = names.into_iter().map(|name| {
            let entries = self.entries(&document, &name);
            let listed = (1..).zip(&entries);
            PoolList {
                strategy: Strategy::of(self.settings, &name).name(),
                entries: listed
                    .map(|(index, entry)| listed_as(&name, index, entry, now))
                    .collect(),
                provider: name,
            }
        });
        lists
            .filter(|list| only.is_some() || !list.entries.is_empty())
            .collect()
    }

    /// Adds a key to a pool; its place in the line.
    pub fn add_key(
        &self,
        pool: &str,
        key: &str,
        options: &KeyOptions,
    ) -> Result<Listed, AuthError> {
        let key = key.trim();
        if !is_usable(key) {
            return Err(AuthError::invalid(
                "that is no key: it is too short, or an example",
            ));
        }
        if super::is_subscription(pool, key) {
            return Err(AuthError::invalid(
                "that is the token of a subscription, which its vendor allows in its own programs only; use an API key",
            ));
        }
        let base_url = match &options.base_url {
            Some(url) => url.trim().trim_end_matches('/').to_owned(),
            None => self.usual_url(pool),
        };
        self.file.update(|document| {
            document.allow(pool);
            let mut entries = self.entries(document, pool);
            let is_there = |entry: &&Credential| {
                entry.text("access_token") == key && entry.base_url() == base_url
            };
            if let Some(known) = entries.iter().find(is_there) {
                let label = known.label();
                return Err(AuthError::invalid(format!(
                    "that key is there already: '{label}'"
                )));
            }
            let usual = format!("api-key-{}", entries.len() + 1);
            let label = options.label.as_deref().map_or(usual.as_str(), str::trim);
            let mut entry = Credential::new("manual", label, Kind::ApiKey);
            entry.set("priority", json!(next_priority(&entries)));
            entry.set("access_token", json!(key));
            if !base_url.is_empty() {
                entry.set("base_url", json!(base_url));
            }
            entries.push(entry.clone());
            document.set_pool(pool, &entries);
            Ok(listed_as(pool, entries.len(), &entry, Timestamp::now()))
        })?
    }

    /// Takes a credential out of a pool, for good: what it was seeded from is ignored from now on.
    pub fn remove(&self, pool: &str, target: &str) -> Result<Removed, AuthError> {
        self.file.update(|document| {
            let mut entries = self.entries(document, pool);
            let place = find(&entries, target)?;
            let gone = entries.remove(place);
            for (priority, entry) in (0_i64..).zip(&mut entries) {
                entry.set("priority", json!(priority));
            }
            document.set_pool(pool, &entries);
            let is_login = gone.source() == DEVICE_CODE;
            if is_login {
                document.remove_login(pool);
                if document.active() == Some(pool) {
                    document.set_active(None);
                }
            }
            if !gone.is_manual() {
                document.suppress(pool, gone.source());
            }
            Ok(Removed {
                index: place + 1,
                label: gone.label().to_owned(),
                still_in: gone.is_borrowed().then(|| whereabouts(&gone)),
            })
        })?
    }

    /// Makes resting credentials usable at once; how many there were.
    pub fn reset(&self, pool: &str, target: Option<&str>) -> Result<usize, AuthError> {
        self.file.update(|document| {
            let mut entries = self.entries(document, pool);
            let only = target.map(|target| find(&entries, target)).transpose()?;
            let mut count = 0;
            for (place, entry) in entries.iter_mut().enumerate() {
                if only.is_none_or(|only| only == place) && entry.clear() {
                    count += 1;
                }
            }
            if count > 0 {
                document.set_pool(pool, &entries);
            }
            Ok(count)
        })?
    }

    /// Forgets a login; whether there was one. Keys stay.
    pub fn log_out(&self, pool: &str) -> Result<bool, AuthError> {
        self.file.update(|document| {
            let mut entries = document.pool(pool);
            let before = entries.len();
            entries.retain(|entry| entry.kind() != Kind::OAuth);
            let had = document.remove_login(pool) || entries.len() < before;
            if had {
                document.set_pool(pool, &entries);
            }
            if document.active() == Some(pool) {
                document.set_active(None);
            }
            had
        })
    }

    /// The provider somebody logged in with last.
    pub fn active(&self) -> Option<String> {
        self.file.read().active().map(str::to_owned)
    }

    pub(crate) fn file(&self) -> &AuthFile {
        &self.file
    }

    pub(crate) fn endpoints(&self) -> Endpoints {
        Endpoints::from_env(self.env)
    }

    pub(crate) fn http(&self) -> Http {
        let user_agent = concat!("HermesAgent/", env!("CARGO_PKG_VERSION"));
        Http::new(user_agent, Timing::default().connect).with_network(self.settings, self.env)
    }

    fn names(&self, document: &Document) -> Vec<String> {
        let rows = catalogue().providers.iter().map(|row| row.id.clone());
        let own = providers::own_ids(self.settings);
        let mut names: Vec<String> = rows.chain(own).collect();
        for name in document.pools() {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// A pool with its seeds; entries whose variable is gone are not in it.
    fn entries(&self, document: &Document, pool: &str) -> Vec<Credential> {
        let mut entries = merge(document, pool, &self.seeds(pool));
        // What the settings name for the main model comes first, whatever its place in the file.
        entries.sort_by_key(|entry| entry.source() != MODEL_CONFIG);
        entries
    }

    fn seeds(&self, pool: &str) -> Vec<Seed> {
        let Some(provider) = providers::find(self.settings, pool) else {
            return Vec::new();
        };
        let url = self.usual_url(pool);
        let Ok(parsed) = url.parse::<Url>() else {
            return Vec::new();
        };
        let address = Address {
            url: parsed,
            is_usual: self.configured_url(&provider).is_none(),
        };
        let mut seeds = keys::seeds(self.sources(), &provider, &address);
        let key = self.settings.text("model.api_key").trim();
        if is_usable(key) && self.is_main(&provider) {
            // Then nobody has to guess.
            seeds.retain(|seed| !provider.row.key_is_optional || !seed.source.starts_with("env:"));
            seeds.push(Seed {
                source: MODEL_CONFIG.to_owned(),
                label: "model.api_key".to_owned(),
                key: Key::new(key),
                base_url: url,
            });
        }
        seeds
    }

    /// Whether the settings under `model:` are about this provider.
    fn is_main(&self, provider: &Provider) -> bool {
        let named = self.settings.text("model.provider");
        let is_named = providers::find(self.settings, named)
            .is_some_and(|main| main.row.id == provider.row.id);
        is_named || (matches!(named, "" | "auto") && provider.row.id == "custom")
    }

    /// Where a provider is, as far as the settings say.
    fn usual_url(&self, pool: &str) -> String {
        let Some(provider) = providers::find(self.settings, pool) else {
            return match pool {
                "openai-codex" => self.endpoints().codex_inference,
                _ => String::new(),
            };
        };
        let own = self.configured_url(&provider);
        let url = own.unwrap_or_else(|| provider.row.base_url.clone());
        url.trim().trim_end_matches('/').to_owned()
    }

    fn configured_url(&self, provider: &Provider) -> Option<String> {
        let of_env = self.env.filled(&provider.row.base_url_variable());
        let set = self.settings.text("model.base_url");
        let of_settings = Some(set).filter(|url| !url.is_empty() && self.is_main(provider));
        of_settings.or(of_env).map(str::to_owned)
    }

    fn sources(&self) -> Sources<'_> {
        Sources {
            settings: self.settings,
            env: self.env,
            home: self.home.dir(),
        }
    }
}

/// What can be said about a new key.
#[derive(Clone, Debug, Default)]
pub struct KeyOptions {
    pub label: Option<String>,
    /// Where it is good; the provider's own address unless given.
    pub base_url: Option<String>,
}

/// The place of the credential somebody means: by id, label or number.
fn find(entries: &[Credential], target: &str) -> Result<usize, AuthError> {
    let target = target.trim();
    if let Some(place) = entries.iter().position(|entry| entry.id() == target) {
        return Ok(place);
    }
    let is_called = |entry: &Credential| entry.label().eq_ignore_ascii_case(target);
    let called: Vec<usize> = (0..entries.len())
        .filter(|place| is_called(&entries[*place]))
        .collect();
    match called.as_slice() {
        [only] => return Ok(*only),
        [] => {}
        _ => {
            return Err(AuthError::invalid(format!(
                "several credentials are called '{target}'; use the number or the id"
            )));
        }
    }
    let number = target
        .parse::<usize>()
        .ok()
        .filter(|number| (1..=entries.len()).contains(number));
    number.map(|number| number - 1).ok_or_else(|| {
        AuthError::invalid(format!(
            "there is no credential '{target}'; `hermes auth list` shows those there are"
        ))
    })
}

fn whereabouts(entry: &Credential) -> String {
    match entry.source().split_once(':') {
        Some(("env", variable)) => variable.to_owned(),
        _ => "config.yaml".to_owned(),
    }
}

fn listed_as(pool: &str, index: usize, entry: &Credential, now: Timestamp) -> Listed {
    Listed {
        index,
        id: entry.id().to_owned(),
        label: entry.label().to_owned(),
        kind: entry.kind(),
        source: entry.source().to_owned(),
        key: match entry.key(pool) {
            key if key.is_empty() => String::new(),
            key => mask_display(key.expose()),
        },
        base_url: entry.base_url().to_owned(),
        condition: entry.condition(now),
        message: entry.text("last_error_message").to_owned(),
        requests: entry.uses(),
    }
}
