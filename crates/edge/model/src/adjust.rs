//! What the owner's settings change about a place.

use serde_json::{Map, Value, json};

use crate::catalogue::Place;
use crate::extras;
use crate::host;
use crate::resolve::Sources;
use crate::route::{CacheTtl, Quirks};

pub(crate) fn adjust(quirks: &mut Quirks, sources: Sources<'_>, place: Place<'_>) {
    let settings = sources.settings;
    extras::adjust(quirks, settings, place.mode);
    if settings.text("prompt_caching.cache_ttl") == "1h" {
        quirks.cache_ttl = CacheTtl::OneHour;
    }
    if place.provider == "openrouter" || host::is_under(place.url, "openrouter.ai") {
        openrouter(quirks, sources, place.model);
    }
    let of_all = settings.get("model.default_headers");
    for (name, value) in texts(of_all).chain(texts(own_headers(sources, place.provider))) {
        quirks.headers.insert(name.to_owned(), value.to_owned());
    }
}

/// Its cache of whole replies, which of its suppliers may answer, and how its own router chooses.
fn openrouter(quirks: &mut Quirks, sources: Sources<'_>, model: &str) {
    let (settings, env) = (sources.settings, sources.env);
    let is_cached = match env.filled("HERMES_OPENROUTER_CACHE") {
        Some(_) => env.is_on("HERMES_OPENROUTER_CACHE"),
        None => settings.is_on("openrouter.response_cache"),
    };
    if is_cached {
        let set = || settings.number("openrouter.response_cache_ttl").to_string();
        let ttl = env.filled("HERMES_OPENROUTER_CACHE_TTL").map(str::to_owned);
        let headers = [
            ("X-OpenRouter-Cache", "true".to_owned()),
            ("X-OpenRouter-Cache-TTL", ttl.unwrap_or_else(set)),
        ];
        let headers = headers.map(|(name, value)| (name.to_owned(), value));
        quirks.headers.extend(headers);
    }
    if let Some(Value::Object(routing)) = settings.get("provider_routing") {
        quirks
            .body
            .insert("provider".to_owned(), routing.clone().into());
    }
    if model == "openrouter/pareto-code" {
        let score = settings.number("openrouter.min_coding_score");
        let plugins = json!([{"id": "pareto-router", "min_coding_score": score}]);
        quirks.body.insert("plugins".to_owned(), plugins);
    }
}

/// `headers` of the entry under `providers:` that has this name, whosever provider it is.
fn own_headers<'s>(sources: Sources<'s>, provider: &str) -> Option<&'s Value> {
    let name = provider.strip_prefix("custom:").unwrap_or(provider);
    let entries = sources.settings.value()["providers"].as_object()?;
    let entry = entries
        .iter()
        .find(|(own, _)| crate::providers::tidy(own) == name);
    entry.map(|(_, fields)| &fields["headers"])
}

fn texts(headers: Option<&Value>) -> impl Iterator<Item = (&str, &str)> {
    let fields = headers.and_then(Value::as_object).map(Map::iter);
    fields
        .into_iter()
        .flatten()
        .filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)))
}
