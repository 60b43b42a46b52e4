//! The Nous portal: a device code to log in with, an access token for the portal, and a minted key for models.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use super::cooldown::moment;
use super::endpoints::Endpoints;
use super::entry::Credential;
use super::login::{LoginOptions, LoginPage, LoginUi, Polled, poll};
use super::web::{Answer, Web};
use super::{AuthError, claims};

const CLIENT: &str = "hermes-cli";
const SCOPE: &str = "inference:mint_agent_key";
/// An access token that lasts no longer is renewed first.
const SKEW: SignedDuration = SignedDuration::from_secs(120);
const DEVICE_GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// The whole way to a login; what it leaves behind.
pub(crate) async fn log_in(
    web: Web<'_>,
    endpoints: &Endpoints,
    options: &LoginOptions,
    ui: &mut dyn LoginUi,
) -> Result<Map<String, Value>, AuthError> {
    let given = |value: &Option<String>, usual: &str| {
        let value = value.as_deref().unwrap_or(usual);
        value.trim_end_matches('/').to_owned()
    };
    let portal = given(&options.portal_url, &endpoints.nous_portal);
    let client = given(&options.client_id, CLIENT);
    let scope = given(&options.scope, SCOPE);
    let asked = [("client_id", client.as_str()), ("scope", scope.as_str())];
    let device = web
        .form(&format!("{portal}/api/oauth/device/code"), &asked, ("", ""))
        .await?
        .good()?;
    let token = wait(web, &portal, &client, &device, ui).await?;
    let mut login = Credential::new("device_code", "", super::Kind::OAuth);
    login.set("portal_base_url", json!(portal));
    login.set(
        "inference_base_url",
        json!(given(&options.inference_url, &endpoints.nous_inference)),
    );
    login.set("client_id", json!(client));
    login.set("scope", json!(scope));
    take_token(&mut login, &token, Timestamp::now())?;
    ui.note("Confirmed; asking for a key …");
    mint(web, endpoints, &mut login).await?;
    Ok(left_behind(&login, &options.label))
}

/// Waits until somebody has confirmed the code.
async fn wait(
    web: Web<'_>,
    portal: &str,
    client: &str,
    device: &Value,
    ui: &mut dyn LoginUi,
) -> Result<Value, AuthError> {
    let text = |name: &str| device[name].as_str().filter(|text| !text.is_empty());
    let url = text("verification_uri_complete").or(text("verification_uri"));
    let (Some(url), Some(code), Some(secret)) = (url, text("user_code"), text("device_code"))
    else {
        return Err(AuthError::invalid(
            "the portal's answer has no code to confirm",
        ));
    };
    let total = Duration::from_secs(device["expires_in"].as_u64().unwrap_or(900).clamp(1, 1800));
    let every = Duration::from_secs(device["interval"].as_u64().unwrap_or(5));
    ui.show(&LoginPage {
        url: url.to_owned(),
        code: Some(code.to_owned()),
        port: None,
        time: total,
    });
    let fields = [
        ("grant_type", DEVICE_GRANT),
        ("client_id", client),
        ("device_code", secret),
    ];
    let place = format!("{portal}/api/oauth/token");
    poll(web.scope, every, total, async || {
        let answer = web.form(&place, &fields, ("", "")).await?;
        Ok(match answer.code() {
            "authorization_pending" => Polled::NotYet,
            "slow_down" => Polled::Slower,
            _ => Polled::Done(answer.good()?),
        })
    })
    .await
}

/// What is left of a login: its fields without those of a pool's entry.
fn left_behind(login: &Credential, label: &Option<String>) -> Map<String, Value> {
    let names = super::seed::LOGIN_FIELDS.iter();
    let mut fields: Map<_, _> = names
        .map(|name| ((*name).to_owned(), login.get(name).clone()))
        .filter(|(_, value)| !value.is_null())
        .collect();
    if let Some(label) = label {
        fields.insert("label".to_owned(), json!(label));
    }
    fields
}

/// Whether the minted key won't last, or has never been minted.
pub(crate) fn needs_renewal(entry: &Credential, endpoints: &Endpoints, now: Timestamp) -> bool {
    let ttl = SignedDuration::try_from(endpoints.min_key_ttl).unwrap_or(SKEW);
    let lasts = moment(entry.get("agent_key_expires_at")).is_none_or(|at| at > now + ttl);
    entry.text("agent_key").is_empty() || !lasts
}

/// Replaces the minted key, and the access token first if it won't last. What was replaced before an error is
/// in the entry: such tokens work only once.
pub(crate) async fn renew(
    web: Web<'_>,
    endpoints: &Endpoints,
    entry: &mut Credential,
) -> Result<(), AuthError> {
    let lasts = moment(entry.get("expires_at")).is_some_and(|at| at > Timestamp::now() + SKEW);
    if !lasts {
        refresh(web, endpoints, entry).await?;
        return mint(web, endpoints, entry).await;
    }
    match mint(web, endpoints, entry).await {
        // It should have lasted, but the portal knows better.
        Err(error) if error.needs_login() => {
            refresh(web, endpoints, entry).await?;
            mint(web, endpoints, entry).await
        }
        minted => minted,
    }
}

async fn refresh(
    web: Web<'_>,
    endpoints: &Endpoints,
    entry: &mut Credential,
) -> Result<(), AuthError> {
    let token = entry.text("refresh_token");
    if token.is_empty() {
        return Err(AuthError::invalid(
            "there is no token to renew the login with",
        ));
    }
    let client = match entry.text("client_id") {
        "" => CLIENT,
        client => client,
    };
    let fields = [("grant_type", "refresh_token"), ("client_id", client)];
    let place = format!("{}/api/oauth/token", portal(entry, endpoints));
    let header = ("x-nous-refresh-token", token);
    let answer = web.form(&place, &fields, header).await?.good()?;
    take_token(entry, &answer, Timestamp::now())
}

async fn mint(
    web: Web<'_>,
    endpoints: &Endpoints,
    entry: &mut Credential,
) -> Result<(), AuthError> {
    let place = format!("{}/api/oauth/agent-key", portal(entry, endpoints));
    let body = json!({"min_ttl_seconds": endpoints.min_key_ttl.as_secs()});
    let answer: Answer = web.json(&place, &body, entry.text("access_token")).await?;
    if answer.code() == "subscription_required" {
        let portal = portal(entry, endpoints);
        return Err(AuthError::invalid(format!(
            "this Nous account has no active subscription; get one at {portal}/billing and log in again"
        )));
    }
    let minted = answer.good()?;
    let Some(key) = minted["api_key"].as_str().filter(|key| !key.is_empty()) else {
        return Err(AuthError::invalid("the portal's answer has no key in it"));
    };
    entry.set("agent_key", json!(key));
    entry.set("agent_key_id", minted["key_id"].clone());
    entry.set("agent_key_expires_at", minted["expires_at"].clone());
    entry.set("agent_key_expires_in", minted["expires_in"].clone());
    entry.set(
        "agent_key_reused",
        json!(minted["reused"].as_bool().unwrap_or(false)),
    );
    entry.set("agent_key_obtained_at", json!(Timestamp::now().to_string()));
    take_url(entry, &minted);
    Ok(())
}

fn take_token(entry: &mut Credential, answer: &Value, now: Timestamp) -> Result<(), AuthError> {
    let Some(token) = answer["access_token"]
        .as_str()
        .filter(|token| !token.is_empty())
    else {
        return Err(AuthError::invalid("the portal's answer has no token in it"));
    };
    let lasts = answer["expires_in"].as_u64().unwrap_or(0);
    let lasts = SignedDuration::from_secs(i64::try_from(lasts).unwrap_or(0));
    entry.set("access_token", json!(token));
    for name in ["refresh_token", "token_type", "scope"] {
        if let Some(text) = answer[name].as_str().filter(|text| !text.is_empty()) {
            entry.set(name, json!(text));
        }
    }
    entry.set("obtained_at", json!(now.to_string()));
    entry.set("expires_in", json!(lasts.as_secs()));
    entry.set(
        "expires_at",
        json!(now.checked_add(lasts).unwrap_or(now).to_string()),
    );
    take_url(entry, answer);
    if let Some(owner) = claims::owner(token).filter(|_| entry.text("label").is_empty()) {
        entry.set("label", json!(owner));
    }
    Ok(())
}

/// The portal may say where its models are.
fn take_url(entry: &mut Credential, answer: &Value) {
    if let Some(url) = answer["inference_base_url"]
        .as_str()
        .filter(|url| !url.is_empty())
    {
        entry.set("inference_base_url", json!(url.trim_end_matches('/')));
    }
}

fn portal(entry: &Credential, endpoints: &Endpoints) -> String {
    let own = entry.text("portal_base_url").trim_end_matches('/');
    match own {
        "" => endpoints.nous_portal.clone(),
        own => own.to_owned(),
    }
}
