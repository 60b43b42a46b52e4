//! Markdown as a tree of blocks with their places in the source. Inline markup is flat: text with its marks.

use std::collections::HashMap;
use std::iter::Peekable;
use std::ops::Range;

use pulldown_cmark::{
    Alignment, BrokenLink, CodeBlockKind, CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd,
};

use super::inline::{Inline, Writing};

/// Deeper containers are shown as their source: nobody can read them anyway, and the stack has an end.
const DEEPEST: usize = 12;
/// Definitions of links that are remembered for what follows.
const MAX_REFS: usize = 1000;

pub(super) struct Tree {
    pub blocks: Vec<Block>,
    /// Where links lead that are defined in this part, with the end of each definition.
    pub refs: Vec<(String, String, usize)>,
}

pub(super) struct Block {
    pub kind: Kind,
    /// The beginning of its first line.
    pub start: usize,
    /// Whether the line before it is blank.
    pub gap: bool,
}

pub(super) enum Kind {
    Text(Inline),
    Heading(u8, Inline),
    Code(Code),
    List(List),
    Quote(Vec<Block>),
    Rule,
    Table(Table),
    /// What is shown as it is written.
    Source(String),
}

pub(super) struct Code {
    /// `None`: indented, not fenced.
    pub info: Option<String>,
    pub text: String,
}

pub(super) struct List {
    /// The number of the first item.
    pub first: Option<u64>,
    pub items: Vec<Item>,
}

pub(super) struct Item {
    pub task: Option<bool>,
    pub blocks: Vec<Block>,
    pub start: usize,
    pub gap: bool,
}

pub(super) struct Table {
    pub aligns: Vec<Alignment>,
    pub head: Vec<Inline>,
    pub rows: Vec<Vec<Inline>>,
}

/// Where links lead that were defined earlier in a text.
#[derive(Clone, Debug, Default)]
pub(super) struct Refs(HashMap<String, String>);

impl Refs {
    pub fn add(&mut self, label: &str, url: String) {
        if self.0.len() < MAX_REFS {
            self.0.entry(plain_label(label)).or_insert(url);
        }
    }

    fn find(&self, label: &str) -> Option<&String> {
        self.0.get(&plain_label(label))
    }
}

fn plain_label(label: &str) -> String {
    let words: Vec<_> = label.split_whitespace().collect();
    words.join(" ").to_lowercase()
}

/// Reads a part of `source`; places are those in the whole.
pub(super) fn parse(source: &str, part: Range<usize>, refs: &Refs) -> Tree {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let known = |link: BrokenLink<'_>| {
        let url = refs.find(&link.reference)?.clone();
        Some((CowStr::from(url), CowStr::from("")))
    };
    let text = &source[part.clone()];
    let parser = Parser::new_with_broken_link_callback(text, options, Some(known));
    let found = parser.reference_definitions().iter();
    let refs = found
        .map(|(label, link)| {
            let end = part.start + link.span.end;
            (label.to_owned(), link.dest.to_string(), end)
        })
        .collect();
    let mut reading = Reading {
        source,
        base: part.start,
        events: parser.into_offset_iter().peekable(),
        task: None,
    };
    Tree {
        blocks: reading.blocks(0),
        refs,
    }
}

struct Reading<'s, I: Iterator> {
    source: &'s str,
    base: usize,
    events: Peekable<I>,
    /// The box of the task that has just begun.
    task: Option<bool>,
}

impl<'s, I: Iterator<Item = (Event<'s>, Range<usize>)>> Reading<'s, I> {
    /// Blocks up to the end of what holds them, which is taken too.
    fn blocks(&mut self, depth: usize) -> Vec<Block> {
        let mut blocks = Vec::new();
        while let Some((event, range)) = self.events.peek() {
            let place = self.base + range.start;
            let kind = match event {
                Event::End(_) => {
                    self.events.next();
                    break;
                }
                Event::Rule => {
                    self.events.next();
                    Kind::Rule
                }
                Event::Start(tag) if is_block(tag) => match self.events.next() {
                    Some((Event::Start(tag), range)) => self.block(tag, range, depth),
                    _ => break,
                },
                _ => Kind::Text(self.inline()),
            };
            blocks.push(self.placed(kind, place));
        }
        blocks
    }

    fn placed(&self, kind: Kind, place: usize) -> Block {
        let start = line_start(self.source, place);
        Block {
            kind,
            start,
            gap: blank_before(self.source, start),
        }
    }

    fn block(&mut self, tag: Tag<'s>, range: Range<usize>, depth: usize) -> Kind {
        let container = matches!(tag, Tag::List(_) | Tag::BlockQuote(_));
        if container && depth >= DEEPEST {
            self.skip();
            let part = self.base + range.start..self.base + range.end;
            return Kind::Source(self.source[part].to_owned());
        }
        match tag {
            Tag::Heading { level, .. } => {
                let text = self.inline();
                self.events.next();
                Kind::Heading(number(level), text)
            }
            Tag::CodeBlock(kind) => Kind::Code(Code {
                info: match kind {
                    CodeBlockKind::Fenced(info) => Some(info.to_string()),
                    CodeBlockKind::Indented => None,
                },
                text: self.verbatim(),
            }),
            Tag::HtmlBlock => Kind::Source(self.verbatim()),
            Tag::List(first) => Kind::List(self.list(first, depth)),
            Tag::BlockQuote(_) => Kind::Quote(self.blocks(depth + 1)),
            Tag::Table(aligns) => Kind::Table(self.table(aligns)),
            _ => {
                let text = self.inline();
                self.events.next();
                Kind::Text(text)
            }
        }
    }

    fn list(&mut self, first: Option<u64>, depth: usize) -> List {
        let mut items = Vec::new();
        while let Some((Event::Start(Tag::Item), range)) = self.events.next() {
            let start = line_start(self.source, self.base + range.start);
            self.task = None;
            let blocks = self.blocks(depth + 1);
            items.push(Item {
                task: self.task.take(),
                blocks,
                start,
                gap: blank_before(self.source, start),
            });
        }
        List { first, items }
    }

    fn table(&mut self, aligns: Vec<Alignment>) -> Table {
        let mut rows = Vec::new();
        while let Some((event, _)) = self.events.next() {
            match event {
                Event::Start(Tag::TableHead | Tag::TableRow) => rows.push(Vec::new()),
                Event::Start(Tag::TableCell) => {
                    let cell = self.inline();
                    if let Some(row) = rows.last_mut() {
                        row.push(cell);
                    }
                }
                Event::End(TagEnd::Table) => break,
                _ => {}
            }
        }
        let mut rows = rows.into_iter();
        Table {
            aligns,
            head: rows.next().unwrap_or_default(),
            rows: rows.collect(),
        }
    }

    /// The text of code and HTML.
    fn verbatim(&mut self) -> String {
        let mut text = String::new();
        for (event, _) in self.events.by_ref() {
            match event {
                Event::Text(more) | Event::Html(more) => text.push_str(&more),
                Event::End(_) => break,
                _ => {}
            }
        }
        text
    }

    /// Leaves out everything up to the end of what has begun.
    fn skip(&mut self) {
        let mut open = 1;
        for (event, _) in self.events.by_ref() {
            match event {
                Event::Start(_) => open += 1,
                Event::End(_) => open -= 1,
                _ => {}
            }
            if open == 0 {
                break;
            }
        }
    }

    /// Text up to the end or the beginning of a block, which is left.
    fn inline(&mut self) -> Inline {
        let mut writing = Writing::default();
        while let Some((event, _)) = self.events.peek() {
            let stops = match event {
                Event::Start(tag) => is_block(tag),
                Event::End(end) => is_block_end(end),
                Event::Rule => true,
                _ => false,
            };
            if stops {
                break;
            }
            match self.events.next() {
                Some((Event::TaskListMarker(done), _)) => self.task = Some(done),
                Some((event, _)) => writing.event(event),
                None => break,
            }
        }
        writing.pieces
    }
}

fn is_block(tag: &Tag<'_>) -> bool {
    let inline = matches!(
        tag,
        Tag::Emphasis | Tag::Strong | Tag::Strikethrough | Tag::Link { .. } | Tag::Image { .. }
    );
    !inline
}

fn is_block_end(end: &TagEnd) -> bool {
    let inline = matches!(
        end,
        TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough | TagEnd::Link | TagEnd::Image
    );
    !inline
}

fn number(level: HeadingLevel) -> u8 {
    level as u8
}

pub(super) fn line_start(source: &str, place: usize) -> usize {
    source[..place].rfind('\n').map_or(0, |at| at + 1)
}

/// Where a text ends if a last line of nothing but spaces, without a line break, doesn't count.
pub(super) fn end(source: &str) -> usize {
    let last = line_start(source, source.len());
    match is_blank(&source[last..]) {
        true => last,
        false => source.len(),
    }
}

pub(super) fn is_blank(line: &str) -> bool {
    line.chars().all(|c| matches!(c, ' ' | '\t'))
}

/// Whether the line before the one that begins at `start` is blank, also inside a quote.
fn blank_before(source: &str, start: usize) -> bool {
    let Some(above) = source[..start].strip_suffix('\n') else {
        return false;
    };
    let line = &above[line_start(above, above.len())..];
    line.chars().all(|c| matches!(c, ' ' | '\t' | '>'))
}
