//! Filling in forms: a value for whatever a schema asks for.

use serde_json::{Map, Value, json};

/// The default where there is one, otherwise anything of the right kind.
pub fn filled(schema: &Value) -> Value {
    if let Some(default) = schema.get("default") {
        return default.clone();
    }
    if let Some(first) = schema["enum"].as_array().and_then(|list| list.first()) {
        return first.clone();
    }
    match schema["type"].as_str().unwrap_or("object") {
        "string" => json!("something"),
        "integer" => json!(2),
        "number" => json!(2.5),
        "boolean" => json!(true),
        "array" => json!([]),
        "null" => Value::Null,
        _ => {
            let properties = schema["properties"].as_object();
            let properties = properties.into_iter().flatten();
            let fields = properties.map(|(name, schema)| (name.clone(), filled(schema)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
    }
}
