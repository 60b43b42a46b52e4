//! A conversation as an Anthropic request.

use hermes_types::{Message, ModelRequest, Role, ToolDef};
use serde_json::{Map, Value, json};

use super::thinking;
use super::turns::{Turn, turns};
use crate::dialect::cache::{MAX_MARKERS, marker};
use crate::dialect::{Wire, join, sampling};
use crate::limits;
use crate::route::{CacheLayout, Route};
use crate::schema;

const VERSION: &str = "2023-06-01";

pub(crate) fn encode(route: &Route, request: &ModelRequest) -> Wire {
    let mut system = system(request);
    let mut tools = tools(route, &request.tools);
    let mut turns = turns(route, &request.messages);
    if route.quirks.cache != CacheLayout::Automatic {
        mark(
            &mut system,
            &mut tools,
            &mut turns,
            &marker(route.quirks.cache_ttl),
        );
    }
    let thinking = thinking::fields(&route.model, request.effort);
    let mut body = Map::new();
    body.insert("model".to_owned(), route.model.clone().into());
    body.insert(
        "max_tokens".to_owned(),
        output_limit(route, request, &thinking).into(),
    );
    if !system.is_empty() {
        body.insert("system".to_owned(), system.into());
    }
    body.insert(
        "messages".to_owned(),
        turns.into_iter().map(Turn::json).collect(),
    );
    if !tools.is_empty() {
        body.insert("tools".to_owned(), tools.into());
    }
    if !route.concessions.no_streaming {
        body.insert("stream".to_owned(), true.into());
    }
    // Beside thinking, no other temperature than its own is taken.
    if let Some(temperature) = sampling::temperature(route, request)
        && thinking.fields.is_empty()
    {
        body.insert("temperature".to_owned(), temperature.into());
    }
    body.extend(thinking.fields);
    body.extend(route.quirks.body.clone());
    Wire {
        url: url(route),
        headers: headers(route),
        body: body.into(),
    }
}

/// Base URLs are written with and without the version; the path has it once.
fn url(route: &Route) -> reqwest::Url {
    let path = route.base_url.path().trim_end_matches('/');
    if path.ends_with("/v1") {
        join(&route.base_url, "messages")
    } else {
        join(&route.base_url, "v1/messages")
    }
}

fn headers(route: &Route) -> Vec<(String, String)> {
    let quirks = &route.quirks;
    let mut headers = vec![("anthropic-version".to_owned(), VERSION.to_owned())];
    if !quirks.betas.is_empty() && !route.concessions.no_betas {
        headers.push(("anthropic-beta".to_owned(), quirks.betas.join(",")));
    }
    headers
}

/// The system prompt, and whatever the conversation holds in its role.
fn system(request: &ModelRequest) -> Vec<Value> {
    let within = request
        .messages
        .iter()
        .filter(|message| message.role == Role::System);
    let within = within.filter_map(|message: &Message| message.content.as_ref());
    let texts =
        std::iter::once(request.system.clone()).chain(within.map(|content| content.plain()));
    let texts = texts.filter(|text| !text.trim().is_empty());
    texts
        .map(|text| json!({"type": "text", "text": text}))
        .collect()
}

fn tools(route: &Route, tools: &[ToolDef]) -> Vec<Value> {
    let tools = schema::for_route(route, tools).into_iter().map(|tool| {
        json!({"name": tool.name, "description": tool.description, "input_schema": tool.parameters})
    });
    tools.collect()
}

/// Required here; bounded by what the model can write and by its window.
fn output_limit(route: &Route, request: &ModelRequest, thinking: &thinking::Thinking) -> u64 {
    let asked = request.max_output.or(route.max_output);
    let limit = asked.unwrap_or_else(|| limits::output(&route.model));
    let window = route.context.tokens.saturating_sub(1).max(1);
    limit.max(thinking.least_output).clamp(1, window)
}

/// Tool schemas are the largest part of a prompt, so they get one of the markers.
fn mark(system: &mut [Value], tools: &mut [Value], turns: &mut [Turn], marker: &Value) {
    let mut left = MAX_MARKERS;
    for head in [system.last_mut(), tools.last_mut()].into_iter().flatten() {
        head["cache_control"] = marker.clone();
        left -= 1;
    }
    let mut blocks = turns.iter_mut().rev().filter_map(Turn::last_markable);
    for block in blocks.by_ref().take(left) {
        block["cache_control"] = marker.clone();
    }
}
