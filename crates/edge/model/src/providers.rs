//! Whom a name means: one of the catalogue's providers, or one of the owner's.

use std::path::Path;

use hermes_home::Env;
use hermes_home::config::Settings;
use reqwest::Url;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::auth::{AuthFile, Document};
use crate::catalogue::{KeyVariable, Row, catalogue};
use crate::{automatic, keys};

/// A provider one can ask for.
#[derive(Clone, Debug)]
pub(crate) struct Provider {
    pub row: Row,
    /// What the owner wrote about it; empty for the catalogue's.
    pub own: Map<String, Value>,
}

/// What `hermes model list` shows of a provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProviderInfo {
    pub id: String,
    pub name: String,
    pub aliases: Vec<String>,
    pub base_url: String,
    /// Variables that may hold its key.
    pub keys: Vec<String>,
    /// It could be used right now.
    #[serde(rename = "configured")]
    pub is_configured: bool,
}

/// All providers, the catalogue's first.
pub fn list_providers(home: &Path, settings: &Settings, env: &Env) -> Vec<ProviderInfo> {
    let document = AuthFile::new(home, env).read();
    let known = catalogue().providers.iter().map(Provider::known);
    let all = known.chain(own(settings));
    all.map(|provider| provider.info(env, &document)).collect()
}

/// The provider of this name. The owner's names win over aliases, not over ids.
pub(crate) fn find(settings: &Settings, name: &str) -> Option<Provider> {
    let name = tidy(name);
    if let Some(own_name) = name.strip_prefix("custom:") {
        return find_own(settings, own_name);
    }
    let known = catalogue().by_id(&name).map(Provider::known);
    known
        .or_else(|| find_own(settings, &name))
        .or_else(|| catalogue().by_alias(&name).map(Provider::known))
}

fn find_own(settings: &Settings, name: &str) -> Option<Provider> {
    let id = format!("custom:{name}");
    own(settings)
        .into_iter()
        .find(|provider| provider.row.id == id)
}

/// The ids of the owner's providers.
pub(crate) fn own_ids(settings: &Settings) -> Vec<String> {
    own(settings)
        .into_iter()
        .map(|provider| provider.row.id)
        .collect()
}

/// The id of the owner's provider at this address.
pub(crate) fn at(settings: &Settings, url: &Url) -> Option<String> {
    let is_there = |provider: &Provider| {
        let own: Option<Url> = provider.row.base_url.trim_end_matches('/').parse().ok();
        own.as_ref() == Some(url)
    };
    own(settings)
        .into_iter()
        .find(is_there)
        .map(|provider| provider.row.id)
}

/// Names as people write them: case and spaces don't matter.
pub(crate) fn tidy(name: &str) -> String {
    name.trim().to_lowercase().replace(' ', "-")
}

/// `providers:` and the older list `custom_providers:`.
fn own(settings: &Settings) -> Vec<Provider> {
    let sections = settings.value()["providers"]
        .as_object()
        .into_iter()
        .flatten();
    let named = sections.map(|(name, fields)| (name.as_str(), fields));
    let list = settings.value()["custom_providers"]
        .as_array()
        .into_iter()
        .flatten();
    let listed = list.filter_map(|fields| Some((fields["name"].as_str()?, fields)));
    named
        .chain(listed)
        .filter_map(|(name, fields)| Provider::own(name, fields))
        .collect()
}

impl Provider {
    fn known(row: &Row) -> Self {
        Self {
            row: row.clone(),
            own: Map::new(),
        }
    }

    /// `None` without an address: such entries only adjust one of the catalogue's.
    fn own(name: &str, fields: &Value) -> Option<Self> {
        let own = fields.as_object()?.clone();
        let text = |keys: &[&str]| keys.iter().find_map(|key| own.get(*key)?.as_str());
        let base_url = text(&["base_url", "url", "api"]).filter(|url| !url.is_empty())?;
        let variable = text(&["key_env", "api_key_env"]).map(|name| KeyVariable {
            name: name.to_owned(),
            host: None,
            prefix: String::new(),
        });
        let mut row = catalogue().by_id("custom")?.clone();
        row.id = format!("custom:{}", tidy(name));
        row.name = name.to_owned();
        row.aliases = Vec::new();
        row.base_url = base_url.to_owned();
        row.base_url_env = Some(String::new());
        row.keys = variable.into_iter().collect();
        Some(Self { row, own })
    }

    /// What the owner wrote under one of these keys.
    pub fn own_text(&self, keys: &[&str]) -> Option<&str> {
        let texts = keys.iter().filter_map(|key| self.own.get(*key)?.as_str());
        texts.into_iter().find(|text| !text.trim().is_empty())
    }

    /// What the owner wrote about one model.
    pub fn model_setting(&self, model: &str, key: &str) -> Option<&Value> {
        self.own.get("models")?.get(model)?.get(key)
    }

    fn info(&self, env: &Env, document: &Document) -> ProviderInfo {
        let row = &self.row;
        let has_key = automatic::has_key(row, env)
            || automatic::has_credentials(row, env)
            || keys::has_pool(document, &row.id);
        let has_url = !row.base_url.is_empty() || env.filled(&row.base_url_variable()).is_some();
        ProviderInfo {
            id: row.id.clone(),
            name: row.name.clone(),
            aliases: row.aliases.clone(),
            base_url: row.base_url.clone(),
            keys: row.keys.iter().map(|key| key.name.clone()).collect(),
            is_configured: has_url && (has_key || row.key_is_optional),
        }
    }
}

/// Whether a text can be a key: examples copied from a manual can't.
pub(crate) fn is_usable(key: &str) -> bool {
    const PLACEHOLDERS: [&str; 9] = [
        "***",
        "changeme",
        "your_api_key",
        "your-api-key",
        "placeholder",
        "example",
        "dummy",
        "null",
        "none",
    ];
    let key = key.trim();
    key.len() >= 4 && !PLACEHOLDERS.contains(&key.to_lowercase().as_str())
}
