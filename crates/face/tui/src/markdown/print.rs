//! Blocks as rows.

use ratatui::style::Style as Paint;
use ratatui::text::Span;

use super::code::Colouring;
use super::inline::{Inline, Marks, Piece, Text, addresses};
use super::tree::{Block, Code, Item, Kind, List};
use super::{Style, table};
use crate::Row;
use crate::look::{Look, Role};
use crate::text::{fold, harmless, width, wrap};

/// Fewer columns than these are not given to what stands further in.
const NARROWEST: usize = 4;

pub(super) struct Printer<'a> {
    pub style: Style,
    pub columns: usize,
    pub look: &'a Look,
}

/// What stands above a block, as far as it decides about a blank row between them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Before {
    #[default]
    Nothing,
    Text,
    Other,
}

/// Where the items of a list begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum From {
    Start,
    /// In the middle, with the number of the first one.
    Item(Option<u64>),
}

impl<'a> Printer<'a> {
    pub fn new(style: Style, width: u16, look: &'a Look) -> Self {
        Self {
            style,
            columns: usize::from(width).max(1),
            look,
        }
    }

    /// A line as it came.
    pub fn raw(&self, line: &str) -> Vec<Row> {
        wrap(Row::raw(harmless(line)), self.columns, 0)
    }

    /// A block that stands in no other one, with the blank row above it.
    pub fn top(&self, block: &Block, before: &mut Before) -> Vec<Row> {
        let mut rows = self.above(&block.kind, block.gap, *before);
        *before = Before::after(&block.kind);
        rows.extend(self.block(&block.kind, self.columns));
        rows
    }

    /// The blank row above a block, if there is one: a list may follow its introduction directly.
    pub fn above(&self, kind: &Kind, gap: bool, before: Before) -> Vec<Row> {
        let follows = before == Before::Text && matches!(kind, Kind::List(_)) && !gap;
        match before == Before::Nothing || follows {
            true => Vec::new(),
            false => vec![Row::default()],
        }
    }

    fn block(&self, kind: &Kind, columns: usize) -> Vec<Row> {
        match kind {
            Kind::Text(text) => self.text(text, Paint::new(), columns),
            Kind::Heading(level, text) => self.heading(*level, text, columns),
            Kind::Code(code) => self.code(code, columns),
            Kind::List(list) => self.list(list, From::Start, columns),
            Kind::Quote(blocks) => self.quote(blocks, columns),
            Kind::Rule => {
                let rule = self.paint(Role::Faint);
                vec![Row::from(Span::styled("─".repeat(columns), rule))]
            }
            Kind::Table(table) => table::rows(self, table, columns),
            Kind::Source(text) => {
                let lines = harmless(text.trim_end_matches('\n'));
                let rows = lines.split('\n').map(|line| Row::raw(line.to_owned()));
                rows.flat_map(|row| wrap(row, columns, 0)).collect()
            }
        }
    }

    /// Blocks inside another: blank rows only where the source has them.
    fn nested(&self, blocks: &[Block], columns: usize) -> Vec<Row> {
        let mut rows = Vec::new();
        for (index, block) in blocks.iter().enumerate() {
            if index > 0 && block.gap {
                rows.push(Row::default());
            }
            rows.extend(self.block(&block.kind, columns));
        }
        rows
    }

    pub fn paint(&self, role: Role) -> Paint {
        match self.style {
            Style::Render => self.look.style(role),
            Style::Strip | Style::Raw => Paint::new(),
        }
    }

    fn text(&self, text: &Inline, base: Paint, columns: usize) -> Vec<Row> {
        let lines = self.lines(text, base).into_iter();
        lines.flat_map(|row| wrap(row, columns, 0)).collect()
    }

    /// Text with its marks, one row for each line, not wrapped.
    pub fn lines(&self, text: &Inline, base: Paint) -> Vec<Row> {
        let mut lines = vec![Vec::new()];
        for piece in text {
            let text = match piece {
                Piece::Text(text) => text,
                Piece::Break => {
                    lines.push(Vec::new());
                    continue;
                }
            };
            if text.marks.aside && self.style != Style::Render {
                continue;
            }
            if let Some(line) = lines.last_mut() {
                line.extend(self.spans(text, base));
            }
        }
        lines.into_iter().map(Row::from).collect()
    }

    /// A piece of text, in parts where only some of it leads somewhere.
    fn spans(&self, piece: &Text, base: Paint) -> Vec<Span<'static>> {
        let paint = base.patch(self.marked(piece.marks));
        // Code can hold a line break; between words it is a space.
        let text = harmless(&piece.text.replace('\n', " "));
        match &piece.leads {
            _ if self.style != Style::Render => vec![Span::styled(text, paint)],
            Some(address) => vec![Span::styled(text, self.look.leading(paint, address))],
            None if piece.marks.code => vec![Span::styled(text, paint)],
            None => {
                let paint = |part: &str, is_address| match is_address {
                    true => self.look.leading(paint, part),
                    false => paint,
                };
                let parts = addresses(&text).into_iter();
                parts
                    .map(|(part, is)| Span::styled(part.to_owned(), paint(part, is)))
                    .collect()
            }
        }
    }

    fn marked(&self, marks: Marks) -> Paint {
        if self.style != Style::Render {
            return Paint::new();
        }
        let mut paint = match marks {
            Marks { aside: true, .. } => self.look.style(Role::Faint),
            Marks { code: true, .. } => self.look.style(Role::Code),
            Marks { link: true, .. } => self.look.style(Role::Link),
            _ => Paint::new(),
        };
        if marks.strong {
            paint = paint.bold();
        }
        if marks.emphasis {
            paint = paint.italic();
        }
        if marks.strike {
            paint = paint.crossed_out();
        }
        paint
    }

    fn heading(&self, level: u8, text: &Inline, columns: usize) -> Vec<Row> {
        let paint = match (self.style, level) {
            (Style::Render, 1) => self.paint(Role::Heading).underlined(),
            (Style::Render, 4..) => self.paint(Role::Heading).italic(),
            _ => self.paint(Role::Heading),
        };
        self.text(text, paint, columns)
    }

    fn code(&self, code: &Code, columns: usize) -> Vec<Row> {
        let info = code.info.as_deref().unwrap_or_default();
        let mut rows = self.code_label(info, columns);
        let mut colouring = self.colouring(info, code.text.len());
        let text = code.text.strip_suffix('\n').unwrap_or(&code.text);
        if !code.text.is_empty() {
            let lines = text.split('\n');
            rows.extend(lines.flat_map(|line| self.code_line(line, &mut colouring, columns)));
        }
        rows
    }

    /// The row that says which language follows.
    pub fn code_label(&self, info: &str, columns: usize) -> Vec<Row> {
        let name = language(info);
        match (self.style, name) {
            (Style::Render, name) if !name.is_empty() => {
                let label = crate::text::cut(&harmless(name), columns.min(40));
                vec![Row::from(Span::styled(label, self.paint(Role::Faint)))]
            }
            _ => Vec::new(),
        }
    }

    pub fn colouring(&self, info: &str, bytes: usize) -> Option<Colouring> {
        match self.style {
            Style::Render => Colouring::new(language(info), bytes, self.look),
            Style::Strip | Style::Raw => None,
        }
    }

    pub fn code_line(
        &self,
        line: &str,
        colouring: &mut Option<Colouring>,
        columns: usize,
    ) -> Vec<Row> {
        let line = harmless(line);
        let row = match colouring {
            Some(colouring) => Row::from(colouring.line(&line, self.look)),
            None => Row::from(Span::styled(line, self.paint(Role::Code))),
        };
        fold(row, columns)
    }

    fn quote(&self, blocks: &[Block], columns: usize) -> Vec<Row> {
        let bar = match self.style {
            Style::Render => "│ ",
            Style::Strip | Style::Raw => "> ",
        };
        let bar = Span::styled(bar, self.paint(Role::Quote));
        let inner = columns.saturating_sub(2);
        if inner < NARROWEST {
            return self.nested(blocks, columns);
        }
        let mut rows = self.nested(blocks, inner);
        if rows.is_empty() {
            rows.push(Row::default());
        }
        let dim = self.paint(Role::Quote);
        let quoted = |row: Row| {
            let spans = row.spans.into_iter();
            let spans = spans.map(|span| Span::styled(span.content, dim.patch(span.style)));
            Row::from_iter(std::iter::once(bar.clone()).chain(spans))
        };
        rows.into_iter().map(quoted).collect()
    }

    pub fn list(&self, list: &List, from: From, columns: usize) -> Vec<Row> {
        self.items(&list.items, list.first, from, columns)
    }

    /// Some items of a list.
    pub fn items(
        &self,
        items: &[Item],
        first: Option<u64>,
        from: From,
        columns: usize,
    ) -> Vec<Row> {
        let (mut number, continued) = match from {
            From::Start => (first, false),
            From::Item(number) => (number, true),
        };
        let mut rows = Vec::new();
        for (index, item) in items.iter().enumerate() {
            if item.gap && (continued || index > 0) {
                rows.push(Row::default());
            }
            rows.extend(self.item(item, number, columns));
            number = number.map(|number| number.saturating_add(1));
        }
        rows
    }

    fn item(&self, item: &Item, number: Option<u64>, columns: usize) -> Vec<Row> {
        let sign = match (number, item.task, self.style) {
            (Some(number), None, _) => format!("{number}. "),
            (Some(number), Some(true), _) => format!("{number}. ☑ "),
            (Some(number), Some(false), _) => format!("{number}. ☐ "),
            (None, Some(true), Style::Render) => "☑ ".to_owned(),
            (None, Some(false), Style::Render) => "☐ ".to_owned(),
            (None, None, Style::Render) => "• ".to_owned(),
            (None, Some(true), _) => "- [x] ".to_owned(),
            (None, Some(false), _) => "- [ ] ".to_owned(),
            (None, None, _) => "- ".to_owned(),
        };
        let indent = width(&sign);
        let sign = Span::styled(sign, self.paint(Role::Accent));
        let inner = columns.saturating_sub(indent);
        let narrow = inner < NARROWEST;
        let mut rows = self.nested(&item.blocks, if narrow { columns } else { inner });
        if rows.is_empty() {
            rows.push(Row::default());
        }
        for (index, row) in rows.iter_mut().enumerate() {
            match index {
                0 => row.spans.insert(0, sign.clone()),
                _ if narrow || row.spans.is_empty() => {}
                _ => row.spans.insert(0, Span::raw(" ".repeat(indent))),
            }
        }
        match narrow {
            true => rows
                .into_iter()
                .flat_map(|row| wrap(row, columns, 0))
                .collect(),
            false => rows,
        }
    }
}

impl Before {
    pub fn after(kind: &Kind) -> Self {
        match kind {
            Kind::Text(_) => Self::Text,
            _ => Self::Other,
        }
    }
}

/// The first word after a fence.
fn language(info: &str) -> &str {
    let end = |c: char| c.is_whitespace() || matches!(c, ',' | '{');
    info.split(end).next().unwrap_or_default()
}
