//! OpenRouter gives any program a key of its own, if its owner agrees in the browser (PKCE).

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hermes_net::callback::{Brought, Callback, read_pasted};
use hermes_net::within;
use hermes_types::Scope;
use reqwest::Url;
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};
use serde_json::json;

use super::AuthError;
use super::endpoints::Endpoints;
use super::entry::{Credential, Kind};
use super::login::{LoginPage, LoginUi};
use super::web::Web;

const TOTAL: Duration = Duration::from_secs(10 * 60);

pub(crate) async fn log_in(
    web: Web<'_>,
    endpoints: &Endpoints,
    ui: &mut dyn LoginUi,
) -> Result<Credential, AuthError> {
    let no_port =
        |error| AuthError::invalid(format!("the browser has nowhere to come back to: {error}"));
    let mut callback = Callback::reserve(0).await.map_err(no_port)?;
    let port = callback.port().map_err(no_port)?;
    let (verifier, mark) = (random::<32>()?, random::<16>()?);
    ui.show(&LoginPage {
        url: page(&endpoints.openrouter, port, &mark, &verifier)?,
        code: None,
        port: Some(port),
        time: TOTAL,
    });
    let code = answer(&mut callback, &mark, ui, web.scope).await?;
    let body = json!({"code": code, "code_verifier": verifier, "code_challenge_method": "S256"});
    let place = format!("{}/api/v1/auth/keys", endpoints.openrouter);
    let answer = web.json(&place, &body, "").await?.good()?;
    let Some(key) = answer["key"].as_str().filter(|key| !key.is_empty()) else {
        return Err(AuthError::invalid("OpenRouter's answer has no key in it"));
    };
    let mut entry = Credential::new("manual:openrouter_pkce", "OpenRouter login", Kind::ApiKey);
    entry.set("access_token", json!(key));
    entry.set(
        "base_url",
        json!(format!("{}/api/v1", endpoints.openrouter)),
    );
    Ok(entry)
}

/// The page to agree on. OpenRouter sends nothing back but a code, so the mark is in the path.
fn page(openrouter: &str, port: u16, mark: &str, verifier: &str) -> Result<String, AuthError> {
    let challenge = URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()));
    let back = format!("http://localhost:{port}/callback/{mark}");
    let query = [
        ("callback_url", back.as_str()),
        ("code_challenge", challenge.as_str()),
        ("code_challenge_method", "S256"),
    ];
    let url = Url::parse_with_params(&format!("{openrouter}/auth"), query);
    let url = url.map_err(|_| AuthError::invalid(format!("'{openrouter}' is not an address")))?;
    Ok(url.into())
}

/// What the browser, or somebody for it, brings back.
async fn answer(
    callback: &mut Callback,
    mark: &str,
    ui: &mut dyn LoginUi,
    scope: &Scope,
) -> Result<String, AuthError> {
    let waiting = async {
        let mut pastes = true;
        loop {
            let brought = tokio::select! {
                brought = callback.next(mark) => brought,
                line = ui.pasted(), if pastes => match line {
                    Some(line) => read_pasted(&line, mark),
                    None => {
                        pastes = false;
                        continue;
                    }
                },
            };
            match brought {
                Brought::Code { code, .. } => return Ok(code),
                Brought::Refused(why) => {
                    return Err(AuthError::invalid(format!("the login was refused: {why}")));
                }
                Brought::Skipped => return Err(AuthError::Cancelled),
                Brought::WrongState | Brought::Nothing => {
                    ui.note("That is not the address of this login's end.")
                }
            }
        }
    };
    match within(scope, TOTAL, waiting).await {
        Ok(answer) => answer,
        Err(hermes_net::Ended::TooSlow) => Err(AuthError::TooLate(TOTAL.as_secs() / 60)),
        Err(_) => Err(AuthError::Cancelled),
    }
}

fn random<const N: usize>() -> Result<String, AuthError> {
    let mut bytes = [0; N];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| AuthError::invalid("this machine has no random numbers"))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}
