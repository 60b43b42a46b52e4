//! The rules: those of agentskills.io for whoever wants to share a skill, and what `skill_manage` demands.

use std::fs;
use std::path::Path;

use hermes_home::yaml;
use serde_json::Value;

use crate::file;
use crate::guard::{self, Tree};

use super::{Document, FILE, MAX_CONTENT, MAX_DESCRIPTION, MAX_NAME, SUPPORT_DIRS, split, text};

const STANDARD: [&str; 6] = [
    "name",
    "description",
    "license",
    "compatibility",
    "metadata",
    "allowed-tools",
];
const OURS: [&str; 9] = [
    "platforms",
    "version",
    "author",
    "tags",
    "related_skills",
    "prerequisites",
    "required_environment_variables",
    "setup",
    "required_credential_files",
];
const MAX_COMPATIBILITY: usize = 500;
const MAX_LINES: usize = 500;

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Against the rules.
    pub errors: Vec<String>,
    /// Allowed, but others may not understand it.
    pub notes: Vec<String>,
}

/// Checks a skill's directory by the standard.
pub fn validate_dir(dir: &Path) -> Report {
    let file = dir.join(FILE);
    let wrong = |error: String| Report {
        errors: vec![error],
        notes: Vec::new(),
    };
    if !dir.is_dir() {
        return wrong(format!("{} is not a directory", dir.display()));
    }
    // `.` has no name of its own.
    let dir_name = fs::canonicalize(dir).unwrap_or_else(|_| dir.to_owned());
    let dir_name = dir_name.file_name().unwrap_or_default().to_string_lossy();
    let bytes = match file::read(&file) {
        Err(error) => return wrong(format!("{}: {error}", file.display())),
        Ok((_, size)) if size > file::MOST => {
            return wrong(format!(
                "{} has {size} bytes; only {} are read",
                file.display(),
                file::MOST
            ));
        }
        Ok((bytes, _)) => bytes,
    };
    if let Err(odd) = file::judge(&bytes) {
        return wrong(format!("{}: {odd}", file.display()));
    }
    let mut report = validate(&String::from_utf8_lossy(&bytes), &dir_name);
    report.notes.extend(stray(dir));
    report.notes.extend(suspicious(dir));
    report
}

/// What the guard would say.
fn suspicious(dir: &Path) -> Vec<String> {
    match Tree::read(dir) {
        Err(error) => vec![format!("{}: {error}", dir.display())],
        Ok(tree) => guard::scan(&tree)
            .iter()
            .map(|finding| format!("guard: {finding}"))
            .collect(),
    }
}

/// Checks a `SKILL.md` that lies in a directory of this name.
pub fn validate(content: &str, dir_name: &str) -> Report {
    let document = match strict(content) {
        Ok(document) => document,
        Err(error) => {
            return Report {
                errors: vec![error],
                notes: Vec::new(),
            };
        }
    };
    let mut report = Report::default();
    report.errors.extend(name_errors(&document, dir_name));
    report.errors.extend(field_errors(&document));
    let known = |key: &str| STANDARD.contains(&key) || OURS.contains(&key);
    let unknown = document.front.keys().filter(|key| !known(key));
    report
        .notes
        .extend(unknown.map(|key| format!("'{key}' is not a field of the standard")));
    let lines = document.body.lines().count();
    if lines > MAX_LINES {
        report.notes.push(format!(
            "the body has {lines} lines; more than {MAX_LINES} are better kept in references/"
        ));
    }
    report
}

/// What `skill_manage` demands of a whole `SKILL.md`.
pub fn check_content(content: &str) -> Result<Document, String> {
    let count = content.chars().count();
    if count > MAX_CONTENT {
        return Err(format!(
            "SKILL.md has {count} characters, at most {MAX_CONTENT} are allowed: move details into references/"
        ));
    }
    let document = strict(content)?;
    for key in ["name", "description"] {
        if document.text(key).is_none_or(|text| text.is_empty()) {
            return Err(format!("the front matter must have '{key}'"));
        }
    }
    let length = document
        .text("description")
        .map_or(0, |text| text.chars().count());
    if length > MAX_DESCRIPTION {
        return Err(format!(
            "the description has {length} characters, at most {MAX_DESCRIPTION} are allowed"
        ));
    }
    if document.body.trim().is_empty() {
        return Err("SKILL.md has nothing after its front matter: add the instructions".to_owned());
    }
    Ok(document)
}

/// Whether a new skill may be called this.
pub fn check_name(name: &str) -> Result<(), String> {
    check_segment("name", name)
}

/// Whether a new skill may be filed under this: one directory, not a path.
pub fn check_category(category: &str) -> Result<(), String> {
    check_segment("category", category)
}

fn check_segment(what: &str, given: &str) -> Result<(), String> {
    let begins_well = given.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c);
    if begins_well && given.chars().all(allowed) && given.len() <= MAX_NAME {
        return Ok(());
    }
    Err(format!(
        "'{given}' cannot be a {what}: 1 to {MAX_NAME} lowercase letters, digits, '.', '_' or '-', beginning with a \
         letter or digit"
    ))
}

/// Front matter that is there, ends, and is a YAML mapping.
fn strict(content: &str) -> Result<Document, String> {
    let content = content.strip_prefix('\u{feff}').unwrap_or(content);
    if !content.starts_with("---") {
        return Err(
            "SKILL.md must begin with front matter: a line '---', YAML, a line '---'".to_owned(),
        );
    }
    let (front, body) =
        split(content).ok_or("the front matter has no end: a line '---' is missing")?;
    match yaml::read(front) {
        Err(error) => Err(format!("the front matter is no valid YAML: {error}")),
        Ok(Value::Object(front)) => Ok(Document {
            front,
            body: body.to_owned(),
            trouble: None,
        }),
        Ok(_) => Err("the front matter must be 'key: value' lines".to_owned()),
    }
}

fn name_errors(document: &Document, dir_name: &str) -> Vec<String> {
    let Some(name) = document.text("name").filter(|name| !name.is_empty()) else {
        return vec!["'name' is missing".to_owned()];
    };
    let mut errors = Vec::new();
    if name.chars().count() > MAX_NAME {
        errors.push(format!("the name is longer than {MAX_NAME} characters"));
    }
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if !name.chars().all(allowed) {
        errors.push(format!(
            "the name '{name}' may have lowercase letters, digits and hyphens only"
        ));
    }
    if name.starts_with('-') || name.ends_with('-') || name.contains("--") {
        errors.push(format!(
            "the name '{name}' has a hyphen at its end or two in a row"
        ));
    }
    if name != dir_name {
        errors.push(format!(
            "the name '{name}' differs from the directory's, '{dir_name}'"
        ));
    }
    errors
}

fn field_errors(document: &Document) -> Vec<String> {
    let mut errors = Vec::new();
    match document.front.get("description").map(text) {
        None => errors.push("'description' is missing".to_owned()),
        Some(Some(text)) if text.is_empty() => errors.push("'description' is empty".to_owned()),
        Some(Some(text)) if text.chars().count() > MAX_DESCRIPTION => errors.push(format!(
            "the description is longer than {MAX_DESCRIPTION} characters"
        )),
        Some(Some(_)) => {}
        Some(None) => errors.push("'description' must be text".to_owned()),
    }
    if let Some(value) = document.front.get("compatibility") {
        let length = text(value).map(|text| text.chars().count());
        if !length.is_some_and(|length| (1..=MAX_COMPATIBILITY).contains(&length)) {
            errors.push(format!(
                "'compatibility' must be 1 to {MAX_COMPATIBILITY} characters of text"
            ));
        }
    }
    match document.front.get("metadata") {
        None | Some(Value::Object(_)) => {}
        Some(_) => errors.push("'metadata' must be a mapping".to_owned()),
    }
    if document.body.trim().is_empty() {
        errors.push("there are no instructions after the front matter".to_owned());
    }
    errors
}

/// Directories beside the four that are known.
fn stray(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let dirs = entries.filter(|entry| entry.path().is_dir());
    let names = dirs.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut stray: Vec<String> = names
        .filter(|name| !name.starts_with('.') && !SUPPORT_DIRS.contains(&name.as_str()))
        .map(|name| format!("'{name}/' is none of {}", SUPPORT_DIRS.join(", ")))
        .collect();
    stray.sort();
    stray
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skill(front: &str) -> String {
        format!("---\n{front}\n---\nDo it.\n")
    }

    #[test]
    fn the_standard_is_strict() {
        let check = |front: &str, wrong: &str| {
            let report = validate(&skill(front), "my-skill");
            match wrong {
                "" => assert_eq!(report.errors, Vec::<String>::new(), "{front}"),
                wrong => assert!(
                    report.errors.iter().any(|e| e.contains(wrong)),
                    "{front}: {report:?}"
                ),
            }
        };
        check("name: my-skill\ndescription: d", "");
        check(
            "name: my-skill\ndescription: d\nlicense: MIT\nmetadata: {a: b}\nallowed-tools: [x]",
            "",
        );
        check("name: My-skill\ndescription: d", "lowercase");
        check("name: my--skill\ndescription: d", "hyphen");
        check("name: -my-skill\ndescription: d", "hyphen");
        check("name: other\ndescription: d", "differs");
        check("description: d", "'name' is missing");
        check("name: my-skill", "'description' is missing");
        check("name: my-skill\ndescription: ''", "empty");
        check("name: my-skill\ndescription: [a]", "must be text");
        check(
            &format!("name: my-skill\ndescription: {}", "d".repeat(1025)),
            "longer",
        );
        check("name: my-skill\ndescription: d\nmetadata: x", "mapping");
        check(
            &format!(
                "name: my-skill\ndescription: d\ncompatibility: {}",
                "c".repeat(501)
            ),
            "compatibility",
        );
        check("name: [", "no valid YAML");
        assert!(validate("no front matter", "x").errors[0].contains("must begin"));
        assert!(validate("---\nname: x\n", "x").errors[0].contains("no end"));
        assert!(
            validate("---\nname: x\ndescription: d\n---\n\n", "x").errors[0]
                .contains("no instructions")
        );
        let odd = validate(
            &skill("name: my-skill\ndescription: d\ncolour: red"),
            "my-skill",
        );
        assert!(odd.errors.is_empty() && odd.notes[0].contains("colour"));
    }

    #[test]
    fn names_of_new_skills() {
        for name in ["a", "my-skill", "0x", "a.b_c-d"] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        let long = "x".repeat(65);
        for name in ["", "My Skill", "-a", ".a", "a/b", "..", "ä", long.as_str()] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn what_is_written_must_be_whole() {
        let check = |content: &str, wrong: &str| match check_content(content) {
            Ok(_) => assert_eq!(wrong, "", "{content}"),
            Err(error) => assert!(
                !wrong.is_empty() && error.contains(wrong),
                "{content}: {error}"
            ),
        };
        check(&skill("name: x\ndescription: d"), "");
        check(&skill("name: x"), "'description'");
        check(&skill("description: d"), "'name'");
        check("---\nname: x\ndescription: d\n---\n  \n", "nothing after");
        check("---\nname: x\ndescription: d\nDo it", "no end");
        check(
            &skill(&format!("name: x\ndescription: {}", "d".repeat(1025))),
            "1025",
        );
        check(
            &(skill("name: x\ndescription: d") + &"y".repeat(100_000)),
            "100000",
        );
    }
}
