//! A server of one's own: where it is, what it speaks, what it has; saved under `providers`.

use serde_json::{Map, Value, json};

use super::market::{Endpoint, Market, host};
use super::{Pen, Result, ask, keys, model, own};
use crate::pick::{Desk, Item, Line, List};

const MODES: [(&str, &str); 4] = [
    ("", "told from the address; right for most"),
    (
        "chat_completions",
        "OpenAI's older API, which nearly everybody speaks",
    ),
    ("codex_responses", "OpenAI's Responses API"),
    ("anthropic_messages", "Anthropic's Messages API"),
];

/// Asks for everything, and saves it in the end; `None` if it was left before.
pub(super) fn add(
    desk: &Desk,
    pen: &mut Pen<'_>,
    market: &dyn Market,
) -> Result<Option<(String, String)>> {
    let Some(endpoint) = reached(desk)? else {
        return Ok(None);
    };
    desk.say(&format!(
        "Asking {} for its models …",
        host(&endpoint.address)
    ))?;
    let offered = market.probe(&endpoint);
    let whose = host(&endpoint.address).to_owned();
    let first = match offered.models.as_slice() {
        [only] => only.name.clone(),
        _ => String::new(),
    };
    let Some(model) = model::pick(desk, &whose, &offered, &first)? else {
        return Ok(None);
    };
    let listed = offered.models.iter().find(|listed| listed.name == model);
    let window = listed
        .map(|listed| listed.cells[0].clone())
        .unwrap_or_default();
    let Some(context) = context(desk, &window)? else {
        return Ok(None);
    };
    let line = Line::new("A name for it")
        .note("What it is called in `hermes model` from now on.")
        .default(own::name_of(&whose));
    let Some(name) = ask(desk, line)? else {
        return Ok(None);
    };
    let id = save(pen, &endpoint, &name, &model, context.parse().ok())?;
    Ok(Some((id, model)))
}

fn reached(desk: &Desk) -> Result<Option<Endpoint>> {
    let line = Line::new("Address of the server")
        .note("Such as http://127.0.0.1:11434/v1; the part before /chat/completions.")
        .check(is_address);
    let Some(address) = ask(desk, line)? else {
        return Ok(None);
    };
    let line = Line::new(format!("API key for {}", host(&address)))
        .note("Enter alone: it wants none. Kept in .env; not shown while you type.")
        .masked()
        .optional()
        .check(keys::is_key);
    let Some(key) = ask(desk, line)? else {
        return Ok(None);
    };
    let items = MODES.map(|(mode, about)| {
        let label = if mode.is_empty() { "automatic" } else { mode };
        Item::new(mode, label)
            .about(about)
            .current_if(mode.is_empty())
    });
    let list = List::radio("Which API does it speak?", items.to_vec());
    let mode = ask(desk, list)?;
    Ok(mode.map(|mode| Endpoint {
        address: address.trim_end_matches('/').to_owned(),
        key,
        mode: mode.to_owned(),
    }))
}

/// Whether a text can be a server's address.
pub(super) fn is_address(text: &str) -> std::result::Result<(), String> {
    let is_web = text.starts_with("http://") || text.starts_with("https://");
    match is_web && !host(text).is_empty() && !text.contains(char::is_whitespace) {
        true => Ok(()),
        false => Err("an address begins with http:// or https://".to_owned()),
    }
}

/// How many tokens the model takes; empty: as it says itself.
fn context(desk: &Desk, window: &str) -> Result<Option<String>> {
    let says = match window.is_empty() {
        true => "The server does not say; Enter alone: guessed from the model's name.".to_owned(),
        false => format!("The server says {window}; Enter alone keeps to that."),
    };
    let line = Line::new("How many tokens does the model take?")
        .note(says)
        .optional()
        .check(|text| match text.parse::<u64>() {
            Ok(tokens) if tokens >= 1_024 => Ok(()),
            _ => Err("a whole number of tokens, such as 131072".to_owned()),
        });
    ask(desk, line)
}

fn save(
    pen: &mut Pen<'_>,
    endpoint: &Endpoint,
    name: &str,
    model: &str,
    context: Option<u64>,
) -> Result<String> {
    let slug = own::free_slug(&pen.settings(), name, &endpoint.address);
    let mut entry = Map::new();
    entry.insert("name".to_owned(), json!(name));
    entry.insert("api".to_owned(), json!(endpoint.address));
    if !endpoint.key.is_empty() {
        let variable = format!("CUSTOM_{}_API_KEY", slug.to_uppercase().replace('-', "_"));
        pen.keep_secret(&variable, &endpoint.key)?;
        entry.insert("key_env".to_owned(), json!(variable));
    }
    if !endpoint.mode.is_empty() {
        entry.insert("transport".to_owned(), json!(endpoint.mode));
    }
    entry.insert("default_model".to_owned(), json!(model));
    if let Some(tokens) = context {
        let known = pen.settings();
        let known = known.get(&format!("providers.{slug}.models"));
        let mut models = known
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default();
        models.insert(model.to_owned(), json!({"context_length": tokens}));
        entry.insert("models".to_owned(), Value::Object(models));
        // It would count before what was just answered.
        pen.unset("model.context_length")?;
    }
    put(pen, &format!("providers.{slug}"), entry)?;
    Ok(format!("custom:{slug}"))
}

/// A new entry at once. One that is there keeps what was not asked about.
fn put(pen: &mut Pen<'_>, key: &str, entry: Map<String, Value>) -> Result<()> {
    let before = pen.settings().get(key).cloned();
    let Some(Value::Object(before)) = before else {
        return pen.set(key, &Value::Object(entry));
    };
    let inline = entry.contains_key("key_env").then_some("api_key");
    for field in ["base_url", "url"].into_iter().chain(inline) {
        // Another spelling of what was just answered.
        pen.unset(&format!("{key}.{field}"))?;
    }
    for (field, value) in &entry {
        if before.get(field) != Some(value) {
            pen.set(&format!("{key}.{field}"), value)?;
        }
    }
    Ok(())
}
