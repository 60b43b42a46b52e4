//! Tool calls put together from pieces, by the rules streams in the wild follow.

use std::collections::BTreeMap;

use hermes_types::{FunctionCall, ToolCall};
use ring::digest::{SHA256, digest};
use serde_json::{Map, Value};

/// The calls of one reply so far.
#[derive(Debug, Default)]
pub(super) struct Calls {
    slots: Vec<Slot>,
    /// Which slot a stream index means at the moment: some servers use one index for every call.
    current: BTreeMap<u64, usize>,
}

#[derive(Debug, Default)]
struct Slot {
    id: String,
    name: String,
    arguments: String,
    extra: Map<String, Value>,
}

/// One piece of a call; every field may be missing.
#[derive(Debug, Default)]
pub(super) struct Piece<'a> {
    pub index: u64,
    pub id: &'a str,
    pub name: &'a str,
    pub arguments: &'a str,
    /// What must come back unchanged, such as Gemini's signatures.
    pub extra_content: Option<Value>,
}

impl Calls {
    /// Adds a piece. Returns the tool's name if a call has just begun.
    pub fn add(&mut self, piece: Piece<'_>) -> Option<String> {
        let slots = &mut self.slots;
        let current = self.current.get(&piece.index);
        let at = match current {
            Some(at) if !slots[*at].is_other_than(&piece) => *at,
            _ => {
                slots.push(Slot::default());
                slots.len() - 1
            }
        };
        self.current.insert(piece.index, at);
        slots[at].add(piece)
    }

    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    pub fn finish(self) -> Vec<ToolCall> {
        let slots = self.slots.into_iter();
        slots
            .filter(|slot| !(slot.name.is_empty() && slot.arguments.trim().is_empty()))
            .enumerate()
            .map(|(index, slot)| slot.finish(index))
            .collect()
    }
}

impl Slot {
    /// Whether the piece begins another call although it claims this one's index.
    fn is_other_than(&self, piece: &Piece<'_>) -> bool {
        let other_id = !piece.id.is_empty() && !self.id.is_empty() && piece.id != self.id;
        // Without ids, a whole call after a whole call is the next one, not a continuation.
        let no_ids = piece.id.is_empty() && self.id.is_empty();
        let is_next = !piece.name.is_empty()
            && piece.arguments.trim_start().starts_with('{')
            && self.arguments.trim_end().ends_with('}');
        other_id || no_ids && is_next
    }

    fn add(&mut self, piece: Piece<'_>) -> Option<String> {
        if self.id.is_empty() {
            self.id = piece.id.to_owned();
        }
        let begins = self.name.is_empty() && !piece.name.is_empty();
        // Assigned, not appended: some servers repeat the name with every piece.
        if !piece.name.is_empty() && self.name != piece.name {
            self.name = piece.name.to_owned();
        }
        self.arguments.push_str(piece.arguments);
        if let Some(extra) = piece.extra_content {
            self.extra.insert("extra_content".to_owned(), extra);
        }
        begins.then(|| self.name.clone())
    }

    fn finish(mut self, index: usize) -> ToolCall {
        if self.id.is_empty() {
            self.id = made_up_id(&self.name, &self.arguments, index);
        }
        self.extra
            .insert("call_id".to_owned(), self.id.clone().into());
        self.extra
            .insert("response_item_id".to_owned(), item_id(&self.id).into());
        ToolCall {
            id: self.id,
            kind: "function".to_owned(),
            function: FunctionCall {
                name: self.name,
                arguments: self.arguments,
                extra: Map::new(),
            },
            extra: self.extra,
        }
    }
}

/// Made from the call itself: a random id would differ when the same conversation is sent again, and every
/// cached prefix with it.
fn made_up_id(name: &str, arguments: &str, index: usize) -> String {
    let seed = format!("{name}:{arguments}:{index}");
    let hash = digest(&SHA256, seed.as_bytes());
    let hex: String = hash
        .as_ref()
        .iter()
        .take(6)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("call_{hex}")
}

/// The id the Responses API would want for the same call.
fn item_id(id: &str) -> String {
    if id.starts_with("fc_") {
        return id.to_owned();
    }
    if let Some(rest) = id.strip_prefix("call_") {
        return format!("fc_{rest}");
    }
    let allowed = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let rest: String = id.chars().filter(allowed).take(48).collect();
    format!("fc_{rest}")
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    /// `(index, id, name, arguments)`
    type Row<'a> = (u64, &'a str, &'a str, &'a str);

    fn check(pieces: &[Row<'_>], begun: &[&str], expected: &[(&str, &str, &str)]) {
        let mut calls = Calls::default();
        let names: Vec<_> = pieces
            .iter()
            .filter_map(|&(index, id, name, arguments)| {
                calls.add(Piece {
                    index,
                    id,
                    name,
                    arguments,
                    extra_content: None,
                })
            })
            .collect();
        assert_eq!(names, begun, "{pieces:?}");
        let calls = calls.finish();
        let calls: Vec<_> = calls
            .iter()
            .map(|call| (&*call.id, &*call.function.name, &*call.function.arguments))
            .collect();
        assert_eq!(calls, expected, "{pieces:?}");
    }

    #[test]
    fn pieces_become_calls() {
        check(
            &[(0, "a", "f", ""), (0, "", "", "{\"x\""), (0, "", "", ":1}")],
            &["f"],
            &[("a", "f", "{\"x\":1}")],
        );
        check(
            &[
                (0, "a", "f", "{"),
                (1, "b", "g", "["),
                (0, "", "", "}"),
                (1, "", "", "]"),
            ],
            &["f", "g"],
            &[("a", "f", "{}"), ("b", "g", "[]")],
        );
    }

    #[test]
    fn names_are_assigned() {
        check(
            &[(0, "a", "f", "{"), (0, "a", "f", "}"), (0, "", "f", "")],
            &["f"],
            &[("a", "f", "{}")],
        );
    }

    #[test]
    fn a_new_id_at_a_used_index_is_a_new_call() {
        check(
            &[(0, "a", "f", "{}"), (0, "b", "g", ""), (0, "", "", "{1}")],
            &["f", "g"],
            &[("a", "f", "{}"), ("b", "g", "{1}")],
        );
    }

    #[test]
    fn without_ids_a_whole_call_follows_a_whole_call() {
        check(
            &[(0, "", "f", "{}"), (0, "", "f", "{}")],
            &["f", "f"],
            &[
                ("call_b73104963ffd", "f", "{}"),
                ("call_a3a8d8ba38a2", "f", "{}"),
            ],
        );
    }

    #[test]
    fn slots_with_nothing_in_them_are_no_calls() {
        check(&[(0, "a", "", "")], &[], &[]);
        check(&[(0, "a", "", "{}")], &[], &[("a", "", "{}")]);
    }

    #[test]
    fn item_ids() {
        let check = |id, expected| assert_eq!(item_id(id), expected);
        check("fc_1", "fc_1");
        check("call_1", "fc_1");
        check("toolu:1", "fc_toolu1");
    }
}
