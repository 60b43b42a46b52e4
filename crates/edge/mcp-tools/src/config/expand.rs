//! `${VAR}` and `${env:VAR}` in the texts of a configuration.

use hermes_home::Env;
use serde_json::Value;

/// Fills in every reference in every text below `value`; keys stay. The names that are not set are returned, and
/// their references stay as written.
pub fn expand(value: &mut Value, env: &Env) -> Vec<String> {
    let mut unset = Vec::new();
    walk(value, env, &mut unset);
    unset
}

fn walk(value: &mut Value, env: &Env, unset: &mut Vec<String>) {
    match value {
        Value::String(text) if text.contains("${") => *text = fill(text, env, unset),
        Value::Array(items) => items.iter_mut().for_each(|item| walk(item, env, unset)),
        Value::Object(map) => map.values_mut().for_each(|item| walk(item, env, unset)),
        _ => {}
    }
}

/// What was filled in is not looked at again: a secret may contain anything.
fn fill(text: &str, env: &Env, unset: &mut Vec<String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        out.push_str(before);
        let Some((written, tail)) = after.split_once('}') else {
            out.push_str("${");
            rest = after;
            continue;
        };
        let name = written.strip_prefix("env:").unwrap_or(written).trim();
        match env.get(name) {
            Some(value) => out.push_str(value),
            None => {
                out.extend(["${", written, "}"]);
                unset.push(name.to_owned());
            }
        }
        rest = tail;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn references_are_filled_in_everywhere_but_in_keys() {
        let env = Env::from([("A", "one"), ("B", "${A}"), ("EMPTY", "")]);
        let check = |written: Value, expected: Value, missing: &[&str]| {
            let mut value = written;
            let unset = expand(&mut value, &env);
            assert_eq!(
                (value, unset),
                (expected, missing.iter().map(|n| (*n).to_owned()).collect())
            );
        };
        check(json!("${A}/${env:A}"), json!("one/one"), &[]);
        check(json!({"k": ["x ${A}", 1]}), json!({"k": ["x one", 1]}), &[]);
        check(json!({"${A}": "${EMPTY}"}), json!({"${A}": ""}), &[]);
        check(json!("${B}"), json!("${A}"), &[]);
        check(
            json!("${NO} ${env:NO2}"),
            json!("${NO} ${env:NO2}"),
            &["NO", "NO2"],
        );
        check(json!("$A ${open"), json!("$A ${open"), &[]);
    }
}
