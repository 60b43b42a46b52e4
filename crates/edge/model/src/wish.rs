//! What the owner asked for, before anybody looks whether it can be had.

use serde_json::{Map, Value};

use crate::automatic;
use crate::host;
use crate::providers::find;
use crate::resolve::Sources;

/// What the command line said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    pub model: Option<String>,
    pub provider: Option<String>,
}

impl From<&str> for Overrides {
    /// A model's name, perhaps with its provider in front.
    fn from(name: &str) -> Self {
        Self {
            model: Some(name.to_owned()),
            provider: None,
        }
    }
}

/// A model to be found; empty fields mean "as usual".
#[derive(Clone, Debug, Default)]
pub(crate) struct Wish {
    pub model: String,
    pub provider: String,
    pub base_url: String,
    pub key: String,
    /// The setting the key came from.
    pub key_name: String,
    pub api_mode: String,
    pub max_output: Option<u64>,
    pub extra_body: Map<String, Value>,
    /// The settings under `model:` are about it.
    pub is_main: bool,
}

impl Wish {
    /// Command line over environment over settings. Address, key and dialect in the settings count only for the
    /// provider they were written for.
    pub fn main(sources: Sources<'_>, overrides: &Overrides) -> Self {
        let settings = sources.settings;
        let of_env = |name| sources.env.filled(name).map(str::to_owned);
        let model = overrides
            .model
            .clone()
            .or_else(|| of_env("HERMES_INFERENCE_MODEL"));
        let model = model.unwrap_or_else(|| settings.text("model.default").to_owned());
        let mut wish = Self::named(sources, model.trim(), overrides.provider.as_deref());

        let configured = settings.text("model.provider").trim().to_lowercase();
        if wish.provider.is_empty() && overrides.model.is_some() {
            // Somebody typed a name and didn't say where: the chosen provider may not make such models.
            let chosen = find(settings, &configured);
            let other = chosen.and_then(|it| automatic::serving(sources, &it.row, &wish.model));
            wish.provider = other.unwrap_or_default();
        }
        if wish.provider.is_empty() {
            wish.provider = match configured.as_str() {
                "" | "auto" => of_env("HERMES_INFERENCE_PROVIDER").unwrap_or_default(),
                _ => configured.clone(),
            };
        }
        let base_url = settings.text("model.base_url").trim();
        // An alias may bring an address of its own, and a key goes to the host it was given for only.
        let is_there = wish.base_url.is_empty() || host::are_same(&wish.base_url, base_url);
        if is_there && is_about(sources, &configured, &wish.provider) {
            wish.is_main = true;
            if wish.base_url.is_empty() {
                wish.base_url = base_url.to_owned();
            }
            wish.key = settings.text("model.api_key").to_owned();
            wish.key_name = "model.api_key".to_owned();
            wish.api_mode = settings.text("model.api_mode").to_owned();
        }
        wish.max_output = settings.get("model.max_tokens").and_then(Value::as_u64);
        wish
    }

    /// What a task handed to a child is done with; `None` if with the main model.
    pub fn child(sources: Sources<'_>) -> Option<Self> {
        let section = &sources.settings.value()["delegation"];
        let text = |key: &str| section[key].as_str().unwrap_or_default().trim().to_owned();
        let (provider, base_url) = (text("provider").to_lowercase(), text("base_url"));
        let provider = match provider.as_str() {
            "" if !base_url.is_empty() => "custom".to_owned(),
            "auto" => String::new(),
            _ => provider,
        };
        let wish = Self {
            model: text("model"),
            provider,
            base_url,
            key: text("api_key"),
            key_name: "delegation.api_key".to_owned(),
            ..Self::default()
        };
        let is_usual = wish.provider.is_empty() && wish.model.is_empty();
        (!is_usual).then_some(wish)
    }

    /// Takes a model's name apart: an alias, `provider:model`, or just a name.
    pub fn named(sources: Sources<'_>, text: &str, provider: Option<&str>) -> Self {
        if let Some(alias) = alias(sources, text) {
            return Self {
                provider: provider.map_or(alias.provider, str::to_owned),
                ..alias
            };
        }
        if let Some(provider) = provider {
            return Self {
                provider: provider.trim().to_owned(),
                model: text.to_owned(),
                ..Self::default()
            };
        }
        let (provider, model) = split(sources, text);
        Self {
            provider,
            model,
            ..Self::default()
        }
    }
}

/// Splits at the first colon if a provider is before it; otherwise the colon belongs to the name.
fn split(sources: Sources<'_>, text: &str) -> (String, String) {
    let whole = || (String::new(), text.to_owned());
    let Some((left, right)) = text.split_once(':') else {
        return whole();
    };
    // `custom:name:model`
    if left.eq_ignore_ascii_case("custom")
        && let Some((name, model)) = right.split_once(':')
    {
        let provider = format!("custom:{name}");
        if find(sources.settings, &provider).is_some() {
            return (provider, model.to_owned());
        }
    }
    match find(sources.settings, left) {
        Some(_) => (left.to_lowercase(), right.to_owned()),
        None => whole(),
    }
}

/// `model_aliases.<name>: {model, provider, base_url}` or `model.aliases.<name>: provider/model`.
fn alias(sources: Sources<'_>, name: &str) -> Option<Wish> {
    let settings = sources.settings;
    if let Some(alias) = settings.value()["model_aliases"].get(name) {
        let text = |key: &str| alias[key].as_str().unwrap_or_default().to_owned();
        return Some(Wish {
            model: text("model"),
            provider: text("provider"),
            base_url: text("base_url"),
            ..Wish::default()
        });
    }
    let text = settings.value()["model"]["aliases"].get(name)?.as_str()?;
    let known = text
        .split_once('/')
        .filter(|(left, _)| find(settings, left).is_some());
    let (provider, model) = known.unwrap_or(("", text));
    Some(Wish {
        provider: provider.to_owned(),
        model: model.to_owned(),
        ..Wish::default()
    })
}

/// Whether the settings under `model:` were written for this provider.
fn is_about(sources: Sources<'_>, configured: &str, requested: &str) -> bool {
    let id = |name: &str| find(sources.settings, name).map(|provider| provider.row.id);
    let is_open = |name: &str| matches!(name, "" | "auto");
    match (is_open(configured), is_open(requested)) {
        (true, true) => true,
        (true, false) => id(requested).as_deref() == Some("custom"),
        (false, true) => false,
        (false, false) => id(configured) == id(requested),
    }
}
