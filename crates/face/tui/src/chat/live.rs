//! The rows that live: what is not finished, what is asked, where things stand, and what is typed.

use std::time::Instant;

use hermes_session::Busy;
use hermes_types::Question;
use ratatui::text::Span;

use super::ask::{Asking, COMMAND};
use super::room::Room;
use super::turn::tree;
use crate::Row;
use crate::cells::spinner::{Motion, Phase, Spinner};
use crate::cells::status::{Bar, Context, Turn as BarTurn};
use crate::cells::tool::State;
use crate::cells::{Children, Tool};
use crate::look::{Look, Role};
use crate::screen::Position;
use crate::text::{clip, cut, cut_front, harmless, one_line, wrap};

/// Rows of what is typed, and of the list below it.
const INPUT: usize = 8;
const MENU: usize = 12;
/// Messages that wait and are in sight.
const QUEUE: usize = 3;
/// Columns of the sign before what is typed, whatever a skin says.
const SYMBOL: usize = 12;
/// Narrower screens do without rules.
const NARROW: u16 = 64;

/// The live region and where the cursor stands in it.
pub struct Drawn {
    pub rows: Vec<Row>,
    pub cursor: Option<Position>,
}

impl Room {
    pub fn draw(&mut self, now: Instant) -> Drawn {
        let width = self.size.width;
        let below = self.input(now);
        let mut above = self.standing_rows(now);
        let asked = self.questions.current();
        let asked = asked.map(|asking| question(asking, now, width, &self.look));
        let spare = usize::from(self.size.height)
            .saturating_sub(below.rows.len() + above.len() + 1)
            .max(1);
        let mut rows = match asked {
            Some(rows) => last(rows, spare),
            None => last(self.growing(now), spare),
        };
        rows.splice(0..0, self.first_rows(now));
        rows.append(&mut above);
        let cursor = below.cursor.map(|cursor| Position {
            y: cursor.y + rows.len() as u16,
            ..cursor
        });
        rows.extend(below.rows);
        Drawn { rows, cursor }
    }

    /// What the turn is doing.
    fn growing(&mut self, now: Instant) -> Vec<Row> {
        let (width, look) = (self.size.width, &self.look);
        let Some(turn) = &self.turn else {
            return match self.joined {
                true => Vec::new(),
                false => vec![self.spinner(Phase::Waiting, now)],
            };
        };
        let mut rows = self.group_rows();
        if self.display.streaming {
            let mut tail = turn.tail(width, look);
            self.pace.frame(tail.len(), now);
            tail.truncate(self.pace.tail());
            rows.append(&mut tail);
        }
        for tool in &turn.tools {
            let cell = Tool {
                name: tool.name.clone(),
                about: tool.about.clone(),
                state: State::Running(now - tool.began),
                preview: self.display.preview,
            };
            rows.push(cell.row(width, look));
            let faint = look.style(Role::Faint);
            rows.extend(tool.output.iter().map(|line| {
                let line = format!("     {}", one_line(line));
                Row::from(Span::styled(cut(&line, usize::from(width)), faint))
            }));
        }
        if !turn.children.is_empty() {
            let tasks = tree(&turn.children, now);
            rows.extend(Children { tasks }.rows(width, look));
        }
        if let Some(name) = &turn.preparing {
            let cell = Tool {
                name: name.clone(),
                about: String::new(),
                state: State::Preparing,
                preview: self.display.preview,
            };
            rows.push(cell.row(width, look));
        }
        if let Some(retrying) = &turn.retrying {
            let told = format!(
                "⟳ {} (attempt {} of {}, waiting {:.0} s)",
                one_line(&retrying.reason),
                retrying.attempt,
                retrying.of,
                retrying.wait.as_secs_f64()
            );
            let told = cut(&told, usize::from(width));
            rows.push(Row::from(Span::styled(told, look.style(Role::Warn))));
        }
        if turn.tools.is_empty() && turn.preparing.is_none() {
            let phase = match turn.answer.is_some() || turn.reasoning.is_some() {
                true => Phase::Thinking,
                false => Phase::Waiting,
            };
            rows.push(self.spinner(phase, now));
        }
        rows.extend(self.plan_rows());
        rows
    }

    fn spinner(&self, phase: Phase, now: Instant) -> Row {
        let began = self
            .turn
            .as_ref()
            .map_or(self.standing.began, |turn| turn.began);
        let motion = match self.still {
            true => Motion::Reduced,
            false => Motion::Full,
        };
        let spinner = Spinner {
            tick: self.ticks,
            phase,
            indicator: self.indicator,
            motion,
            elapsed: now - began,
        };
        spinner.row(self.size.width, &self.look)
    }

    /// What waits, and the status bar.
    fn standing_rows(&self, now: Instant) -> Vec<Row> {
        let (width, look) = (self.size.width, &self.look);
        let mut rows = Vec::new();
        let waiting = self.queue.shown();
        let count = waiting.len();
        let faint = look.style(Role::Faint);
        for text in waiting.take(QUEUE) {
            let line = cut(&format!("⋯ {}", one_line(text)), usize::from(width));
            rows.push(Row::from(Span::styled(line, faint)));
        }
        if count > QUEUE {
            let more = format!("  (+{} more; Alt+↑ takes the last one back)", count - QUEUE);
            rows.push(Row::from(Span::styled(
                cut(&more, usize::from(width)),
                faint,
            )));
        }
        if self.display.bar {
            rows.push(self.bar(now).row(width, look));
        }
        rows
    }

    fn bar(&self, now: Instant) -> Bar {
        let standing = &self.standing;
        let model = standing.model.as_ref();
        let limit = model.map_or(0, |model| model.context_length);
        Bar {
            model: model.map(|model| model.model.clone()).unwrap_or_default(),
            context: standing
                .used
                .filter(|_| limit > 0)
                .map(|used| Context { used, limit }),
            compressions: standing.compactions,
            session: now - standing.began,
            turn: match (&self.turn, standing.last_turn) {
                (Some(turn), _) => BarTurn::Running(now - turn.began),
                (None, Some(took)) => BarTurn::Ended(took),
                (None, None) => BarTurn::None,
            },
            cost: standing.usd.filter(|_| self.display.cost),
            yolo: standing.yolo,
            background: standing.background.len(),
            queued: self.queue.shown().len(),
            mcp: standing.servers.clone(),
            cwd: Some(self.cwd.clone()),
            branch: None,
        }
    }

    /// What is typed, with the rules around it and the list below.
    fn input(&mut self, now: Instant) -> Drawn {
        let width = self.size.width;
        let ruled = width >= NARROW;
        let most = INPUT.min(usize::from(self.size.height / 3).max(1));
        self.dress_editor();
        let mut rows = Vec::new();
        if ruled {
            rows.push(self.rule());
        }
        let top = rows.len();
        let (drawn, offset) = match (&self.search, self.questions.current_mut()) {
            (_, Some(asking)) => match &mut asking.editor {
                Some(editor) => (Some(editor.rows(usize::from(width), most, &self.look)), top),
                None => (None, top),
            },
            (Some(search), None) => {
                rows.extend(search.rows(usize::from(width), &self.look));
                (None, top)
            }
            (None, None) => {
                let drawn = self.editor.rows(usize::from(width), most, &self.look);
                (Some(drawn), top)
            }
        };
        let cursor = drawn.as_ref().map(|drawn| Position {
            x: drawn.cursor.0,
            y: drawn.cursor.1 + offset as u16,
        });
        rows.extend(drawn.into_iter().flat_map(|drawn| drawn.rows));
        if ruled {
            rows.push(self.rule());
        }
        rows.extend(self.under(now));
        Drawn { rows, cursor }
    }

    /// What stands below the input: a hint, or the list.
    fn under(&mut self, now: Instant) -> Vec<Row> {
        let width = self.size.width;
        if let Some(hint) = self.hint.as_ref().filter(|hint| hint.until > now) {
            let text = cut(&hint.text, usize::from(width));
            return vec![Row::from(Span::styled(text, self.look.style(Role::Warn)))];
        }
        let most = MENU.min(usize::from(self.size.height / 2));
        self.menu.rows(usize::from(width), most, &self.look)
    }

    fn rule(&self) -> Row {
        let line = "─".repeat(usize::from(self.size.width));
        Row::from(Span::styled(line, self.look.style(Role::Rule)))
    }

    /// The sign before what is typed says what is going on.
    fn dress_editor(&mut self) {
        let symbol = cut(&one_line(&self.look.branding().prompt_symbol), SYMBOL);
        let (prompt, placeholder) = match (&self.turn, self.display.busy) {
            (None, _) => (format!("{symbol} "), ""),
            (Some(turn), _) if turn.stopping => (format!("⚕ {symbol} "), "stopping …"),
            (Some(_), Busy::Interrupt) => (
                format!("⚕ {symbol} "),
                "msg=interrupt · /queue · /bg · /steer · Ctrl+C cancel",
            ),
            (Some(_), Busy::Queue) => (
                format!("⚕ {symbol} "),
                "msg=queue · /steer · /bg · Ctrl+C cancel",
            ),
            (Some(_), Busy::Steer) => (
                format!("⚕ {symbol} "),
                "msg=steer · /queue · /bg · Ctrl+C cancel",
            ),
        };
        self.editor.set_prompt(&prompt);
        self.editor.set_placeholder(placeholder);
    }
}

/// The end of some rows; what is above it is not in sight.
fn last(mut rows: Vec<Row>, most: usize) -> Vec<Row> {
    let hidden = rows.len().saturating_sub(most);
    rows.drain(..hidden);
    rows
}

/// A question with its choices. When rows are few, the choices are what stays: they come last.
fn question(asking: &Asking, now: Instant, width: u16, look: &Look) -> Vec<Row> {
    let columns = usize::from(width);
    let mut rows = Vec::new();
    let mut say = |text: &str, role: Role| {
        let style = look.style(role);
        for line in harmless(text).lines() {
            let row = Row::from(Span::styled(line.to_owned(), style));
            rows.extend(wrap(row, columns, 2));
        }
    };
    match &asking.question {
        Question::Approve {
            command, warnings, ..
        } => {
            say(
                &format!("⚠ Dangerous Command{}", left(asking, now)),
                Role::Warn,
            );
            let shown = match asking.whole {
                true => command.clone(),
                false => cut(&one_line(command), COMMAND.min(columns.saturating_sub(2))),
            };
            say(&indent(&shown), Role::Strong);
            say(&indent(&warnings.join("; ")), Role::Faint);
        }
        Question::Clarify { question, .. } => say(&format!("? {question}"), Role::Strong),
        Question::Secret { prompt } => say(&format!("🔑 {prompt}"), Role::Strong),
        Question::Confirm { question, .. } => say(&format!("? {question}"), Role::Strong),
        Question::Elicit {
            server,
            message,
            fields,
            ..
        } => {
            say(
                &format!("? {server} asks{}", left(asking, now)),
                Role::Strong,
            );
            say(&indent(message), Role::Text);
            for field in fields {
                say(&format!("  - {}", one_line(field)), Role::Text);
            }
        }
    }
    if asking.editor.is_none() {
        for (index, choice) in asking.choices.iter().enumerate() {
            let current = index == asking.selected;
            let (mark, role) = match current {
                true => ("❯", Role::Accent),
                false => (" ", Role::Text),
            };
            let line = format!("{mark} {} {}", index + 1, one_line(&choice.label));
            let row = Row::from(Span::styled(line, look.style(role)));
            rows.push(clip(row, columns));
        }
    }
    rows
}

/// How long the question waits.
fn left(asking: &Asking, now: Instant) -> String {
    let Some(countdown) = &asking.countdown else {
        return String::new();
    };
    let left = countdown.left(now).as_secs_f64().ceil();
    match countdown.is_paused(now) {
        true => format!(" ({left}s, paused)"),
        false => format!(" ({left}s)"),
    }
}

fn indent(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| format!("  {line}")).collect();
    lines.join("\n")
}

/// A directory as the owner would say it, short enough for the bar.
pub fn short_dir(dir: &std::path::Path, user_home: &std::path::Path) -> String {
    let text = match dir.strip_prefix(user_home) {
        Ok(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Ok(rest) => format!("~/{}", rest.display()),
        Err(_) => dir.display().to_string(),
    };
    cut_front(&one_line(&text), 40)
}
