//! Amazon Bedrock: Converse for every model, and Anthropic's own payload for Claude.

pub(super) mod claude;
pub(super) mod converse;
mod converse_encode;

use hermes_net::sse::Event;
use reqwest::Url;
use serde_json::{Value, json};

use super::{Fault, join, model_path};
use crate::frames::EXCEPTION;
use crate::route::Route;

/// The address of one way to ask the route's model.
fn url(route: &Route, method: &str) -> Url {
    let method = format!("/{method}");
    join(
        &route.base_url,
        &model_path("model/", &route.model, &method),
    )
}

/// An error in the middle of a stream, as if it had been the answer.
fn exception(event: &Event) -> Option<Fault> {
    let kind = event.name.strip_prefix(EXCEPTION)?;
    let status = match kind {
        "throttlingException" => 429,
        "validationException" => 400,
        "serviceUnavailableException" => 503,
        "modelTimeoutException" => 408,
        _ => 500,
    };
    let said: Value = serde_json::from_str(&event.data).unwrap_or_default();
    let message = said["message"].as_str().unwrap_or(kind);
    Some(Fault::Reported(
        json!({"message": message, "type": kind, "code": status}),
    ))
}
