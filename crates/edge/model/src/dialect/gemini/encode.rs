//! A conversation as a Gemini request.

use std::collections::HashMap;

use hermes_types::{
    Content, Effort, KnownPart, Message, ModelRequest, Part, Role, ToolCall, ToolDef,
};
use reqwest::Url;
use serde_json::{Map, Value, json};

use crate::dialect::{Wire, arguments, inline, is_only_items, join, model_path, sampling};
use crate::route::Route;
use crate::schema;

/// What the vendor takes in place of a signature it never gave: the call was another model's.
const FOREIGN_CALL: &str = "skip_thought_signature_validator";

pub(crate) fn encode(route: &Route, request: &ModelRequest) -> Wire {
    let mut body = Map::new();
    body.insert(
        "contents".to_owned(),
        contents(&route.model, &request.messages),
    );
    let system = system(request);
    if !system.is_empty() {
        let instruction = json!({"parts": [{"text": system}]});
        body.insert("systemInstruction".to_owned(), instruction);
    }
    if !request.tools.is_empty() {
        let declarations = declarations(route, &request.tools);
        let tools = json!([{"functionDeclarations": declarations}]);
        body.insert("tools".to_owned(), tools);
    }
    let generation = generation(route, request);
    if !generation.is_empty() {
        body.insert("generationConfig".to_owned(), generation.into());
    }
    body.extend(route.quirks.body.clone());
    Wire {
        url: url(route),
        headers: Vec::new(),
        body: body.into(),
    }
}

fn url(route: &Route) -> Url {
    let method = match route.concessions.no_streaming {
        true => ":generateContent",
        false => ":streamGenerateContent",
    };
    let path = model_path("models/", bare(&route.model), method);
    let mut url = join(&route.base_url, &path);
    if !route.concessions.no_streaming {
        url.query_pairs_mut().append_pair("alt", "sse");
    }
    url
}

/// Names are written with and without what stands before them in lists.
fn bare(model: &str) -> &str {
    let name = model.strip_prefix("models/").unwrap_or(model);
    name.strip_prefix("google/").unwrap_or(name)
}

/// The system prompt, and whatever the conversation holds in its role.
fn system(request: &ModelRequest) -> String {
    let within = request.messages.iter();
    let within = within.filter(|message| message.role == Role::System);
    let texts = std::iter::once(request.system.clone()).chain(within.map(plain));
    let texts: Vec<String> = texts.filter(|text| !text.trim().is_empty()).collect();
    texts.join("\n\n")
}

fn contents(model: &str, messages: &[Message]) -> Value {
    let mut contents: Vec<Value> = Vec::new();
    let mut names = HashMap::new();
    for message in messages.iter().filter(|message| !is_only_items(message)) {
        let calls = message.tool_calls.iter();
        names.extend(calls.map(|call| (call.id.as_str(), call.function.name.as_str())));
        let (role, parts) = match message.role {
            Role::User => ("user", parts(message)),
            Role::Tool => ("user", result(message, &names)),
            Role::Assistant => ("model", said(model, message)),
            Role::System | Role::Other(_) => continue,
        };
        // Whoever speaks twice says it in one.
        match contents.last_mut().filter(|last| last["role"] == role) {
            Some(last) => {
                if let Some(said) = last["parts"].as_array_mut() {
                    said.extend(parts);
                }
            }
            None => contents.push(json!({"role": role, "parts": parts})),
        }
    }
    for content in &mut contents {
        if content["parts"].as_array().is_some_and(Vec::is_empty) {
            content["parts"] = json!([{"text": " "}]);
        }
    }
    contents.into()
}

fn said(model: &str, message: &Message) -> Vec<Value> {
    let mut parts = parts(message);
    let has_signature = message
        .tool_calls
        .iter()
        .any(|call| signature(call).is_some());
    let needs_one = bare(model).starts_with("gemini-3") && !has_signature;
    let calls = message.tool_calls.iter().enumerate();
    parts.extend(calls.map(|(index, call)| {
        let mut part =
            json!({"functionCall": {"name": call.function.name, "args": arguments(call)}});
        let foreign = (index == 0 && needs_one).then_some(FOREIGN_CALL);
        if let Some(signature) = signature(call).or(foreign) {
            part["thoughtSignature"] = signature.into();
        }
        part
    }));
    parts
}

/// The same place where Google's chat completions have it, so that histories fit both.
fn signature(call: &ToolCall) -> Option<&str> {
    let google = &call.extra.get("extra_content")?["google"];
    google["thought_signature"].as_str()
}

fn parts(message: &Message) -> Vec<Value> {
    match &message.content {
        Some(Content::Parts(parts)) => parts.iter().filter_map(part).collect(),
        _ => match plain(message) {
            text if text.trim().is_empty() => Vec::new(),
            text => vec![json!({"text": text})],
        },
    }
}

fn part(part: &Part) -> Option<Value> {
    match part {
        Part::Known(KnownPart::Text { text, .. }) => Some(json!({"text": text})),
        Part::Known(KnownPart::ImageUrl { image_url, .. }) => Some(image(&image_url.url)),
        Part::Other(Value::String(text)) => Some(json!({"text": text})),
        Part::Other(_) => None,
    }
}

fn image(url: &str) -> Value {
    match inline(url) {
        Some((kind, data)) => json!({"inlineData": {"mimeType": kind, "data": data}}),
        None => json!({"fileData": {"fileUri": url}}),
    }
}

fn result(message: &Message, names: &HashMap<&str, &str>) -> Vec<Value> {
    let of_call = message.tool_call_id.as_deref();
    let of_call = of_call.and_then(|id| names.get(id).copied());
    let name = of_call.or(message.name.as_deref()).unwrap_or("tool");
    let text = plain(message);
    let response = match serde_json::from_str(&text) {
        Ok(object @ Value::Object(_)) => object,
        _ => json!({"output": text}),
    };
    let images = match &message.content {
        Some(Content::Parts(parts)) => parts.iter().filter_map(part).collect(),
        _ => Vec::new(),
    };
    let images = images.into_iter().filter(|part| part["text"].is_null());
    let result = json!({"functionResponse": {"name": name, "response": response}});
    std::iter::once(result).chain(images).collect()
}

/// A tool without parameters has none, and no empty list of them.
fn declarations(route: &Route, tools: &[ToolDef]) -> Value {
    let tools = schema::for_route(route, tools).into_iter().map(|tool| {
        let mut declared = json!({"name": tool.name, "description": tool.description});
        let properties = tool.parameters["properties"].as_object();
        if properties.is_some_and(|properties| !properties.is_empty()) {
            declared["parameters"] = tool.parameters;
        }
        declared
    });
    tools.collect()
}

fn generation(route: &Route, request: &ModelRequest) -> Map<String, Value> {
    let limit = request.max_output.or(route.max_output);
    let limit = limit.or(route.quirks.output_default);
    let temperature = sampling::temperature(route, request);
    let thinking = thinking(bare(&route.model), request.effort);
    let fields = [
        ("temperature", temperature.map(Value::from)),
        ("maxOutputTokens", limit.map(Value::from)),
        ("thinkingConfig", thinking),
    ];
    let given = fields.into_iter();
    given
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect()
}

/// Only models that think take it, and only some of them are told how hard.
fn thinking(model: &str, effort: Effort) -> Option<Value> {
    let thinks = model.starts_with("gemini")
        && !["gemini-1", "gemini-2.0"]
            .iter()
            .any(|old| model.starts_with(old));
    if !thinks || effort == Effort::Default {
        return None;
    }
    if effort == Effort::None {
        return Some(json!({"includeThoughts": false}));
    }
    let mut config = json!({"includeThoughts": true});
    let is_3 = model.starts_with("gemini-3");
    let level = match effort {
        Effort::High | Effort::XHigh => "high",
        Effort::Medium if model.contains("flash") => "medium",
        _ => "low",
    };
    if is_3 && (model.contains("flash") || model.contains("pro")) {
        config["thinkingLevel"] = level.into();
    }
    Some(config)
}

fn plain(message: &Message) -> String {
    let content = message.content.as_ref();
    content.map(Content::plain).unwrap_or_default()
}
