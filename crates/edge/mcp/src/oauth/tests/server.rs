//! An authorization server in this process. It rotates refresh tokens and counts what it is asked.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::task::AbortOnDropHandle;
use url::form_urlencoded;

/// The server and what happened to it.
#[derive(Clone)]
pub struct Fake {
    base: String,
    world: Arc<Mutex<World>>,
    _running: Arc<AbortOnDropHandle<()>>,
}

#[derive(Default)]
pub struct World {
    /// How many refresh tokens were given out: the newest is the only good one.
    pub generation: u32,
    pub token_requests: Vec<BTreeMap<String, String>>,
    /// The `Authorization` headers of the token requests.
    pub authorizations: Vec<Option<String>>,
    pub registrations: Vec<Value>,
    /// What the token endpoint says instead of giving tokens.
    pub refusal: Option<(u16, Value)>,
    /// Added to what the token endpoint gives.
    pub extra: Value,
    /// Left out of the answer to a refresh.
    pub keeps_refresh_token: bool,
    pub delay: Duration,
    /// Replaces fields of the metadata; null removes one.
    pub metadata: Value,
}

impl Fake {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let world = Arc::new(Mutex::new(World::default()));
        let app = Router::new()
            .fallback(answer)
            .with_state((base.clone(), world.clone()));
        let serving = tokio_util::task::TaskTracker::new().spawn(async move {
            axum::serve(listener, app).await.unwrap();
        });
        Self {
            base,
            world,
            _running: Arc::new(AbortOnDropHandle::new(serving)),
        }
    }

    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    pub fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap()
    }

    pub fn refreshes(&self) -> usize {
        let world = self.world();
        let requests = world.token_requests.iter();
        requests
            .filter(|form| form["grant_type"] == "refresh_token")
            .count()
    }
}

type Shared = (String, Arc<Mutex<World>>);

async fn answer(
    State((base, world)): State<Shared>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: String,
) -> Response {
    match uri.path() {
        "/mcp" => challenge(
            &format!("{base}/.well-known/oauth-protected-resource/mcp"),
            "read write",
        ),
        "/post-only" if method == Method::POST => {
            challenge(&format!("{base}/custom/resource"), "write")
        }
        "/elsewhere" => challenge(&format!("{base}/their/resource"), "write"),
        "/their/resource" => Json(json!({
            "resource": "https://elsewhere.test/mcp",
            "authorization_servers": [base],
        }))
        .into_response(),
        "/custom/resource" => Json(json!({
            "resource": format!("{base}/post-only"),
            "authorization_servers": [base],
        }))
        .into_response(),
        "/.well-known/oauth-protected-resource/mcp" => Json(json!({
            "resource": format!("{base}/mcp"),
            "authorization_servers": [base],
        }))
        .into_response(),
        "/.well-known/oauth-authorization-server" => {
            metadata(&base, &world.lock().unwrap().metadata)
        }
        "/register" => register(&world, &body),
        "/token" => {
            let authorization = headers.get(header::AUTHORIZATION);
            let authorization = authorization.map(|value| value.to_str().unwrap().to_owned());
            world.lock().unwrap().authorizations.push(authorization);
            let delay = world.lock().unwrap().delay;
            tokio::time::sleep(delay).await;
            token(&mut world.lock().unwrap(), &body)
        }
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

fn challenge(place: &str, scope: &str) -> Response {
    let challenge = format!("Bearer resource_metadata=\"{place}\", scope=\"{scope}\"");
    (
        StatusCode::UNAUTHORIZED,
        [(header::WWW_AUTHENTICATE, challenge)],
    )
        .into_response()
}

fn metadata(base: &str, changes: &Value) -> Response {
    let mut document = json!({
        "issuer": base,
        "authorization_endpoint": format!("{base}/authorize"),
        "token_endpoint": format!("{base}/token"),
        "registration_endpoint": format!("{base}/register"),
        "response_types_supported": ["code"],
        "code_challenge_methods_supported": ["S256"],
        "scopes_supported": ["read", "write", "offline_access"],
        "x_vendor": true,
    });
    let fields = document.as_object_mut().unwrap();
    for (name, value) in changes.as_object().into_iter().flatten() {
        fields.insert(name.clone(), value.clone());
    }
    fields.retain(|_, value| !value.is_null());
    Json(document).into_response()
}

fn register(world: &Mutex<World>, body: &str) -> Response {
    let mut document: Value = serde_json::from_str(body).unwrap();
    let registrations = &mut world.lock().unwrap().registrations;
    registrations.push(document.clone());
    document["client_id"] = json!(format!("client-{}", registrations.len()));
    document["client_id_issued_at"] = json!(17);
    (StatusCode::CREATED, Json(document)).into_response()
}

fn token(world: &mut World, body: &str) -> Response {
    let form: BTreeMap<String, String> = form_urlencoded::parse(body.as_bytes())
        .into_owned()
        .collect();
    world.token_requests.push(form.clone());
    if let Some((status, body)) = &world.refusal {
        let status = StatusCode::from_u16(*status).unwrap();
        return (status, Json(body.clone())).into_response();
    }
    let is_good = match form["grant_type"].as_str() {
        "refresh_token" => form["refresh_token"] == format!("refresh-{}", world.generation),
        "authorization_code" => form["code"] == "good" && form["code_verifier"].len() >= 43,
        "client_credentials" => {
            form.contains_key("client_assertion") || form["client_secret"] == "a-long-secret"
        }
        "urn:ietf:params:oauth:grant-type:token-exchange" => {
            form["requested_token_type"] == "urn:ietf:params:oauth:token-type:id-jag"
                && form["subject_token_type"] == "urn:ietf:params:oauth:token-type:id_token"
        }
        "urn:ietf:params:oauth:grant-type:jwt-bearer" => form.contains_key("assertion"),
        _ => false,
    };
    if !is_good {
        return (
            StatusCode::BAD_REQUEST,
            Json(json!({"error": "invalid_grant"})),
        )
            .into_response();
    }
    if !world.keeps_refresh_token {
        world.generation += 1;
    }
    let count = world.token_requests.len();
    let mut answer = json!({
        "access_token": format!("access-{count}"), "token_type": "bearer", "expires_in": 3600,
    });
    if !world.keeps_refresh_token {
        answer["refresh_token"] = json!(format!("refresh-{}", world.generation));
    }
    for (name, value) in world.extra.as_object().into_iter().flatten() {
        answer[name] = value.clone();
    }
    Json(answer).into_response()
}
