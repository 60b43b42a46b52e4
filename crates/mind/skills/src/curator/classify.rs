//! Where the content of skills went that a run took away: what was declared counts most, then what the model said at
//! the end, then what its calls show. Whatever is left went nowhere.

use std::collections::BTreeSet;

use hermes_home::yaml;
use serde_json::Value;

use super::merge::Call;

/// A skill that is in the archive now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gone {
    pub name: String,
    pub fate: Fate,
    /// How that is known: `absorbed_into`, `model`, `tool calls`, `idle` or nothing.
    pub known_by: &'static str,
    pub reason: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Its content is in this skill.
    Into(String),
    Pruned,
}

/// The fate of each skill that is gone; `present`: those there are now.
pub fn classify(
    gone: &BTreeSet<String>,
    present: &BTreeSet<String>,
    calls: &[Call],
    said: &str,
) -> Vec<Gone> {
    let said = closing(said);
    let exists = |into: &str, name: &str| into != name && present.contains(into);
    let fate = |name: &String| {
        let merged = said
            .merged
            .iter()
            .find(|(from, into, _)| from == name && exists(into, name));
        let declared = declared(calls, name).filter(|into| exists(into, name));
        let reason = merged.map(|(_, _, reason)| reason.clone());
        let pruned = said.pruned.iter().find(|(pruned, _)| pruned == name);
        let reason = reason.or_else(|| pruned.map(|(_, reason)| reason.clone()));
        let shown = || evidence(calls, name).find(|into| exists(into, name));
        let (fate, known_by) = if let Some(into) = declared {
            (Fate::Into(into), "absorbed_into")
        } else if let Some((_, into, _)) = merged {
            (Fate::Into(into.clone()), "model")
        } else if let Some(into) = shown() {
            (Fate::Into(into), "tool calls")
        } else {
            (Fate::Pruned, if pruned.is_some() { "model" } else { "" })
        };
        Gone {
            name: name.clone(),
            fate,
            known_by,
            reason: reason.unwrap_or_default(),
        }
    };
    gone.iter().map(fate).collect()
}

/// What the last successful delete of this skill said about it.
fn declared(calls: &[Call], name: &str) -> Option<String> {
    let deletes = calls.iter().rev().filter(|call| {
        call.done && text(call, "action") == "delete" && is_named(text(call, "name"), name)
    });
    let into = deletes
        .map(|call| text(call, "absorbed_into").trim().to_owned())
        .next()?;
    Some(into.rsplit('/').next().unwrap_or_default().to_owned())
}

/// Skills that were written to, with the name of this one in what was written.
fn evidence(calls: &[Call], name: &str) -> impl Iterator<Item = String> {
    let wanted = [name.to_owned(), name.replace('-', "_")];
    let writes = calls.iter().filter(|call| {
        call.done && ["create", "edit", "patch", "write_file"].contains(&text(call, "action"))
    });
    let mentions = move |call: &&Call| {
        let fields = ["content", "new_string", "file_path", "file_content"];
        fields.iter().any(|field| {
            let text = text(call, field);
            wanted.iter().any(|name| has_word(text, name))
        })
    };
    let target = |call: &Call| text(call, "name").rsplit('/').next().map(str::to_owned);
    writes.filter(mentions).filter_map(target)
}

/// Whether a name stands in a text, not as a part of another name.
fn has_word(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

fn is_named(given: &str, name: &str) -> bool {
    given == name || given.rsplit('/').next() == Some(name)
}

fn text<'c>(call: &'c Call, field: &str) -> &'c str {
    call.arguments
        .get(field)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// What the model said at the end.
#[derive(Debug, Default)]
struct Closing {
    /// From, into, why.
    merged: Vec<(String, String, String)>,
    pruned: Vec<(String, String)>,
}

/// Reads the last block of YAML; one that cannot be read says nothing.
fn closing(said: &str) -> Closing {
    let blocks = said.split("```").skip(1).step_by(2);
    let bodies = blocks.filter_map(|block| {
        let (language, body) = block.split_once('\n')?;
        ["yaml", "yml", ""]
            .contains(&language.trim())
            .then_some(body)
    });
    let read = |body: &str| yaml::read(body).ok().filter(Value::is_object);
    let Some(value) = bodies.filter_map(read).last() else {
        return Closing::default();
    };
    let rows = |key: &str| {
        let rows = value.get(key).and_then(Value::as_array).cloned();
        rows.unwrap_or_default()
    };
    let field = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().trim().to_owned();
    let merged = rows("consolidations").into_iter();
    let merged = merged.map(|row| {
        (
            field(&row, "from"),
            field(&row, "into"),
            field(&row, "reason"),
        )
    });
    let pruned = rows("prunings").into_iter();
    let pruned = pruned.map(|row| (field(&row, "name"), field(&row, "reason")));
    Closing {
        merged: merged.collect(),
        pruned: pruned.collect(),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    fn call(arguments: Value) -> Call {
        Call {
            name: "skill_manage".to_owned(),
            arguments: arguments.as_object().unwrap().clone(),
            done: true,
        }
    }

    fn delete(name: &str, into: &str) -> Call {
        call(json!({"action": "delete", "name": name, "absorbed_into": into}))
    }

    #[track_caller]
    fn check(calls: &[Call], said: &str, expected: (Fate, &str, &str)) {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let gone = classify(&names(&["old"]), &names(&["one", "two"]), calls, said);
        let [found] = gone.as_slice() else {
            panic!("{gone:?}");
        };
        let found = (found.fate.clone(), found.known_by, found.reason.as_str());
        assert_eq!(found, expected);
    }

    #[test]
    fn what_was_declared_counts_most() {
        let into = |name: &str| Fate::Into(name.to_owned());
        let said =
            "Done.\n```yaml\nconsolidations:\n  - {from: old, into: two, reason: alike}\n```\n";
        let wrote =
            call(json!({"action": "patch", "name": "one", "new_string": "see references/old.md"}));
        check(
            &[delete("old", "one")],
            said,
            (into("one"), "absorbed_into", "alike"),
        );
        check(
            &[delete("old", "cat/one")],
            "",
            (into("one"), "absorbed_into", ""),
        );
        // A target that is not there says nothing.
        check(
            &[delete("old", "gone")],
            said,
            (into("two"), "model", "alike"),
        );
        check(&[delete("old", "")], said, (into("two"), "model", "alike"));
        check(
            &[wrote.clone(), delete("old", "")],
            "",
            (into("one"), "tool calls", ""),
        );
        check(
            std::slice::from_ref(&wrote),
            said,
            (into("two"), "model", "alike"),
        );
        let failed = Call {
            done: false,
            ..delete("old", "one")
        };
        check(&[failed], "", (Fate::Pruned, "", ""));
    }

    #[test]
    fn what_is_left_went_nowhere() {
        let pruned = "```yaml\nprunings:\n  - name: old\n    reason: wrong by now\n```";
        check(
            &[delete("old", "")],
            pruned,
            (Fate::Pruned, "model", "wrong by now"),
        );
        // Part of another word is no mention.
        let wrote =
            call(json!({"action": "edit", "name": "one", "content": "olden days, very-old"}));
        check(&[wrote], "no block at all", (Fate::Pruned, "", ""));
        check(&[], "```yaml\n[broken\n```", (Fate::Pruned, "", ""));
        // The skill itself is no place to go.
        let own = call(json!({"action": "edit", "name": "old", "content": "old"}));
        check(&[own, delete("old", "old")], "", (Fate::Pruned, "", ""));
    }
}
