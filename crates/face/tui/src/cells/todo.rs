//! What is to be done, as the model keeps it: one list that changes where it stands.

use hermes_types::{Step, StepStatus};
use ratatui::text::Span;

use super::tool::plain_head;
use crate::Row;
use crate::look::{Look, Role};
use crate::text::{clip, one_line, wrap};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Todo {
    pub steps: Vec<Step>,
}

impl Todo {
    pub fn rows(&self, width: u16, look: &Look) -> Vec<Row> {
        let columns = usize::from(width).max(1);
        let steps = self.steps.iter();
        let steps = steps.flat_map(|step| wrap(row(step, width, look), columns, margin(width) + 2));
        std::iter::once(self.head(width, look))
            .chain(steps)
            .collect()
    }

    /// One row for each step, and no more than `most`: those around what is being done.
    pub fn glance(&self, width: u16, most: usize, look: &Look) -> Vec<Row> {
        let columns = usize::from(width).max(1);
        let room = most.saturating_sub(1);
        let (from, count) = match self.steps.len() <= room {
            true => (0, self.steps.len()),
            // One row says that there is more.
            false => self.around(room.saturating_sub(1)),
        };
        let mut rows = vec![self.head(width, look)];
        let seen = self.steps.iter().skip(from).take(count);
        rows.extend(seen.map(|step| clip(row(step, width, look), columns)));
        let hidden = self.steps.len() - count;
        if hidden > 0 {
            let told = format!("{}… +{hidden} more", " ".repeat(margin(width)));
            let told = Row::from(Span::styled(told, look.style(Role::Faint)));
            rows.push(clip(told, columns));
        }
        rows.truncate(most);
        rows
    }

    /// Which of so many steps are worth a look: from the last one that is done on.
    fn around(&self, room: usize) -> (usize, usize) {
        let is_open =
            |step: &Step| matches!(step.status, StepStatus::Pending | StepStatus::InProgress);
        let open = self.steps.iter().position(is_open);
        let first = open.unwrap_or(self.steps.len()).saturating_sub(1);
        (first.min(self.steps.len().saturating_sub(room)), room)
    }

    fn head(&self, width: u16, look: &Look) -> Row {
        let is_done = |step: &&Step| step.status == StepStatus::Completed;
        let done = self.steps.iter().filter(is_done).count();
        let told = match self.steps.len() {
            0 => "nothing to do".to_owned(),
            all => format!("{done} of {all} done"),
        };
        plain_head("todo", &told, width, look)
    }
}

fn row(step: &Step, width: u16, look: &Look) -> Row {
    let (sign, tone, style) = match step.status {
        StepStatus::Pending => ("☐ ", Role::Faint, look.style(Role::Text)),
        StepStatus::InProgress => ("◐ ", Role::Accent, look.style(Role::Strong)),
        StepStatus::Completed => ("☑ ", Role::Good, look.style(Role::Faint)),
        StepStatus::Cancelled => ("☒ ", Role::Faint, look.style(Role::Faint).crossed_out()),
    };
    Row::from(vec![
        Span::raw(" ".repeat(margin(width))),
        Span::styled(sign, look.style(tone)),
        Span::styled(one_line(&step.text), style),
    ])
}

fn margin(width: u16) -> usize {
    if width >= 40 { 4 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn todo(done: usize, all: usize) -> Todo {
        let status = |n| match n {
            n if n < done => StepStatus::Completed,
            n if n == done => StepStatus::InProgress,
            _ => StepStatus::Pending,
        };
        let step = |n| Step {
            text: format!("step {n}"),
            status: status(n),
        };
        Todo {
            steps: (0..all).map(step).collect(),
        }
    }

    fn glance(todo: &Todo, most: usize) -> String {
        let rows = todo.glance(80, most, &Look::plain());
        let rows: Vec<_> = rows.iter().map(|row| row.to_string()).collect();
        rows.join("\n")
    }

    #[test]
    fn a_long_list_shows_what_is_being_done() {
        insta::assert_snapshot!(glance(&todo(1, 3), 6), @r"
          ┊ 📋 plan      1 of 3 done
            ☑ step 0
            ◐ step 1
            ☐ step 2
        ");
        insta::assert_snapshot!(glance(&todo(5, 9), 5), @r"
          ┊ 📋 plan      5 of 9 done
            ☑ step 4
            ◐ step 5
            ☐ step 6
            … +6 more
        ");
        insta::assert_snapshot!(glance(&todo(9, 9), 4), @r"
          ┊ 📋 plan      9 of 9 done
            ☑ step 7
            ☑ step 8
            … +7 more
        ");
        for most in 0..12 {
            assert!(todo(5, 9).glance(80, most, &Look::plain()).len() <= most);
        }
    }
}
