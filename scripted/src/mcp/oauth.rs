//! Who may come in: a fixed key, or tokens from an authorization server that lives on the same port.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use ring::digest;
use serde_json::{Value, json};

use super::fault::Fault;
use super::http::{Request, Response};
use super::options::Auth;
use super::state::{Inner, Shared};

/// More grants than any test makes.
const MAX_GRANTS: usize = 10_000;

/// What a client holds after logging in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tokens {
    pub access: String,
    pub refresh: String,
}

#[derive(Debug, Default)]
pub(crate) struct Grants {
    /// When each expires.
    access: HashMap<String, Instant>,
    refresh: HashSet<String>,
    /// Codes not yet exchanged, with their challenge.
    codes: HashMap<String, Option<String>>,
    clients: HashSet<String>,
    lifetime: Duration,
    rotate: bool,
    made: u64,
}

impl Grants {
    pub fn new(auth: &Auth) -> Self {
        match auth {
            Auth::Oauth {
                expires_in_s,
                rotate,
                clients,
            } => Self {
                lifetime: Duration::from_secs(*expires_in_s),
                rotate: *rotate,
                clients: clients.iter().cloned().collect(),
                ..Self::default()
            },
            Auth::Open | Auth::Key { .. } => Self::default(),
        }
    }

    pub fn issue(&mut self) -> Tokens {
        if self.access.len() > MAX_GRANTS {
            self.access.clear();
            self.refresh.clear();
        }
        self.made += 1;
        let tokens = Tokens {
            access: format!("access-{}", self.made),
            refresh: format!("refresh-{}", self.made),
        };
        self.admit(&tokens);
        tokens
    }

    pub fn admit(&mut self, tokens: &Tokens) {
        let expires = Instant::now() + self.lifetime;
        self.access.insert(tokens.access.clone(), expires);
        self.refresh.insert(tokens.refresh.clone());
    }

    pub fn expire(&mut self) {
        self.access.clear();
    }

    pub fn expire_and_rotate(&mut self) {
        self.expire();
        self.rotate = true;
    }

    pub fn revoke(&mut self) {
        self.expire();
        self.refresh.clear();
    }

    pub fn forget_clients(&mut self) {
        self.clients.clear();
    }

    fn is_valid(&self, access: &str) -> bool {
        self.access
            .get(access)
            .is_some_and(|expires| *expires > Instant::now())
    }

    fn client(&mut self) -> String {
        if self.clients.len() > MAX_GRANTS {
            self.clients.clear();
        }
        self.made += 1;
        let client = format!("client-{}", self.made);
        self.clients.insert(client.clone());
        client
    }

    fn code(&mut self, challenge: Option<String>) -> String {
        if self.codes.len() > MAX_GRANTS {
            self.codes.clear();
        }
        self.made += 1;
        let code = format!("code-{}", self.made);
        self.codes.insert(code.clone(), challenge);
        code
    }

    /// The tokens a request to the token endpoint gets, or the word for why not.
    fn grant(&mut self, request: &Request) -> Result<Tokens, &'static str> {
        let field = |name: &str| request.form(name).unwrap_or_default();
        match field("grant_type").as_str() {
            "client_credentials" => Ok(self.issue()),
            "authorization_code" => {
                let challenge = self.codes.remove(&field("code")).ok_or("invalid_grant")?;
                let proof = s256(&field("code_verifier"));
                if challenge.is_some_and(|challenge| challenge != proof) {
                    return Err("invalid_grant");
                }
                Ok(self.issue())
            }
            "refresh_token" => {
                let old = field("refresh_token");
                if !self.refresh.contains(&old) {
                    return Err("invalid_grant");
                }
                let mut tokens = self.issue();
                if self.rotate {
                    self.refresh.remove(&old);
                } else {
                    self.refresh.remove(&tokens.refresh);
                    tokens.refresh = old;
                }
                Ok(tokens)
            }
            _ => Err("unsupported_grant_type"),
        }
    }
}

/// The refusal, if the request may not come in.
pub(crate) fn refusal(shared: &Shared, request: &Request) -> Option<Response> {
    let refusal = shared.with(|inner| {
        let allowed = match &inner.options.auth {
            Auth::Open => true,
            Auth::Key { header, value } => {
                request.header(&header.to_ascii_lowercase()) == Some(value)
            }
            Auth::Oauth { .. } => {
                let header = request.header("authorization").unwrap_or_default();
                inner
                    .grants
                    .is_valid(header.strip_prefix("Bearer ").unwrap_or_default())
            }
        };
        if allowed {
            return None;
        }
        inner.counters.unauthorized += 1;
        Some(matches!(inner.options.auth, Auth::Oauth { .. }))
    })?;
    let response = Response::json(401, &json!({"error": "invalid_token"}));
    if !refusal {
        return Some(response);
    }
    let metadata = format!(
        "{}/.well-known/oauth-protected-resource{}",
        request.origin(),
        request.path()
    );
    let challenge = format!("Bearer error=\"invalid_token\", resource_metadata=\"{metadata}\"");
    Some(response.with("www-authenticate", challenge))
}

/// The authorization server: `None` for paths that aren't its own, or if there is none.
pub(crate) fn respond(shared: &Shared, request: &Request) -> Option<Response> {
    let protected = shared.with(|inner| matches!(inner.options.auth, Auth::Oauth { .. }));
    if !protected {
        return None;
    }
    let origin = request.origin();
    let path = request.path();
    let resource = path.strip_prefix("/.well-known/oauth-protected-resource");
    Some(match (request.method.as_str(), path) {
        _ if resource.is_some() => {
            let resource = resource.filter(|path| !path.is_empty()).unwrap_or("/mcp");
            Response::json(
                200,
                &json!({
                    "resource": format!("{origin}{resource}"),
                    "authorization_servers": [origin],
                    "bearer_methods_supported": ["header"],
                }),
            )
        }
        ("GET", "/.well-known/oauth-authorization-server") => {
            Response::json(200, &metadata(&origin))
        }
        ("POST", "/register") => shared.with(|inner| register(inner, request)),
        ("GET", "/authorize") => shared.with(|inner| authorize(inner, request)),
        ("POST", "/token") => shared.with(|inner| token(inner, request)),
        _ => return None,
    })
}

fn metadata(origin: &str) -> Value {
    json!({
        "issuer": origin,
        "authorization_endpoint": format!("{origin}/authorize"),
        "token_endpoint": format!("{origin}/token"),
        "registration_endpoint": format!("{origin}/register"),
        "response_types_supported": ["code"],
        "grant_types_supported": ["authorization_code", "refresh_token", "client_credentials"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none", "client_secret_post"],
        "authorization_response_iss_parameter_supported": true,
    })
}

fn register(inner: &mut Inner, request: &Request) -> Response {
    inner.counters.registrations += 1;
    let Ok(mut client) = serde_json::from_slice::<Value>(&request.body) else {
        return refused(400, "invalid_client_metadata");
    };
    if !client.is_object() {
        return refused(400, "invalid_client_metadata");
    }
    client["client_id"] = inner.grants.client().into();
    Response::json(201, &client)
}

/// Redirects at once: this user always agrees.
fn authorize(inner: &mut Inner, request: &Request) -> Response {
    inner.counters.authorize += 1;
    let client = request.query("client_id").unwrap_or_default();
    let redirect = request.query("redirect_uri").unwrap_or_default();
    if !inner.grants.clients.contains(&client) || redirect.is_empty() {
        return refused(400, "invalid_client");
    }
    let code = inner.grants.code(request.query("code_challenge"));
    let state = request.query("state").unwrap_or_default();
    let join = if redirect.contains('?') { '&' } else { '?' };
    let location = format!(
        "{redirect}{join}code={code}&state={}&iss={}",
        escaped(&state),
        escaped(&request.origin())
    );
    Response::empty(302).with("location", location)
}

fn token(inner: &mut Inner, request: &Request) -> Response {
    inner.counters.token_requests += 1;
    let down = inner.take(|fault| matches!(fault, Fault::TokenEndpointDown));
    if down.is_some() {
        return Response::empty(503);
    }
    let client = request.form("client_id").unwrap_or_default();
    if !inner.grants.clients.contains(&client) {
        return refused(401, "invalid_client");
    }
    match inner.grants.grant(request) {
        Err(word) => refused(400, word),
        Ok(tokens) => {
            let refreshed = request.form("grant_type").as_deref() == Some("refresh_token");
            inner.counters.refreshes += u64::from(refreshed);
            let body = json!({
                "access_token": tokens.access,
                "token_type": "Bearer",
                "expires_in": inner.grants.lifetime.as_secs(),
                "refresh_token": tokens.refresh,
            });
            Response::json(200, &body).with("cache-control", "no-store")
        }
    }
}

fn refused(status: u16, word: &str) -> Response {
    Response::json(status, &json!({"error": word}))
}

/// The challenge that belongs to a verifier (RFC 7636).
fn s256(verifier: &str) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let hash = digest::digest(&digest::SHA256, verifier.as_bytes());
    let mut text = String::new();
    for three in hash.as_ref().chunks(3) {
        let byte = |place: usize| u32::from(three.get(place).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..=three.len() {
            let letter = (bits >> (18 - 6 * place)) & 63;
            text.push(char::from(LETTERS[letter as usize]));
        }
    }
    text
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                out.push(char::from(byte));
            }
            _ => out += &format!("%{byte:02X}"),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_are_those_of_the_rfc() {
        // The example of RFC 7636, appendix B.
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        assert_eq!(
            s256(verifier),
            "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        );
    }
}
