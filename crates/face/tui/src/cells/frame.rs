//! The lines above and below what is framed. There are none at the sides, so that copied text is clean.

use ratatui::style::Style;
use ratatui::text::Span;

use crate::Row;
use crate::text::{cut, width as wide};

/// One line of a frame: corners, words near its beginning and its end.
pub(super) struct Edge<'a> {
    pub corners: (&'a str, &'a str),
    pub title: Option<Span<'static>>,
    pub end: Option<Span<'static>>,
    pub line: Style,
}

impl Edge<'_> {
    /// Exactly as wide as the screen; words give way to what there is room for.
    pub fn row(self, width: u16) -> Row {
        let columns = usize::from(width);
        let line = |count: usize| Span::styled("─".repeat(count), self.line);
        if columns < 4 {
            return Row::from(line(columns));
        }
        let mut left = columns - 3;
        let mut fit = |span: Option<Span<'static>>| {
            let span = span.filter(|span| !span.content.is_empty())?;
            let text = cut(&span.content, left);
            left -= wide(&text);
            Some(Span::styled(text, span.style))
        };
        let title = fit(self.title);
        let end = fit(self.end.filter(|_| columns >= 30));
        let mut spans = vec![Span::styled(format!("{}─", self.corners.0), self.line)];
        spans.extend(title);
        let last = usize::from(end.is_some() && left > 0);
        spans.push(line(left - last));
        spans.extend(end);
        spans.push(Span::styled(
            format!("{}{}", "─".repeat(last), self.corners.1),
            self.line,
        ));
        Row::from(spans)
    }
}
