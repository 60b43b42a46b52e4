//! Words to find in rows: capitals count only if some were typed.

use std::ops::Range;

use ratatui::style::Modifier;
use ratatui::text::Span;

use crate::Row;
use crate::text::one_line;

#[derive(Debug)]
pub(super) struct Needle {
    text: String,
    /// Letter by letter, as they are compared.
    letters: Vec<char>,
    /// A capital was typed.
    exact: bool,
}

impl Needle {
    /// `None` if there is nothing to find.
    pub(super) fn new(typed: &str) -> Option<Self> {
        let exact = typed.chars().any(char::is_uppercase);
        let letters: Vec<_> = typed.chars().map(|c| fold(c, exact)).collect();
        (!letters.is_empty()).then(|| Self {
            text: one_line(typed),
            letters,
            exact,
        })
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn is_in(&self, row: &Row) -> bool {
        !self.places(row).is_empty()
    }

    /// The row with what was found turned inside out.
    pub(super) fn mark(&self, row: &Row) -> Row {
        let places = self.places(row);
        if places.is_empty() {
            return row.clone();
        }
        let mut spans: Vec<Span<'static>> = Vec::new();
        let mut at = 0;
        for span in &row.spans {
            for c in span.content.chars() {
                let marked = places.iter().any(|place| place.contains(&at));
                let style = match marked {
                    true => span.style.add_modifier(Modifier::REVERSED),
                    false => span.style,
                };
                at += 1;
                match spans.last_mut() {
                    Some(last) if last.style == style => last.content.to_mut().push(c),
                    _ => spans.push(Span::styled(c.to_string(), style)),
                }
            }
        }
        Row::from(spans).style(row.style)
    }

    /// Where it stands, counted in letters; a place belongs to one of them only.
    fn places(&self, row: &Row) -> Vec<Range<usize>> {
        let letters = row.spans.iter().flat_map(|span| span.content.chars());
        let letters: Vec<_> = letters.map(|c| fold(c, self.exact)).collect();
        let mut places = Vec::new();
        let mut at = 0;
        while at + self.letters.len() <= letters.len() {
            let end = at + self.letters.len();
            if letters[at..end] == self.letters {
                places.push(at..end);
                at = end;
            } else {
                at += 1;
            }
        }
        places
    }
}

/// One letter for one letter, so that places stay places.
fn fold(c: char, exact: bool) -> char {
    match exact {
        true => c,
        false => c.to_lowercase().next().unwrap_or(c),
    }
}
