//! Tool schemas in the shape all servers understand. Works on copies; the tools keep their originals.

use std::collections::HashSet;

use hermes_types::ToolDef;
use serde_json::{Map, Value, json};

use crate::route::{Mode, Route, SchemaFlavour};

/// The tools as the route's server takes them: clean schemas, every name once.
pub(crate) fn for_route(route: &Route, tools: &[ToolDef]) -> Vec<ToolDef> {
    let mut names = HashSet::new();
    let tools = tools.iter().filter(|tool| names.insert(tool.name.as_str()));
    tools
        .map(|tool| {
            let flavour = match route.mode {
                Mode::Gemini => SchemaFlavour::Gemini,
                _ => route.quirks.schema,
            };
            let mut parameters = sanitise(&tool.parameters, flavour);
            if route.concessions.plain_schemas {
                walk(&mut parameters, &|schema| {
                    schema.shift_remove("pattern");
                    schema.shift_remove("format");
                });
            }
            ToolDef {
                name: tool.name.clone(),
                description: tool.description.clone(),
                parameters,
            }
        })
        .collect()
}

/// Makes a schema acceptable: an object on top, one type per node, no unions that only say "or null".
pub fn sanitise(parameters: &Value, flavour: SchemaFlavour) -> Value {
    let mut schema = match parameters {
        Value::Object(_) => parameters.clone(),
        _ => json!({}),
    };
    normalise(&mut schema);
    if let Value::Object(top) = &mut schema {
        for key in ["allOf", "anyOf", "oneOf", "enum", "not"] {
            top.shift_remove(key);
        }
        top.insert("type".to_owned(), "object".into());
        complete_object(top);
    }
    match flavour {
        SchemaFlavour::Common => {}
        SchemaFlavour::Anthropic => walk(&mut schema, &|schema| {
            schema.shift_remove("nullable");
        }),
        SchemaFlavour::Moonshot => walk(&mut schema, &moonshot),
        SchemaFlavour::Gemini => walk(&mut schema, &gemini),
    }
    schema
}

/// Brings one schema node, and all below it, to the common shape.
fn normalise(node: &mut Value) {
    if let Value::String(name) = node {
        *node = bare(name);
    }
    let Value::Object(schema) = node else { return };
    single_type(schema);
    for_children(schema, &mut normalise);
    if let Some(branch) = only_branch(schema) {
        *schema = branch;
    }
    if schema.get("type").is_some_and(|kind| kind == "object") {
        complete_object(schema);
    }
    // Strict servers take nothing beside a reference.
    if schema.contains_key("$ref") {
        schema.shift_remove("default");
    }
}

/// A type's name where a schema should be.
fn bare(name: &str) -> Value {
    match name {
        "string" | "number" | "integer" | "boolean" | "array" | "null" => json!({"type": name}),
        _ => json!({"type": "object", "properties": {}}),
    }
}

/// `[X, "null"]` is X that may be null; several types become a union.
fn single_type(schema: &mut Map<String, Value>) {
    let Some(Value::Array(types)) = schema.get("type") else {
        return;
    };
    let nullable = types.iter().any(|kind| kind == "null");
    let others: Vec<Value> = types
        .iter()
        .filter(|kind| *kind != "null")
        .cloned()
        .collect();
    match others.as_slice() {
        [] => schema["type"] = if nullable { "null" } else { "object" }.into(),
        [one] => schema["type"] = one.clone(),
        several => {
            let union = several.iter().map(|kind| json!({"type": kind})).collect();
            schema.shift_remove("type");
            schema.insert("anyOf".to_owned(), union);
        }
    }
    if nullable && !others.is_empty() {
        schema.insert("nullable".to_owned(), true.into());
    }
}

/// The branch of a union whose others only say "or null", with what the union said about itself.
fn only_branch(schema: &Map<String, Value>) -> Option<Map<String, Value>> {
    let (_, branches) = ["anyOf", "oneOf"]
        .iter()
        .find_map(|key| schema.get_key_value(*key))?;
    let branches = branches.as_array()?;
    let others: Vec<_> = branches
        .iter()
        .filter(|branch| branch["type"] != "null")
        .collect();
    let [Value::Object(one)] = others.as_slice() else {
        return None;
    };
    if others.len() == branches.len() {
        return None;
    }
    let mut one = one.clone();
    one.entry("nullable").or_insert(true.into());
    for key in ["title", "description", "default", "examples"] {
        if let Some(value) = schema.get(key) {
            one.entry(key).or_insert_with(|| value.clone());
        }
    }
    Some(one)
}

/// An object has properties, and requires only those it has.
fn complete_object(schema: &mut Map<String, Value>) {
    if !schema.get("properties").is_some_and(Value::is_object) {
        schema.insert("properties".to_owned(), json!({}));
    }
    let Some(Value::Array(required)) = schema.get("required") else {
        schema.shift_remove("required");
        return;
    };
    let exists = |name: &&Value| {
        name.as_str()
            .is_some_and(|name| !schema["properties"][name].is_null())
    };
    let kept: Vec<Value> = required.iter().filter(exists).cloned().collect();
    if kept.is_empty() {
        schema.shift_remove("required");
    } else {
        schema.insert("required".to_owned(), kept.into());
    }
}

/// Moonshot wants a type on every property and none beside a union.
fn moonshot(schema: &mut Map<String, Value>) {
    schema.shift_remove("nullable");
    if let Some(Value::Array(branches)) = schema.get_mut("anyOf") {
        branches.retain(|branch| branch["type"] != "null");
        schema.shift_remove("type");
        return;
    }
    let untyped = !["type", "$ref", "oneOf", "allOf"]
        .iter()
        .any(|key| schema.contains_key(*key));
    if untyped {
        let guess = match schema.contains_key("properties") {
            true => "object",
            false if schema.contains_key("items") => "array",
            false => "string",
        };
        schema.insert("type".to_owned(), guess.into());
    }
}

/// Gemini refuses every word it doesn't know, and enums of anything but texts.
fn gemini(schema: &mut Map<String, Value>) {
    const KNOWN: [&str; 22] = [
        "type",
        "format",
        "title",
        "description",
        "nullable",
        "enum",
        "maxItems",
        "minItems",
        "properties",
        "required",
        "minProperties",
        "maxProperties",
        "minLength",
        "maxLength",
        "pattern",
        "example",
        "anyOf",
        "propertyOrdering",
        "default",
        "items",
        "minimum",
        "maximum",
    ];
    schema.retain(|key, _| KNOWN.contains(&key.as_str()));
    let is_texts = |list: &Vec<Value>| list.iter().all(Value::is_string);
    if schema
        .get("enum")
        .is_some_and(|list| !list.as_array().is_some_and(is_texts))
    {
        schema.shift_remove("enum");
    }
}

/// Applies `change` to every schema node.
fn walk(node: &mut Value, change: &impl Fn(&mut Map<String, Value>)) {
    if let Value::Object(schema) = node {
        change(schema);
        for_children(schema, &mut |child| walk(child, change));
    }
}

/// Every schema directly below a schema; names of properties, examples and enums are not schemas.
fn for_children(schema: &mut Map<String, Value>, visit: &mut dyn FnMut(&mut Value)) {
    for (key, value) in schema.iter_mut() {
        match (key.as_str(), value) {
            (
                "properties" | "$defs" | "definitions" | "patternProperties",
                Value::Object(named),
            ) => {
                named.values_mut().for_each(&mut *visit);
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(list)) => {
                list.iter_mut().for_each(&mut *visit);
            }
            ("items", Value::Array(list)) => list.iter_mut().for_each(&mut *visit),
            ("items" | "additionalProperties" | "not", child) if !child.is_boolean() => {
                visit(child)
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn check(parameters: Value, expected: Value) {
        assert_eq!(sanitise(&parameters, SchemaFlavour::Common), expected);
    }

    /// The schema of property `x`.
    fn check_property(schema: Value, flavour: SchemaFlavour, expected: Value) {
        let parameters = json!({"type": "object", "properties": {"x": schema}});
        assert_eq!(sanitise(&parameters, flavour)["properties"]["x"], expected);
    }

    #[test]
    fn there_is_an_object_on_top() {
        let empty = json!({"type": "object", "properties": {}});
        for odd in [json!(null), json!("object"), json!([]), json!({})] {
            check(odd, empty.clone());
        }
        check(
            json!({"type": "object", "oneOf": [{"required": ["a"]}], "required": ["a", "b"],
                "properties": {"a": "string"}, "allOf": [], "not": {}}),
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}),
        );
        check(json!({"type": "object", "required": ["gone"]}), empty);
    }

    #[test]
    fn nodes_are_normalised() {
        let check = |schema, expected| check_property(schema, SchemaFlavour::Common, expected);
        check(json!("object"), json!({"type": "object", "properties": {}}));
        check(
            json!({"type": "object"}),
            json!({"type": "object", "properties": {}}),
        );
        check(
            json!({"type": ["string", "null"]}),
            json!({"type": "string", "nullable": true}),
        );
        check(
            json!({"type": ["number", "string"]}),
            json!({"anyOf": [{"type": "number"}, {"type": "string"}]}),
        );
        check(
            json!({"anyOf": [{"type": "string"}, {"type": "null"}], "default": null, "title": "T"}),
            json!({"type": "string", "nullable": true, "title": "T", "default": null}),
        );
        check(
            json!({"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]}),
            json!({"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]}),
        );
        check(
            json!({"anyOf": [{"$ref": "#/$defs/F"}, {"type": "null"}], "default": null}),
            json!({"$ref": "#/$defs/F", "nullable": true}),
        );
        check(
            json!({"type": "string", "enum": ["object", "a"], "examples": ["object"]}),
            json!({"type": "string", "enum": ["object", "a"], "examples": ["object"]}),
        );
        check(
            json!({"type": "array", "items": {"type": ["object", "null"]}}),
            json!({"type": "array",
                "items": {"type": "object", "nullable": true, "properties": {}}}),
        );
    }

    #[test]
    fn flavours() {
        check_property(
            json!({"type": ["string", "null"]}),
            SchemaFlavour::Anthropic,
            json!({"type": "string"}),
        );
        check_property(
            json!({"description": "untyped"}),
            SchemaFlavour::Moonshot,
            json!({"description": "untyped", "type": "string"}),
        );
        check_property(
            json!({"type": "x", "anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]}),
            SchemaFlavour::Moonshot,
            json!({"anyOf": [{"type": "string"}, {"type": "integer"}]}),
        );
        check_property(
            json!({"type": ["integer", "null"], "enum": [1, 2], "const": 1, "$comment": "x",
                "exclusiveMinimum": 0, "maximum": 9}),
            SchemaFlavour::Gemini,
            json!({"type": "integer", "maximum": 9, "nullable": true}),
        );
        check_property(
            json!({"type": "array", "items": {"type": "object", "additionalProperties": false,
                "properties": {"const": {"type": "string", "enum": ["a"]}}}}),
            SchemaFlavour::Gemini,
            json!({"type": "array", "items": {"type": "object",
                "properties": {"const": {"type": "string", "enum": ["a"]}}}}),
        );
    }
}
