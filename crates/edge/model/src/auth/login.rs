//! Logging in: which providers allow it and how, and what it leaves in `auth.json`.

use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use hermes_net::within;
use hermes_types::Scope;
use serde_json::{Map, json};

use super::desk::PoolDesk;
use super::entry::{Credential, Kind};
use super::seed::{DEVICE_CODE, next_priority};
use super::web::Web;
use super::{AuthError, claims, codex, nous, openrouter};
use crate::http::Http;

/// Between two questions whether somebody has confirmed.
const POLL_LEAST: Duration = Duration::from_secs(1);
const POLL_LONGEST: Duration = Duration::from_secs(30);
const POLL_SLOWER: Duration = Duration::from_secs(5);

/// How one logs in with a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginWay {
    /// A code to type in on a page, on any device.
    DeviceCode,
    /// A page in the browser, which comes back here.
    Browser,
    /// The vendor does not allow it in programs that are not its own; why, and what to do instead.
    Forbidden(&'static str),
}

/// What can be asked for beside the usual.
#[derive(Clone, Debug, Default)]
pub struct LoginOptions {
    pub label: Option<String>,
    pub portal_url: Option<String>,
    pub inference_url: Option<String>,
    pub client_id: Option<String>,
    pub scope: Option<String>,
    /// For one request to the server.
    pub timeout: Option<Duration>,
}

/// Where somebody has to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginPage {
    pub url: String,
    /// To be typed in there.
    pub code: Option<String>,
    /// Where the browser comes back to, if it does.
    pub port: Option<u16>,
    /// How long the page is good for.
    pub time: Duration,
}

/// Whoever logs in.
pub trait LoginUi {
    fn show(&mut self, page: &LoginPage);

    fn note(&mut self, text: &str);

    /// The next line somebody pastes; `None` if there won't be one.
    fn pasted(&mut self) -> BoxFuture<'_, Option<String>>;
}

/// `None` where there is nothing but keys.
pub fn login_way(provider: &str) -> Option<LoginWay> {
    Some(match provider {
        "nous" | "openai-codex" => LoginWay::DeviceCode,
        "openrouter" => LoginWay::Browser,
        "anthropic" => LoginWay::Forbidden(
            "Anthropic does not allow Claude subscriptions in other programs, so Hermes cannot log in with one. \
             Make an API key at https://console.anthropic.com and add it with `hermes auth add anthropic`",
        ),
        "copilot" | "qwen-oauth" => LoginWay::Forbidden(
            "its tokens are for the vendor's own programs, so Hermes cannot log in there",
        ),
        _ => return None,
    })
}

/// The whole way; gives the name of the new credential.
pub async fn log_in(
    desk: &PoolDesk<'_>,
    provider: &str,
    options: &LoginOptions,
    ui: &mut dyn LoginUi,
    scope: &Scope,
) -> Result<String, AuthError> {
    let http: Http = desk.http();
    let endpoints = desk.endpoints();
    let web = Web {
        http: &http,
        scope,
        limit: options.timeout.unwrap_or(endpoints.timeout),
    };
    match (provider, login_way(provider)) {
        (_, Some(LoginWay::Forbidden(why))) => Err(AuthError::invalid(why)),
        ("nous", _) => {
            let login = nous::log_in(web, &endpoints, options, ui).await?;
            keep_login(desk, provider, login)
        }
        ("openai-codex", _) => {
            let entry = codex::log_in(web, &endpoints, ui).await?;
            keep_codex(desk, labelled(entry, options))
        }
        ("openrouter", _) => {
            let entry = openrouter::log_in(web, &endpoints, ui).await?;
            keep_entry(desk, provider, labelled(entry, options))
        }
        _ => Err(AuthError::invalid(format!(
            "{provider} has no login; add a key with `hermes auth add {provider}`"
        ))),
    }
}

fn labelled(mut entry: Credential, options: &LoginOptions) -> Credential {
    if let Some(label) = &options.label {
        entry.set("label", json!(label));
    }
    entry
}

/// The provider's one login: a new one takes the old one's place.
fn keep_login(
    desk: &PoolDesk<'_>,
    provider: &str,
    login: Map<String, serde_json::Value>,
) -> Result<String, AuthError> {
    desk.file().update(|document| {
        document.allow(provider);
        document.set_login(provider, login);
        document.set_active(Some(provider));
        let entries = super::merge(document, provider, &[]);
        let entry = entries
            .into_iter()
            .find(|entry| entry.source() == DEVICE_CODE);
        let mut entry =
            entry.unwrap_or_else(|| Credential::new(DEVICE_CODE, DEVICE_CODE, Kind::OAuth));
        entry.clear();
        document.put(provider, &entry);
        entry.label().to_owned()
    })
}

/// The first account is the login; further ones are entries beside it.
fn keep_codex(desk: &PoolDesk<'_>, mut entry: Credential) -> Result<String, AuthError> {
    const PROVIDER: &str = "openai-codex";
    let taken = desk.file().read();
    let taken = taken
        .login(PROVIDER)
        .and_then(|login| login.get("tokens")?.get("access_token")?.as_str());
    let is_other = taken
        .is_some_and(|taken| claims::owner(taken) != claims::owner(entry.text("access_token")));
    if is_other {
        entry.set("source", json!("manual:device_code"));
        return keep_entry(desk, PROVIDER, entry);
    }
    let token = |name: &str| entry.get(name).clone();
    let mut login = Map::new();
    let tokens =
        json!({"access_token": token("access_token"), "refresh_token": token("refresh_token")});
    login.insert("tokens".to_owned(), tokens);
    login.insert("last_refresh".to_owned(), token("last_refresh"));
    login.insert("auth_mode".to_owned(), json!("chatgpt"));
    login.insert("label".to_owned(), json!(entry.label()));
    keep_login(desk, PROVIDER, login)
}

fn keep_entry(
    desk: &PoolDesk<'_>,
    provider: &str,
    mut entry: Credential,
) -> Result<String, AuthError> {
    desk.file().update(|document| {
        document.allow(provider);
        entry.set("priority", json!(next_priority(&document.pool(provider))));
        document.put(provider, &entry);
        entry.label().to_owned()
    })
}

/// What became of a question.
pub(crate) enum Polled<T> {
    Done(T),
    NotYet,
    /// Not yet, and the question came too soon.
    Slower,
}

/// Asks again and again until there is an answer, the time is over, or nobody wants it any more.
pub(crate) async fn poll<T>(
    scope: &Scope,
    every: Duration,
    total: Duration,
    mut ask: impl AsyncFnMut() -> Result<Polled<T>, AuthError>,
) -> Result<T, AuthError> {
    let end = Instant::now() + total;
    let mut pause = every.clamp(POLL_LEAST, POLL_LONGEST);
    while Instant::now() + pause <= end {
        let slept = within(scope, Duration::MAX, tokio::time::sleep(pause)).await;
        slept.map_err(|_| AuthError::Cancelled)?;
        match ask().await {
            Ok(Polled::Done(value)) => return Ok(value),
            Ok(Polled::NotYet) => {}
            Ok(Polled::Slower) => pause = (pause + POLL_SLOWER).min(POLL_LONGEST),
            // The network may come back before the time is over.
            Err(AuthError::Unreachable { host, reason }) => {
                tracing::debug!("asking {host} whether the login is confirmed: {reason}");
            }
            Err(error) => return Err(error),
        }
    }
    Err(AuthError::TooLate(total.as_secs().div_ceil(60)))
}
