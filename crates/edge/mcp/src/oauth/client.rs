//! Who we are to an authorization server: configured, registered before, or registered now.

use std::time::{Duration, SystemTime};

use rmcp::transport::auth::AuthorizationMetadata;
use serde_json::{Value, json};
use url::Url;

use crate::classify::excerpt;
use crate::config::Secret;
use crate::oauth::config::OAuthConfig;
use crate::oauth::store::Fields;
use crate::oauth::tokens;
use crate::oauth::web::Web;

const REGISTRATION: Duration = Duration::from_secs(15);
const METHODS: &str = "token_endpoint_auth_methods_supported";

/// A client the server knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Client {
    pub id: String,
    pub secret: Option<Secret>,
    pub method: AuthMethod,
}

/// How a client proves at the token endpoint who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AuthMethod {
    None,
    Post,
    Basic,
}

impl AuthMethod {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Post => "client_secret_post",
            Self::Basic => "client_secret_basic",
        }
    }

    /// The one for a client with a secret: in the body, unless only the header is understood.
    fn with_secret(supported: Option<&Value>) -> Self {
        if lists(supported, Self::Basic) && !lists(supported, Self::Post) {
            Self::Basic
        } else {
            Self::Post
        }
    }

    /// The one to register with: none, unless the server insists.
    fn to_register(supported: Option<&Value>) -> Self {
        let has_list = supported.and_then(Value::as_array).is_some();
        let knows_secrets = lists(supported, Self::Post) || lists(supported, Self::Basic);
        if has_list && !lists(supported, Self::None) && knows_secrets {
            Self::with_secret(supported)
        } else {
            Self::None
        }
    }
}

fn lists(supported: Option<&Value>, method: AuthMethod) -> bool {
    let list = supported.and_then(Value::as_array);
    list.is_some_and(|list| list.iter().any(|name| name == method.name()))
}

impl Client {
    /// The one the configuration names. `metadata` is the stored document of the authorization server.
    pub(crate) fn configured(config: &OAuthConfig, metadata: &Fields) -> Option<Self> {
        let id = config.client_id.clone()?;
        let secret = config.client_secret.clone();
        Some(Self::new(id, secret, metadata.get(METHODS)))
    }

    /// The one of a stored registration.
    pub(crate) fn registered(registration: &Fields, metadata: &Fields) -> Option<Self> {
        let id = tokens::text(registration, "client_id")?.to_owned();
        let secret = tokens::secret(registration, "client_secret");
        let mut client = Self::new(id, secret, metadata.get(METHODS));
        if client.secret.is_some()
            && let Some(method) = tokens::text(registration, "token_endpoint_auth_method")
        {
            let known = [AuthMethod::Post, AuthMethod::Basic];
            let named = known.into_iter().find(|known| known.name() == method);
            client.method = named.unwrap_or(client.method);
        }
        Some(client)
    }

    fn new(id: String, secret: Option<Secret>, supported: Option<&Value>) -> Self {
        let method = match secret {
            Some(_) => AuthMethod::with_secret(supported),
            None => AuthMethod::None,
        };
        Self { id, secret, method }
    }
}

/// Whether a stored registration can be used again for this redirect address.
pub(crate) fn is_reusable(
    registration: &Fields,
    metadata: &AuthorizationMetadata,
    redirect_uri: &str,
    now: SystemTime,
) -> bool {
    let issuer = tokens::text(registration, "issuer");
    let same_issuer = match (issuer, metadata.issuer.as_deref()) {
        (Some(then), Some(today)) => then == today,
        _ => true,
    };
    let end = tokens::number(registration, "client_secret_expires_at").unwrap_or(0.0);
    let is_expired = end > 0.0 && end <= tokens::epoch(now);
    let redirects = registration.get("redirect_uris").and_then(Value::as_array);
    let is_known = redirects.is_some_and(|list| list.iter().any(|uri| uri == redirect_uri));
    same_issuer && !is_expired && is_known
}

/// Registers a client and answers what to store about it: what we asked for, corrected by what the server said.
pub(crate) async fn register(
    web: &Web,
    config: &OAuthConfig,
    metadata: &AuthorizationMetadata,
    redirect_uri: &str,
    scopes: &[String],
) -> Result<Fields, String> {
    let Some(endpoint) = &metadata.registration_endpoint else {
        return Err("the server registers no clients by itself".to_owned());
    };
    let url = Url::parse(endpoint).map_err(|_| format!("{endpoint:?} is no address"))?;
    let method = AuthMethod::to_register(metadata.additional_fields.get(METHODS));
    let mut wanted = json!({
        "client_name": config.client_name,
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": method.name(),
        "application_type": "native",
    });
    if !scopes.is_empty() {
        wanted["scope"] = json!(scopes.join(" "));
    }
    let request = web.post(url).json(&wanted).build();
    let request = request.map_err(|error| error.to_string())?;
    let sent = web.send(request, REGISTRATION).await;
    let response = sent.map_err(|failure| failure.to_string())?;
    let body = String::from_utf8_lossy(response.body());
    if !response.status().is_success() {
        return Err(format!(
            "HTTP {}: {}",
            response.status().as_u16(),
            excerpt(&body)
        ));
    }
    let (Value::Object(mut fields), Ok(Value::Object(answer))) =
        (wanted, serde_json::from_str(&body))
    else {
        return Err(format!("not a registration: {}", excerpt(&body)));
    };
    fields.extend(answer.into_iter().filter(|(_, value)| !value.is_null()));
    if tokens::text(&fields, "client_id").is_none() {
        return Err("the registration has no client id".to_owned());
    }
    if let Some(issuer) = &metadata.issuer {
        fields.insert("issuer".to_owned(), json!(issuer));
    }
    Ok(fields)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn how_a_client_proves_who_it_is() {
        let check = |supported: Value, register: AuthMethod, secret: AuthMethod| {
            let supported = Some(&supported);
            assert_eq!(
                AuthMethod::to_register(supported),
                register,
                "{supported:?}"
            );
            assert_eq!(AuthMethod::with_secret(supported), secret, "{supported:?}");
        };
        use AuthMethod::{Basic, None, Post};
        check(json!(null), None, Post);
        check(json!(["none", "client_secret_basic"]), None, Basic);
        check(json!(["client_secret_basic"]), Basic, Basic);
        check(
            json!(["client_secret_basic", "client_secret_post"]),
            Post,
            Post,
        );
        check(json!(["private_key_jwt"]), None, Post);
    }

    #[test]
    fn a_registration_says_itself_how_it_is_used() {
        let registration = json!({
            "client_id": "c", "client_secret": "s", "token_endpoint_auth_method": "client_secret_basic",
        });
        let client = Client::registered(registration.as_object().unwrap(), &Fields::new());
        assert_eq!(client.unwrap().method, AuthMethod::Basic);
    }
}
