//! What stands around the rows of a list: title, help, what was typed, and how much there is.

use ratatui::layout::{Position, Size};
use ratatui::text::Span;

use super::body::{Body, Search};
use super::item::Item;
use crate::Row;
use crate::look::{Look, Role};
use crate::text::{cut, width, wrap};

/// Below this many rows nothing is spent on explanations and air.
const ROOMY: usize = 14;
/// A label is worth more than the columns beside it.
const MIN_LABEL: usize = 24;
const MAX_CELL: usize = 28;
/// Rows for what did not fit into a row.
const MAX_WHOLE: usize = 4;

/// The words around a list.
#[derive(Clone, Debug, Default)]
pub(super) struct Frame {
    pub title: String,
    /// What the question is about, where there is room.
    pub note: String,
    pub help: Vec<(String, String)>,
    /// Names of the columns; the first is the label's.
    pub header: Vec<String>,
    /// What is counted.
    pub unit: String,
    pub footer: String,
}

/// How rows begin.
pub(super) type Mark<'m> = &'m dyn Fn(usize) -> &'static str;

impl Frame {
    pub fn new(title: impl Into<String>, help: &[(&str, &str)]) -> Self {
        let help = help.iter();
        Self {
            title: crate::text::one_line(&title.into()),
            help: help
                .map(|(key, what)| ((*key).to_owned(), (*what).to_owned()))
                .collect(),
            ..Self::default()
        }
    }

    /// Everything above the rows.
    pub fn head(&self, size: Size, look: &Look) -> Vec<Row> {
        let columns = usize::from(size.width);
        let is_roomy = usize::from(size.height) >= ROOMY;
        let title = Row::from(Span::styled(self.title.clone(), look.style(Role::Title)));
        let mut rows = wrap(title, columns, 0);
        if !is_roomy && rows.len() > 1 {
            rows = vec![styled(cut(&self.title, columns), look.style(Role::Title))];
        }
        if is_roomy && !self.note.is_empty() {
            for line in self.note.lines() {
                rows.extend(wrap(Row::raw(line.to_owned()), columns, 0));
            }
            rows.truncate(usize::from(size.height) / 2);
        }
        let mut help = help_rows(&self.help, columns);
        // With one row to spend, what everybody knows goes first.
        let mut skipped = 0;
        while !is_roomy && help.len() > 1 {
            skipped += 1;
            help = help_rows(&self.help[skipped..], columns);
        }
        rows.extend(
            help.into_iter()
                .map(|line| styled(line, look.style(Role::Faint))),
        );
        if is_roomy {
            rows.push(Row::default());
        }
        rows
    }

    /// A whole list.
    pub fn list<T>(&self, body: &Body<T>, mark: Mark<'_>, size: Size, look: &Look) -> Vec<Row> {
        let columns = usize::from(size.width);
        let height = usize::from(size.height);
        let mut rows = self.head(size, look);
        if body.search != Search::None {
            rows.push(typed_row(body, columns, look));
        }
        let mark_width = body.items.first().map_or(0, |_| width(mark(0)));
        let grid = Grid::new(&body.items, &self.header, columns, 2 + mark_width);
        let foot = self.foot(body);
        let header = !self.header.is_empty() && height >= ROOMY;
        if header {
            rows.push(styled(grid.header(&self.header), look.style(Role::Faint)));
        }
        // On the smallest screen there is still the row under the cursor.
        rows.truncate(height.saturating_sub(2));
        let whole = match height >= ROOMY {
            true => grid.whole(body, look),
            false => Vec::new(),
        };
        let room = height.saturating_sub(rows.len() + 1 + whole.len()).max(1);
        rows.extend(visible(body, mark, &grid, room, look));
        rows.extend(whole);
        rows.truncate(height.saturating_sub(1).max(1));
        if rows.len() < height {
            rows.push(styled(cut(&foot, columns), look.style(Role::Faint)));
        }
        rows
    }

    fn foot<T>(&self, body: &Body<T>) -> String {
        let shown = body.shown();
        let place = shown.iter().position(|place| *place == body.at);
        let place = place.map_or(0, |place| place + 1);
        let mut foot = format!("{place}/{} {}", shown.len(), self.unit);
        foot.truncate(foot.trim_end().len());
        if !body.typed.is_empty() {
            foot.push_str(&format!(" (filtered from {})", body.items.len()));
        }
        if !self.footer.is_empty() {
            foot = format!("{foot}  {}", self.footer);
        }
        foot
    }

    /// Where the search is typed.
    pub fn cursor<T>(&self, body: &Body<T>, size: Size) -> Option<Position> {
        if body.search == Search::None {
            return None;
        }
        let above = self.head(size, &Look::plain()).len();
        let columns = usize::from(size.width);
        let x = (2 + width(&tail(&body.typed, columns.saturating_sub(3)))).min(columns);
        Some(Position::new(
            u16::try_from(x).ok()?,
            u16::try_from(above).ok()?,
        ))
    }
}

/// Keys and what they do, broken only between two of them.
fn help_rows(help: &[(String, String)], columns: usize) -> Vec<String> {
    let mut rows: Vec<String> = Vec::new();
    for (key, what) in help {
        let pair = format!("{key} {what}");
        match rows.last_mut() {
            Some(last) if width(last) + 2 + width(&pair) <= columns => {
                last.push_str("  ");
                last.push_str(&pair);
            }
            _ => rows.push(cut(&pair, columns)),
        }
    }
    rows
}

fn typed_row<T>(body: &Body<T>, columns: usize, look: &Look) -> Row {
    let prompt = Span::styled("/ ", look.style(Role::Prompt));
    let text = if body.typed.is_empty() {
        let hint = cut("type to search", columns.saturating_sub(2));
        Span::styled(hint, look.style(Role::Faint))
    } else {
        Span::raw(tail(&body.typed, columns.saturating_sub(3)))
    };
    Row::from(vec![prompt, text])
}

/// The end of what was typed, where the cursor is.
pub(super) fn tail(text: &str, columns: usize) -> String {
    let mut kept = text;
    while width(kept) > columns {
        let mut rest = kept.chars();
        rest.next();
        kept = rest.as_str();
    }
    kept.to_owned()
}

/// The rows round the cursor, with the headings of their groups.
fn visible<T>(body: &Body<T>, mark: Mark<'_>, grid: &Grid, room: usize, look: &Look) -> Vec<Row> {
    let shown = body.shown();
    if shown.is_empty() {
        let text = cut("  nothing fits; Esc shows all", grid.columns);
        return vec![styled(text, look.style(Role::Faint))];
    }
    let mut rows = Vec::new();
    let mut at = 0;
    let mut group = "";
    for place in shown {
        let item = &body.items[place];
        // What fits best comes first, whatever group it is of.
        if body.typed.is_empty() && item.group != group {
            group = &item.group;
            let heading = cut(&item.group, grid.columns);
            rows.push(styled(heading, look.style(Role::Heading)));
        }
        if place == body.at {
            at = rows.len();
        }
        rows.push(grid.row(item, place == body.at, mark(place), look));
    }
    let top = at
        .saturating_sub(room / 2)
        .min(rows.len().saturating_sub(room));
    rows.into_iter().skip(top).take(room).collect()
}

/// How wide the columns are.
struct Grid {
    columns: usize,
    /// Cursor and mark.
    prefix: usize,
    /// Labels are filled up to here, so that what is about them begins below each other.
    labels: usize,
    cells: Vec<usize>,
}

impl Grid {
    fn new<T>(items: &[Item<T>], header: &[String], columns: usize, prefix: usize) -> Self {
        let most = items.iter().map(|item| item.cells.len()).max().unwrap_or(0);
        let widest = |place: usize| {
            let cells = items.iter().filter_map(|item| item.cells.get(place));
            let names = header.get(place + 1).into_iter();
            let wide = cells.chain(names).map(|cell| width(cell)).max();
            wide.unwrap_or(0).min(MAX_CELL)
        };
        let mut cells: Vec<usize> = (0..most).map(widest).collect();
        let taken = |cells: &[usize]| cells.iter().map(|wide| wide + 2).sum::<usize>();
        while !cells.is_empty() && columns < taken(&cells) + MIN_LABEL + 2 {
            cells.pop();
        }
        let labels = items.iter().map(|item| width(&item.label)).max();
        let mut grid = Self {
            columns,
            prefix,
            labels: 0,
            cells,
        };
        // Only where most of the row is left for the rest.
        let labels = labels.filter(|labels| *labels <= grid.room() / 2);
        grid.labels = labels.unwrap_or(0);
        grid
    }

    /// Columns for a label and what is about it.
    fn room(&self) -> usize {
        let taken: usize = self.cells.iter().map(|wide| wide + 2).sum();
        self.columns.saturating_sub(taken + self.prefix)
    }

    /// All that is said about the row under the cursor, if it does not fit there.
    fn whole<T>(&self, body: &Body<T>, look: &Look) -> Vec<Row> {
        let Some(item) = body.items.get(body.at) else {
            return Vec::new();
        };
        let label = width(&item.label).max(self.labels);
        if item.about.is_empty() || label + 2 + width(&item.about) <= self.room() {
            return Vec::new();
        }
        let about = Span::styled(item.about.clone(), look.style(Role::Faint));
        let mut rows = vec![Row::default()];
        rows.extend(wrap(Row::from(about), self.columns, 0));
        rows.truncate(MAX_WHOLE);
        rows
    }

    fn cells(&self, texts: &[String]) -> String {
        let mut line = String::new();
        for (place, wide) in self.cells.iter().enumerate() {
            let text = texts.get(place).map(String::as_str).unwrap_or_default();
            line.push_str("  ");
            line.push_str(&padded(text, *wide));
        }
        line
    }

    fn header(&self, names: &[String]) -> String {
        let first = names.first().map(String::as_str).unwrap_or_default();
        let label = padded(first, self.room());
        let prefix = " ".repeat(self.prefix);
        let cells = self.cells(names.get(1..).unwrap_or_default());
        format!("{prefix}{label}{cells}")
    }

    fn row<T>(&self, item: &Item<T>, is_at: bool, mark: &str, look: &Look) -> Row {
        let cursor = if is_at { "→ " } else { "  " };
        let room = self.room();
        let role = match (is_at, &item.off) {
            (true, _) => Role::MenuCurrent,
            (false, Some(_)) => Role::Faint,
            (false, None) => Role::Text,
        };
        let label = cut(&item.label, room);
        let about = match &item.off {
            Some(why) => format!("({why})"),
            None => item.about.clone(),
        };
        let label = match about.is_empty() {
            true => label,
            false => padded(&label, width(&label).max(self.labels)),
        };
        let left = room.saturating_sub(width(&label) + 2);
        let about = if about.is_empty() || left < 4 {
            String::new()
        } else {
            format!("  {}", cut(&about, left))
        };
        let used = width(&label) + width(&about);
        let mut spans = vec![Span::styled(
            format!("{cursor}{mark}{label}"),
            look.style(role),
        )];
        let rest = match self.cells.is_empty() {
            true => about,
            false => format!(
                "{about}{}{}",
                " ".repeat(room.saturating_sub(used)),
                self.cells(&item.cells)
            ),
        };
        if !rest.is_empty() {
            spans.push(Span::styled(rest, look.style(Role::Faint)));
        }
        Row::from(spans)
    }
}

fn padded(text: &str, columns: usize) -> String {
    let text = cut(text, columns);
    let missing = columns.saturating_sub(width(&text));
    format!("{text}{}", " ".repeat(missing))
}

pub(super) fn styled(text: String, style: ratatui::style::Style) -> Row {
    Row::from(Span::styled(text, style))
}
