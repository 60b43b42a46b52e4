//! From wishes and settings to a route: provider, address, key, dialect and model name, decided together.

use std::path::Path;

use hermes_home::Env;
use hermes_home::config::Settings;
use hermes_types::{ModelError, ModelErrorKind};
use reqwest::Url;
use serde_json::json;

use crate::adjust::adjust;
use crate::catalogue::{Names, Place, Row, catalogue};
use crate::keys::{self, Address};
use crate::providers::{Provider, find};
use crate::route::{Concessions, Mode, Route};
use crate::wish::{Overrides, Wish};
use crate::{automatic, aws, context, host, names, shelf};

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

/// How a provider is reached, whatever the model: for its list of models.
pub(crate) fn reach(sources: Sources<'_>, provider: &str) -> Result<Route, ModelError> {
    let anything = Overrides {
        model: Some("-".to_owned()),
        provider: Some(provider.to_owned()),
    };
    resolve(sources, &anything)
}

/// The route of a wish.
pub(crate) fn route(sources: Sources<'_>, wish: Wish) -> Result<Route, ModelError> {
    let provider = provider(sources, &wish)?;
    let address = address(sources, &wish, &provider)?;
    let chosen = keys::find(sources, &wish, &provider, &address)?;
    let (key, key_name, url) = (chosen.key, chosen.name, chosen.url);
    let mut model = model(sources, &wish, &provider, &url)?;
    let mode = mode(&wish, &provider, &url, &model)?.for_model(&model);
    let place = Place {
        provider: &provider.row.id,
        url: &url,
        model: &model,
        mode,
    };
    let mut quirks = catalogue().quirks(&provider.row.quirks, place);
    adjust(&mut quirks, sources, place);
    if mode == Mode::AnthropicMessages && !quirks.keep_dots && model.contains("claude") {
        model = names::as_anthropic(&model);
    }
    let mut configured = context::configured(sources.settings, &provider, &model, wish.is_main);
    if let Some(kept) = ollama_window(sources, &wish, &url) {
        // It forgets the rest, whatever the model could take.
        let window = configured.map_or(kept, |configured| configured.min(kept));
        configured = Some(window);
        quirks.keep(window);
    }
    quirks.body.extend(wish.extra_body);
    let known = context::Known {
        home: sources.home,
        provider: &provider.row.id,
        model: &model,
        base_url: url.as_str(),
        mode,
    };
    let context = context::offline(known, configured);
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
        "" | "auto" => {
            let text = Some(&wish.base_url).filter(|text| !text.is_empty());
            let url = text.map(|text| parse_url(text)).transpose()?;
            automatic::provider(sources, url.as_ref(), &wish.key)?
        }
        name => name.to_owned(),
    };
    named(sources, &name)
}

/// The provider somebody names.
pub(crate) fn named(sources: Sources<'_>, name: &str) -> Result<Provider, ModelError> {
    find(sources.settings, name).ok_or_else(|| {
        let known: Vec<_> = catalogue().providers.iter().map(|row| row.id.as_str()).collect();
        not_configured(format!(
            "There is no provider '{name}'. Known are {}, and those under `providers:` in config.yaml. \
             Choose one with `hermes model`",
            known.join(", ")
        ))
    })
}

fn address(sources: Sources<'_>, wish: &Wish, provider: &Provider) -> Result<Address, ModelError> {
    let row = &provider.row;
    let of_env = sources.env.filled(&row.base_url_variable());
    let wished = Some(wish.base_url.as_str()).filter(|url| !url.is_empty());
    let wanted = wished.or(of_env).map(str::to_owned);
    // A login may say where its models are.
    let wanted = wanted.or_else(|| keys::login_url(sources, row));
    let is_usual = wanted.is_none();
    let mut text = wanted.unwrap_or_else(|| row.base_url.clone());
    text = aws::in_region(&text, sources.settings, sources.env);
    if text.is_empty() {
        let variable = row.base_url_variable();
        return Err(not_configured(format!(
            "The provider '{}' has no address. Set it with `hermes config set model.base_url <url>`, or with \
             {variable} in .env",
            row.id
        )));
    }
    Ok(Address {
        url: parse_url(&text)?,
        is_usual,
    })
}

/// The same route at another address of its provider, which may speak and mind other things.
pub(crate) fn elsewhere(
    sources: Sources<'_>,
    provider: &Provider,
    route: &Route,
    url: Url,
) -> Route {
    if url == route.base_url {
        return route.clone();
    }
    let mode_at = |url: &Url| {
        let mode = catalogue().mode_of(&provider.row, url, &route.model);
        mode.unwrap_or(Mode::ChatCompletions)
            .for_model(&route.model)
    };
    let mode = match route.mode == mode_at(&route.base_url) {
        true => mode_at(&url),
        false => route.mode,
    };
    let place = Place {
        provider: &provider.row.id,
        url: &url,
        model: &route.model,
        mode,
    };
    let mut quirks = catalogue().quirks(&provider.row.quirks, place);
    adjust(&mut quirks, sources, place);
    for (name, value) in &route.quirks.body {
        quirks.body.entry(name).or_insert_with(|| value.clone());
    }
    quirks.price = route.quirks.price;
    Route {
        base_url: url,
        mode,
        quirks,
        ..route.clone()
    }
}

/// Settings, then the provider, then the address, then the model's name decide.
fn mode(wish: &Wish, provider: &Provider, url: &Url, model: &str) -> Result<Mode, ModelError> {
    let own = provider.own_text(&["api_mode", "transport"]);
    let text = Some(wish.api_mode.as_str())
        .filter(|text| !text.is_empty())
        .or(own);
    if let Some(text) = text {
        return serde_json::from_value(json!(text)).map_err(|_| {
            not_configured(format!(
                "api_mode '{text}' is not supported. Use chat_completions, codex_responses, \
                 anthropic_messages, bedrock_converse or gemini"
            ))
        });
    }
    let mode = catalogue().mode_of(&provider.row, url, model);
    Ok(mode.unwrap_or(Mode::ChatCompletions))
}

/// Empty if it is the server's only one, whatever its name.
fn model(
    sources: Sources<'_>,
    wish: &Wish,
    provider: &Provider,
    url: &Url,
) -> Result<String, ModelError> {
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
    let name = names::spell(&provider.row, text);
    let is_bare = provider.row.names == Names::Vendor && !name.contains('/');
    let listed = is_bare.then(|| in_list(sources, &provider.row, url, &name));
    Ok(listed.flatten().unwrap_or(name))
}

/// A bare name as the provider's list has it, with its vendor.
fn in_list(sources: Sources<'_>, row: &Row, url: &Url, name: &str) -> Option<String> {
    let kept = shelf::load(sources.home, &row.id, url.as_str())?;
    let ids = kept.models.into_iter().map(|model| model.id);
    let mut fitting = ids.filter(|id| id.rsplit('/').next() == Some(name));
    fitting.next().filter(|_| !name.is_empty())
}

/// Many .env files hold an address for other programs, and its owner may think that it counts.
pub(crate) fn stale_base_url(sources: Sources<'_>, route: &Route) -> Option<String> {
    let set = sources.env.filled("OPENAI_BASE_URL")?;
    let is_near = matches!(route.provider.as_str(), "openai" | "custom" | "openrouter");
    let is_other = set.trim_end_matches('/') != route.base_url.as_str().trim_end_matches('/');
    (is_near && is_other).then(|| {
        format!(
            "OPENAI_BASE_URL ({set}) is ignored; the model is at {}. If it is left over, remove it with \
             `hermes config unset OPENAI_BASE_URL`; to use that address: `hermes config set model.base_url {set}`",
            route.base_url
        )
    })
}

pub(crate) fn no_model() -> ModelError {
    not_configured(
        "No model is chosen. Choose one with `hermes model`, or `hermes config set model.default <name>`. \
         It can be left out if `model.base_url` is a server of your own that runs and has only one"
            .to_owned(),
    )
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
