//! What the healthy server has: capabilities, tools, a resource and a prompt. Pure functions of the options.

use serde_json::{Map, Value, json};

use super::options::{Capability, Era, Options};
use super::rpc::{LEGACY, MODERN};

/// The resource there is.
pub const RESOURCE: &str = "file:///notes.txt";
/// The prompt there is.
pub const PROMPT: &str = "greet";

/// `result` of `initialize`: the version asked for if we know it, else our newest.
pub(crate) fn initialize(options: &Options, asked: &str) -> Value {
    let version = LEGACY.iter().find(|version| **version == asked);
    json!({
        "protocolVersion": version.unwrap_or(&LEGACY[0]),
        "capabilities": capabilities(options),
        "serverInfo": {"name": "flaky", "version": "1.0"},
        "instructions": "A server that fails on demand.",
    })
}

/// `result` of `server/discover`.
pub(crate) fn discover(options: &Options) -> Value {
    json!({
        "supportedVersions": versions(options),
        "capabilities": capabilities(options),
        "instructions": "A server that fails on demand.",
    })
}

pub(crate) fn versions(options: &Options) -> Vec<&'static str> {
    match options.era {
        Era::Legacy => LEGACY.to_vec(),
        Era::Modern => vec![MODERN],
        Era::Both => [&[MODERN], LEGACY].concat(),
    }
}

fn capabilities(options: &Options) -> Value {
    let named = options.capabilities.iter().map(|capability| {
        let name = match capability {
            Capability::Tools => "tools",
            Capability::Resources => "resources",
            Capability::Prompts => "prompts",
        };
        (name.to_owned(), json!({"listChanged": true}))
    });
    named.collect::<Map<_, _>>().into()
}

pub(crate) fn tools(options: &Options) -> Vec<Value> {
    let number = |name: &str| json!({"type": "object", "properties": {name: {"type": "integer"}}});
    let nothing = || json!({"type": "object", "properties": {}});
    let steps = json!({
        "type": "object",
        "properties": {"steps": {"type": "integer"}, "ms": {"type": "integer"}},
    });
    let mut tools = vec![
        tool("write", "Changes something", nothing(), json!({})),
        tool(
            "read",
            "Looks at something",
            nothing(),
            json!({"readOnlyHint": true}),
        ),
        tool(
            "idem",
            "Changes something to a given state",
            nothing(),
            json!({"idempotentHint": true}),
        ),
        tool("slow", "Takes its time", number("ms"), json!({})),
        tool("fail", "Always fails", nothing(), json!({})),
        tool(
            "env",
            "The environment it runs in",
            nothing(),
            json!({"readOnlyHint": true}),
        ),
        tool(
            "big",
            "As many bytes as you like",
            number("bytes"),
            json!({"readOnlyHint": true}),
        ),
        tool("progress", "Says how far it has come", steps, json!({})),
        tool("ask", "Asks the user for a name", nothing(), json!({})),
        tool("think", "Asks the client's model", nothing(), json!({})),
    ];
    let more = (1..=options.more_tools).map(|number| format!("tool_{number:04}"));
    let extra = options.tools.iter().cloned().chain(more);
    tools.extend(extra.map(|name| tool(&name, "One more", nothing(), json!({}))));
    tools
}

fn tool(name: &str, description: &str, schema: Value, hints: Value) -> Value {
    json!({"name": name, "description": description, "inputSchema": schema, "annotations": hints})
}

pub(crate) fn resources() -> Vec<Value> {
    vec![json!({
        "uri": RESOURCE, "name": "notes", "description": "A few notes", "mimeType": "text/plain",
    })]
}

pub(crate) fn prompts() -> Vec<Value> {
    let argument = json!({"name": "name", "description": "Whom to greet", "required": false});
    vec![json!({"name": PROMPT, "description": "A greeting", "arguments": [argument]})]
}

/// One page of a list.
pub(crate) fn page(
    options: &Options,
    key: &str,
    all: &[Value],
    cursor: Option<&str>,
) -> Option<Value> {
    let size = if options.page == 0 {
        all.len().max(1)
    } else {
        options.page
    };
    let number: usize = match cursor {
        None => 0,
        Some(cursor) => cursor.strip_prefix("page-")?.parse().ok()?,
    };
    let start = number.checked_mul(size)?;
    let items: Vec<_> = all.iter().skip(start).take(size).collect();
    let mut page = json!({key: items});
    if options.endless || start + size < all.len() {
        page["nextCursor"] = format!("page-{}", number + 1).into();
    }
    Some(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(options: &Options, cursor: Option<&str>, items: usize, next: Option<&str>) {
        let page = page(options, "tools", &tools(options), cursor).unwrap();
        assert_eq!(page["tools"].as_array().unwrap().len(), items, "{page}");
        assert_eq!(page["nextCursor"].as_str(), next, "{page}");
    }

    #[test]
    fn lists_come_in_pages() {
        let whole = Options {
            more_tools: 2000,
            tools: vec!["x-y".into()],
            ..Options::default()
        };
        check(&whole, None, 2011, None);
        let pages = Options {
            page: 4,
            ..Options::default()
        };
        check(&pages, None, 4, Some("page-1"));
        check(&pages, Some("page-2"), 2, None);
        let endless = Options {
            endless: true,
            ..pages
        };
        check(&endless, Some("page-70"), 0, Some("page-71"));
        assert!(page(&endless, "tools", &[], Some("nonsense")).is_none());
    }
}
