//! The providers Hermes knows, and what is odd about hosts and models: data read from `catalogue.yaml`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use reqwest::Url;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::host;
use crate::providers::is_usable;
use crate::route::{Mode, Quirks};

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Catalogue {
    pub providers: Vec<Row>,
    rules: Vec<Rule>,
    modes: Vec<ModeRule>,
    pub vendors: BTreeMap<String, String>,
    /// Short names; `*` before what a model's name has in it.
    pub families: BTreeMap<String, String>,
}

/// One provider.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    pub id: String,
    pub name: String,
    #[serde(default)]
    pub aliases: Vec<String>,
    #[serde(default)]
    pub base_url: String,
    #[serde(default)]
    pub base_url_env: Option<String>,
    #[serde(default)]
    pub keys: Vec<KeyVariable>,
    #[serde(default)]
    pub key_urls: Vec<KeyUrl>,
    #[serde(default)]
    pub endpoints: Vec<Endpoint>,
    #[serde(default)]
    pub key_is_optional: bool,
    #[serde(default)]
    pub credentials: Option<Credentials>,
    #[serde(default)]
    pub login: Option<String>,
    #[serde(default)]
    pub unsupported: Vec<Unsupported>,
    #[serde(default)]
    pub mode: Option<Mode>,
    #[serde(default)]
    pub names: Names,
    #[serde(default)]
    pub strip: Vec<String>,
    #[serde(default)]
    pub lower_case: bool,
    #[serde(default)]
    pub vendor: Option<String>,
    #[serde(default = "yes")]
    pub auto: bool,
    #[serde(default = "yes")]
    pub listing: bool,
    #[serde(default)]
    pub windows_listed: bool,
    #[serde(default)]
    pub models_dev: Option<String>,
    #[serde(default)]
    pub quirks: Value,
}

/// A variable that may hold a key.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeyVariable {
    pub name: String,
    /// The only place it is sent to.
    #[serde(default)]
    pub host: Option<String>,
    #[serde(default)]
    pub prefix: String,
}

/// Keys that begin so belong to another address.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeyUrl {
    pub prefix: String,
    pub base_url: String,
}

/// One of several addresses, and a model to try it with.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Endpoint {
    pub base_url: String,
    pub model: String,
}

/// What stands in for a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Credentials {
    /// Those of Amazon's own tools.
    Aws,
}

/// A key that exists but is not for us.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Unsupported {
    #[serde(default)]
    pub variable: String,
    #[serde(default)]
    pub prefix: String,
    pub why: String,
}

/// How a provider spells model names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Names {
    #[default]
    Plain,
    Vendor,
    Anthropic,
    Deepseek,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Rule {
    provider: Vec<String>,
    host: Vec<String>,
    model: Vec<String>,
    prefix: Vec<String>,
    mode: Option<Mode>,
    quirks: Value,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ModeRule {
    #[serde(default)]
    provider: Vec<String>,
    #[serde(default)]
    not: Vec<String>,
    label: Option<String>,
    host: Option<String>,
    path: Option<String>,
    #[serde(default)]
    prefix: Vec<String>,
    mode: Mode,
}

fn yes() -> bool {
    true
}

pub(crate) fn catalogue() -> &'static Catalogue {
    static CATALOGUE: LazyLock<Catalogue> =
        LazyLock::new(|| crate::data::read(include_str!("../data/catalogue.json")));
    &CATALOGUE
}

/// What decides about quirks.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub provider: &'a str,
    pub url: &'a Url,
    pub model: &'a str,
    pub mode: Mode,
}

impl Catalogue {
    /// The provider with this id.
    pub fn by_id(&self, id: &str) -> Option<&Row> {
        self.providers.iter().find(|row| row.id == id)
    }

    pub fn by_alias(&self, alias: &str) -> Option<&Row> {
        let is_it = |name: &String| name == alias;
        self.providers
            .iter()
            .find(|row| row.aliases.iter().any(is_it))
    }

    /// Whether an address is one of the catalogue's, so that its models are known.
    pub fn knows_host(&self, url: &Url) -> bool {
        let hosts = self
            .providers
            .iter()
            .filter_map(|row| row.base_url.parse::<Url>().ok());
        hosts
            .into_iter()
            .any(|known| known.host_str() == url.host_str() && !host::is_local(&known))
    }

    /// The dialect of a model there: what is said about the provider counts before what its address suggests.
    pub fn mode_of(&self, row: &Row, url: &Url, model: &str) -> Option<Mode> {
        let rule = |about: fn(&ModeRule) -> bool| {
            let mut rules = self.modes.iter().filter(|rule| about(rule));
            rules.find(|rule| rule.fits(&row.id, url, model))
        };
        rule(|rule| !rule.provider.is_empty())
            .map(|rule| rule.mode)
            .or(row.mode)
            .or_else(|| rule(|rule| rule.provider.is_empty()).map(|rule| rule.mode))
    }

    /// The row's own quirks with every rule that fits laid over them.
    pub fn quirks(&self, own: &Value, place: Place<'_>) -> Quirks {
        let mut quirks = fill_in(own.clone());
        for rule in self.rules.iter().filter(|rule| rule.fits(place)) {
            overlay(&mut quirks, &rule.quirks);
        }
        if quirks.is_null() {
            return Quirks::default();
        }
        serde_json::from_value(quirks).unwrap_or_else(|error| {
            tracing::error!("the quirks of {} are broken: {error}", place.provider);
            Quirks::default()
        })
    }
}

impl KeyVariable {
    /// Whether this value can be the key it is for.
    pub fn takes(&self, value: &str) -> bool {
        is_usable(value) && value.starts_with(&self.prefix)
    }
}

impl Row {
    /// Why a value is not used although it is set.
    pub fn why_not(&self, variable: &KeyVariable, value: &str) -> Option<&str> {
        let is_meant = |entry: &&Unsupported| {
            let is_begun_so = !entry.prefix.is_empty() && value.starts_with(&entry.prefix);
            is_begun_so || entry.variable == variable.name
        };
        let mut entries = self.unsupported.iter().filter(is_meant);
        entries.next().map(|entry| entry.why.as_str())
    }

    /// The variable that overrides the address; empty if there is none.
    pub fn base_url_variable(&self) -> String {
        self.base_url_env
            .clone()
            .unwrap_or_else(|| format!("{}_BASE_URL", self.id.to_uppercase().replace('-', "_")))
    }
}

impl ModeRule {
    fn fits(&self, provider: &str, url: &Url, model: &str) -> bool {
        let model = model.to_lowercase();
        let kind = provider.split(':').next().unwrap_or(provider);
        let is_one_of = |list: &[String]| list.iter().any(|id| id == kind);
        let path = url.path().trim_end_matches('/');
        let label = url.host_str().and_then(|host| host.split('.').next());
        (self.provider.is_empty() || is_one_of(&self.provider))
            && !is_one_of(&self.not)
            && (self.label.is_none() || self.label.as_deref() == label)
            && (self.host.as_ref()).is_none_or(|domain| host::is_under(url, domain))
            && self.path.as_ref().is_none_or(|end| path.ends_with(end))
            && (self.prefix.is_empty() || self.prefix.iter().any(|start| model.starts_with(start)))
    }
}

impl Rule {
    fn fits(&self, place: Place<'_>) -> bool {
        let model = place.model.to_lowercase();
        let any = |list: &[String], test: &dyn Fn(&str) -> bool| {
            list.is_empty() || list.iter().any(|entry| test(entry))
        };
        any(&self.provider, &|id| id == place.provider)
            && any(&self.host, &|domain| host::is_under(place.url, domain))
            && any(&self.model, &|part| model.contains(part))
            && any(&self.prefix, &|prefix| model.starts_with(prefix))
            && self.mode.is_none_or(|mode| mode == place.mode)
    }
}

/// Sections merge, everything else replaces.
fn overlay(base: &mut Value, over: &Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (key, value) in over {
                overlay(base.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (base, over) => *base = over.clone(),
    }
}

fn fill_in(value: Value) -> Value {
    match value {
        Value::String(text) => text.replace("{version}", env!("CARGO_PKG_VERSION")).into(),
        Value::Array(items) => items.into_iter().map(fill_in).collect(),
        Value::Object(map) => {
            let filled = map.into_iter().map(|(key, value)| (key, fill_in(value)));
            Value::Object(filled.collect::<Map<_, _>>())
        }
        other => other,
    }
}

#[cfg(test)]
mod tests;
