//! The one table of keys and defaults.

use std::sync::LazyLock;

use serde_json::Value;

use crate::yaml;

static DEFAULTS: LazyLock<Value> = LazyLock::new(|| {
    // A broken table would fail every test; at run time an empty one still lets the program start.
    yaml::read(include_str!("defaults.yaml")).unwrap_or_default()
});

/// The whole tree.
pub fn defaults() -> &'static Value {
    &DEFAULTS
}

/// What a key may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Any,
    Bool,
    Integer,
    Float,
    Text,
    List,
    /// A section with known keys.
    Section,
    /// A section whose keys are the owner's: provider names, servers, commands.
    FreeSection,
}

impl Kind {
    pub fn of_default(value: &Value) -> Self {
        match value {
            Value::Null => Self::Any,
            Value::Bool(_) => Self::Bool,
            Value::Number(number) if number.is_f64() => Self::Float,
            Value::Number(_) => Self::Integer,
            Value::String(_) => Self::Text,
            Value::Array(_) => Self::List,
            Value::Object(map) if map.is_empty() => Self::FreeSection,
            Value::Object(_) => Self::Section,
        }
    }

    /// For messages: "expects a number".
    pub fn name(self) -> &'static str {
        match self {
            Self::Any => "anything",
            Self::Bool => "true or false",
            Self::Integer => "a whole number",
            Self::Float => "a number",
            Self::Text => "a text",
            Self::List => "a list",
            Self::Section | Self::FreeSection => "a section with keys",
        }
    }
}

/// What the key at `path` may hold; `None` if nobody knows such a key.
pub fn kind_of(path: &yaml::Path) -> Option<Kind> {
    let mut value = defaults();
    for segment in path.segments() {
        match Kind::of_default(value) {
            Kind::Section => value = value.get(segment)?,
            Kind::FreeSection | Kind::Any | Kind::List => return Some(Kind::Any),
            _ => return None,
        }
    }
    Some(Kind::of_default(value))
}

/// Whether the key means something to Hermes.
pub fn knows(path: &yaml::Path) -> bool {
    kind_of(path).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_reads_and_knows_its_kinds() {
        let check = |path: &str, expected: Option<Kind>| {
            assert_eq!(
                kind_of(&yaml::Path::parse(path).unwrap()),
                expected,
                "{path}"
            );
        };
        check("agent.max_turns", Some(Kind::Integer));
        check("compression.threshold", Some(Kind::Float));
        check("display.skin", Some(Kind::Text));
        check("display.compact", Some(Kind::Bool));
        check("providers.mine.api_key", Some(Kind::Any));
        check("fallback_providers.0.model", Some(Kind::Any));
        check("agent", Some(Kind::Section));
        check("agent.max_turnz", None);
        check("nonsense", None);
        check("timezone.x", None);
    }
}
