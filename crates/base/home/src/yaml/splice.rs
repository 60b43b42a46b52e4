//! Where in the text an edit happens. Knows layout only; `edit` checks that the result means the right thing.

use std::ops::Range;

use serde_json::Value;

use super::edit::{EditError, Path, wrap};
use super::emit;
use super::node::{Kind, Layout, Node, Style};

type Result<T> = std::result::Result<T, EditError>;

/// Finds the bytes of one path in a parsed document.
pub struct Editor<'a> {
    text: &'a str,
    path: &'a Path,
}

impl<'a> Editor<'a> {
    pub fn new(text: &'a str, path: &'a Path) -> Self {
        Self { text, path }
    }

    /// Walks down as far as the document goes and splices there. `indent` is that of the key above `node`.
    pub fn set(
        &self,
        node: &Node,
        around: Layout,
        indent: usize,
        depth: usize,
        value: &Value,
    ) -> Result<String> {
        let segment = &self.path.segments()[depth];
        let last = depth + 1 == self.path.segments().len();
        let step = |child: &Node, layout: Layout, mark: usize, column: usize| {
            if last || is_unfilled(child) {
                let value = wrap(self.path, depth + 1, value);
                return Ok(self.replace(child, layout, mark, column, &value));
            }
            self.set(child, layout, column, depth + 1, value)
        };
        match &node.kind {
            Kind::Map { entries, layout } => match node.entry(segment) {
                Some((key, child)) => {
                    let colon = self.after(key.span.end, ':');
                    step(
                        child,
                        flow_wins(around, *layout),
                        colon,
                        self.column(key.span.start),
                    )
                }
                None => {
                    let value = wrap(self.path, depth + 1, value);
                    Ok(self.insert_entry(
                        node,
                        entries,
                        flow_wins(around, *layout),
                        segment,
                        &value,
                    ))
                }
            },
            Kind::Seq { items, layout } => {
                let layout = flow_wins(around, *layout);
                let index: usize = segment.parse().unwrap_or(usize::MAX);
                match items.get(index) {
                    Some(child) => step(
                        child,
                        layout,
                        child.span.start,
                        self.column(child.span.start),
                    ),
                    None => Ok(self.insert_item(
                        node,
                        items,
                        layout,
                        indent,
                        &wrap(self.path, depth + 1, value),
                    )),
                }
            }
            Kind::Scalar { .. } => Err(EditError::NotASection(self.path.upto(depth))),
            Kind::Alias(_) => Err(EditError::Unsafe(self.path.to_string())),
        }
    }

    /// Puts a value where another stood. `mark` is where its key's colon ends, `column` where its key starts.
    fn replace(
        &self,
        old: &Node,
        layout: Layout,
        mark: usize,
        column: usize,
        value: &Value,
    ) -> String {
        let lines = (layout == Layout::Block)
            .then(|| emit::nested(value, column + 2))
            .flatten();
        if let Some(lines) = lines {
            let lines: String = lines
                .iter()
                .map(|line| format!("{}{line}", self.newline()))
                .collect();
            return self.splice(mark..old.span.end.max(mark), &lines);
        }
        let new = emit::inline(value, layout);
        let stands_on_key_line = match &old.kind {
            Kind::Scalar { style, .. } => *style != Style::Block,
            Kind::Map { layout, .. } | Kind::Seq { layout, .. } => *layout == Layout::Flow,
            Kind::Alias(_) => true,
        };
        if stands_on_key_line && !old.is_absent() {
            return self.splice(old.span.clone(), &new);
        }
        self.splice(mark..old.span.end.max(mark), &format!(" {new}"))
    }

    fn insert_entry(
        &self,
        node: &Node,
        entries: &[(Node, Node)],
        layout: Layout,
        key: &str,
        value: &Value,
    ) -> String {
        if layout == Layout::Flow {
            let new = emit::flow_entry(key, value);
            return self.insert_flow(node, entries.last().map(|(_, value)| value.span.end), &new);
        }
        let column = entries
            .first()
            .map_or(0, |(key, _)| self.column(key.span.start));
        self.insert_lines(node.span.end, &emit::entry(key, value, column))
    }

    fn insert_item(
        &self,
        node: &Node,
        items: &[Node],
        layout: Layout,
        indent: usize,
        value: &Value,
    ) -> String {
        if layout == Layout::Flow {
            let new = emit::inline(value, Layout::Flow);
            return self.insert_flow(node, items.last().map(|item| item.span.end), &new);
        }
        let dash = items.first().map_or(indent + 2, |item| {
            let line = self.line_start(item.span.start);
            self.text[line..item.span.start]
                .rfind('-')
                .unwrap_or(indent)
        });
        self.insert_lines(node.span.end, &emit::item(value, dash))
    }

    fn insert_flow(&self, node: &Node, last: Option<usize>, new: &str) -> String {
        match last {
            Some(end) => self.splice(end..end, &format!(", {new}")),
            None => self.splice(node.span.start + 1..node.span.end - 1, new),
        }
    }

    /// Adds lines below the line that holds `at`.
    fn insert_lines(&self, at: usize, lines: &[String]) -> String {
        let end = self.line_end(at);
        let mut new: String = lines
            .iter()
            .map(|line| format!("{}{line}", self.newline()))
            .collect();
        if end == self.text.len() {
            new.push_str(self.newline());
        }
        self.splice(end..end, &new)
    }

    /// The text that must go for the rest of the path to go; `None` if it isn't there.
    pub fn removal(&self, node: &Node, depth: usize) -> Option<Removal> {
        let segment = self.path.segments().get(depth)?;
        let (place, spans, child, layout) = match &node.kind {
            Kind::Map { entries, layout } => {
                let place = entries
                    .iter()
                    .rposition(|(key, _)| key.key_text() == *segment)?;
                let spans: Vec<_> = entries
                    .iter()
                    .map(|(k, v)| k.span.start..v.span.end.max(k.span.end))
                    .collect();
                (place, spans, &entries[place].1, *layout)
            }
            Kind::Seq { items, layout } => {
                let place = segment.parse().ok().filter(|index| *index < items.len())?;
                let spans: Vec<_> = items.iter().map(|item| item.span.clone()).collect();
                (place, spans, &items[place], *layout)
            }
            _ => return None,
        };
        if depth + 1 < self.path.segments().len() {
            let inner = self.removal(child, depth + 1)?;
            if !inner.empties {
                return Some(inner);
            }
        }
        let range = match layout {
            Layout::Flow => self.flow_removal(&spans, place),
            Layout::Block => self.block_removal(&spans, place),
        };
        Some(Removal {
            range,
            empties: spans.len() == 1,
        })
    }

    fn flow_removal(&self, spans: &[Range<usize>], place: usize) -> Range<usize> {
        match (
            spans.get(place + 1),
            place.checked_sub(1).map(|before| &spans[before]),
        ) {
            (Some(next), _) => spans[place].start..next.start,
            (None, Some(before)) => before.end..spans[place].end,
            (None, None) => spans[place].clone(),
        }
    }

    /// Whole lines, or up to the next entry when this one shares its line with a dash.
    fn block_removal(&self, spans: &[Range<usize>], place: usize) -> Range<usize> {
        let span = &spans[place];
        let line = self.line_start(span.start);
        let lead = self.text[line..span.start].trim();
        match spans.get(place + 1) {
            Some(next) if !lead.is_empty() && place == 0 && lead != "-" => span.start..next.start,
            Some(next)
                if lead == "-"
                    && self.text[self.line_start(next.start)..next.start]
                        .trim()
                        .is_empty() =>
            {
                span.start..next.start
            }
            _ => {
                let end = self.line_end(span.end);
                line..(end + 1).min(self.text.len())
            }
        }
    }

    fn splice(&self, range: Range<usize>, new: &str) -> String {
        let mut text = self.text.to_owned();
        text.replace_range(range, new);
        text
    }

    fn after(&self, from: usize, mark: char) -> usize {
        self.text[from..]
            .find(mark)
            .map_or(from, |at| from + at + mark.len_utf8())
    }

    fn column(&self, at: usize) -> usize {
        self.text[self.line_start(at)..at].chars().count()
    }

    fn line_start(&self, at: usize) -> usize {
        self.text[..at].rfind('\n').map_or(0, |newline| newline + 1)
    }

    /// Before the line's end, `\r` included.
    fn line_end(&self, at: usize) -> usize {
        let end = self.text[at..]
            .find('\n')
            .map_or(self.text.len(), |newline| at + newline);
        if self.text[..end].ends_with('\r') && end < self.text.len() {
            end - 1
        } else {
            end
        }
    }

    fn newline(&self) -> &'static str {
        if self.text.contains("\r\n") {
            "\r\n"
        } else {
            "\n"
        }
    }
}

/// A piece of text to cut out.
pub struct Removal {
    pub range: Range<usize>,
    /// Whether the collection has nothing left then.
    empties: bool,
}

/// Inside braces everything is in braces.
fn flow_wins(around: Layout, own: Layout) -> Layout {
    if around == Layout::Flow {
        Layout::Flow
    } else {
        own
    }
}

/// `key:`, `key: null`, `key: {}`: a place for a section.
fn is_unfilled(node: &Node) -> bool {
    match &node.kind {
        Kind::Map { entries, .. } => entries.is_empty(),
        Kind::Scalar {
            text,
            style: Style::Plain,
            ..
        } => super::scalar::plain(text).is_null(),
        _ => false,
    }
}
