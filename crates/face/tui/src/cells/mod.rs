//! The transcript: one cell for each thing that was said or done, and how it looks at a width.
//!
//! Cells are data without clocks; the same cell gives the same rows, so that a transcript can be drawn
//! again at another width.

pub mod answer;
mod approval;
mod art;
pub mod banner;
pub mod children;
pub mod diff;
mod explored;
mod frame;
mod notice;
mod output;
pub mod reasoning;
pub mod recap;
mod said;
pub mod spinner;
pub mod status;
pub mod time;
mod todo;
pub mod tool;

pub use answer::Answer;
pub use approval::{Approval, Decided};
pub use banner::Banner;
pub use children::Children;
pub use diff::Diff;
pub use explored::Explored;
pub use notice::{Kind, Notice};
pub use output::Output;
pub use reasoning::Reasoning;
pub use recap::Recap;
pub use said::Said;
pub use todo::Todo;
pub use tool::Tool;

use ratatui::text::Span;

use crate::Row;
use crate::look::Look;
use crate::text::{harmless, wrap};

/// How much of a cell is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// As in the transcript: long things are cut.
    #[default]
    Short,
    /// Everything.
    Full,
}

/// One thing in the transcript.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    Said(Said),
    Answer(Answer),
    Reasoning(Reasoning),
    Tool(Tool),
    Explored(Explored),
    Children(Children),
    Diff(Diff),
    Todo(Todo),
    Notice(Notice),
    Approval(Approval),
    Recap(Recap),
    Banner(Banner),
    Output(Output),
    /// What a slash command prints.
    Plain(String),
}

impl Cell {
    pub fn rows(&self, width: u16, look: &Look, detail: Detail) -> Vec<Row> {
        match self {
            Self::Said(said) => said.rows(width, look, detail),
            Self::Answer(answer) => answer.rows(width, look),
            Self::Reasoning(reasoning) => reasoning.rows(width, look, detail),
            Self::Tool(tool) => tool.rows(width, look, detail),
            Self::Explored(explored) => explored.rows(width, look, detail),
            Self::Children(children) => children.rows(width, look),
            Self::Diff(diff) => diff.rows(width, look, detail),
            Self::Todo(todo) => todo.rows(width, look),
            Self::Notice(notice) => notice.rows(width, look),
            Self::Approval(approval) => approval.rows(width, look, detail),
            Self::Recap(recap) => recap.rows(width, look),
            Self::Banner(banner) => banner.rows(width, look),
            Self::Output(output) => output.rows(width, look, detail),
            Self::Plain(text) => plain(text, width),
        }
    }
}

/// Text as it is, wrapped.
fn plain(text: &str, width: u16) -> Vec<Row> {
    let columns = usize::from(width).max(1);
    let text = harmless(text.trim_end_matches('\n'));
    let lines = text.split('\n').map(|line| Row::raw(line.to_owned()));
    lines.flat_map(|row| wrap(row, columns, 0)).collect()
}

/// Rows further in.
fn indented(rows: Vec<Row>, indent: usize) -> Vec<Row> {
    let push = |mut row: Row| {
        if indent > 0 && !row.spans.is_empty() {
            row.spans.insert(0, Span::raw(" ".repeat(indent)));
        }
        row
    };
    rows.into_iter().map(push).collect()
}

macro_rules! into_cell {
    ($($name:ident),*) => {
        $(impl From<$name> for Cell {
            fn from(cell: $name) -> Self {
                Self::$name(cell)
            }
        })*
    };
}

into_cell!(
    Said, Answer, Reasoning, Tool, Explored, Children, Diff, Todo, Notice, Approval, Recap, Banner,
    Output
);

#[cfg(test)]
mod tests;
