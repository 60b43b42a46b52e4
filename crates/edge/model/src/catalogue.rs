//! The providers Hermes knows, and what is odd about hosts and models: data read from `catalogue.yaml`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use reqwest::Url;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::host;
use crate::route::{Mode, Quirks};

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Catalogue {
    pub providers: Vec<Row>,
    rules: Vec<Rule>,
    modes: Vec<ModeRule>,
    vendors: BTreeMap<String, String>,
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
    pub key_is_optional: bool,
    #[serde(default)]
    pub login: Option<String>,
    #[serde(default)]
    pub mode: Option<Mode>,
    #[serde(default)]
    pub names: Names,
    #[serde(default = "yes")]
    pub auto: bool,
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

/// How a provider spells model names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Names {
    #[default]
    Plain,
    Vendor,
    Anthropic,
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
    host: Option<String>,
    path: Option<String>,
    mode: Mode,
}

fn yes() -> bool {
    true
}

pub(crate) fn catalogue() -> &'static Catalogue {
    static CATALOGUE: LazyLock<Catalogue> =
        LazyLock::new(|| crate::data::read(include_str!("../data/catalogue.yaml")));
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

    pub fn mode_of(&self, url: &Url) -> Option<Mode> {
        let path = url.path().trim_end_matches('/');
        let rule = self.modes.iter().find(|rule| {
            let on_host = rule
                .host
                .as_ref()
                .is_none_or(|domain| host::is_under(url, domain));
            on_host && rule.path.as_ref().is_none_or(|end| path.ends_with(end))
        });
        rule.map(|rule| rule.mode)
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

    /// The model's name as the provider spells it.
    pub fn spell(&self, row: &Row, model: &str) -> String {
        match row.names {
            Names::Plain => {
                let own = model
                    .strip_prefix(&row.id)
                    .and_then(|rest| rest.strip_prefix('/'));
                own.unwrap_or(model).to_owned()
            }
            Names::Anthropic => {
                let bare = model.strip_prefix("anthropic/").unwrap_or(model);
                bare.replace('.', "-")
            }
            Names::Vendor if model.contains('/') => model.to_owned(),
            Names::Vendor => match self.vendor(model) {
                Some(vendor) => format!("{vendor}/{model}"),
                None => model.to_owned(),
            },
        }
    }

    fn vendor(&self, model: &str) -> Option<&str> {
        let model = model.to_lowercase();
        let families = self
            .vendors
            .iter()
            .filter(|(family, _)| model.starts_with(family.as_str()));
        let family = families.max_by_key(|(family, _)| family.len());
        family.map(|(_, vendor)| vendor.as_str())
    }
}

impl Row {
    /// The variable that overrides the address; empty if there is none.
    pub fn base_url_variable(&self) -> String {
        self.base_url_env
            .clone()
            .unwrap_or_else(|| format!("{}_BASE_URL", self.id.to_uppercase().replace('-', "_")))
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
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::route::{CacheLayout, EffortField, OutputField, SystemRole};

    fn quirks(provider: &str, url: &str, model: &str) -> Quirks {
        let url: Url = url.parse().unwrap();
        let mode = catalogue().mode_of(&url).unwrap_or(Mode::ChatCompletions);
        let own = catalogue()
            .by_id(provider)
            .map(|row| row.quirks.clone())
            .unwrap_or_default();
        let place = Place {
            provider,
            url: &url,
            model,
            mode,
        };
        catalogue().quirks(&own, place)
    }

    #[test]
    fn the_catalogue_reads_and_names_are_unique() {
        let rows = &catalogue().providers;
        assert!(rows.len() >= 6);
        let names = rows
            .iter()
            .flat_map(|row| row.aliases.iter().chain([&row.id]));
        let mut names: Vec<_> = names.collect();
        names.sort();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
        for row in rows {
            let url: Url = row
                .base_url
                .parse()
                .unwrap_or_else(|_| "http://x".parse().unwrap());
            let place = Place {
                provider: &row.id,
                url: &url,
                model: "m",
                mode: row.mode.unwrap_or(Mode::ChatCompletions),
            };
            let read: Result<Quirks, _> = serde_json::from_value(match row.quirks.is_null() {
                true => serde_json::json!({}),
                false => row.quirks.clone(),
            });
            assert!(read.is_ok(), "{}: {read:?}", row.id);
            catalogue().quirks(&row.quirks, place);
        }
        for rule in &catalogue().rules {
            let read: Result<Quirks, _> = serde_json::from_value(rule.quirks.clone());
            assert!(read.is_ok(), "{rule:?}: {read:?}");
        }
    }

    #[test]
    fn caching_by_route() {
        let check = |provider, url, model, expected| {
            assert_eq!(
                quirks(provider, url, model).cache,
                expected,
                "{provider} {model}"
            );
        };
        check(
            "anthropic",
            "https://api.anthropic.com",
            "claude-x",
            CacheLayout::Native,
        );
        check(
            "openrouter",
            "https://openrouter.ai/api/v1",
            "anthropic/claude-x",
            CacheLayout::Envelope,
        );
        check(
            "openrouter",
            "https://openrouter.ai/api/v1",
            "openai/gpt-5",
            CacheLayout::Automatic,
        );
        check(
            "nous",
            "https://inference-api.nousresearch.com/v1",
            "qwen/q",
            CacheLayout::Envelope,
        );
        check(
            "custom",
            "http://h/anthropic",
            "claude-x",
            CacheLayout::Native,
        );
        check(
            "custom",
            "http://h/anthropic",
            "other",
            CacheLayout::Automatic,
        );
        check("custom", "http://h/v1", "claude-x", CacheLayout::Automatic);
    }

    #[test]
    fn rules_add_up() {
        let openai = quirks("openai", "https://api.openai.com/v1", "gpt-5.4");
        assert_eq!(openai.output_field, OutputField::MaxCompletionTokens);
        assert_eq!(openai.system_role, SystemRole::Developer);
        let router = quirks(
            "openrouter",
            "https://openrouter.ai/api/v1",
            "anthropic/claude-x",
        );
        assert_eq!(router.effort, EffortField::Reasoning);
        assert_eq!(router.headers.len(), 4);
        let kimi = quirks("custom", "https://api.moonshot.ai/v1", "kimi-k2");
        assert!(kimi.echo_reasoning);
        let nous = quirks(
            "nous",
            "https://inference-api.nousresearch.com/v1",
            "Hermes-4",
        );
        assert!(
            nous.body["tags"][1]
                .as_str()
                .unwrap()
                .starts_with("client=hermes-client-v0.")
        );
    }

    #[test]
    fn model_names_are_spelled_as_the_provider_does() {
        let check = |provider, model, expected| {
            let row = catalogue().by_id(provider).unwrap();
            assert_eq!(
                catalogue().spell(row, model),
                expected,
                "{provider} {model}"
            );
        };
        check(
            "openrouter",
            "claude-sonnet-4.6",
            "anthropic/claude-sonnet-4.6",
        );
        check("openrouter", "my/own", "my/own");
        check("openrouter", "unheard-of", "unheard-of");
        check(
            "anthropic",
            "anthropic/claude-sonnet-4.6",
            "claude-sonnet-4-6",
        );
        check("openai", "openai/gpt-5", "gpt-5");
        check("custom", "qwen3.5:27b", "qwen3.5:27b");
        check("custom", "org/model", "org/model");
    }
}
