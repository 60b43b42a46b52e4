//! One field of a form a server wants filled in.

use serde_json::Value;

use super::shown;

/// How much of a server's text about a field is shown.
const TEXT: usize = 200;
/// Forms with more fields are no questions to a person.
const MOST: usize = 50;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Field {
    pub name: String,
    title: String,
    description: String,
    kind: String,
    pub required: bool,
    pub default: Option<Value>,
    /// The only values there are; empty: any.
    pub choices: Vec<String>,
}

impl Field {
    pub fn all(schema: &Value) -> Vec<Self> {
        let required = |name: &str| {
            let names = schema.get("required").and_then(Value::as_array);
            names.is_some_and(|names| names.iter().any(|required| required == name))
        };
        let fields = schema.get("properties").and_then(Value::as_object);
        let field = |(name, schema): (&String, &Value)| Self::new(name, schema, required(name));
        fields.into_iter().flatten().take(MOST).map(field).collect()
    }

    fn new(name: &str, schema: &Value, required: bool) -> Self {
        let text = |key: &str| schema.get(key).and_then(Value::as_str).unwrap_or_default();
        let title = match text("title") {
            "" => name,
            title => title,
        };
        Self {
            name: name.to_owned(),
            title: line(title),
            description: line(text("description")),
            kind: match text("type") {
                "" => "string".to_owned(),
                kind => line(kind),
            },
            required,
            default: schema
                .get("default")
                .filter(|value| !value.is_null())
                .cloned(),
            choices: choices(schema),
        }
    }

    /// `Title (type, required, default x): what it is`
    pub fn line(&self) -> String {
        let mut facts = self.kind.clone();
        if self.required {
            facts.push_str(", required");
        }
        if let Some(default) = &self.default {
            facts.push_str(&format!(", default {}", line(&default.to_string())));
        }
        match self.description.as_str() {
            "" => format!("{} ({facts})", self.title),
            description => format!("{} ({facts}): {description}", self.title),
        }
    }

    /// What the owner typed, as the field wants it.
    pub fn read(&self, text: &str) -> Option<Value> {
        let text = text.trim();
        let is_choice = |text: &str| {
            self.choices.is_empty() || self.choices.iter().any(|choice| choice == text)
        };
        match self.kind.as_str() {
            "integer" => text.parse::<i64>().ok().map(Value::from),
            "number" => text
                .parse::<f64>()
                .ok()
                .filter(|n| n.is_finite())
                .map(Value::from),
            "boolean" => match text.to_lowercase().as_str() {
                "true" | "yes" | "y" | "on" | "1" => Some(true.into()),
                "false" | "no" | "n" | "off" | "0" => Some(false.into()),
                _ => None,
            },
            "array" => {
                let items: Vec<&str> = text
                    .split(',')
                    .map(str::trim)
                    .filter(|item| !item.is_empty())
                    .collect();
                items
                    .iter()
                    .all(|item| is_choice(item))
                    .then(|| items.into())
            }
            _ => (!text.is_empty() && is_choice(text)).then(|| text.into()),
        }
    }
}

/// `enum`, or the titled kinds: `oneOf` with `const`, also for the items of a list.
fn choices(schema: &Value) -> Vec<String> {
    let of = schema.get("items").unwrap_or(schema);
    let plain = of.get("enum").and_then(Value::as_array);
    let titled = ["oneOf", "anyOf"]
        .into_iter()
        .find_map(|key| of.get(key)?.as_array());
    let plain = plain.into_iter().flatten().filter_map(Value::as_str);
    let titled = titled
        .into_iter()
        .flatten()
        .filter_map(|choice| choice.get("const")?.as_str());
    plain.chain(titled).map(str::to_owned).collect()
}

fn line(text: &str) -> String {
    shown(text, TEXT).replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn typed_values() {
        let check = |schema: Value, text: &str, expected: Option<Value>| {
            assert_eq!(
                Field::new("f", &schema, true).read(text),
                expected,
                "{schema} {text}"
            );
        };
        check(json!({}), " a ", Some(json!("a")));
        check(json!({}), " ", None);
        check(json!({"type": "number"}), "2.5", Some(json!(2.5)));
        check(json!({"type": "number"}), "nan", None);
        check(json!({"type": "integer"}), "2.5", None);
        check(json!({"type": "boolean"}), "Yes", Some(json!(true)));
        check(json!({"type": "boolean"}), "perhaps", None);
        check(json!({"enum": ["a", "b"]}), "b", Some(json!("b")));
        check(json!({"oneOf": [{"const": "a", "title": "A"}]}), "b", None);
        let list = json!({"type": "array", "items": {"enum": ["a", "b"]}});
        check(list.clone(), "a, b", Some(json!(["a", "b"])));
        check(list, "a, c", None);
    }
}
