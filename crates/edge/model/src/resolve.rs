//! From wishes and settings to a route: provider, address, key, dialect and model name, decided together.

use std::path::Path;

use hermes_home::Env;
use hermes_home::config::Settings;
use hermes_types::{ModelError, ModelErrorKind};
use jiff::Timestamp;
use reqwest::Url;
use serde_json::{Value, json};

use crate::auth;
use crate::aws;
use crate::catalogue::{KeyVariable, Place, catalogue};
use crate::context;
use crate::extras;
use crate::host;
use crate::providers::{Provider, find, is_usable};
use crate::route::{CacheTtl, Concessions, Key, Mode, Quirks, Route};
use crate::wish::{Overrides, Wish};

/// What servers that want no key are sent: some refuse an empty one.
const NO_KEY: &str = "no-key-required";

/// Where decisions come from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sources<'a> {
    pub settings: &'a Settings,
    pub env: &'a Env,
    /// HERMES_HOME.
    pub home: &'a Path,
}

/// The main model's route.
pub(crate) fn resolve(sources: Sources<'_>, overrides: &Overrides) -> Result<Route, ModelError> {
    route(sources, Wish::main(sources, overrides))
}

/// The route of a wish.
pub(crate) fn route(sources: Sources<'_>, wish: Wish) -> Result<Route, ModelError> {
    let provider = provider(sources, &wish)?;
    let (url, minted) = address(sources, &wish, &provider)?;
    let mode = mode(&wish, &provider, &url)?;
    let (key, key_name) = key(sources, &wish, &provider, &url, mode, minted)?;
    let model = model(&wish, &provider, &url)?;
    let mode = mode.for_model(&model);
    let place = Place {
        provider: &provider.row.id,
        url: &url,
        model: &model,
        mode,
    };
    let mut quirks = catalogue().quirks(&provider.row.quirks, place);
    adjust(&mut quirks, sources, place);
    let mut configured = context::configured(sources.settings, &provider, &model, wish.is_main);
    if let Some(kept) = ollama_window(sources, &wish, &url) {
        // It forgets the rest, whatever the model could take.
        let window = configured.map_or(kept, |configured| configured.min(kept));
        configured = Some(window);
        quirks.keep(window);
    }
    quirks.body.extend(wish.extra_body);
    let base_url = url.as_str().trim_end_matches('/');
    let mut context = context::offline(sources.home, &model, base_url, configured);
    context.place(mode, &model);
    Ok(Route {
        provider: provider.row.id,
        max_output: wish.max_output,
        context,
        concessions: Concessions::default(),
        base_url: url,
        model,
        key,
        key_name,
        mode,
        quirks,
    })
}

fn provider(sources: Sources<'_>, wish: &Wish) -> Result<Provider, ModelError> {
    let name = match wish.provider.as_str() {
        "" | "auto" => automatic(sources, wish)?,
        name => name.to_owned(),
    };
    find(sources.settings, &name).ok_or_else(|| {
        let known: Vec<_> = catalogue().providers.iter().map(|row| row.id.as_str()).collect();
        not_configured(format!(
            "There is no provider '{name}'. Known are {}, and those under `providers:` in config.yaml. \
             Choose one with `hermes model`",
            known.join(", ")
        ))
    })
}

/// Whom to ask if the owner doesn't say.
fn automatic(sources: Sources<'_>, wish: &Wish) -> Result<String, ModelError> {
    if !wish.base_url.is_empty() {
        let url = parse_url(&wish.base_url)?;
        let is_router = host::is_under(&url, "openrouter.ai");
        return Ok(if is_router { "openrouter" } else { "custom" }.to_owned());
    }
    if is_usable(&wish.key) {
        return Ok("openrouter".to_owned());
    }
    let rows = catalogue().providers.iter().filter(|row| row.auto);
    let mut usable = rows.filter(|row| {
        let has_key = row.keys.iter().any(|variable| {
            let value = sources.env.filled(&variable.name);
            value.is_some_and(|value| is_usable(value) && value.starts_with(&variable.prefix))
        });
        let has_pair = row.mode == Some(Mode::BedrockConverse) && aws::has_key(sources.env);
        has_key
            || has_pair
            || row
                .login
                .as_ref()
                .is_some_and(|name| login(sources, name).is_some())
    });
    let chosen = usable.next().map(|row| row.id.clone());
    chosen.ok_or_else(|| not_configured(FIRST_STEPS.to_owned()))
}

const FIRST_STEPS: &str = "\
No model provider is set up. `hermes model list` shows which there are; for example:
  hermes config set model.provider openrouter
  hermes config set model.default anthropic/claude-sonnet-4.5
  hermes config set OPENROUTER_API_KEY <key>      (or OPENAI_API_KEY, ANTHROPIC_API_KEY, …; kept in .env)
For a server of your own, with or without a key:
  hermes config set model.base_url http://127.0.0.1:11434/v1";

fn login(sources: Sources<'_>, name: &str) -> Option<auth::Minted> {
    auth::minted(sources.home, name, Timestamp::now())
}

/// The address, and the login's key if the login decided about it.
fn address(
    sources: Sources<'_>,
    wish: &Wish,
    provider: &Provider,
) -> Result<(Url, Option<Key>), ModelError> {
    let row = &provider.row;
    let minted = row.login.as_ref().and_then(|name| login(sources, name));
    let of_login = minted.as_ref().and_then(|minted| minted.base_url.clone());
    let of_env = sources
        .env
        .filled(&row.base_url_variable())
        .map(str::to_owned);
    let wished = (!wish.base_url.is_empty()).then(|| wish.base_url.clone());
    let text = wished
        .or(of_env)
        .or(of_login)
        .unwrap_or_else(|| row.base_url.clone());
    if text.is_empty() {
        return Err(not_configured(format!(
            "The provider '{}' has no address. Set it with `hermes config set model.base_url <url>`",
            row.id
        )));
    }
    let text = aws::in_region(&text, sources.settings, sources.env);
    Ok((parse_url(&text)?, minted.map(|minted| minted.key)))
}

/// The key and what it is called. A key that belongs to one host is not sent to another.
fn key(
    sources: Sources<'_>,
    wish: &Wish,
    provider: &Provider,
    url: &Url,
    mode: Mode,
    minted: Option<Key>,
) -> Result<(Key, String), ModelError> {
    let row = &provider.row;
    if is_usable(&wish.key) {
        return Ok((Key::new(wish.key.trim()), wish.key_name.clone()));
    }
    if let Some(key) = provider.own_text(&["api_key"]).filter(|key| is_usable(key)) {
        let own_name = row.id.trim_start_matches("custom:");
        return Ok((
            Key::new(key.trim()),
            format!("providers.{own_name}.api_key"),
        ));
    }
    if let Some(key) = minted {
        return Ok((key, "auth.json".to_owned()));
    }
    if matches!(mode, Mode::BedrockConverse | Mode::BedrockAnthropic) {
        return aws::key(sources.settings, sources.env, url);
    }
    let belongs = |domain: &String| host::is_under(url, domain);
    for variable in row
        .keys
        .iter()
        .filter(|variable| variable.host.as_ref().is_none_or(belongs))
    {
        let value = sources
            .env
            .filled(&variable.name)
            .filter(|value| is_usable(value));
        if let Some(value) = value.filter(|value| value.starts_with(&variable.prefix)) {
            return Ok((Key::new(value), variable.name.clone()));
        }
    }
    if row.key_is_optional {
        return Ok((Key::new(NO_KEY), "model.api_key".to_owned()));
    }
    Err(no_key(provider, url))
}

fn no_key(provider: &Provider, url: &Url) -> ModelError {
    let row = &provider.row;
    let is_usual = |key: &&KeyVariable| key.name.ends_with("_API_KEY");
    let usual = row.keys.iter().find(is_usual).or(row.keys.first());
    let Some(variable) = usual else {
        return not_configured(format!("There is no key for {}", row.name));
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
    not_configured(format!(
        "There is no key for {}: {name} is not set. Set it with `hermes config set {name} <key>`, \
         or choose another provider with `hermes model`",
        row.name
    ))
}

/// Settings, then the provider, then the address decide.
fn mode(wish: &Wish, provider: &Provider, url: &Url) -> Result<Mode, ModelError> {
    let own = provider.own_text(&["api_mode", "transport"]);
    let text = Some(wish.api_mode.as_str())
        .filter(|text| !text.is_empty())
        .or(own);
    if let Some(text) = text {
        return serde_json::from_value(json!(text)).map_err(|_| {
            not_configured(format!(
                "api_mode '{text}' is not supported. Use chat_completions, codex_responses, \
                 anthropic_messages, gemini or bedrock_converse"
            ))
        });
    }
    let of_url = catalogue().mode_of(url);
    Ok(provider
        .row
        .mode
        .or(of_url)
        .unwrap_or(Mode::ChatCompletions))
}

/// Empty if it is the server's only one, whatever its name.
fn model(wish: &Wish, provider: &Provider, url: &Url) -> Result<String, ModelError> {
    let default = provider
        .own_text(&["default_model", "model"])
        .unwrap_or_default();
    let text = if wish.model.is_empty() {
        default
    } else {
        &wish.model
    };
    if text.is_empty() && !(wish.is_main && host::is_local(url)) {
        return Err(no_model());
    }
    Ok(catalogue().spell(&provider.row, text))
}

pub(crate) fn no_model() -> ModelError {
    not_configured(
        "No model is chosen. Choose one with `hermes model`, or `hermes config set model.default <name>`. \
         It can be left out if `model.base_url` is a server of your own that runs and has only one"
            .to_owned(),
    )
}

/// What the owner's settings add to the quirks of a place.
fn adjust(quirks: &mut Quirks, sources: Sources<'_>, place: Place<'_>) {
    let settings = sources.settings;
    extras::adjust(quirks, settings, place.mode);
    if settings.text("prompt_caching.cache_ttl") == "1h" {
        quirks.cache_ttl = CacheTtl::OneHour;
    }
    if host::is_under(place.url, "openrouter.ai") {
        if settings.is_on("openrouter.response_cache") {
            let ttl = settings.number("openrouter.response_cache_ttl");
            quirks
                .headers
                .insert("X-OpenRouter-Cache".to_owned(), "true".to_owned());
            quirks
                .headers
                .insert("X-OpenRouter-Cache-TTL".to_owned(), ttl.to_string());
        }
        if let Some(Value::Object(routing)) = settings.get("provider_routing") {
            quirks
                .body
                .insert("provider".to_owned(), routing.clone().into());
        }
    }
    let headers = settings
        .get("model.default_headers")
        .and_then(Value::as_object);
    for (name, value) in headers.into_iter().flatten() {
        if let Some(value) = value.as_str() {
            quirks.headers.insert(name.clone(), value.to_owned());
        }
    }
}

/// How much of a conversation its owner has an Ollama server keep.
fn ollama_window(sources: Sources<'_>, wish: &Wish, url: &Url) -> Option<u64> {
    let set = sources.settings.get("model.ollama_num_ctx")?;
    set.as_u64().filter(|_| wish.is_main && host::is_local(url))
}

fn parse_url(text: &str) -> Result<Url, ModelError> {
    let url: Option<Url> = text.trim().trim_end_matches('/').parse().ok();
    url.filter(|url| url.has_host() && matches!(url.scheme(), "http" | "https"))
        .ok_or_else(|| not_configured(format!("'{text}' is not an http address")))
}

pub(crate) fn not_configured(message: String) -> ModelError {
    ModelError::new(ModelErrorKind::NotConfigured, message)
}
