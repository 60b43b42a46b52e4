//! From wishes and settings to a route: provider, address, key, dialect and model name, decided together.

use std::path::Path;

use hermes_home::Env;
use hermes_home::config::Settings;
use hermes_types::{ModelError, ModelErrorKind};
use reqwest::Url;
use serde_json::json;

use crate::adjust::adjust;
use crate::catalogue::{KeyVariable, Names, Place, Row, catalogue};
use crate::providers::{Provider, find, is_usable};
use crate::route::{Concessions, Key, Mode, Route};
use crate::wish::{Overrides, Wish};
use crate::{automatic, aws, context, endpoints, host, names, shelf};

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
    let mut address = address(sources, &wish, &provider)?;
    let minted = address.minted.take();
    let (key, key_name) = key(sources, &wish, &provider, &address.url, minted)?;
    let url = address.for_key(sources, &provider, &key)?;
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

/// An address, and what is known about it.
struct Address {
    url: Url,
    /// The key of the login that decided about it.
    minted: Option<Key>,
    /// Nobody asked for another one than the catalogue's.
    is_usual: bool,
}

fn address(sources: Sources<'_>, wish: &Wish, provider: &Provider) -> Result<Address, ModelError> {
    let row = &provider.row;
    let minted = row
        .login
        .as_ref()
        .and_then(|name| automatic::login(sources, name));
    let of_login = minted.as_ref().and_then(|minted| minted.base_url.clone());
    let of_env = sources.env.filled(&row.base_url_variable());
    let wished = (!wish.base_url.is_empty()).then(|| wish.base_url.clone());
    let wanted = wished.or_else(|| of_env.map(str::to_owned)).or(of_login);
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
        minted: minted.map(|minted| minted.key),
        is_usual,
    })
}

impl Address {
    /// Some keys belong to another address than the usual one, and say so, or were found out to.
    fn for_key(
        self,
        sources: Sources<'_>,
        provider: &Provider,
        key: &Key,
    ) -> Result<Url, ModelError> {
        if !self.is_usual {
            return Ok(self.url);
        }
        let mut urls = provider.row.key_urls.iter();
        let by_key = urls.find(|url| key.expose().starts_with(&url.prefix));
        let by_key = by_key.map(|url| url.base_url.clone());
        let found = by_key.or_else(|| endpoints::detected(sources.home, &provider.row, key));
        found.map_or(Ok(self.url), |text| parse_url(&text))
    }
}

/// The key and what it is called. A key that belongs to one host is not sent to another.
fn key(
    sources: Sources<'_>,
    wish: &Wish,
    provider: &Provider,
    url: &Url,
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
    if row.credentials.is_some() || wish.api_mode.starts_with("bedrock") {
        return aws::key(sources.settings, sources.env, url);
    }
    let belongs = |domain: &String| host::is_under(url, domain);
    for variable in row
        .keys
        .iter()
        .filter(|variable| variable.host.as_ref().is_none_or(belongs))
    {
        let value = sources.env.filled(&variable.name);
        let value = value.filter(|value| variable.takes(value));
        if let Some(value) = value.filter(|value| row.why_not(variable, value).is_none()) {
            return Ok((Key::new(value), variable.name.clone()));
        }
    }
    if row.key_is_optional {
        return Ok((Key::new(NO_KEY), "model.api_key".to_owned()));
    }
    Err(no_key(sources, provider, url))
}

fn no_key(sources: Sources<'_>, provider: &Provider, url: &Url) -> ModelError {
    let row = &provider.row;
    let is_usual = |key: &&KeyVariable| key.name.ends_with("_API_KEY");
    let usual = row.keys.iter().find(is_usual).or(row.keys.first());
    let Some(variable) = usual else {
        return not_configured(match row.login.is_some() {
            true => format!(
                "{} takes no key, only a login, and there is none that is good. Log in with \
                 `hermes auth add {}`, or choose another provider with `hermes model`",
                row.name, row.id
            ),
            false => format!("There is no key for {}", row.name),
        });
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
    let login = match row.login.is_some() {
        true => format!(", log in with `hermes auth add {}`", row.id),
        false => String::new(),
    };
    let unused = unused(sources, provider).map(|why| format!(" ({why})"));
    not_configured(format!(
        "There is no key for {}: {name} is not set{}. Set it with `hermes config set {name} <key>`{login}, \
         or choose another provider with `hermes model`",
        row.name,
        unused.unwrap_or_default(),
    ))
}

/// Why a key that is there is not used.
fn unused<'p>(sources: Sources<'_>, provider: &'p Provider) -> Option<&'p str> {
    let row = &provider.row;
    let why = |variable: &KeyVariable| {
        let value = sources.env.filled(&variable.name)?;
        row.why_not(variable, value)
    };
    let named = row.unsupported.iter().find(|entry| {
        let is_set = || sources.env.filled(&entry.variable).is_some();
        !entry.variable.is_empty() && is_set()
    });
    let named = named.map(|entry| entry.why.as_str());
    named.or_else(|| row.keys.iter().find_map(why))
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
