//! A conversation as a Converse request. Its turns are Anthropic's, spelled differently.

use hermes_types::{Message, ModelRequest, Role, ToolDef};
use serde_json::{Map, Value, json};

use super::url;
use crate::dialect::anthropic::{Turn, turns};
use crate::dialect::{Wire, is_only_items, sampling};
use crate::route::Route;
use crate::schema;

/// The reply's limit if nobody set one: the smallest ceiling among Amazon's models.
const OUTPUT: u64 = 4096;
/// Models that refuse any request with tools.
const TOOLLESS: [&str; 5] = [
    "deepseek.r1",
    "deepseek-r1",
    "stability.",
    "cohere.embed",
    "titan-embed",
];

pub(crate) fn encode(route: &Route, request: &ModelRequest) -> Wire {
    let takes_tools = !TOOLLESS.iter().any(|name| route.model.contains(name));
    let tools = match takes_tools {
        true => tools(route, &request.tools),
        false => Vec::new(),
    };
    let mut body = Map::new();
    let mut put = |name: &str, value: Value| body.insert(name.to_owned(), value);
    put("messages", messages(route, request, !tools.is_empty()));
    let system = system(request);
    if !system.is_empty() {
        put("system", system.into());
    }
    put("inferenceConfig", inference(route, request));
    if !tools.is_empty() {
        put("toolConfig", json!({"tools": tools}));
    }
    body.extend(route.quirks.body.clone());
    let method = match route.concessions.no_streaming {
        true => "converse",
        false => "converse-stream",
    };
    if route.concessions.no_streaming
        && let Some(Value::Object(guardrail)) = body.get_mut("guardrailConfig")
    {
        guardrail.shift_remove("streamProcessingMode");
    }
    Wire {
        url: url(route, method),
        headers: Vec::new(),
        body: body.into(),
    }
}

fn inference(route: &Route, request: &ModelRequest) -> Value {
    let limit = request.max_output.or(route.max_output);
    let limit = limit.or(route.quirks.output_default).unwrap_or(OUTPUT);
    let mut config = json!({"maxTokens": limit});
    if let Some(temperature) = sampling::temperature(route, request) {
        config["temperature"] = temperature.into();
    }
    config
}

fn system(request: &ModelRequest) -> Vec<Value> {
    let within = request.messages.iter();
    let within = within.filter(|message| message.role == Role::System);
    let within = within.filter_map(|message| Some(message.content.as_ref()?.plain()));
    let texts = std::iter::once(request.system.clone()).chain(within);
    let texts = texts.filter(|text| !text.trim().is_empty());
    texts.map(|text| json!({"text": text})).collect()
}

fn tools(route: &Route, tools: &[ToolDef]) -> Vec<Value> {
    let tools = schema::for_route(route, tools).into_iter().map(|tool| {
        // An empty description is refused.
        let description = match tool.description.is_empty() {
            true => &tool.name,
            false => &tool.description,
        };
        json!({"toolSpec": {"name": tool.name, "description": description,
            "inputSchema": {"json": tool.parameters}}})
    });
    tools.collect()
}

/// The conversation begins and ends with the user.
fn messages(route: &Route, request: &ModelRequest, has_tools: bool) -> Value {
    let said = request.messages.iter();
    let said: Vec<Message> = said.filter(|m| !is_only_items(m)).cloned().collect();
    let mut messages: Vec<Value> = turns(route, &said)
        .into_iter()
        .map(Turn::json)
        .map(|turn| message(turn, has_tools))
        .collect();
    let blank = || json!({"role": "user", "content": [{"text": " "}]});
    let is_user = |message: Option<&Value>| message.is_some_and(|m| m["role"] == "user");
    if !is_user(messages.first()) {
        messages.insert(0, blank());
    }
    if !is_user(messages.last()) {
        messages.push(blank());
    }
    messages.into()
}

fn message(turn: Value, has_tools: bool) -> Value {
    let blocks = turn["content"].as_array().into_iter().flatten();
    let blocks: Vec<Value> = blocks
        .filter_map(|block| content(block, has_tools))
        .collect();
    json!({"role": turn["role"], "content": blocks})
}

/// A block of a turn. Without tools on offer, calls and results may only be told about.
fn content(block: &Value, has_tools: bool) -> Option<Value> {
    Some(match block["type"].as_str()? {
        "text" => json!({"text": block["text"]}),
        "image" => image(&block["source"]),
        "tool_use" if has_tools => json!({"toolUse": {
            "toolUseId": block["id"], "name": block["name"], "input": block["input"]}}),
        "tool_use" => {
            let name = block["name"].as_str().unwrap_or_default();
            json!({"text": format!("[Called {name} with {}]", block["input"])})
        }
        "tool_result" if has_tools => json!({"toolResult": {
            "toolUseId": block["tool_use_id"], "content": result(&block["content"])}}),
        "tool_result" => {
            let parts = result(&block["content"]);
            let texts = parts.iter().filter_map(|part| part["text"].as_str());
            let text = texts.collect::<Vec<_>>().join("\n");
            json!({"text": format!("[Result: {text}]")})
        }
        _ => return None,
    })
}

fn result(content: &Value) -> Vec<Value> {
    match content {
        Value::Array(blocks) => blocks
            .iter()
            .filter_map(|block| self::content(block, true))
            .collect(),
        text => vec![json!({"text": text})],
    }
}

fn image(source: &Value) -> Value {
    let format = source["media_type"].as_str();
    let format = format.and_then(|kind| kind.strip_prefix("image/"));
    match (format, &source["data"]) {
        (Some(format), data @ Value::String(_)) => {
            let format = if format == "jpg" { "jpeg" } else { format };
            json!({"image": {"format": format, "source": {"bytes": data}}})
        }
        // It fetches nothing by itself.
        _ => {
            let url = source["url"].as_str().unwrap_or_default();
            json!({"text": format!("[image: {url}]")})
        }
    }
}
