//! What is still being written: its rows go up as soon as they can no longer change.

use super::turn::{Answer, Reasoning, Turn};
use crate::Row;
use crate::cells::{self, Cell, Detail, answer, reasoning};
use crate::look::Look;
use crate::markdown::Style;

/// Rows that go up now, and what stands for them when everything is drawn again.
pub type Closed = (Vec<Row>, Cell);

impl Turn {
    /// Rows that can no longer change, each once.
    pub fn settle(&mut self, width: u16, look: &Look) -> Vec<Row> {
        let mut rows = Vec::new();
        if let Some(reasoning) = &mut self.reasoning {
            rows.extend(reasoning.settle(width, look));
        }
        if let Some(answer) = &mut self.answer {
            rows.extend(answer.settle(width, look));
        }
        rows
    }

    /// What may still change.
    pub fn tail(&self, width: u16, look: &Look) -> Vec<Row> {
        let mut rows = Vec::new();
        if let Some(reasoning) = &self.reasoning {
            rows.extend(reasoning.tail(width, look));
        }
        if let Some(answer) = &self.answer {
            rows.extend(answer.tail(width, look));
        }
        rows
    }

    /// The answer is complete.
    pub fn close_answer(&mut self, width: u16, look: &Look, style: Style) -> Option<Closed> {
        let mut answer = self.answer.take()?;
        let text = answer.stream.source().trim().to_owned();
        if text.is_empty() && !answer.begun {
            return None;
        }
        let rows = answer.stream.finish(answer::body_width(width), look);
        let mut rows = answer.framed(rows, width, look);
        rows.push(answer::bottom(width, look));
        let frame = answer.frame;
        Some((rows, cells::Answer { text, style, frame }.into()))
    }

    /// The thinking is over.
    pub fn close_reasoning(&mut self, width: u16, look: &Look) -> Option<Closed> {
        let mut reasoning = self.reasoning.take()?;
        let mut rows = reasoning.settle(width, look);
        let rest = reasoning.text[reasoning.shown..].trim_end();
        if !rest.is_empty() {
            rows.extend(reasoning.framed(reasoning::body(rest, width, look), width, look));
        }
        if !reasoning.begun {
            return None;
        }
        rows.push(reasoning::bottom(width, look));
        let text = reasoning.text;
        Some((rows, cells::Reasoning { text }.into()))
    }

    /// The rows that went up so far, at another width; what follows fits them.
    pub fn replay(&mut self, width: u16, look: &Look, style: Style) -> Vec<Row> {
        if let Some(reasoning) = &mut self.reasoning {
            (reasoning.begun, reasoning.shown) = (false, 0);
        }
        if let Some(answer) = &mut self.answer {
            let source = answer.stream.source().to_owned();
            let mut again = Answer::new(style, answer.frame.clone());
            again.stream.push(&source);
            *answer = again;
        }
        self.settle(width, look)
    }
}

impl Answer {
    fn settle(&mut self, width: u16, look: &Look) -> Vec<Row> {
        let rows = self.stream.settle(answer::body_width(width), look);
        match rows.is_empty() {
            true => Vec::new(),
            false => self.framed(rows, width, look),
        }
    }

    /// Rows in their place, below the frame that comes first.
    fn framed(&mut self, rows: Vec<Row>, width: u16, look: &Look) -> Vec<Row> {
        let top = (!self.begun).then(|| self.frame.top(width, look));
        self.begun = true;
        top.into_iter().chain(answer::body(rows, width)).collect()
    }

    fn tail(&self, width: u16, look: &Look) -> Vec<Row> {
        let rows = self.stream.tail(answer::body_width(width), look);
        let top = (!self.begun && !rows.is_empty()).then(|| self.frame.top(width, look));
        top.into_iter().chain(answer::body(rows, width)).collect()
    }
}

impl Reasoning {
    /// Complete lines.
    fn settle(&mut self, width: u16, look: &Look) -> Vec<Row> {
        let fresh = &self.text[self.shown..];
        let Some(end) = fresh.rfind('\n') else {
            return Vec::new();
        };
        let rows = reasoning::body(&fresh[..end], width, look);
        self.shown += end + 1;
        self.framed(rows, width, look)
    }

    fn framed(&mut self, rows: Vec<Row>, width: u16, look: &Look) -> Vec<Row> {
        let top = (!self.begun).then(|| reasoning::top(width, look));
        self.begun = true;
        top.into_iter().chain(rows).collect()
    }

    fn tail(&self, width: u16, look: &Look) -> Vec<Row> {
        let rest = &self.text[self.shown..];
        match rest.is_empty() {
            true => Vec::new(),
            false => reasoning::body(rest, width, look),
        }
    }
}

/// Bytes a cell keeps, roughly.
pub fn bytes(cell: &Cell) -> usize {
    const SMALL: usize = 256;
    SMALL
        + match cell {
            Cell::Said(said) => said.text.len(),
            Cell::Answer(answer) => answer.text.len(),
            Cell::Reasoning(reasoning) => reasoning.text.len(),
            Cell::Tool(tool) => tool.about.len(),
            Cell::Explored(explored) => {
                let calls = explored.calls.iter();
                calls.map(|call| call.about.len() + 64).sum()
            }
            Cell::Todo(todo) => todo.steps.iter().map(|step| step.text.len() + 32).sum(),
            Cell::Notice(notice) => notice.text.len(),
            Cell::Output(output) => output.text.len(),
            Cell::Plain(text) => text.len(),
            Cell::Diff(diff) => {
                let lines = diff.files.iter().flat_map(|file| &file.hunks);
                let lines = lines.flat_map(|hunk| &hunk.lines);
                lines.map(|line| line.text.len() + 32).sum()
            }
            Cell::Recap(recap) => {
                let said = recap.exchanges.iter().map(|exchange| {
                    let answers: usize = exchange.answers.iter().map(String::len).sum();
                    exchange.said.len() + answers
                });
                said.sum()
            }
            Cell::Children(_) | Cell::Approval(_) | Cell::Banner(_) => SMALL,
        }
}

/// How a cell looks in the transcript itself.
pub fn rows(cell: &Cell, width: u16, look: &Look) -> Vec<Row> {
    cell.rows(width, look, Detail::Short)
}
