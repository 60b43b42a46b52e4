//! From a patch and the files as they are to the steps that change them, or to all the reasons why not. Pure.

use std::collections::HashMap;

use super::hunks;
use super::v4a::Change;
use crate::files::text::{Before, TextFile};

/// The files a patch speaks of, by the names it uses.
pub(super) type Files = HashMap<String, Before>;

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Write {
        path: String,
        before: Before,
        text: String,
    },
    Delete {
        path: String,
        before: Before,
    },
    Move {
        from: String,
        to: String,
    },
}

/// Plays the patch through. Each change sees the ones before it, as it will when they are done.
pub(super) fn plan(changes: &[Change], mut files: Files) -> Result<Vec<Step>, Vec<String>> {
    let mut steps = Vec::new();
    let mut errors = Vec::new();
    for change in changes {
        match step(change, &files) {
            Ok(Some(step)) => {
                step.play(&mut files);
                steps.push(step);
            }
            Ok(None) => {}
            Err(found) => errors.extend(found),
        }
    }
    if errors.is_empty() && steps.is_empty() {
        errors.push("it changes nothing".to_owned());
    }
    if errors.is_empty() {
        Ok(steps)
    } else {
        Err(errors)
    }
}

fn step(change: &Change, files: &Files) -> Result<Option<Step>, Vec<String>> {
    let now = |path: &str| files.get(path).unwrap_or(&Before::Missing);
    let wrong = |path: &str, why: &str| Err(vec![format!("{path}: {why}")]);
    match change {
        Change::Update { path, hunks } => {
            let file = match now(path) {
                Before::Text(file) => file,
                Before::Missing => return wrong(path, "File not found"),
                Before::Opaque(why) => return wrong(path, why),
            };
            let text = hunks::apply(&file.text, hunks).map_err(|errors| {
                let named = errors.iter().map(|error| format!("{path}: {error}"));
                named.collect::<Vec<_>>()
            })?;
            Ok((text != file.text).then(|| Step::Write {
                path: path.clone(),
                before: now(path).clone(),
                text,
            }))
        }
        Change::Add { path, content } => Ok(Some(Step::Write {
            path: path.clone(),
            before: now(path).clone(),
            text: content.clone(),
        })),
        Change::Delete { path } => match now(path) {
            Before::Missing => wrong(path, "File not found, cannot be deleted"),
            before => Ok(Some(Step::Delete {
                path: path.clone(),
                before: before.clone(),
            })),
        },
        Change::Move { from, to } => match (now(from), now(to)) {
            (Before::Missing, _) => wrong(from, "File not found, cannot be moved"),
            (_, Before::Missing) => Ok(Some(Step::Move {
                from: from.clone(),
                to: to.clone(),
            })),
            _ => wrong(to, "already exists, a move would overwrite it"),
        },
    }
}

impl Step {
    fn play(&self, files: &mut Files) {
        match self {
            Self::Write { path, before, text } => {
                let file = TextFile {
                    text: text.clone(),
                    style: before.style(),
                };
                files.insert(path.clone(), Before::Text(file));
            }
            Self::Delete { path, .. } => {
                files.insert(path.clone(), Before::Missing);
            }
            Self::Move { from, to } => {
                let moved = files.remove(from).unwrap_or(Before::Missing);
                files.insert(to.clone(), moved);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::v4a::parse;
    use super::*;

    fn check(files: &[(&str, &str)], patch: &str, expected: Result<&[&str], &[&str]>) {
        let files = files
            .iter()
            .map(|(path, text)| ((*path).to_owned(), Before::Text(TextFile::decode(text))))
            .collect();
        let told = |step: &Step| match step {
            Step::Write { path, text, .. } => format!("write {path} {text:?}"),
            Step::Delete { path, .. } => format!("delete {path}"),
            Step::Move { from, to } => format!("move {from} {to}"),
        };
        let found = plan(&parse(patch).unwrap(), files);
        let found = found.map(|steps| steps.iter().map(told).collect::<Vec<_>>());
        match (found, expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected),
            (Err(found), Err(parts)) => {
                assert_eq!(found.len(), parts.len(), "{found:?}");
                for (found, part) in found.iter().zip(parts) {
                    assert!(found.contains(part), "{found:?}");
                }
            }
            (found, expected) => panic!("{found:?} instead of {expected:?}"),
        }
    }

    #[test]
    fn changes_see_those_before_them() {
        check(
            &[("a", "1\n"), ("b", "x\r\n")],
            "*** Update File: a\n-1\n+2\n*** Update File: a\n-2\n+3\n*** Move File: a -> c\n*** Update File: c\n-3\n+4\n*** Update File: b\n-x\n+y\n*** Add File: d\n+n\n*** Delete File: d\n",
            Ok(&[
                "write a \"2\\n\"",
                "write a \"3\\n\"",
                "move a c",
                "write c \"4\\n\"",
                "write b \"y\\n\"",
                "write d \"n\\n\"",
                "delete d",
            ]),
        );
    }

    #[test]
    fn every_fault_is_named() {
        check(
            &[("a", "1\n"), ("b", "x\n")],
            "*** Update File: a\n-zzz\n+2\n*** Update File: q\n-1\n*** Delete File: q\n*** Move File: q -> r\n*** Move File: a -> b\n*** Delete File: b\n",
            Err(&[
                "a: hunk 1",
                "q: File not found",
                "q: File not found, cannot be deleted",
                "cannot be moved",
                "b: already exists",
            ]),
        );
        check(
            &[("a", "1\n")],
            "*** Update File: a\n 1\n",
            Err(&["changes nothing"]),
        );
    }
}
