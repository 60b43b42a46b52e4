//! Whom to ask if the owner doesn't say: what is logged in, what has a key, who makes the model.

use hermes_home::Env;
use hermes_types::ModelError;

use crate::auth::Document;
use crate::catalogue::{Credentials, Names, Row, catalogue};
use crate::names;
use crate::providers::is_usable;
use crate::resolve::{Sources, not_configured};
use crate::{aws, host, keys};

/// The provider for a wish without one.
pub(crate) fn provider(
    sources: Sources<'_>,
    base_url: Option<&reqwest::Url>,
    key: &str,
) -> Result<String, ModelError> {
    if let Some(url) = base_url {
        let is_router = host::is_under(url, "openrouter.ai");
        return Ok(if is_router { "openrouter" } else { "custom" }.to_owned());
    }
    if is_usable(key) {
        return Ok("openrouter".to_owned());
    }
    let rows = || catalogue().providers.iter().filter(|row| row.auto);
    let document = keys::document(sources);
    let active = keys::active(&document);
    let chosen = active
        .and_then(|id| catalogue().by_id(&id))
        .or_else(|| rows().find(|row| is_ready(sources.env, &document, row)))
        .or_else(|| rows().find(|row| has_credentials(row, sources.env)));
    let id = chosen.map(|row| row.id.clone());
    id.ok_or_else(|| not_configured(FIRST_STEPS.to_owned()))
}

const FIRST_STEPS: &str = "\
No model provider is set up. `hermes model list` shows which there are; for example:
  hermes config set model.provider openrouter
  hermes config set model.default anthropic/claude-sonnet-4.5
  hermes config set OPENROUTER_API_KEY <key>      (or OPENAI_API_KEY, ANTHROPIC_API_KEY, …; kept in .env)
For a server of your own, with or without a key:
  hermes config set model.base_url http://127.0.0.1:11434/v1";

/// Who has a model that the chosen provider doesn't make: its maker, or else somebody who has everybody's.
/// `None`: the chosen one may have it, or nobody else can be asked.
pub(crate) fn serving(sources: Sources<'_>, chosen: &Row, model: &str) -> Option<String> {
    let maker = names::vendor(model)?;
    if chosen.vendor.as_deref().is_none_or(|own| own == maker) {
        return None;
    }
    let document = keys::document(sources);
    let ready = || {
        let rows = catalogue().providers.iter();
        rows.filter(|row| row.auto && is_ready(sources.env, &document, row))
    };
    let makers = ready().find(|row| row.vendor.as_deref() == Some(maker));
    let found = makers.or_else(|| ready().find(|row| row.names == Names::Vendor));
    found.map(|row| row.id.clone())
}

/// Whether there is a key or a login for it.
fn is_ready(env: &Env, document: &Document, row: &Row) -> bool {
    has_key(row, env) || keys::has_pool(document, &row.id)
}

pub(crate) fn has_key(row: &Row, env: &Env) -> bool {
    row.keys.iter().any(|variable| {
        let value = env.filled(&variable.name);
        value.is_some_and(|value| variable.takes(value) && row.why_not(variable, value).is_none())
    })
}

pub(crate) fn has_credentials(row: &Row, env: &Env) -> bool {
    row.credentials == Some(Credentials::Aws) && aws::has_key(env)
}
