//! Files that were read and searched one after the other: many calls, one thing.

use std::time::Duration;

use hermes_types::Outcome;
use ratatui::text::Span;

use super::Detail;
use super::tool::{Ended, State, Tool};
use crate::Row;
use crate::look::{Look, Role};
use crate::text::{clip, cut_front, one_line, pad, wrap};

/// Rows of what was read and searched; that there is more is said.
const SHOWN: usize = 4;
/// Columns of the word before it.
const VERB: usize = 6;
/// How the skin calls all of it.
const NAME: &str = "explored";

/// Calls that only looked at something, in their order; all of them ended well.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Explored {
    pub calls: Vec<Tool>,
}

impl Explored {
    /// Whether calls of this tool are shown together.
    pub fn takes(tool: &str) -> bool {
        matches!(tool, "read_file" | "search_files")
    }

    pub fn rows(&self, width: u16, look: &Look, detail: Detail) -> Vec<Row> {
        if let ([_] | [], _) | (_, Detail::Full) = (self.calls.as_slice(), detail) {
            let calls = self.calls.iter();
            return calls
                .flat_map(|call| call.rows(width, look, detail))
                .collect();
        }
        let mut rows = vec![self.head().row(width, look)];
        let mut below = self.below(width, look);
        let hidden = below.len().saturating_sub(SHOWN);
        if hidden > 1 {
            below.truncate(SHOWN);
            let told = format!("{}… and more", " ".repeat(margin(width)));
            let told = Row::from(Span::styled(told, look.style(Role::Faint)));
            below.push(clip(told, usize::from(width)));
        }
        rows.append(&mut below);
        rows
    }

    /// All of it in one row.
    fn head(&self) -> Tool {
        let took = |call: &Tool| match &call.state {
            State::Ended(ended) => ended.took,
            State::Preparing | State::Running(_) => Duration::ZERO,
        };
        let took = self.calls.iter().map(took).sum();
        let searches = self.calls.iter().filter(|call| !is_read(call)).count();
        let reads = self.calls.len() - searches;
        let count = |count: usize, one: &str, many: &str| match count {
            0 => None,
            1 => Some(format!("1 {one}")),
            _ => Some(format!("{count} {many}")),
        };
        let told = [
            count(reads, "read", "reads"),
            count(searches, "search", "searches"),
        ];
        let told: Vec<String> = told.into_iter().flatten().collect();
        Tool {
            name: NAME.to_owned(),
            about: told.join(", "),
            state: State::Ended(Ended::new(Outcome::Done, took)),
            preview: 0,
        }
    }

    /// What it was about: calls of the same kind that follow each other share their rows.
    fn below(&self, width: u16, look: &Look) -> Vec<Row> {
        let (columns, margin) = (usize::from(width).max(1), margin(width));
        let faint = look.style(Role::Faint);
        let runs = self
            .calls
            .chunk_by(|one, next| look.verb(&one.name) == look.verb(&next.name));
        let row = |run: &[Tool]| {
            let mut about: Vec<String> = Vec::new();
            for call in run {
                let text = cut_front(&one_line(&call.about), columns / 2);
                if !about.contains(&text) {
                    about.push(text);
                }
            }
            let verb = run.first().map(|call| look.verb(&call.name).into_owned());
            let verb = format!(
                "{}{} ",
                " ".repeat(margin),
                pad(&verb.unwrap_or_default(), VERB)
            );
            Row::from(vec![
                Span::styled(verb, look.style(Role::Label)),
                Span::styled(about.join(", "), faint),
            ])
        };
        runs.flat_map(|run| wrap(row(run), columns, margin + VERB + 1))
            .collect()
    }
}

fn is_read(call: &Tool) -> bool {
    call.name == "read_file"
}

/// Narrow screens have no columns to give away.
fn margin(width: u16) -> usize {
    if width >= 40 { 4 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str, about: &str) -> Tool {
        Tool {
            name: name.to_owned(),
            about: about.to_owned(),
            state: State::Ended(Ended::new(Outcome::Done, Duration::from_millis(100))),
            preview: 0,
        }
    }

    fn shown(calls: Vec<Tool>, width: u16, detail: Detail) -> String {
        let rows = Explored { calls }.rows(width, &Look::plain(), detail);
        let rows: Vec<_> = rows.iter().map(ToString::to_string).collect();
        rows.join("\n")
    }

    fn calls() -> Vec<Tool> {
        vec![
            call("read_file", "src/main.rs"),
            call("read_file", "src/main.rs"),
            call("read_file", "src/lib.rs"),
            call("search_files", "fn main"),
            call("read_file", "Cargo.toml"),
        ]
    }

    #[test]
    fn calls_of_a_kind_share_a_row() {
        insta::assert_snapshot!(shown(calls(), 80, Detail::Short), @r"
          ┊ 🔎 explored  4 reads, 1 search  0.5s
            read   src/main.rs, src/lib.rs
            grep   fn main
            read   Cargo.toml
        ");
        insta::assert_snapshot!(shown(calls(), 24, Detail::Short), @r"
        ┊ 🔎 explored 4 r…  0.5s
        read   src/main.rs,
               src/lib.rs
        grep   fn main
        read   Cargo.toml
        ");
    }

    #[test]
    fn one_call_is_as_it_always_is_and_nothing_is_cut_in_full() {
        let one = vec![call("read_file", "a.rs")];
        assert_eq!(shown(one, 80, Detail::Short), "  ┊ 📖 read      a.rs  0.1s");
        assert_eq!(shown(calls(), 80, Detail::Full).lines().count(), 5);
    }

    #[test]
    fn a_long_group_stays_short() {
        let many: Vec<Tool> = (0..200)
            .map(|n| call("read_file", &format!("src/file_{n}.rs")))
            .collect();
        let shown = shown(many, 80, Detail::Short);
        assert_eq!(shown.lines().count(), 2 + SHOWN, "{shown}");
        assert!(shown.ends_with("… and more"), "{shown}");
    }
}
