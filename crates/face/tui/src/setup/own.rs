//! Providers the owner wrote down: `providers`, and the older list `custom_providers`.

use hermes_home::config::Settings;
use hermes_home::yaml;
use serde_json::Value;

use super::market::{Market, Provider};
use super::{Begins, Pen, Result, ask, confirm};
use crate::pick::{Desk, Item, List};

/// Takes one out again.
pub(super) fn remove(desk: &Desk, pen: &mut Pen<'_>, market: &dyn Market) -> Result<()> {
    let settings = pen.settings();
    let own = market.providers().into_iter().filter(Provider::is_own);
    let items = own.map(|provider| {
        let label = title(&settings, &provider);
        Item::new(provider, label)
    });
    let list = List::new("Which one should go?", items.collect());
    let Some(provider) = ask(desk, list)? else {
        return Ok(());
    };
    let question = format!("Remove {} from config.yaml?", provider.name);
    if !confirm(desk, &question, "Its key stays in .env.", Begins::No)? {
        return Ok(());
    }
    if let Some(path) = path(&settings, &provider.id) {
        pen.remove(&path)?;
    }
    if settings.text("model.provider") == provider.id {
        desk.say("It was the one in use: choose another now.")?;
    }
    Ok(())
}

/// The model an owner's provider begins with.
pub(super) fn default_model(settings: &Settings, id: &str) -> Option<String> {
    let entry = path(settings, id)?.get(settings.value())?;
    let names = ["default_model", "model"].iter();
    let mut texts = names.filter_map(|key| entry[*key].as_str());
    texts.find(|text| !text.is_empty()).map(str::to_owned)
}

/// What the owner calls it.
pub(super) fn title(settings: &Settings, provider: &Provider) -> String {
    let path = path(settings, &provider.id);
    let entry = path.and_then(|path| path.get(settings.value()));
    let name = entry.and_then(|entry| entry["name"].as_str());
    let name = name
        .filter(|name| !name.is_empty())
        .unwrap_or(&provider.name);
    format!("{name} ({})", provider.host())
}

/// Where it stands in `config.yaml`.
fn path(settings: &Settings, id: &str) -> Option<yaml::Path> {
    let wanted = id.strip_prefix("custom:")?;
    let sections = settings.get("providers").and_then(Value::as_object);
    let mut names = sections.into_iter().flatten().map(|(name, _)| name);
    if let Some(name) = names.find(|name| tidy(name) == wanted) {
        return Some(yaml::Path::of(["providers", name]));
    }
    let list = settings.get("custom_providers").and_then(Value::as_array)?;
    let place = list.iter().position(|entry| {
        let name = entry["name"].as_str().unwrap_or_default();
        tidy(name) == wanted
    })?;
    Some(yaml::Path::of(["custom_providers", &place.to_string()]))
}

fn tidy(name: &str) -> String {
    name.trim().to_lowercase().replace(' ', "-")
}

/// A key for `providers` that is not taken by another server.
pub(super) fn free_slug(settings: &Settings, name: &str, address: &str) -> String {
    let slug = slug(name);
    let taken = |slug: &str| {
        let entry = settings.get(&format!("providers.{slug}"));
        let address_of = |entry: &Value| {
            let names = ["base_url", "url", "api"].into_iter();
            let mut texts = names.filter_map(|key| entry[key].as_str().map(str::to_owned));
            texts.next()
        };
        entry.is_some_and(|entry| address_of(entry).as_deref() != Some(address))
    };
    let numbered = (2..100).map(|number| format!("{slug}-{number}"));
    let mut slugs = std::iter::once(slug.clone()).chain(numbered);
    slugs.find(|slug| !taken(slug)).unwrap_or(slug)
}

/// Lower-case letters, digits and single hyphens.
fn slug(name: &str) -> String {
    let lower = name.to_lowercase();
    let words = lower.split(|c: char| !c.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    match words.is_empty() {
        true => "server".to_owned(),
        false => words.join("-"),
    }
}

/// What a server may be called, from its host.
pub(super) fn name_of(host: &str) -> String {
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    match name {
        "127.0.0.1" | "localhost" | "[::1]" => "local".to_owned(),
        name => name.to_owned(),
    }
}
