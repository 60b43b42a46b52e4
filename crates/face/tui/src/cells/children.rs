//! Conversations a call has started: one row each, with what it does now and for how long.

use std::time::Duration;

use ratatui::text::Span;

use super::time;
use crate::Row;
use crate::look::{Look, Role};
use crate::text::{clip, cut, one_line, width as wide};

/// Children of children stand further in, but not for ever.
const DEEPEST: usize = 4;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Children {
    pub tasks: Vec<Task>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// Its place among the call's tasks, from 0.
    pub index: usize,
    pub goal: String,
    /// The last tool it used, and what for.
    pub last: Option<Last>,
    pub elapsed: Duration,
    pub state: State,
    pub children: Vec<Task>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Last {
    pub tool: String,
    pub about: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Running,
    Done,
    Failed,
    Stopped,
}

impl Children {
    pub fn rows(&self, width: u16, look: &Look) -> Vec<Row> {
        let mut rows = Vec::new();
        let margin = if width >= 40 { "  " } else { "" };
        tree(&self.tasks, margin, 0, width, look, &mut rows);
        rows
    }
}

fn tree(tasks: &[Task], stem: &str, depth: usize, width: u16, look: &Look, rows: &mut Vec<Row>) {
    for (place, task) in tasks.iter().enumerate() {
        let last = place + 1 == tasks.len();
        let (branch, further) = if last {
            ("└─ ", "   ")
        } else {
            ("├─ ", "│  ")
        };
        rows.push(row(task, &format!("{stem}{branch}"), width, look));
        if depth < DEEPEST {
            let stem = format!("{stem}{further}");
            tree(&task.children, &stem, depth + 1, width, look, rows);
        }
    }
}

fn row(task: &Task, stem: &str, width: u16, look: &Look) -> Row {
    let (sign, tone) = match task.state {
        State::Running => ("", Role::Faint),
        State::Done => ("✓ ", Role::Good),
        State::Failed => ("✗ ", Role::Bad),
        State::Stopped => ("■ ", Role::Warn),
    };
    let columns = usize::from(width);
    let number = format!("{}. ", task.index + 1);
    let time = match task.state {
        State::Running => format!("  {}", time::timer(task.elapsed)),
        _ => format!("  {}", time::short(task.elapsed)),
    };
    let used = wide(stem) + wide(sign) + wide(&number) + wide(&time);
    let room = columns.saturating_sub(used);
    let doing = match (&task.last, task.state) {
        (Some(last), State::Running) => {
            let about = one_line(&last.about);
            let picture = look.emoji(&last.tool);
            format!(" · {picture} {} {about}", one_line(&look.verb(&last.tool)))
        }
        _ => String::new(),
    };
    // The goal keeps half of the row at least; what is done now takes the rest.
    let goal = cut(
        &one_line(&task.goal),
        room.saturating_sub(wide(&doing)).max(room / 2),
    );
    let doing = cut(doing.trim_end(), room.saturating_sub(wide(&goal)));
    let row = Row::from(vec![
        Span::styled(stem.to_owned(), look.style(Role::Border)),
        Span::styled(sign, look.style(tone)),
        Span::raw(number),
        Span::raw(goal),
        Span::styled(doing, look.style(Role::Faint)),
        Span::styled(time, look.style(Role::Faint)),
    ]);
    clip(row, columns)
}
