//! What models.dev knows about everybody's models: `models_dev_cache.json` as it was fetched. Reading it takes
//! milliseconds, so nobody does before the first prompt.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use hermes_home::Env;
use serde::Deserialize;

use crate::cost::Price;
use crate::listing::ListedModel;
use crate::shelf;

const ADDRESS: &str = "https://models.dev/api.json";

#[derive(Default, Deserialize)]
pub(crate) struct Registry(BTreeMap<String, Provider>);

#[derive(Deserialize)]
struct Provider {
    #[serde(default)]
    models: BTreeMap<String, Model>,
}

#[derive(Deserialize)]
struct Model {
    #[serde(default)]
    limit: Limit,
    #[serde(default)]
    cost: Cost,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Limit {
    context: Option<f64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Cost {
    input: Option<f64>,
    output: Option<f64>,
    cache_read: Option<f64>,
    cache_write: Option<f64>,
}

impl Registry {
    /// As it was kept; `None` if it never was, or is broken.
    pub fn load(home: &Path) -> Option<Self> {
        let text = std::fs::read(path(home)).ok()?;
        Self::read(&text)
    }

    fn read(text: &[u8]) -> Option<Self> {
        serde_json::from_slice(text)
            .inspect_err(|error| tracing::warn!("models.dev's registry is unreadable: {error}"))
            .ok()
    }

    /// What one provider has there.
    pub fn models(&self, provider: &str) -> Vec<ListedModel> {
        let models = self.0.get(provider).map(|provider| provider.models.iter());
        let models = models.into_iter().flatten();
        models.map(|(id, model)| model.listed(id)).collect()
    }

    /// One model: called exactly so, or but for case and vendor.
    pub fn model(&self, provider: &str, name: &str) -> Option<ListedModel> {
        let models = &self.0.get(provider)?.models;
        let bare = |name: &str| name.rsplit('/').next().unwrap_or(name).to_lowercase();
        let alike = || models.iter().find(|(id, _)| bare(id) == bare(name));
        let (id, model) = models.get_key_value(name).or_else(alike)?;
        Some(model.listed(id))
    }
}

impl Model {
    fn listed(&self, id: &str) -> ListedModel {
        let cost = &self.cost;
        let price = Price {
            input: cost.input,
            output: cost.output,
            cache_read: cost.cache_read,
            cache_write: cost.cache_write,
        };
        ListedModel {
            id: id.to_owned(),
            context_length: self.limit.context.map(|n| n as u64).filter(|n| *n > 0),
            price: price.is_known().then_some(price),
            efforts: Vec::new(),
        }
    }
}

/// How long ago it was fetched.
pub(crate) fn age(home: &Path) -> Option<Duration> {
    let changed = std::fs::metadata(path(home)).ok()?.modified().ok()?;
    // A clock that went backwards makes it new.
    Some(
        SystemTime::now()
            .duration_since(changed)
            .unwrap_or_default(),
    )
}

/// Keeps what was fetched, if it is a registry; gives the number of models in it.
pub(crate) fn keep(home: &Path, text: &[u8]) -> Option<usize> {
    let registry = Registry::read(text).filter(|registry| !registry.0.is_empty())?;
    if let Err(error) = shelf::write(&path(home), text) {
        tracing::warn!("models.dev's registry is not kept: {error}");
    }
    let providers = registry.0.values();
    Some(providers.map(|provider| provider.models.len()).sum())
}

/// Where it is fetched: `HERMES_MODELS_DEV_URL` names a mirror.
pub(crate) fn address(env: &Env) -> String {
    let mirror = env.filled("HERMES_MODELS_DEV_URL");
    mirror.unwrap_or(ADDRESS).to_owned()
}

fn path(home: &Path) -> PathBuf {
    home.join("models_dev_cache.json")
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_registry_is_kept_and_read() {
        let dir = tempfile::tempdir().unwrap();
        let text = json!({"google": {"id": "google", "name": "Google", "models": {
            "gemini-9": {"id": "gemini-9", "limit": {"context": 5_000, "output": 1},
                "cost": {"input": 1.5, "output": 2, "cache_read": 0.1}, "attachment": true},
            "vendor/Odd": {}}}, "empty": {}});
        assert_eq!(keep(dir.path(), text.to_string().as_bytes()), Some(2));
        let registry = Registry::load(dir.path()).unwrap();
        let found = registry.model("google", "gemini-9").unwrap();
        assert_eq!(found.context_length, Some(5_000));
        assert_eq!(found.price.unwrap().cache_read, Some(0.1));
        assert_eq!(registry.model("google", "odd").unwrap().price, None);
        assert!(registry.model("google", "x").is_none() && registry.models("x").is_empty());
        assert!(age(dir.path()).unwrap() < Duration::from_secs(60));

        for broken in ["", "[]", "{}", "{\"a\": 1}", "<html>"] {
            assert_eq!(keep(dir.path(), broken.as_bytes()), None, "{broken}");
        }
        assert!(Registry::load(dir.path()).is_some(), "the old one stays");
        assert_eq!(age(Path::new("/nowhere")), None);
    }
}
