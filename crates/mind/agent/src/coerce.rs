//! Bringing arguments to the types their schema asks for. What cannot be brought there stays as it is.

use hermes_types::Args;
use serde_json::{Number, Value};

/// `"42"` becomes 42 where a number is wanted, one thing becomes a list of one, and so on.
pub fn coerce(args: &mut Args, schema: &Value) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return;
    };
    for (name, value) in args.iter_mut() {
        if let Some(schema) = properties.get(name)
            && let Some(coerced) = coerced(value, schema)
        {
            *value = coerced;
        }
    }
}

fn coerced(value: &Value, schema: &Value) -> Option<Value> {
    let types = types(schema);
    if value.is_null() || types.iter().any(|wanted| fits(value, wanted)) {
        return None;
    }
    if let Value::String(text) = value
        && text.trim() == "null"
        && nullable(schema)
    {
        return Some(Value::Null);
    }
    types.iter().find_map(|wanted| convert(value, wanted))
}

fn types(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => ["anyOf", "oneOf"]
            .iter()
            .filter_map(|key| schema.get(*key)?.as_array())
            .flatten()
            .flat_map(types)
            .collect(),
    }
}

fn nullable(schema: &Value) -> bool {
    types(schema).contains(&"null") || schema.get("nullable") == Some(&Value::Bool(true))
}

fn fits(value: &Value, wanted: &str) -> bool {
    match wanted {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    }
}

fn convert(value: &Value, wanted: &str) -> Option<Value> {
    match (wanted, value) {
        ("integer", Value::String(text)) => integral(text.trim().parse().ok()?),
        ("number", Value::String(text)) => number(text.trim().parse().ok()?),
        ("integer", Value::Number(number)) => integral(number.as_f64()?),
        ("boolean", Value::String(text)) => match text.trim().to_lowercase().as_str() {
            "true" => Some(true.into()),
            "false" => Some(false.into()),
            _ => None,
        },
        ("object", Value::String(text)) => serde_json::from_str(text).ok().filter(Value::is_object),
        ("array", Value::String(text)) => {
            let list = serde_json::from_str(text).ok().filter(Value::is_array);
            Some(list.unwrap_or_else(|| Value::Array(vec![value.clone()])))
        }
        ("array", other) => Some(Value::Array(vec![other.clone()])),
        ("string", Value::Number(number)) => Some(number.to_string().into()),
        _ => None,
    }
}

fn integral(number: f64) -> Option<Value> {
    (number.is_finite() && number.fract() == 0.0 && number.abs() < 9.0e15)
        .then(|| Value::from(number as i64))
}

fn number(number: f64) -> Option<Value> {
    integral(number).or_else(|| Number::from_f64(number).map(Value::Number))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    // spec: tools §8.14
    #[test]
    fn values_are_brought_to_the_types_of_the_schema() {
        let check = |schema: Value, value: Value, expected: Value| {
            let mut args = Args::from_iter([("x".to_owned(), value.clone())]);
            coerce(&mut args, &json!({"properties": {"x": schema}}));
            assert_eq!(args["x"], expected, "{value} as {schema}");
        };
        check(json!({"type": "integer"}), json!("5"), json!(5));
        check(json!({"type": "integer"}), json!("5.5"), json!("5.5"));
        check(json!({"type": "integer"}), json!(5.0), json!(5));
        check(json!({"type": "number"}), json!("5.5"), json!(5.5));
        check(json!({"type": "number"}), json!("NaN"), json!("NaN"));
        check(json!({"type": "boolean"}), json!("True"), json!(true));
        check(json!({"type": "boolean"}), json!("yes"), json!("yes"));
        check(
            json!({"type": "array"}),
            json!("https://example.com"),
            json!(["https://example.com"]),
        );
        check(json!({"type": "array"}), json!("[1, 2]"), json!([1, 2]));
        check(json!({"type": "array"}), json!(null), json!(null));
        check(
            json!({"type": ["array", "null"]}),
            json!("null"),
            json!(null),
        );
        check(
            json!({"type": "object"}),
            json!("{\"a\": 1}"),
            json!({"a": 1}),
        );
        check(json!({"type": "object"}), json!("a"), json!("a"));
        check(
            json!({"type": ["integer", "string"]}),
            json!("5"),
            json!("5"),
        );
        check(
            json!({"anyOf": [{"type": "integer"}, {"type": "null"}]}),
            json!("7"),
            json!(7),
        );
        check(json!({"type": "string"}), json!(7), json!("7"));
        check(json!({}), json!("x"), json!("x"));
    }
}
