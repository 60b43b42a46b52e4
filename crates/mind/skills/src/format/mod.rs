//! `SKILL.md`: YAML between `---` lines, then Markdown. Whatever lies on disk can be read; what we write is checked.

mod needs;
mod strict;

pub(crate) use needs::is_inside;
pub use needs::{ConfigKey, Variable};
pub use strict::{Report, check_category, check_content, check_name, validate, validate_dir};

use hermes_home::yaml;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The file that makes a directory a skill.
pub const FILE: &str = "SKILL.md";
/// Characters of a name that count.
pub const MAX_NAME: usize = 64;
/// Characters of a description that count.
pub const MAX_DESCRIPTION: usize = 1024;
/// Characters of a whole `SKILL.md` that is written by us.
pub const MAX_CONTENT: usize = 100_000;
/// Where everything but `SKILL.md` belongs.
pub const SUPPORT_DIRS: [&str; 4] = ["references", "templates", "scripts", "assets"];

/// A `SKILL.md`, read as far as it can be read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    pub front: Map<String, Value>,
    pub body: String,
    /// What was wrong with the front matter, if it or a part of it could only be guessed.
    pub trouble: Option<String>,
}

/// When a skill is worth mentioning.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Conditions {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub requires_tools: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub requires_toolsets: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fallback_for_tools: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fallback_for_toolsets: Vec<String>,
}

impl Document {
    /// Never fails: a file without front matter is all body, and broken YAML is read line by line.
    pub fn parse(text: &str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let Some((front, body)) = split(text) else {
            let missing = match text.starts_with("---") {
                true => "the front matter has no end: a line '---' is missing",
                false => "there is no front matter: a line '---', YAML, a line '---'",
            };
            return Self {
                body: text.to_owned(),
                trouble: Some(missing.to_owned()),
                ..Self::default()
            };
        };
        let guessed = |why: &str| {
            let trouble = format!("the front matter is no valid YAML ({why}); read line by line");
            (by_lines(front), Some(trouble))
        };
        let (front, trouble) = match yaml::read(front) {
            Ok(Value::Object(map)) => {
                let odd = odd_type(&map);
                (map, odd)
            }
            Ok(_) => guessed("it is not a mapping"),
            Err(error) => guessed(&error.to_string()),
        };
        Self {
            front,
            body: body.to_owned(),
            trouble,
        }
    }

    /// The name it gives itself, else its directory's.
    pub fn name(&self, dir_name: &str) -> String {
        let own = self.text("name").filter(|name| !name.is_empty());
        let name = own.unwrap_or_else(|| dir_name.to_owned());
        one_line(&name).chars().take(MAX_NAME).collect()
    }

    /// What it says it is for, else its first line that is no heading.
    pub fn description(&self) -> String {
        let own = self.text("description").filter(|text| !text.is_empty());
        let text = own.unwrap_or_else(|| first_line(&self.body));
        one_line(&text).chars().take(MAX_DESCRIPTION).collect()
    }

    /// The systems it is made for; empty: all.
    pub fn platforms(&self) -> Vec<String> {
        self.list("platforms")
    }

    pub fn tags(&self) -> Vec<String> {
        self.own_or_hermes("tags")
    }

    pub fn related(&self) -> Vec<String> {
        self.own_or_hermes("related_skills")
    }

    pub fn conditions(&self) -> Conditions {
        let list = |key: &str| names(self.hermes(key));
        Conditions {
            requires_tools: list("requires_tools"),
            requires_toolsets: list("requires_toolsets"),
            fallback_for_tools: list("fallback_for_tools"),
            fallback_for_toolsets: list("fallback_for_toolsets"),
        }
    }

    /// A scalar of the front matter, trimmed.
    pub fn text(&self, key: &str) -> Option<String> {
        self.front.get(key).and_then(text)
    }

    fn list(&self, key: &str) -> Vec<String> {
        names(self.front.get(key))
    }

    fn hermes(&self, key: &str) -> Option<&Value> {
        self.front.get("metadata")?.get("hermes")?.get(key)
    }

    fn own_or_hermes(&self, key: &str) -> Vec<String> {
        let own = names(self.hermes(key));
        if own.is_empty() { self.list(key) } else { own }
    }
}

/// The front matter and what follows it; `None` if the file doesn't begin with one that ends.
pub(crate) fn split(text: &str) -> Option<(&str, &str)> {
    let first = text.split_inclusive('\n').next()?;
    if first.trim_end() != "---" {
        return None;
    }
    let rest = &text[first.len()..];
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Some((&rest[..at], &rest[at + line.len()..]));
        }
        at += line.len();
    }
    None
}

/// The fenced blocks of a text with exactly this info string. In bundled skills, `bash test` marks what can be run as
/// it stands in an empty directory, and `bash test hermes` what also needs the program and a home.
pub fn fenced<'t>(text: &'t str, info: &str) -> Vec<&'t str> {
    let mut blocks = Vec::new();
    let mut begin: Option<(usize, bool)> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim_end();
        match begin {
            Some((start, wanted)) if trimmed == "```" => {
                blocks.extend(wanted.then(|| &text[start..at]));
                begin = None;
            }
            None => {
                let given = trimmed.strip_prefix("```");
                begin = given.map(|given| (at + line.len(), given == info));
            }
            Some(_) => {}
        }
        at += line.len();
    }
    blocks
}

/// A field of the front matter whose value is of no use.
fn odd_type(front: &Map<String, Value>) -> Option<String> {
    let is_text = |value: &Value| value.is_null() || text(value).is_some();
    let is_names = |value: &Value| is_text(value) || value.is_array();
    let is_map = |value: &Value| value.is_null() || value.is_object();
    let wrong = |key: &str, is_right: &dyn Fn(&Value) -> bool, wanted: &str| {
        let odd = front.get(key).is_some_and(|value| !is_right(value));
        odd.then(|| format!("'{key}' in the front matter must be {wanted}; left out"))
    };
    wrong("name", &is_text, "text")
        .or_else(|| wrong("description", &is_text, "text"))
        .or_else(|| wrong("platforms", &is_names, "a list of names"))
        .or_else(|| wrong("metadata", &is_map, "a mapping"))
}

/// Nothing that ends a line in the list of skills.
fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").replace(char::is_control, "")
}

/// What is left of front matter that is no YAML: `key: value` lines that begin at the margin.
fn by_lines(front: &str) -> Map<String, Value> {
    let pair = |line: &str| {
        let (key, value) = line.split_once(':')?;
        let is_key = !key.is_empty() && !key.starts_with([' ', '\t', '#', '-']);
        let value = value.trim().trim_matches(['"', '\'']);
        is_key.then(|| (key.trim().to_owned(), Value::from(value)))
    };
    front.lines().filter_map(pair).collect()
}

fn first_line(body: &str) -> String {
    let mut lines = body.lines().map(str::trim);
    let found = lines.find(|line| !line.is_empty() && !line.starts_with('#'));
    found.unwrap_or_default().to_owned()
}

/// A scalar as text.
pub(crate) fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}

/// One name, several with commas between them, or a list.
pub(crate) fn names(value: Option<&Value>) -> Vec<String> {
    let all: Vec<String> = match value {
        Some(Value::Array(items)) => items.iter().filter_map(text).collect(),
        Some(other) => text(other)
            .map(|one| {
                one.trim_matches(['[', ']'])
                    .split(',')
                    .map(str::to_owned)
                    .collect()
            })
            .unwrap_or_default(),
        None => Vec::new(),
    };
    let trimmed = all.iter().map(|name| name.trim().trim_matches(['"', '\'']));
    trimmed
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn whatever_lies_there_can_be_read() {
        let check = |text: &str, name: &str, description: &str| {
            let document = Document::parse(text);
            assert_eq!(document.name("dir"), name, "{text:?}");
            assert_eq!(document.description(), description, "{text:?}");
        };
        check(
            "---\nname: a\ndescription: does b\n---\nbody",
            "a",
            "does b",
        );
        check(
            "\u{feff}---\r\nname: a\r\ndescription: b\r\n---\r\nbody",
            "a",
            "b",
        );
        check("# Title\n\nFirst words.\nMore.", "dir", "First words.");
        check("---\nname: a\nno end", "dir", "---");
        check(
            "---\nname: 7\ndescription: >\n  two\n  lines\n---\n",
            "7",
            "two lines",
        );
        // Broken YAML: what can be told is told.
        check(
            "---\nname: a\ndescription: x: y: [\n---\nbody",
            "a",
            "x: y: [",
        );
        check("---\n- a\n- b\n---\nbody", "dir", "body");
        check("", "dir", "");
        check("---\n---\n", "dir", "");
        let long = format!("---\nname: {}\n---\nx", "n".repeat(200));
        assert_eq!(Document::parse(&long).name("d").len(), MAX_NAME);
        assert!(Document::parse("---\na: [\n---\n").trouble.is_some());
    }

    #[test]
    fn blocks_are_found_by_their_mark() {
        let text = "```bash test\na\nb\n```\n```bash\nc\n```\n```bash test\nd\n```\n```bash test\nunfinished";
        assert_eq!(fenced(text, "bash test"), ["a\nb\n", "d\n"]);
        assert_eq!(fenced(text, "bash"), ["c\n"]);
    }

    #[test]
    fn lists_are_written_in_many_ways() {
        let check = |yaml: &str, expected: &[&str]| {
            let document = Document::parse(&format!("---\nplatforms: {yaml}\n---\n"));
            assert_eq!(document.platforms(), expected, "{yaml}");
        };
        check("macos", &["macos"]);
        check("[macos, linux]", &["macos", "linux"]);
        check("macos, linux", &["macos", "linux"]);
        check("\n  - windows", &["windows"]);
        check("", &[]);
    }

    #[test]
    fn conditions_stand_under_metadata() {
        let text = "---\nmetadata:\n  hermes:\n    requires_toolsets: [web]\n    fallback_for_tools: x\n    tags: [a]\ntags: [b]\n---\n";
        let document = Document::parse(text);
        let conditions = document.conditions();
        assert_eq!(conditions.requires_toolsets, ["web"]);
        assert_eq!(conditions.fallback_for_tools, ["x"]);
        assert_eq!(document.tags(), ["a"]);
    }
}
