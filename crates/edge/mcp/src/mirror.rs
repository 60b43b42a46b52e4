//! Headers that repeat parts of a request, so that a load balancer need not read bodies. Pure.
//!
//! The modern protocol wants the subject of a request in `Mcp-Name`, and arguments that a tool's schema marks with
//! `x-mcp-header` in `Mcp-Param-…`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use crate::content::Tool;
use crate::operation::Operation;

const MARK: &str = "x-mcp-header";

/// The headers of an operation; `tool` is the one that is called, if it is known.
pub(crate) fn headers(operation: &Operation, tool: Option<&Tool>) -> Vec<(String, String)> {
    let mut headers = Vec::new();
    if let Some(subject) = operation.subject() {
        headers.push(("Mcp-Name".to_owned(), encode(subject)));
    }
    if let (Operation::CallTool { arguments, .. }, Some(tool)) = (operation, tool) {
        for marked in marked(&tool.input_schema) {
            if let Some(value) = value_at(arguments, &marked.path).and_then(plain) {
                headers.push((format!("Mcp-Param-{}", marked.header), encode(&value)));
            }
        }
    }
    headers
}

/// Why the marks of a tool cannot be followed, so that it must not be offered.
pub(crate) fn fault(tool: &Tool) -> Option<String> {
    let marked = marked(&tool.input_schema);
    let mut seen: Vec<String> = Vec::new();
    for property in &marked {
        let name = property.header.to_ascii_lowercase();
        let is_token = !name.is_empty() && name.chars().all(is_token_char);
        let has_simple_type = matches!(property.kind, Some("string" | "integer" | "boolean"));
        if !is_token || !has_simple_type || seen.contains(&name) {
            return Some(format!(
                "{MARK} of {} cannot be a header",
                property.path.join(".")
            ));
        }
        seen.push(name);
    }
    let everywhere = count(&tool.input_schema);
    (everywhere > marked.len()).then(|| format!("{MARK} stands where no argument is"))
}

struct Marked<'a> {
    path: Vec<&'a str>,
    header: &'a str,
    kind: Option<&'a str>,
}

fn marked(schema: &Value) -> Vec<Marked<'_>> {
    let mut found = Vec::new();
    collect(schema, &mut Vec::new(), &mut found);
    found
}

fn collect<'a>(schema: &'a Value, path: &mut Vec<&'a str>, found: &mut Vec<Marked<'a>>) {
    let Some(Value::Object(properties)) = schema.get("properties") else {
        return;
    };
    for (name, property) in properties {
        path.push(name);
        if let Some(header) = property.get(MARK) {
            found.push(Marked {
                path: path.clone(),
                header: header.as_str().unwrap_or_default(),
                kind: property.get("type").and_then(Value::as_str),
            });
        }
        collect(property, path, found);
        path.pop();
    }
}

/// All marks, wherever a schema can stand.
fn count(schema: &Value) -> usize {
    match schema {
        Value::Array(list) => list.iter().map(count).sum(),
        Value::Object(fields) => {
            let own = usize::from(fields.contains_key(MARK));
            let below = fields.iter().filter(|(name, _)| !is_data(name));
            own + below
                .map(|(name, value)| count_below(name, value))
                .sum::<usize>()
        }
        _ => 0,
    }
}

/// Below a map of schemas the keys are names, not keywords.
fn count_below(name: &str, value: &Value) -> usize {
    match (name, value) {
        (
            "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas",
            Value::Object(map),
        ) => map.values().map(count).sum(),
        _ => count(value),
    }
}

fn is_data(keyword: &str) -> bool {
    matches!(keyword, "default" | "const" | "enum" | "examples" | MARK)
}

fn value_at<'a>(arguments: &'a Map<String, Value>, path: &[&str]) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    rest.iter()
        .try_fold(arguments.get(*first)?, |value, name| value.get(name))
}

fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        _ => None,
    }
}

/// As it is where a header can carry it, otherwise in base64 between marks.
fn encode(value: &str) -> String {
    let is_safe = value.bytes().all(|byte| (0x20..0x7f).contains(&byte))
        && value.trim_matches([' ', '\t']) == value
        && !(value.starts_with("=?base64?") && value.ends_with("?="));
    if is_safe {
        value.to_owned()
    } else {
        format!("=?base64?{}?=", STANDARD.encode(value))
    }
}

fn is_token_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    fn tool(schema: Value) -> Tool {
        Tool::read(json!({"name": "t", "inputSchema": schema})).unwrap()
    }

    #[test]
    fn marked_arguments_become_headers() {
        let tool = tool(json!({"properties": {
            "region": {"type": "string", MARK: "Region"},
            "deep": {"properties": {"n": {"type": "integer", MARK: "N"}}},
            "absent": {"type": "string", MARK: "Absent"},
        }}));
        assert_eq!(fault(&tool), None);
        let arguments = json!({"region": "süd", "deep": {"n": 7}, "other": 1});
        let operation = Operation::CallTool {
            name: "t".to_owned(),
            arguments: arguments.as_object().unwrap().clone(),
        };
        let text = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            headers(&operation, Some(&tool)),
            [
                text("Mcp-Name", "t"),
                text("Mcp-Param-Region", "=?base64?c8O8ZA==?="),
                text("Mcp-Param-N", "7")
            ]
        );
        assert_eq!(headers(&Operation::ListPrompts, None), []);
    }

    #[test]
    fn marks_nobody_can_follow_are_found() {
        let bad = [
            json!({"properties": {"a": {"type": "number", MARK: "A"}}}),
            json!({"properties": {"a": {"type": "string", MARK: "A b"}}}),
            json!({"properties": {"a": {"type": "string", MARK: ""}}}),
            json!({"properties": {"a": {"type": "string", MARK: "X"}, "b": {"type": "string", MARK: "x"}}}),
            json!({"properties": {"a": {"items": {"type": "string", MARK: "A"}}}}),
            json!({"anyOf": [{"properties": {"a": {"type": "string", MARK: "A"}}}]}),
            json!({MARK: "A"}),
        ];
        for schema in bad {
            assert!(fault(&tool(schema.clone())).is_some(), "{schema}");
        }
        let data = json!({"properties": {"a": {"type": "object", "default": {MARK: "A"}}}});
        assert_eq!(fault(&tool(data)), None);
    }

    #[test]
    fn what_a_header_cannot_carry_is_wrapped() {
        for plain in ["", "a b", "=?base64?"] {
            assert_eq!(encode(plain), plain);
        }
        for wrapped in [" a", "a\t", "a\r\nb", "é", "=?base64?x?="] {
            assert!(encode(wrapped).starts_with("=?base64?"), "{wrapped:?}");
        }
    }
}
