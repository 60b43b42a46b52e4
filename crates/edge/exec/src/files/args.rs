//! Reading a call's arguments. The schema was enforced before, as far as that goes; odd values mean the default.

use std::path::PathBuf;

use hermes_types::{Args, FOR_SCRIPT};
use serde_json::Value;

/// Who will read what a call gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reader {
    /// Has seen what it was shown before, and can go round in circles.
    Model,
    Script,
}

impl Reader {
    pub fn of(args: &Args) -> Self {
        match switch(args, FOR_SCRIPT) {
            true => Self::Script,
            false => Self::Model,
        }
    }
}

/// A text that isn't empty.
pub(super) fn text<'a>(args: &'a Args, name: &str) -> Option<&'a str> {
    string(args, name).filter(|text| !text.is_empty())
}

/// A text, empty or not.
pub(super) fn string<'a>(args: &'a Args, name: &str) -> Option<&'a str> {
    args.get(name).and_then(Value::as_str)
}

/// A whole number, also as text or with a zero fraction; never below `least`.
pub(super) fn count(args: &Args, name: &str, least: usize) -> Option<usize> {
    let number = match args.get(name)? {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }?;
    // `as` saturates, which is what a line number beyond all files should do.
    (number.is_finite() && number.fract() == 0.0).then(|| (number as usize).max(least))
}

pub(super) fn switch(args: &Args, name: &str) -> bool {
    match args.get(name) {
        Some(Value::Bool(on)) => *on,
        Some(Value::String(text)) => text.eq_ignore_ascii_case("true"),
        _ => false,
    }
}

/// The one file a call is about, as the model wrote it.
pub(super) fn path(args: &Args) -> Vec<PathBuf> {
    text(args, "path").map(PathBuf::from).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn counts_are_clamped_and_odd_ones_ignored() {
        let check = |value: Value, expected: Option<usize>| {
            let args = Args::from_iter([("n".to_owned(), value.clone())]);
            assert_eq!(count(&args, "n", 1), expected, "{value}");
        };
        check(json!(7), Some(7));
        check(json!("12"), Some(12));
        check(json!(3.0), Some(3));
        check(json!(-5), Some(1));
        check(json!(0), Some(1));
        check(json!(1e300), Some(usize::MAX));
        check(json!(2.5), None);
        check(json!("many"), None);
        check(json!("inf"), None);
        check(json!(null), None);
        check(json!([1]), None);
    }
}
