//! The list of what is to be done, as the model keeps it.

use ratatui::text::Span;

use crate::Row;
use crate::look::{Look, Role};
use crate::text::{one_line, wrap};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Todo {
    pub tasks: Vec<Task>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    pub text: String,
    pub status: Status,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Pending,
    InProgress,
    Completed,
    Cancelled,
}

impl Todo {
    pub fn rows(&self, width: u16, look: &Look) -> Vec<Row> {
        let columns = usize::from(width).max(1);
        let margin = if width >= 40 { 4 } else { 0 };
        let row = |task: &Task| {
            let (sign, tone, style) = match task.status {
                Status::Pending => ("☐ ", Role::Faint, look.style(Role::Text)),
                Status::InProgress => ("◐ ", Role::Accent, look.style(Role::Strong)),
                Status::Completed => ("☑ ", Role::Good, look.style(Role::Faint)),
                Status::Cancelled => ("☒ ", Role::Faint, look.style(Role::Faint).crossed_out()),
            };
            let row = Row::from(vec![
                Span::raw(" ".repeat(margin)),
                Span::styled(sign, look.style(tone)),
                Span::styled(one_line(&task.text), style),
            ]);
            wrap(row, columns, margin + 2)
        };
        self.tasks.iter().flat_map(row).collect()
    }
}
