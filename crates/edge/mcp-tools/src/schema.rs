//! A server's input schema in the shape strict providers take. Pure; nothing is ever fetched.
//!
//! What depends on the route (unions of types, what may stand on top) is done before each request, by `model`.

use serde_json::{Map, Value, json};

/// Keywords whose values are maps of names to schemas: the names are the user's.
const NAMED: &[&str] = &[
    "properties",
    "patternProperties",
    "$defs",
    "dependentSchemas",
];

/// Brings a schema to the common shape: one name for definitions, no unions that only say "or null", objects
/// that say they are objects.
pub fn normalise(schema: &Value) -> Value {
    match schema {
        Value::Object(map) if !map.is_empty() => {
            let mut schema = schema.clone();
            node(&mut schema);
            schema
        }
        _ => json!({"type": "object", "properties": {}}),
    }
}

fn node(value: &mut Value) {
    let Value::Object(schema) = value else { return };
    rename_definitions(schema);
    local_reference(schema);
    for_children(schema, &mut node);
    if let Some(branch) = only_branch(schema) {
        *schema = branch;
    }
    complete_object(schema);
}

/// `definitions` is what `$defs` was called.
fn rename_definitions(schema: &mut Map<String, Value>) {
    let Some(old) = schema.shift_remove("definitions") else {
        return;
    };
    match (schema.get_mut("$defs"), old) {
        (Some(Value::Object(defs)), Value::Object(old)) => {
            for (name, value) in old {
                defs.entry(name).or_insert(value);
            }
        }
        (_, old) => drop(schema.insert("$defs".to_owned(), old)),
    }
}

/// A reference within the schema follows the renaming; one to elsewhere is dropped, never followed.
fn local_reference(schema: &mut Map<String, Value>) {
    let Some(Value::String(target)) = schema.get("$ref") else {
        return;
    };
    match target.strip_prefix('#') {
        Some(pointer) => {
            let target = format!("#{}", renamed(pointer));
            schema.insert("$ref".to_owned(), target.into());
        }
        None => drop(schema.shift_remove("$ref")),
    }
}

fn renamed(pointer: &str) -> String {
    let mut is_name = false;
    let steps = pointer.split('/').map(|step| {
        let was_name = std::mem::take(&mut is_name);
        if was_name {
            return step;
        }
        is_name = step == "definitions" || NAMED.contains(&step);
        if step == "definitions" { "$defs" } else { step }
    });
    steps.collect::<Vec<_>>().join("/")
}

/// The branch of a union whose others only say "or null", with what the union said about itself.
fn only_branch(schema: &Map<String, Value>) -> Option<Map<String, Value>> {
    let key = ["anyOf", "oneOf"]
        .into_iter()
        .find(|key| schema.contains_key(*key))?;
    let branches = schema[key].as_array()?;
    let is_null = |branch: &&Value| {
        branch["type"] == "null" || branch["const"].is_null() && branch.get("const").is_some()
    };
    let (nulls, others): (Vec<&Value>, Vec<&Value>) = branches.iter().partition(is_null);
    let [Value::Object(one)] = others.as_slice() else {
        return None;
    };
    if nulls.is_empty() {
        return None;
    }
    let mut one = one.clone();
    one.insert("nullable".to_owned(), true.into());
    for key in ["title", "description", "default", "examples"] {
        let beside_reference = key == "default" && one.contains_key("$ref");
        if let Some(value) = schema.get(key).filter(|_| !beside_reference) {
            one.insert(key.to_owned(), value.clone());
        }
    }
    if let Some(defs) = schema.get("$defs") {
        one.entry("$defs").or_insert_with(|| defs.clone());
    }
    Some(one)
}

/// What has properties is an object; an object has properties, and requires only those it has.
fn complete_object(schema: &mut Map<String, Value>) {
    let looks_like_one = schema.contains_key("properties") || schema.contains_key("required");
    if !schema.contains_key("type") && looks_like_one {
        schema.insert("type".to_owned(), "object".into());
    }
    if schema.get("type").is_none_or(|kind| kind != "object") {
        return;
    }
    if !schema.get("properties").is_some_and(Value::is_object) {
        schema.insert("properties".to_owned(), json!({}));
    }
    let Some(required) = schema.shift_remove("required") else {
        return;
    };
    let exists = |name: &&Value| {
        let name = name.as_str();
        name.is_some_and(|name| schema["properties"].get(name).is_some())
    };
    let names = required.as_array().into_iter().flatten();
    let kept: Vec<Value> = names.filter(exists).cloned().collect();
    if !kept.is_empty() {
        schema.insert("required".to_owned(), kept.into());
    }
}

/// Every schema directly below a schema; names, examples and enums are not schemas.
fn for_children(schema: &mut Map<String, Value>, visit: &mut dyn FnMut(&mut Value)) {
    for (key, value) in schema.iter_mut() {
        match (key.as_str(), value) {
            (key, Value::Object(named)) if NAMED.contains(&key) => {
                named.values_mut().for_each(&mut *visit);
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems" | "items", Value::Array(list)) => {
                list.iter_mut().for_each(&mut *visit);
            }
            (
                "items"
                | "additionalProperties"
                | "additionalItems"
                | "not"
                | "if"
                | "then"
                | "else"
                | "contains"
                | "propertyNames"
                | "unevaluatedProperties"
                | "unevaluatedItems",
                child,
            ) => visit(child),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn check(schema: Value, expected: Value) {
        assert_eq!(normalise(&schema), expected);
        assert_eq!(
            normalise(&expected),
            expected,
            "a second pass changes nothing"
        );
    }

    /// The schema of property `x`.
    fn check_property(schema: Value, expected: Value) {
        let around = |schema: Value| json!({"type": "object", "properties": {"x": schema}});
        check(around(schema), around(expected));
    }

    #[test]
    fn a_missing_schema_takes_nothing() {
        for odd in [json!(null), json!({}), json!([]), json!(""), json!(false)] {
            check(odd, json!({"type": "object", "properties": {}}));
        }
    }

    #[test]
    fn definitions_are_renamed_where_they_are_a_keyword() {
        check(
            json!({"type": "object", "definitions": {"definitions": {"type": "string"}},
                "properties": {"definitions": {"$ref": "#/definitions/definitions"}}}),
            json!({"type": "object",
                "properties": {"definitions": {"$ref": "#/$defs/definitions"}},
                "$defs": {"definitions": {"type": "string"}}}),
        );
        check(
            json!({"type": "object", "properties": {}, "patternProperties": {"definitions": {"type": "string"}},
                "$defs": {"a": {"type": "string"}}, "definitions": {"a": {"type": "null"}, "b": {"type": "number"}}}),
            json!({"type": "object", "properties": {}, "patternProperties": {"definitions": {"type": "string"}},
                "$defs": {"a": {"type": "string"}, "b": {"type": "number"}}}),
        );
        check_property(
            json!({"$ref": "#/properties/definitions/definitions/A"}),
            json!({"$ref": "#/properties/definitions/$defs/A"}),
        );
    }

    #[test]
    fn references_to_elsewhere_are_never_followed() {
        for target in [
            "https://evil.example/s.json",
            "file:///etc/passwd",
            "other.json#/a",
        ] {
            check_property(
                json!({"$ref": target, "description": "d"}),
                json!({"description": "d"}),
            );
        }
    }

    #[test]
    fn unions_with_null_are_nullable() {
        check_property(
            json!({"anyOf": [{"type": "string"}, {"type": "null"}], "default": null, "title": "T",
                "description": "d", "examples": ["e"]}),
            json!({"type": "string", "nullable": true, "title": "T", "description": "d",
                "default": null, "examples": ["e"]}),
        );
        check_property(
            json!({"oneOf": [{"type": "null"}, {"$ref": "#/definitions/A"}], "default": null}),
            json!({"$ref": "#/$defs/A", "nullable": true}),
        );
        for kept in [
            json!({"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "null"}]}),
            json!({"anyOf": [{"type": "string"}]}),
            json!({"type": "string", "enum": ["definitions"], "default": {"required": ["a"]}}),
        ] {
            check_property(kept.clone(), kept);
        }
    }

    #[test]
    fn objects_are_complete() {
        let empty = json!({"type": "object", "properties": {}});
        check_property(json!({"required": ["gone"]}), empty.clone());
        check_property(json!({"type": "object"}), empty.clone());
        check_property(json!({"type": "object", "required": "a"}), empty);
        check_property(
            json!({"properties": {"a": {"required": []}}, "required": ["a", "b", 1]}),
            json!({"properties": {"a": {"type": "object", "properties": {}}}, "type": "object", "required": ["a"]}),
        );
        check_property(
            json!({"type": "array", "items": {"properties": {}}}),
            json!({"type": "array", "items": {"properties": {}, "type": "object"}}),
        );
    }
}
