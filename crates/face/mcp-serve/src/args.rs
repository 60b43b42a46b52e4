//! The arguments of a call, read leniently: models write numbers as texts and texts as numbers.

use std::ops::RangeInclusive;

use serde_json::Value;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Args<'a>(pub &'a Value);

impl Args<'_> {
    /// A text that must be there.
    pub fn text(self, name: &str) -> Result<String, String> {
        self.optional(name)
            .ok_or_else(|| format!("{name} is required: a text that is not empty"))
    }

    /// A text, unless it is missing, empty or something else altogether.
    pub fn optional(self, name: &str) -> Option<String> {
        let text = match self.0.get(name)? {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => return None,
        };
        Some(text).filter(|text| !text.is_empty())
    }

    /// A number moved into `range`; `default` for what is no number.
    pub fn number(self, name: &str, default: u64, range: RangeInclusive<u64>) -> u64 {
        let number = self.0.get(name).and_then(whole).unwrap_or(default);
        number.clamp(*range.start(), *range.end())
    }
}

/// The whole part of anything that looks like a number; what is below zero is zero.
fn whole(value: &Value) -> Option<u64> {
    let real = match value {
        Value::Bool(yes) => f64::from(u8::from(*yes)),
        Value::Number(number) => return number.as_u64().or_else(|| truncated(number.as_f64()?)),
        Value::String(text) => {
            let text = text.trim();
            return text.parse().ok().or_else(|| truncated(text.parse().ok()?));
        }
        _ => return None,
    };
    truncated(real)
}

/// The cast stops at both ends, as clamping would.
fn truncated(real: f64) -> Option<u64> {
    real.is_finite().then_some(real as u64)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_coerced_then_clamped() {
        let check = |value: Value, expected: u64| {
            let args = json!({"limit": value});
            assert_eq!(
                Args(&args).number("limit", 50, 1..=200),
                expected,
                "{value}"
            );
        };
        check(json!(20), 20);
        check(json!(0), 1);
        check(json!(-5), 1);
        check(json!(1e30), 200);
        check(json!(i64::MAX), 200);
        check(json!(7.9), 7);
        check(json!(" 12 "), 12);
        check(json!("12.7"), 12);
        check(json!("-3"), 1);
        check(json!("999999999999999999999999"), 200);
        check(json!("NaN"), 50);
        check(json!("many"), 50);
        check(json!(""), 50);
        check(json!(true), 1);
        check(json!(null), 50);
        check(json!([3]), 50);
        assert_eq!(Args(&Value::Null).number("limit", 50, 1..=200), 50);
    }

    #[test]
    fn texts_may_come_as_numbers() {
        let args = json!({"a": "x", "b": 12, "c": "", "d": null, "e": {}});
        let args = Args(&args);
        assert_eq!(args.text("a").unwrap(), "x");
        assert_eq!(args.text("b").unwrap(), "12");
        for missing in ["c", "d", "e", "f"] {
            assert!(args.text(missing).unwrap_err().contains(missing));
            assert_eq!(args.optional(missing), None);
        }
    }
}
