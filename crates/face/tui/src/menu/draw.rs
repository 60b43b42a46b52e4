//! The list as rows of the screen.

use ratatui::style::{Modifier, Style};
use ratatui::text::Span;
use unicode_segmentation::UnicodeSegmentation;

use crate::look::{Look, Role};
use crate::{Row, text};

use super::rank::Item;
use super::{Kind, Menu};

/// More rows than these nobody reads.
const MOST: usize = 12;
/// Below this many columns there is no room for descriptions.
const NARROW: usize = 30;

impl Menu {
    /// At most `most` rows, and never more than 12; nothing if the list is closed.
    pub fn rows(&mut self, width: usize, most: usize, look: &Look) -> Vec<Row> {
        let room = most.min(MOST);
        let Some(open) = self.open.as_mut().filter(|_| room > 0) else {
            return Vec::new();
        };
        let count = open.items.len();
        // The last row says how many more there are, unless even the list has hardly any room.
        let told = count > room && room > 2;
        let shown = if told { room - 1 } else { room };
        let at = open.selected.unwrap_or(0);
        let lowest = count.saturating_sub(shown);
        open.top = open
            .top
            .clamp((at + 1).saturating_sub(shown), at)
            .min(lowest);
        let labels = open
            .items
            .iter()
            .map(|item| text::width(&item.candidate.label));
        let column = labels.max().unwrap_or(0).min((width * 2 / 5).max(12));
        let visible = open.items.iter().enumerate().skip(open.top).take(shown);
        let mut rows: Vec<Row> = visible
            .map(|(index, item)| {
                let current = open.selected == Some(index);
                let style = Styles::of(look, current);
                row(item, &style, column, width)
            })
            .collect();
        if told {
            let line = format!("  {} of {count}", open.selected.map_or(0, |at| at + 1));
            let line = match open.selected {
                None => format!("  … {} more", count - shown),
                Some(_) => line,
            };
            let line = text::cut(&line, width);
            rows.push(Row::from(Span::styled(line, look.style(Role::Faint))));
        }
        rows
    }
}

struct Styles {
    sign: &'static str,
    label: Style,
    about: Style,
}

impl Styles {
    fn of(look: &Look, current: bool) -> Self {
        let (sign, label, about) = match current {
            true => ("› ", Role::MenuCurrent, Role::MenuAboutCurrent),
            false => ("  ", Role::Menu, Role::MenuAbout),
        };
        Self {
            sign,
            label: look.style(label),
            about: look.style(about),
        }
    }
}

fn row(item: &Item, style: &Styles, column: usize, width: usize) -> Row {
    let candidate = &item.candidate;
    let mut left = width;
    let mut spans = Vec::new();
    let mut put = |text: &str, style: Style| {
        let fitting = text::cut(text, left);
        left -= text::width(&fitting);
        spans.push(Span::styled(fitting, style));
    };
    put(style.sign, style.label);
    let whole = text::harmless(&candidate.label.replace('\n', " "));
    let label = text::cut(&whole, column);
    for (part, matched) in parts(&label, &item.matched) {
        let style = match matched {
            true => style
                .label
                .add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
            false => style.label,
        };
        put(&part, style);
    }
    if width >= NARROW {
        let gap = column - text::width(&label).min(column) + 2;
        put(&" ".repeat(gap), style.about);
        let marker = match candidate.kind {
            Kind::Plain => "",
            Kind::Skill => "◆ ",
            Kind::Quick => "» ",
        };
        put(
            &format!("{marker}{}", text::one_line(&candidate.about)),
            style.about,
        );
    }
    Row::from(spans)
}

/// A label in pieces that were typed and pieces that were not.
fn parts(label: &str, matched: &[usize]) -> Vec<(String, bool)> {
    let mut parts: Vec<(String, bool)> = Vec::new();
    let mut index = 0;
    for grapheme in label.graphemes(true) {
        let next = index + grapheme.chars().count();
        let hit = matched.iter().any(|at| (index..next).contains(at));
        index = next;
        match parts.last_mut() {
            Some((text, same)) if *same == hit => text.push_str(grapheme),
            _ => parts.push((grapheme.to_owned(), hit)),
        }
    }
    parts
}
