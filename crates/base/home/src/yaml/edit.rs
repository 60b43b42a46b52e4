//! Changing one value in a document and nothing else: comments, order, quoting and blank lines stay.
//!
//! Every edit is read back and compared with the tree it should have produced. A document too clever for
//! the splicing below is refused, never damaged.

use serde_json::{Map, Value};

use super::node::{Layout, Node};
use super::splice::Editor;
use super::{emit, parse, read};

/// One step of a path: a key, or an index where the document has a list.
pub type Segment = String;

/// Where a value is, as in `agent.max_turns` or `fallback_providers.0.model`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path(Vec<Segment>);

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    #[error("'{0}' is not a key: write it like agent.max_turns")]
    BadPath(String),
    #[error("'{0}' is a single value, not a section; unset it first to put keys under it")]
    NotASection(String),
    #[error("'{path}' is a list of {len}; the next index is {len}")]
    BadIndex { path: String, len: usize },
    #[error("'{0}' is not set")]
    Missing(String),
    #[error(
        "'{0}' cannot be changed without touching other parts of the file (aliases or unusual layout); edit it by hand"
    )]
    Unsafe(String),
    #[error("{0}")]
    Yaml(#[from] super::Error),
}

type Result<T> = std::result::Result<T, EditError>;

impl Path {
    /// Splits a dotted key.
    pub fn parse(dotted: &str) -> Result<Self> {
        let segments: Vec<_> = dotted.split('.').map(str::to_owned).collect();
        if segments.iter().any(|segment| segment.trim().is_empty()) {
            return Err(EditError::BadPath(dotted.to_owned()));
        }
        Ok(Self(segments))
    }

    /// Keys one by one, where one of them may have dots of its own.
    pub fn of<'s>(segments: impl IntoIterator<Item = &'s str>) -> Self {
        Self(segments.into_iter().map(str::to_owned).collect())
    }

    pub fn segments(&self) -> &[Segment] {
        &self.0
    }

    /// Finds the value in plain data.
    pub fn get<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        self.0.iter().try_fold(value, |value, segment| match value {
            Value::Array(items) => items.get(segment.parse::<usize>().ok()?),
            value => value.get(segment),
        })
    }

    pub(super) fn upto(&self, len: usize) -> String {
        self.0[..len].join(".")
    }
}

impl std::fmt::Display for Path {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.join("."))
    }
}

/// Gives the document with `path` set to `value`.
pub fn set(text: &str, path: &Path, value: &Value) -> Result<String> {
    let root = parse(text)?;
    let mut expected = root.as_ref().map_or(Ok(Value::Null), Node::value)?;
    assign(&mut expected, path, 0, value)?;
    let edited = match root.as_ref().filter(|root| !root.is_absent()) {
        Some(root) => Editor::new(text, path).set(root, Layout::Block, 0, 0, value)?,
        None => append_lines(text, &wrap(path, 0, value)),
    };
    verified(edited, &expected, path)
}

/// Gives the document without `path`; a section left empty by that goes too.
pub fn unset(text: &str, path: &Path) -> Result<String> {
    let mut expected = read(text)?;
    if !withdraw(&mut expected, &path.0) {
        return Err(EditError::Missing(path.to_string()));
    }
    if expected == Value::Object(Map::new()) {
        expected = Value::Null;
    }
    let mut edited = text.to_owned();
    // A key written twice must go twice; an index once.
    while let Some(root) = parse(&edited)?.filter(|root| root.value().as_ref() != Ok(&expected)) {
        let Some(removal) = Editor::new(&edited, path).removal(&root, 0) else {
            break;
        };
        edited.replace_range(removal.range, "");
    }
    verified(edited, &expected, path)
}

fn verified(edited: String, expected: &Value, path: &Path) -> Result<String> {
    match read(&edited) {
        Ok(value) if value == *expected => Ok(edited),
        _ => Err(EditError::Unsafe(path.to_string())),
    }
}

/// What the tree should look like afterwards.
fn assign(value: &mut Value, path: &Path, depth: usize, new: &Value) -> Result<()> {
    let Some(segment) = path.0.get(depth) else {
        *value = new.clone();
        return Ok(());
    };
    if value.is_null() {
        *value = Value::Object(Map::new());
    }
    match value {
        Value::Object(map) => assign(
            map.entry(segment.clone()).or_insert(Value::Null),
            path,
            depth + 1,
            new,
        ),
        Value::Array(items) => {
            let bad = EditError::BadIndex {
                path: path.upto(depth),
                len: items.len(),
            };
            let index: usize = segment
                .parse()
                .ok()
                .filter(|index| *index <= items.len())
                .ok_or(bad)?;
            if index == items.len() {
                items.push(Value::Null);
            }
            assign(&mut items[index], path, depth + 1, new)
        }
        _ => Err(EditError::NotASection(path.upto(depth))),
    }
}

/// Removes the value and the collections that become empty; false if it wasn't there.
fn withdraw(value: &mut Value, path: &[Segment]) -> bool {
    let Some((segment, rest)) = path.split_first() else {
        return false;
    };
    let gone = |child: &mut Value| {
        let found = rest.is_empty() || withdraw(child, rest);
        (found, found && (rest.is_empty() || is_empty(child)))
    };
    match value {
        Value::Object(map) => {
            let Some((found, remove)) = map.get_mut(segment).map(gone) else {
                return false;
            };
            if remove {
                map.shift_remove(segment);
            }
            found
        }
        Value::Array(items) => {
            let index = segment.parse().unwrap_or(usize::MAX);
            let Some((found, remove)) = items.get_mut(index).map(gone) else {
                return false;
            };
            if remove {
                items.remove(index);
            }
            found
        }
        _ => false,
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// The rest of a path as nested mappings around the value.
pub(super) fn wrap(path: &Path, from: usize, value: &Value) -> Value {
    path.0[from..]
        .iter()
        .rev()
        .fold(value.clone(), |inner, key| {
            Value::Object(Map::from_iter([(key.clone(), inner)]))
        })
}

fn append_lines(text: &str, value: &Value) -> String {
    let gap = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    format!("{text}{gap}{}", emit::document(value))
}

#[cfg(test)]
#[path = "edit_tests.rs"]
mod tests;
