//! One request: taken down, matched with a step, answered in its own dialect.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use serde_json::{Value, json};

use crate::answer::{Answer, End};
use crate::dialect::{self, Dialect};
use crate::prompt::Prompt;
use crate::script::Reply;
use crate::state::Shared;
use crate::wire;

/// More than any model would take.
const MAX_BODY: usize = 64 << 20;

const JSON: &str = "application/json";

pub(crate) async fn handle(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let path = head.uri.path();
    if path == "/_scripted/requests" {
        return Json(shared.requests()).into_response();
    }
    let Ok(bytes) = to_bytes(body, MAX_BODY).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    let body = match serde_json::from_slice(&bytes) {
        Ok(body) => body,
        Err(_) if bytes.is_empty() => Value::Null,
        Err(_) => String::from_utf8_lossy(&bytes).into(),
    };
    let dialect = dialect::at(path).filter(|_| head.method == Method::POST);
    let number = shared.record(&head, body.clone(), dialect.is_some());
    if let Some(dialect) = dialect {
        let prompt = Prompt {
            key: api_key(&head.headers),
            size: bytes.len(),
            ..dialect.prompt(path, &body)
        };
        return answer(&shared, dialect, &body, &prompt, number).await;
    }
    if let Some(body) = shared
        .script
        .get
        .get(path)
        .filter(|_| head.method == Method::GET)
    {
        return Json(body).into_response();
    }
    if head.method == Method::GET && path.ends_with("/models") {
        return Json(models(&shared.script.models, &head.headers)).into_response();
    }
    if head.method == Method::POST && path == "/api/show" && !shared.script.ollama.is_empty() {
        return shown(&shared.script.ollama, &body);
    }
    let message = format!("nothing here: {} {path}", head.method);
    let body = json!({"error": {"message": message, "type": "invalid_request_error"}});
    (StatusCode::NOT_FOUND, Json(body)).into_response()
}

async fn answer(
    shared: &Shared,
    dialect: &Dialect,
    request: &Value,
    prompt: &Prompt,
    number: usize,
) -> Response {
    let Some(step) = shared.next_step(prompt) else {
        return script_over(shared, dialect, number);
    };
    tokio::time::sleep(step.wire.delay).await;
    let content = match &step.reply {
        Reply::Say(say) => said(&Answer::new(say, prompt, number), dialect, request, prompt),
        Reply::Raw(events) => Content {
            status: StatusCode::OK,
            kind: dialect.stream_type(),
            chunks: events.iter().cloned().map(Bytes::from).collect(),
        },
        Reply::Status { status, body } => plain(*status, body.as_ref(), dialect),
    };
    let mut response = Response::new(wire::body(wire::plan(content.chunks, &step.wire)));
    *response.status_mut() = content.status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content.kind));
    let request_id = HeaderName::from_static(dialect.request_id);
    headers.insert(request_id, HeaderValue::from(number));
    if content.status.is_client_error() || content.status.is_server_error() {
        headers.extend(error_kind(dialect, content.status));
    }
    // The script's come last: they replace ours.
    headers.extend(step.headers.clone());
    response
}

/// A response before anything happens to it on its way.
struct Content {
    status: StatusCode,
    kind: &'static str,
    chunks: Vec<Bytes>,
}

fn said(answer: &Answer, dialect: &Dialect, request: &Value, prompt: &Prompt) -> Content {
    let whole = |status, body: Value| Content {
        status,
        kind: JSON,
        chunks: vec![body.to_string().into()],
    };
    match &answer.end {
        _ if prompt.stream => {
            let events = (dialect.encode)(answer, request);
            Content {
                status: StatusCode::OK,
                kind: dialect.stream_type(),
                chunks: events
                    .iter()
                    .map(|event| event.bytes(dialect.framing))
                    .collect(),
            }
        }
        End::Finish(_) => whole(StatusCode::OK, (dialect.encode_whole)(answer)),
        // What would have broken a stream off is all there is to say without one.
        End::Error(message) => {
            let status = StatusCode::INTERNAL_SERVER_ERROR;
            whole(status, (dialect.error)(status.as_u16(), message))
        }
    }
}

fn plain(status: StatusCode, body: Option<&Value>, dialect: &Dialect) -> Content {
    let (kind, text) = match body {
        Some(Value::String(text)) if text.trim_start().starts_with('<') => {
            ("text/html; charset=utf-8", text.clone())
        }
        Some(Value::String(text)) => ("text/plain; charset=utf-8", text.clone()),
        Some(value) => (JSON, value.to_string()),
        None => {
            let message = status.canonical_reason().unwrap_or("scripted error");
            (JSON, (dialect.error)(status.as_u16(), message).to_string())
        }
    };
    let chunks = vec![text.into()];
    Content {
        status,
        kind,
        chunks,
    }
}

fn script_over(shared: &Shared, dialect: &Dialect, number: usize) -> Response {
    let message = format!(
        "the script is over: none of its {} steps is left for request {number}",
        shared.script.steps.len(),
    );
    let body = Json((dialect.error)(500, &message));
    // A client that retried would only wait for the same answer.
    let headers = [("x-should-retry", "false")];
    let status = StatusCode::INTERNAL_SERVER_ERROR;
    let mut response = (status, headers, body).into_response();
    response.headers_mut().extend(error_kind(dialect, status));
    response
}

fn error_kind(dialect: &Dialect, status: StatusCode) -> Option<(HeaderName, HeaderValue)> {
    let kind = dialect.error_kind?(status.as_u16());
    let name = HeaderName::from_static("x-amzn-errortype");
    Some((name, HeaderValue::from_static(kind)))
}

/// Several vendors have this path; theirs is the header that tells them apart.
fn models(models: &[Value], headers: &HeaderMap) -> Value {
    if headers.contains_key("anthropic-version") {
        dialect::anthropic_models(models)
    } else if headers.contains_key("x-goog-api-key") {
        dialect::gemini_models(models)
    } else {
        dialect::openai_models(models)
    }
}

/// Ollama's own account of a model.
fn shown(known: &BTreeMap<String, Value>, request: &Value) -> Response {
    let name = request["model"].as_str().or(request["name"].as_str());
    let name = name.unwrap_or_default();
    match known.get(name) {
        Some(shown) => Json(shown).into_response(),
        None => {
            let body = json!({"error": format!("model '{name}' not found")});
            (StatusCode::NOT_FOUND, Json(body)).into_response()
        }
    }
}

fn api_key(headers: &HeaderMap) -> String {
    let text = |name| {
        headers
            .get(name)
            .and_then(|value: &HeaderValue| value.to_str().ok())
    };
    let authorization = text("authorization").unwrap_or_default();
    let bearer = authorization.strip_prefix("Bearer ");
    // Of a signed request, who signed it.
    let signed = authorization.split_once("Credential=");
    let signer = signed.and_then(|(_, rest)| rest.split('/').next());
    let own = text("x-api-key").or(text("x-goog-api-key"));
    own.or(bearer).or(signer).unwrap_or_default().to_owned()
}
