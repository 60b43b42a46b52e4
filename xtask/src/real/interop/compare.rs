//! What is different between two exports, or two versions of a text.

use std::fmt::Debug;

use anyhow::{Result, ensure};
use serde_json::Value;

/// One field of one session that has another value now.
#[derive(Debug, PartialEq, Eq)]
pub struct Change {
    pub session: String,
    pub field: String,
    before: String,
    after: String,
}

impl Change {
    pub fn new(session: &str, field: &str, before: &str, after: &str) -> Self {
        Self {
            session: session.to_owned(),
            field: field.to_owned(),
            before: before.to_owned(),
            after: after.to_owned(),
        }
    }
}

/// Field by field, in the order of the first export; messages one by one.
pub fn changes(before: &[Value], after: &[Value]) -> Vec<Change> {
    let mut found = Vec::new();
    for old in before {
        let id = old["id"].as_str().unwrap_or_default();
        match after.iter().find(|new| new["id"] == old["id"]) {
            Some(new) => differences(id, "", old, new, &mut found),
            None => found.push(Change::new(id, "id", "there", "gone")),
        }
    }
    for new in after {
        if !before.iter().any(|old| old["id"] == new["id"]) {
            let id = new["id"].as_str().unwrap_or_default();
            found.push(Change::new(id, "id", "not there", "new"));
        }
    }
    found
}

fn differences(id: &str, path: &str, old: &Value, new: &Value, found: &mut Vec<Change>) {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            for key in old
                .keys()
                .chain(new.keys().filter(|key| !old.contains_key(*key)))
            {
                let path = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                let (old, new) = (old.get(key), new.get(key));
                differences(id, &path, or_null(old), or_null(new), found);
            }
        }
        (Value::Array(old), Value::Array(new)) => {
            for at in 0..old.len().max(new.len()) {
                let path = format!("{path}[{at}]");
                differences(id, &path, or_null(old.get(at)), or_null(new.get(at)), found);
            }
        }
        _ if old == new => {}
        _ => found.push(Change::new(id, path, &old.to_string(), &new.to_string())),
    }
}

fn or_null(value: Option<&Value>) -> &Value {
    value.unwrap_or(&Value::Null)
}

/// `-old` and `+new` lines, as `diff` prints them. Enough for edits that keep the order of lines.
pub fn edited_lines(before: &str, after: &str) -> Vec<String> {
    let (old, new): (Vec<_>, Vec<_>) = (before.lines().collect(), after.lines().collect());
    let same =
        |pairs: &mut dyn Iterator<Item = (&&str, &&str)>| pairs.take_while(|(a, b)| a == b).count();
    let head = same(&mut old.iter().zip(&new));
    let tail = same(&mut old[head..].iter().rev().zip(new[head..].iter().rev()));
    let removed = old[head..old.len() - tail]
        .iter()
        .map(|line| format!("-{line}"));
    let added = new[head..new.len() - tail]
        .iter()
        .map(|line| format!("+{line}"));
    removed.chain(added).collect()
}

pub fn none(changes: &[Change]) -> Result<()> {
    ensure!(changes.is_empty(), "{changes:#?}");
    Ok(())
}

pub fn equal<T: PartialEq + Debug>(found: &T, expected: &T) -> Result<()> {
    ensure!(found == expected, "found {found:?}, expected {expected:?}");
    Ok(())
}
