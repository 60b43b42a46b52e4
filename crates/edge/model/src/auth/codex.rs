//! ChatGPT accounts (`openai-codex`): a device code to log in with, and tokens that work once each to go on.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::cooldown::moment;
use super::endpoints::Endpoints;
use super::entry::{Credential, Kind};
use super::login::{LoginPage, LoginUi, Polled, poll};
use super::web::Web;
use super::{AuthError, claims};

/// The public client that vendor's device login is for.
const CLIENT: &str = "app_EMoamEEZ73f0CkXaXp7hrann";
/// A token that lasts no longer is renewed before it is used.
const SKEW: SignedDuration = SignedDuration::from_secs(120);
/// The vendor's page asks for the code within this time.
const TOTAL: Duration = Duration::from_secs(15 * 60);

/// The whole way to a login.
pub(crate) async fn log_in(
    web: Web<'_>,
    endpoints: &Endpoints,
    ui: &mut dyn LoginUi,
) -> Result<Credential, AuthError> {
    let issuer = &endpoints.codex_issuer;
    let place = format!("{issuer}/api/accounts/deviceauth/usercode");
    let device = web
        .json(&place, &json!({"client_id": CLIENT}), "")
        .await?
        .good()?;
    let confirmed = wait(web, issuer, &device, ui).await?;
    let text = |name: &str| confirmed[name].as_str().unwrap_or_default();
    let redirect = format!("{issuer}/deviceauth/callback");
    let fields = [
        ("grant_type", "authorization_code"),
        ("code", text("authorization_code")),
        ("redirect_uri", redirect.as_str()),
        ("client_id", CLIENT),
        ("code_verifier", text("code_verifier")),
    ];
    let place = format!("{issuer}/oauth/token");
    let tokens = web.form(&place, &fields, ("", "")).await?.good()?;
    let mut entry = Credential::new("device_code", "", Kind::OAuth);
    entry.set("base_url", json!(endpoints.codex_inference));
    take_tokens(&mut entry, &tokens)?;
    let label = claims::owner(entry.text("access_token"));
    entry.set(
        "label",
        json!(label.unwrap_or_else(|| "ChatGPT".to_owned())),
    );
    Ok(entry)
}

async fn wait(
    web: Web<'_>,
    issuer: &str,
    device: &Value,
    ui: &mut dyn LoginUi,
) -> Result<Value, AuthError> {
    let (Some(code), Some(id)) = (
        device["user_code"].as_str(),
        device["device_auth_id"].as_str(),
    ) else {
        return Err(AuthError::invalid("the answer has no code to confirm"));
    };
    // A number, or a number as text.
    let every = &device["interval"];
    let every = every
        .as_u64()
        .or_else(|| every.as_str()?.trim().parse().ok());
    ui.show(&LoginPage {
        url: format!("{issuer}/codex/device"),
        code: Some(code.to_owned()),
        port: None,
        time: TOTAL,
    });
    let place = format!("{issuer}/api/accounts/deviceauth/token");
    let body = json!({"device_auth_id": id, "user_code": code});
    poll(
        web.scope,
        Duration::from_secs(every.unwrap_or(5)),
        TOTAL,
        async || {
            let answer = web.json(&place, &body, "").await?;
            Ok(match answer.status {
                403 | 404 => Polled::NotYet,
                429 => Polled::Slower,
                _ => Polled::Done(answer.good()?),
            })
        },
    )
    .await
}

/// Whether the token says that it won't last.
pub(crate) fn needs_renewal(entry: &Credential, now: Timestamp) -> bool {
    let claims = claims::claims(entry.text("access_token"));
    moment(&claims["exp"]).is_some_and(|at| at <= now + SKEW)
}

/// Replaces both tokens.
pub(crate) async fn renew(
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
    let fields = [
        ("grant_type", "refresh_token"),
        ("refresh_token", token),
        ("client_id", CLIENT),
    ];
    let place = format!("{}/oauth/token", endpoints.codex_issuer);
    let answer = web.form(&place, &fields, ("", "")).await?.good()?;
    take_tokens(entry, &answer)
}

fn take_tokens(entry: &mut Credential, answer: &Value) -> Result<(), AuthError> {
    let text = |name: &str| {
        answer[name]
            .as_str()
            .map(str::trim)
            .filter(|text| !text.is_empty())
    };
    let Some(access) = text("access_token") else {
        return Err(AuthError::invalid("the answer has no token in it"));
    };
    entry.set("access_token", json!(access));
    if let Some(refresh) = text("refresh_token") {
        entry.set("refresh_token", json!(refresh));
    }
    entry.set("last_refresh", json!(Timestamp::now().to_string()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use hermes_home::Env;
    use hermes_testkit::LoginServer;
    use hermes_types::Scope;
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::http::Http;

    #[test]
    fn a_token_is_renewed_before_it_ends() {
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let check = |claims: Value, expected| {
            let mut entry = Credential::new("device_code", "", Kind::OAuth);
            entry.set("access_token", json!(claims::token(&claims)));
            assert_eq!(needs_renewal(&entry, now), expected, "{claims}");
        };
        check(json!({"exp": 1_800_000_119}), true);
        check(json!({"exp": 1_800_000_121}), false);
        check(json!({"sub": "x"}), false);
    }

    #[tokio::test]
    async fn both_tokens_are_replaced() {
        let server = LoginServer::start();
        let mut endpoints = Endpoints::from_env(&Env::default());
        endpoints.codex_issuer = server.url();
        let http = Http::new("test", Duration::from_secs(5));
        let scope = Scope::new("test".into());
        let web = Web {
            http: &http,
            scope: &scope,
            limit: Duration::from_secs(5),
        };
        let mut entry = Credential::new("device_code", "", Kind::OAuth);
        entry.set("refresh_token", json!("rt-0"));
        renew(web, &endpoints, &mut entry).await.unwrap();
        assert_eq!(
            (entry.text("access_token"), entry.text("refresh_token")),
            ("at-1", "rt-1")
        );
        assert_eq!(server.visits()[0].fields["client_id"], CLIENT);
        // A token works once.
        entry.set("refresh_token", json!("rt-0"));
        let error = renew(web, &endpoints, &mut entry).await.unwrap_err();
        assert!(error.needs_login(), "{error}");
    }
}
