//! The status bar: one row with what is worth knowing all the time, as far as there is room.

use std::time::Duration;

use ratatui::text::Span;

use super::{banner, time};
use crate::Row;
use crate::look::{Look, Role};
use crate::text::{cut_front, one_line, width as wide};

/// Characters of a model's name.
const MODEL: usize = 26;
const SHORTEST: usize = 8;
/// Columns before the first part.
const MARGIN: usize = 1;
/// Screens from which on there is room for more.
const WIDE: u16 = 76;
const MIDDLE: u16 = 52;

/// The numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bar {
    /// The one that answers now.
    pub model: String,
    /// `None`: not known yet.
    pub context: Option<Context>,
    /// How often the conversation was made shorter.
    pub compressions: u32,
    /// How long the session lasts.
    pub session: Duration,
    pub turn: Turn,
    /// In dollars, if it is shown.
    pub cost: Option<f64>,
    /// Nothing is asked.
    pub yolo: bool,
    /// Tasks in the background, messages that wait.
    pub background: usize,
    pub queued: usize,
    /// What is wrong with MCP servers, or how many there are.
    pub mcp: Option<String>,
    pub cwd: Option<String>,
    pub branch: Option<String>,
}

/// Tokens of the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Context {
    pub used: u64,
    pub limit: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Turn {
    /// There was none yet.
    #[default]
    None,
    Running(Duration),
    /// The last one took so long.
    Ended(Duration),
}

impl Context {
    fn percent(self) -> u64 {
        match self.limit {
            0 => 0,
            limit => (self.used.saturating_mul(100) / limit).min(999),
        }
    }

    fn role(self) -> Role {
        match self.percent() {
            ..50 => Role::BarGood,
            50..=80 => Role::BarWarn,
            81..95 => Role::BarBad,
            95.. => Role::BarCritical,
        }
    }
}

impl Bar {
    /// Always one row, exactly as wide as the screen. The model's name gives way first.
    pub fn row(&self, width: u16, look: &Look) -> Row {
        let columns = usize::from(width);
        let parting = if width < WIDE { " · " } else { " │ " };
        let mut parts = match width {
            WIDE.. => self.wide(look),
            MIDDLE..WIDE => self.middle(look),
            ..MIDDLE => vec![vec![self.duration(look)]],
        };
        parts.extend(self.urgent(look));
        let fixed: usize = parts.iter().map(|part| wide_of(part) + wide(parting)).sum();
        let mut line = Line::new(columns, parting, look);
        line.put(self.model(columns.saturating_sub(fixed + MARGIN), look));
        for part in parts {
            line.put(part);
        }
        for (text, role) in self.more().into_iter().filter(|_| width >= WIDE) {
            line.put_if_fits(vec![Span::styled(text, look.style(role))]);
        }
        line.finish()
    }

    fn wide(&self, look: &Look) -> Vec<Vec<Span<'static>>> {
        let mut parts = Vec::new();
        let bar = look.style(Role::Bar);
        match self.context {
            None => parts.push(vec![Span::styled("ctx --", look.style(Role::BarDim))]),
            Some(context) => {
                let text = format!("{}/{}", tokens(context.used), tokens(context.limit));
                parts.push(vec![Span::styled(text, bar)]);
                let style = look.style(context.role());
                let text = format!("{} {}%", gauge(context.percent()), context.percent());
                parts.push(vec![Span::styled(text, style)]);
            }
        }
        if self.compressions > 0 {
            let role = match self.compressions {
                ..5 => Role::BarDim,
                5..10 => Role::BarWarn,
                10.. => Role::BarBad,
            };
            let text = format!("🗜 {}", self.compressions);
            parts.push(vec![Span::styled(text, look.style(role))]);
        }
        parts.push(vec![self.duration(look)]);
        let turn = match self.turn {
            Turn::None => None,
            Turn::Running(time) => Some(format!("⏱ {}", time::rough(time))),
            Turn::Ended(time) => Some(format!("⏲ {}", time::rough(time))),
        };
        parts.extend(turn.map(|turn| vec![Span::styled(turn, bar)]));
        parts
    }

    fn middle(&self, look: &Look) -> Vec<Vec<Span<'static>>> {
        let context = match self.context {
            None => Span::styled("ctx --", look.style(Role::BarDim)),
            Some(context) => {
                let style = look.style(context.role());
                Span::styled(format!("{}%", context.percent()), style)
            }
        };
        vec![vec![context], vec![self.duration(look)]]
    }

    /// What is shown where there is room, the most important first.
    fn more(&self) -> Vec<(String, Role)> {
        let mut more = Vec::new();
        let cost = self.cost.map(|cost| format!("${cost:.2}"));
        more.extend(cost.map(|cost| (cost, Role::Bar)));
        if self.background > 0 {
            more.push((format!("▶ {}", self.background), Role::Bar));
        }
        let mcp = self.mcp.as_deref().map(one_line);
        more.extend(mcp.map(|mcp| (mcp, Role::BarDim)));
        let branch = self.branch.as_deref().map(one_line);
        more.extend(branch.map(|branch| (format!("⎇ {branch}"), Role::BarDim)));
        let cwd = self.cwd.as_deref().map(one_line);
        more.extend(cwd.map(|cwd| (cut_front(&cwd, 30), Role::BarDim)));
        more
    }

    /// What nobody may overlook at any width.
    fn urgent(&self, look: &Look) -> Vec<Vec<Span<'static>>> {
        let yolo = self.yolo.then(|| ("YOLO".to_owned(), Role::BarCritical));
        let queued = (self.queued > 0).then(|| (format!("⏳ {}", self.queued), Role::BarWarn));
        let parts = yolo.into_iter().chain(queued);
        parts
            .map(|(text, role)| vec![Span::styled(text, look.style(role))])
            .collect()
    }

    /// The name in at most `room` columns, but never without a few letters.
    fn model(&self, room: usize, look: &Look) -> Vec<Span<'static>> {
        let sign = format!("{} ", banner::sign(look));
        let room = room.saturating_sub(wide(&sign)).clamp(SHORTEST, MODEL);
        let name = dotted(&short_model(&self.model), room);
        vec![
            Span::styled(sign, look.style(Role::BarDim)),
            Span::styled(name, look.style(Role::BarStrong)),
        ]
    }

    fn duration(&self, look: &Look) -> Span<'static> {
        Span::styled(time::rough(self.session), look.style(Role::BarDim))
    }
}

/// A row that fills from the left.
struct Line<'a> {
    spans: Vec<Span<'static>>,
    columns: usize,
    used: usize,
    parting: &'static str,
    look: &'a Look,
}

impl<'a> Line<'a> {
    fn new(columns: usize, parting: &'static str, look: &'a Look) -> Self {
        let margin = Span::styled(" ", look.style(Role::Bar));
        Self {
            spans: if columns > 0 {
                vec![margin]
            } else {
                Vec::new()
            },
            columns,
            used: MARGIN.min(columns),
            parting,
            look,
        }
    }

    /// Columns a part needs, with what parts it from the one before.
    fn needs(&self, part: &[Span<'static>]) -> usize {
        let parting = if self.spans.len() > 1 {
            wide(self.parting)
        } else {
            0
        };
        parting + wide_of(part)
    }

    fn put_if_fits(&mut self, part: Vec<Span<'static>>) {
        if self.used + self.needs(&part) < self.columns {
            self.put(part);
        }
    }

    fn put(&mut self, part: Vec<Span<'static>>) {
        self.used += self.needs(&part);
        if self.spans.len() > 1 {
            let dim = self.look.style(Role::BarDim);
            self.spans.push(Span::styled(self.parting, dim));
        }
        self.spans.extend(part);
    }

    fn finish(mut self) -> Row {
        let bar = self.look.style(Role::Bar);
        if self.used <= self.columns {
            let rest = self.columns - self.used;
            self.spans.push(Span::styled(" ".repeat(rest), bar));
            return Row::from(self.spans);
        }
        let mut left = self.columns;
        let mut spans = Vec::new();
        for span in self.spans {
            let kept = dotted(&span.content, left);
            left -= wide(&kept);
            let whole = kept == span.content;
            spans.push(Span::styled(kept, span.style));
            if !whole {
                break;
            }
        }
        spans.push(Span::styled(" ".repeat(left), bar));
        Row::from(spans)
    }
}

fn wide_of(part: &[Span<'static>]) -> usize {
    part.iter().map(|span| wide(&span.content)).sum()
}

/// The beginning of a text, with `...` if something is missing.
fn dotted(text: &str, columns: usize) -> String {
    if wide(text) <= columns {
        return text.to_owned();
    }
    let kept = crate::text::cut(text, columns.saturating_sub(2));
    let kept = kept.trim_end_matches('…');
    let dots = columns.saturating_sub(wide(kept)).min(3);
    format!("{kept}{}", ".".repeat(dots))
}

/// The last part of a model's name, without the ending of its file.
fn short_model(model: &str) -> String {
    let model = one_line(model);
    let name = model.trim_end_matches('/').rsplit('/').next();
    let name = name.unwrap_or_default();
    let name = name.strip_suffix(".gguf").unwrap_or(name);
    dotted(name, MODEL)
}

fn tokens(count: u64) -> String {
    let scaled = |unit: f64, letter: char| {
        let number = format!("{:.1}", count as f64 / unit);
        format!("{}{letter}", number.strip_suffix(".0").unwrap_or(&number))
    };
    match count {
        ..1000 => count.to_string(),
        1000..999_950 => scaled(1e3, 'K'),
        _ => scaled(1e6, 'M'),
    }
}

fn gauge(percent: u64) -> String {
    let full = usize::try_from((percent.min(100) + 5) / 10).unwrap_or(10);
    format!("[{}{}]", "█".repeat(full), "░".repeat(10 - full))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn models_are_called_by_their_last_name() {
        let check = |model: &str, expected: &str| assert_eq!(short_model(model), expected);
        check("vendor/some-model", "some-model");
        check("/models/llama.Q4.gguf", "llama.Q4");
        check("abcdefghijklmnopqrstuvwxyz", "abcdefghijklmnopqrstuvwxyz");
        check("abcdefghijklmnopqrstuvwxyz0", "abcdefghijklmnopqrstuvw...");
        check("", "");
    }

    #[test]
    fn tokens_are_short() {
        let check = |count, expected: &str| assert_eq!(tokens(count), expected);
        check(999, "999");
        check(12_345, "12.3K");
        check(200_000, "200K");
        check(999_999, "1M");
        check(1_250_000, "1.2M");
    }

    #[test]
    fn colours_say_how_full_it_is() {
        let check = |used, expected| {
            assert_eq!(Context { used, limit: 100 }.role(), expected, "{used}");
        };
        check(49, Role::BarGood);
        check(50, Role::BarWarn);
        check(80, Role::BarWarn);
        check(81, Role::BarBad);
        check(94, Role::BarBad);
        check(95, Role::BarCritical);
        check(130, Role::BarCritical);
        assert_eq!(gauge(31), "[███░░░░░░░]");
        assert_eq!(gauge(100), "[██████████]");
    }
}
