//! The document as a tree whose nodes know where they stand in the text.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

use saphyr_parser::{Event, Parser, ScalarStyle, Span, Tag};
use serde_json::{Map, Value};

use super::scalar;

/// Deeper nesting than any person writes; keeps the recursion below off the end of the stack.
const MAX_DEPTH: usize = 100;
/// Aliases can multiply a small file into gigabytes; past this many nodes it is an attack or a mistake.
const MAX_NODES: usize = 200_000;

/// Why a text is not YAML, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {message}")]
pub struct Error {
    pub line: usize,
    pub column: usize,
    pub message: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub kind: Kind,
    /// Byte range in the text. For block collections it ends where their last child ends.
    pub span: Range<usize>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    Scalar {
        text: String,
        style: Style,
        tag: Option<String>,
    },
    Seq {
        items: Vec<Node>,
        layout: Layout,
    },
    Map {
        entries: Vec<(Node, Node)>,
        layout: Layout,
    },
    /// A reference to an anchored node; its content is repeated here.
    Alias(Box<Node>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Plain,
    Quoted,
    /// `|` or `>`.
    Block,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    Block,
    /// `[a, b]` or `{a: b}`.
    Flow,
}

/// Reads the first document; `None` if there is nothing but comments.
pub fn parse(text: &str) -> Result<Option<Node>, Error> {
    let mut builder = Builder::new(text);
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| Error {
            line: error.marker().line(),
            column: error.marker().col() + 1,
            message: error.info().to_owned(),
        })?;
        if builder.take(event, span)? {
            break;
        }
    }
    Ok(builder.root)
}

impl Node {
    /// What the Python program would load.
    pub fn value(&self) -> Result<Value, Error> {
        let mut budget = MAX_NODES;
        self.resolve(&mut budget)
    }

    fn resolve(&self, budget: &mut usize) -> Result<Value, Error> {
        *budget = budget.checked_sub(1).ok_or_else(|| Error {
            line: 1,
            column: 1,
            message: format!("the aliases in this file expand to more than {MAX_NODES} values"),
        })?;
        match &self.kind {
            Kind::Scalar { text, style, tag } => Ok(scalar::resolve(text, *style, tag.as_deref())),
            Kind::Seq { items, .. } => items.iter().map(|item| item.resolve(budget)).collect(),
            Kind::Alias(target) => target.resolve(budget),
            Kind::Map { entries, .. } => resolve_map(entries, budget),
        }
    }

    /// The entry that counts for `key`: the last one.
    pub fn entry(&self, key: &str) -> Option<&(Node, Node)> {
        match &self.kind {
            Kind::Map { entries, .. } => entries
                .iter()
                .rev()
                .find(|(name, _)| name.key_text() == key),
            _ => None,
        }
    }

    /// Keys are compared by their text: `123` and `on` are written without quotes and looked up with them.
    pub fn key_text(&self) -> String {
        match &self.kind {
            Kind::Scalar { text, .. } => text.clone(),
            Kind::Alias(target) => target.key_text(),
            _ => self
                .value()
                .map(|value| value.to_string())
                .unwrap_or_default(),
        }
    }

    /// A value that isn't written at all, as in `key:`.
    pub fn is_absent(&self) -> bool {
        matches!(&self.kind, Kind::Scalar { text, style: Style::Plain, tag: None } if text.is_empty())
    }

    fn is_merge(&self) -> bool {
        matches!(&self.kind, Kind::Scalar { text, style: Style::Plain, .. } if text == "<<")
    }
}

/// Own keys win over merged ones, earlier merges over later ones, later duplicates over earlier ones.
fn resolve_map(entries: &[(Node, Node)], budget: &mut usize) -> Result<Value, Error> {
    let mut merged = Map::new();
    for (_, value) in entries.iter().filter(|(key, _)| key.is_merge()) {
        let sources = match value.resolve(budget)? {
            Value::Array(list) => list,
            one => vec![one],
        };
        for source in sources {
            if let Value::Object(source) = source {
                for (key, value) in source {
                    merged.entry(key).or_insert(value);
                }
            }
        }
    }
    let mut map = merged;
    for (key, value) in entries.iter().filter(|(key, _)| !key.is_merge()) {
        let value = value.resolve(budget)?;
        map.insert(key.key_text(), value);
    }
    Ok(Value::Object(map))
}

struct Builder<'a> {
    text: &'a str,
    /// Byte offset of each character: the parser counts characters. `None` while both are the same.
    offsets: Option<Vec<usize>>,
    open: Vec<Open>,
    anchors: HashMap<usize, Node>,
    root: Option<Node>,
}

/// A collection whose end hasn't been seen.
struct Open {
    children: Vec<Node>,
    start: usize,
    anchor: usize,
    is_map: bool,
}

impl<'a> Builder<'a> {
    fn new(text: &'a str) -> Self {
        let offsets = (!text.is_ascii()).then(|| {
            text.char_indices()
                .map(|(at, _)| at)
                .chain([text.len()])
                .collect()
        });
        Self {
            text,
            offsets,
            open: Vec::new(),
            anchors: HashMap::new(),
            root: None,
        }
    }

    /// Takes one event; true when the document is over.
    fn take(&mut self, event: Event<'_>, span: Span) -> Result<bool, Error> {
        let range = self.byte(span.start.index())..self.byte(span.end.index());
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let style = match style {
                    ScalarStyle::Plain => Style::Plain,
                    ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => Style::Quoted,
                    ScalarStyle::Literal | ScalarStyle::Folded => Style::Block,
                };
                let tag = tag.as_deref().map(tag_name);
                let span = match style {
                    Style::Quoted => self.quoted(range),
                    Style::Plain | Style::Block => self.trim_end(range),
                };
                self.add(
                    Node {
                        kind: Kind::Scalar {
                            text: text.into_owned(),
                            style,
                            tag,
                        },
                        span,
                    },
                    anchor,
                );
            }
            Event::SequenceStart(anchor, _) => self.open(range.start, anchor, false, span)?,
            Event::MappingStart(anchor, _) => self.open(range.start, anchor, true, span)?,
            Event::SequenceEnd | Event::MappingEnd => self.close(range)?,
            Event::Alias(anchor) => {
                let target = self.anchors.get(&anchor).cloned().ok_or_else(|| Error {
                    line: span.start.line(),
                    column: span.start.col() + 1,
                    message: "an alias inside the value it stands for".to_owned(),
                })?;
                self.add(
                    Node {
                        kind: Kind::Alias(Box::new(target)),
                        span: range,
                    },
                    0,
                );
            }
            Event::DocumentEnd => return Ok(true),
            _ => {}
        }
        Ok(false)
    }

    fn open(&mut self, start: usize, anchor: usize, is_map: bool, span: Span) -> Result<(), Error> {
        if self.open.len() >= MAX_DEPTH {
            return Err(Error {
                line: span.start.line(),
                column: span.start.col() + 1,
                message: format!("more than {MAX_DEPTH} levels of nesting"),
            });
        }
        self.open.push(Open {
            children: Vec::new(),
            start,
            anchor,
            is_map,
        });
        Ok(())
    }

    fn close(&mut self, range: Range<usize>) -> Result<(), Error> {
        let Some(open) = self.open.pop() else {
            return Ok(());
        };
        let closing = if open.is_map { "}" } else { "]" };
        // With a comment behind it, the parser's span reaches further than the bracket.
        let here = self.text.get(range.start..).unwrap_or_default();
        let (layout, end) = if here.starts_with(closing) && !range.is_empty() {
            (Layout::Flow, range.start + closing.len())
        } else {
            // The parser ends a block where the next token begins; its content ends with its last child.
            (
                Layout::Block,
                open.children
                    .last()
                    .map_or(open.start, |child| child.span.end),
            )
        };
        let kind = if open.is_map {
            let mut children = open.children.into_iter();
            let mut entries = Vec::new();
            while let (Some(key), Some(value)) = (children.next(), children.next()) {
                if key.is_absent() {
                    return Err(self.error_at(value.span.start, "there is no key before the colon"));
                }
                entries.push((key, value));
            }
            Kind::Map { entries, layout }
        } else {
            Kind::Seq {
                items: open.children,
                layout,
            }
        };
        self.add(
            Node {
                kind,
                span: open.start..end.max(open.start),
            },
            open.anchor,
        );
        Ok(())
    }

    fn error_at(&self, at: usize, message: &str) -> Error {
        let before = &self.text[..at];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Error {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            message: message.to_owned(),
        }
    }

    fn add(&mut self, mut node: Node, anchor: usize) {
        if node.is_absent() {
            node.span = self.absent_span();
        }
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        match self.open.last_mut() {
            Some(open) => open.children.push(node),
            None => self.root = Some(node),
        }
    }

    /// An absent value stands right behind the colon (or dash) it belongs to.
    fn absent_span(&self) -> Range<usize> {
        let from = self.open.last().map_or(0, |open| {
            let after_key = open
                .children
                .last()
                .map_or(open.start, |child| child.span.end);
            let mark = if open.is_map { ':' } else { '-' };
            self.text[after_key..]
                .find(mark)
                .map_or(after_key, |at| after_key + at + 1)
        });
        from..from
    }

    /// The parser counts a comment behind a quoted scalar in; this ends at the closing quote.
    fn quoted(&self, range: Range<usize>) -> Range<usize> {
        let Some(text) = self.text.get(range.clone()) else {
            return range;
        };
        let mut chars = text
            .char_indices()
            .skip_while(|(_, c)| !matches!(c, '"' | '\''))
            .peekable();
        let Some((_, quote)) = chars.next() else {
            return range;
        };
        while let Some((at, c)) = chars.next() {
            let doubled = quote == '\'' && chars.peek().is_some_and(|(_, next)| *next == quote);
            if (quote == '"' && c == '\\') || (c == quote && doubled) {
                chars.next();
            } else if c == quote {
                return range.start..range.start + at + 1;
            }
        }
        range
    }

    /// Block scalars reach to the next token; what follows their last line is not theirs.
    fn trim_end(&self, range: Range<usize>) -> Range<usize> {
        let kept = self
            .text
            .get(range.clone())
            .map_or(0, |text| text.trim_end().len());
        range.start..range.start + kept
    }

    fn byte(&self, index: usize) -> usize {
        match &self.offsets {
            Some(offsets) => offsets.get(index).copied().unwrap_or(self.text.len()),
            None => index.min(self.text.len()),
        }
    }
}

fn tag_name(tag: &Tag) -> String {
    tag.suffix.clone()
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.value() {
            Ok(value) => f.write_str(super::write(&value).trim_end()),
            Err(error) => error.fmt(f),
        }
    }
}
