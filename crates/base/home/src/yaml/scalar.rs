//! What a scalar means in YAML 1.1, by the rules of the Python program's loader.

use serde_json::{Number, Value};

use super::node::Style;

/// The value of a scalar; an explicit tag wins over its looks.
pub fn resolve(text: &str, style: Style, tag: Option<&str>) -> Value {
    match (tag, style) {
        (Some("str"), _) => Value::from(text),
        (Some("int" | "float" | "bool" | "null"), _) | (None, Style::Plain) => plain(text),
        _ => Value::from(text),
    }
}

/// The value of an untagged, unquoted scalar.
pub fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            return Value::Bool(true);
        }
        "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return Value::Bool(false);
        }
        _ => {}
    }
    integer(text)
        .or_else(|| float(text))
        .map_or_else(|| Value::from(text), Value::Number)
}

fn integer(text: &str) -> Option<Number> {
    let (negative, digits) = sign(text);
    let clean = || digits.replace('_', "");
    let magnitude = if let Some(bits) = digits.strip_prefix("0b") {
        only(bits, |c| matches!(c, '0' | '1' | '_'))
            .then(|| u64::from_str_radix(&clean()[2..], 2).ok())?
    } else if let Some(hex) = digits.strip_prefix("0x") {
        only(hex, |c| c.is_ascii_hexdigit() || c == '_')
            .then(|| u64::from_str_radix(&clean()[2..], 16).ok())?
    } else if digits == "0" {
        Some(0)
    } else if let Some(octal) = digits.strip_prefix('0') {
        only(octal, |c| matches!(c, '0'..='7' | '_'))
            .then(|| u64::from_str_radix(&clean(), 8).ok())?
    } else if digits.contains(':') {
        digits
            .starts_with(|c: char| matches!(c, '1'..='9'))
            .then(|| sexagesimal(digits))?
    } else {
        let decimal = digits.starts_with(|c: char| c.is_ascii_digit())
            && only(digits, |c| c.is_ascii_digit() || c == '_');
        decimal.then(|| clean().parse().ok())?
    };
    signed(negative, magnitude?)
}

fn float(text: &str) -> Option<Number> {
    let (negative, rest) = sign(text);
    if !rest.contains('.') || !rest.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None; // JSON has no infinity and no NaN either: `.inf` stays text
    }
    let magnitude = if let Some((whole, fraction)) = rest
        .split_once('.')
        .filter(|(whole, _)| whole.contains(':'))
    {
        let fraction = only_or_empty(fraction, |c| c.is_ascii_digit() || c == '_')
            .then(|| fraction.replace('_', ""))?;
        sexagesimal(whole)? as f64 + format!("0.{fraction}0").parse::<f64>().ok()?
    } else {
        let (mantissa, exponent) = rest
            .split_once(['e', 'E'])
            .map_or((rest, None), |(m, e)| (m, Some(e)));
        let digits = |c: char| c.is_ascii_digit() || c == '_';
        let (whole, fraction) = mantissa.split_once('.')?;
        let bare = whole.is_empty()
            && (text != rest || !fraction.starts_with(|c: char| c.is_ascii_digit()));
        // YAML 1.1 wants the exponent's sign written: `1.5e3` is text there.
        let exponent_fits = exponent
            .is_none_or(|e| e.starts_with(['+', '-']) && only(&e[1..], |c| c.is_ascii_digit()));
        if bare
            || !only_or_empty(whole, digits)
            || !only_or_empty(fraction, digits)
            || !exponent_fits
        {
            return None;
        }
        rest.replace('_', "").parse().ok()?
    };
    Number::from_f64(if negative { -magnitude } else { magnitude })
}

/// `1:30` is ninety: base-60 places, each after the first one or two digits below sixty.
fn sexagesimal(text: &str) -> Option<u64> {
    let mut total: u64 = 0;
    for (place, part) in text.split(':').enumerate() {
        let fits = if place == 0 {
            only(part, |c| c.is_ascii_digit() || c == '_')
        } else {
            part.len() <= 2
                && only(part, |c| c.is_ascii_digit())
                && (part.len() == 1 || part.as_bytes()[0] < b'6')
        };
        let value: u64 = fits.then(|| part.replace('_', "").parse().ok())??;
        total = total.checked_mul(60)?.checked_add(value)?;
    }
    Some(total)
}

fn sign(text: &str) -> (bool, &str) {
    match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    }
}

fn signed(negative: bool, magnitude: u64) -> Option<Number> {
    if !negative {
        return Some(magnitude.into());
    }
    i64::try_from(magnitude).ok().map(|value| (-value).into())
}

fn only(text: &str, allowed: impl Fn(char) -> bool) -> bool {
    !text.is_empty() && text.chars().all(allowed)
}

fn only_or_empty(text: &str, allowed: impl Fn(char) -> bool) -> bool {
    text.chars().all(allowed)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn plain_scalars_mean_what_the_python_loader_says() {
        let check = |text: &str, expected: Value| assert_eq!(plain(text), expected, "{text}");
        for (text, expected) in [
            ("off", false),
            ("No", false),
            ("yes", true),
            ("ON", true),
            ("True", true),
        ] {
            check(text, json!(expected));
        }
        for text in [
            "y",
            "n",
            "Y",
            "oN",
            "tRUE",
            "1e3",
            "1.5e3",
            "0o17",
            "08",
            "1:60",
            "1:2:",
            "-",
            "+",
            ".",
            "1.2.3",
            "2026-11-15",
            "0x",
            "0b",
            "_1",
            "1_a",
            "-.",
            "${X}",
            "a:b",
            "18446744073709551616",
            ".inf",
            "-.5",
        ] {
            check(text, json!(text));
        }
        check("", json!(null));
        check("~", json!(null));
        check("0", json!(0));
        check("-0", json!(0));
        check("+12", json!(12));
        check("1_000", json!(1000));
        check("0755", json!(493));
        check("-017", json!(-15));
        check("0x1F", json!(31));
        check("0b101", json!(5));
        check("1:30", json!(90));
        check("1:30:15", json!(5415));
        check("1.5", json!(1.5));
        check("1.", json!(1.0));
        check(".5", json!(0.5));
        check("-1.25e+2", json!(-125.0));
        check("1:30.5", json!(90.5));
        check("9223372036854775808", json!(9_223_372_036_854_775_808_u64));
    }
}
