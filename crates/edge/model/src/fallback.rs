//! The owner's fallbacks: `fallback_providers`, or the older `fallback_model`.

use hermes_home::config::{Document, Settings};
use hermes_home::{Env, Home, yaml};
use hermes_types::{ModelError, ModelInfo};
use serde_json::{Value, json};

use crate::resolve::{self, Sources, not_configured};
use crate::wish::Wish;

/// One fallback as it is written, and what it means.
#[derive(Clone, Debug)]
pub struct Fallback {
    pub entry: Value,
    /// Why it can't be used, if it can't.
    pub means: Result<ModelInfo, ModelError>,
}

/// All of them, in the order they are tried.
pub fn list_fallbacks(home: &Home, settings: &Settings, env: &Env) -> Vec<Fallback> {
    let means = |entry: &Value| Fallback {
        entry: entry.clone(),
        means: check_fallback(home, settings, env, entry),
    };
    entries(settings).into_iter().map(means).collect()
}

/// What an entry means, if it can be used as things are.
pub fn check_fallback(
    home: &Home,
    settings: &Settings,
    env: &Env,
    entry: &Value,
) -> Result<ModelInfo, ModelError> {
    let sources = Sources {
        settings,
        env,
        home: home.dir(),
    };
    let route = resolve::route(sources, wish(env, entry)?)?;
    Ok(route.info())
}

/// The entry for a name as people type it: `provider:model`, or an alias.
pub fn fallback_entry(home: &Home, settings: &Settings, env: &Env, name: &str) -> Value {
    let sources = Sources {
        settings,
        env,
        home: home.dir(),
    };
    let wish = Wish::named(sources, name.trim(), None);
    let mut entry = json!({"provider": wish.provider, "model": wish.model});
    if !wish.base_url.is_empty() {
        entry["base_url"] = wish.base_url.into();
    }
    entry
}

fn entries(settings: &Settings) -> Vec<&Value> {
    let list = |key: &str| match settings.get(key) {
        Some(Value::Array(entries)) => entries.iter().collect(),
        Some(entry @ Value::Object(fields)) if !fields.is_empty() => vec![entry],
        _ => Vec::new(),
    };
    let entries = list("fallback_providers");
    match entries.is_empty() {
        true => list("fallback_model"),
        false => entries,
    }
}

/// Those that say enough; the others are mentioned in the log.
pub(crate) fn wishes(sources: Sources<'_>) -> Vec<Wish> {
    let mut wishes = Vec::new();
    for entry in entries(sources.settings) {
        match wish(sources.env, entry) {
            Ok(wish) => wishes.push(wish),
            Err(error) => tracing::warn!("{error}"),
        }
    }
    wishes
}

fn wish(env: &Env, entry: &Value) -> Result<Wish, ModelError> {
    let text = |key: &str| entry[key].as_str().unwrap_or_default().trim().to_owned();
    let (mut provider, base_url) = (text("provider"), text("base_url"));
    if provider.is_empty() && !base_url.is_empty() {
        provider = "custom".to_owned();
    }
    if provider.is_empty() || text("model").is_empty() {
        return Err(not_configured(format!(
            "A fallback needs a provider and a model, as in openrouter:anthropic/claude-sonnet-4.5; \
             this one has the provider '{provider}' and the model '{}'",
            text("model")
        )));
    }
    let variable = Some(text("key_env")).filter(|name| !name.is_empty());
    let variable = variable.unwrap_or_else(|| text("api_key_env"));
    let (key, key_name) = match env.filled(&variable) {
        Some(key) if text("api_key").is_empty() => (key.to_owned(), variable),
        _ => (text("api_key"), "fallback_providers".to_owned()),
    };
    Ok(Wish {
        provider,
        base_url,
        model: text("model"),
        api_mode: text("api_mode"),
        key,
        key_name,
        ..Wish::default()
    })
}

/// Changes the list as it is written: variables stay variables. The older setting is merged into the newer one.
pub fn edit_fallbacks(
    home: &Home,
    change: impl FnOnce(&mut Vec<Value>),
) -> hermes_home::Result<()> {
    let list = yaml::Path::parse("fallback_providers")?;
    let older = yaml::Path::parse("fallback_model")?;
    Document::edit(home, |document| {
        let of = |path| match document.get(path) {
            Some(Value::Array(entries)) => entries.clone(),
            Some(entry @ Value::Object(fields)) if !fields.is_empty() => vec![entry.clone()],
            _ => Vec::new(),
        };
        let (now, old) = (of(&list), of(&older));
        let mut entries = if now.is_empty() { old } else { now.clone() };
        change(&mut entries);
        write(document, &list, &now, &entries)?;
        if document.get(&older).is_some_and(|older| !older.is_null()) {
            document.unset(&older)?;
        }
        Ok(())
    })
}

/// Only what is new or gone is touched, so that comments beside the others stay.
fn write(
    document: &mut Document,
    list: &yaml::Path,
    now: &[Value],
    entries: &[Value],
) -> hermes_home::Result<()> {
    let at = |index: usize| yaml::Path::parse(&format!("{list}.{index}"));
    if entries.is_empty() {
        return match document.get(list) {
            Some(_) => document.unset(list),
            None => Ok(()),
        };
    }
    if let Some(new) = entries.strip_prefix(now).filter(|_| !now.is_empty()) {
        for (index, entry) in new.iter().enumerate() {
            document.set(&at(now.len() + index)?, entry)?;
        }
        return Ok(());
    }
    let gone = (0..now.len()).find(|index| now.get(*index) != entries.get(*index));
    match gone {
        Some(gone) if now.len() == entries.len() + 1 => document.unset(&at(gone)?),
        _ => document.set(list, &json!(entries)),
    }
}
