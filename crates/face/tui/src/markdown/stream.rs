//! Markdown that is still being written: rows that can no longer change are handed out once, the rest is
//! shown until it can.
//!
//! Only complete lines decide about blocks, so a block is final as soon as another one has begun after it,
//! and an item of a list as soon as the next one has. What was handed out is never parsed again.
//! Two things can differ from the whole text rendered at once: a link used before the line that defines it
//! shows as text, and the colours of code larger than the bound for colouring.

use super::Style;
use super::fence::Fence;
use super::print::{Before, From, Printer};
use super::tree::{self, Block, Code, Kind, List, Refs};
use crate::Row;
use crate::look::Look;

/// What is smaller is looked at again with every line, …
const SMALL: usize = 1024;
/// … what is larger only when it has grown by this part, so that the work stays in proportion to the text.
const GROWTH: usize = 8;
/// No screen shows more of what is not final.
const MAX_TAIL: usize = 32 * 1024;

/// A text that grows, in two regions.
#[derive(Debug, Default)]
pub struct Stream {
    style: Style,
    source: String,
    /// Where its last complete line ends.
    complete: usize,
    /// What lies before this was handed out as rows.
    settled: usize,
    /// How much lay behind it when it was last looked at.
    looked: usize,
    /// Links defined in what was handed out.
    refs: Refs,
    before: Before,
    /// Inside a list: the number of the item that comes next.
    list: Option<Option<u64>>,
    fence: Option<Fence>,
    parsed: u64,
}

impl Stream {
    pub fn new(style: Style) -> Self {
        Self {
            style,
            ..Self::default()
        }
    }

    pub fn push(&mut self, delta: &str) {
        let from = self.source.len();
        self.source.extend(delta.chars().filter(|c| *c != '\r'));
        if let Some(at) = self.source[from..].rfind('\n') {
            self.complete = from + at + 1;
        }
    }

    /// Everything that was pushed.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Bytes that went through the parser so far, some of them more than once.
    pub fn parsed(&self) -> u64 {
        self.parsed
    }

    /// Rows that can no longer change, each once.
    pub fn settle(&mut self, width: u16, look: &Look) -> Vec<Row> {
        let printer = Printer::new(self.style, width, look);
        let end = self.complete;
        let mut rows = Vec::new();
        if self.style == Style::Raw {
            rows.extend(self.raw(end, &printer));
            return rows;
        }
        loop {
            rows.extend(self.in_fence(end, &printer));
            if self.fence.is_some() || !self.worth_a_look(end) {
                return rows;
            }
            rows.extend(self.blocks(end, &printer));
            if self.fence.is_none() {
                return rows;
            }
        }
    }

    /// What is not final yet, as it looks now.
    pub fn tail(&self, width: u16, look: &Look) -> Vec<Row> {
        let printer = Printer::new(self.style, width, look);
        let end = self.end();
        let from = self.tail_start();
        if from >= end {
            return Vec::new();
        }
        let rest = &self.source[from..end];
        if self.style == Style::Raw {
            return lines(rest).flat_map(|line| printer.raw(line)).collect();
        }
        if let Some(fence) = &self.fence {
            let mut colouring = fence.colouring.clone();
            let shown = lines(rest).take_while(|line| !fence.closes(line));
            let code =
                |line: &str| printer.code_line(&fence.line(line), &mut colouring, printer.columns);
            return shown.flat_map(code).collect();
        }
        let tree = tree::parse(&self.source, from..end, &self.refs);
        let mut before = self.before;
        let list = self.list.filter(|_| from == self.settled);
        print(&printer, &tree.blocks, list, &mut before)
    }

    /// Everything that is left; nothing comes after it.
    pub fn finish(&mut self, width: u16, look: &Look) -> Vec<Row> {
        let mut rows = self.settle(width, look);
        let printer = Printer::new(self.style, width, look);
        let end = self.end();
        rows.extend(match self.style {
            Style::Raw => self.raw(end, &printer),
            _ => self.in_fence(end, &printer),
        });
        if self.settled < end {
            let tree = tree::parse(&self.source, self.settled..end, &self.refs);
            self.parsed += (end - self.settled) as u64;
            let list = self.list.take();
            rows.extend(print(&printer, &tree.blocks, list, &mut self.before));
            self.settled = end;
        }
        rows
    }

    /// Where what was pushed so far ends.
    fn end(&self) -> usize {
        match self.style {
            Style::Raw => self.source.len(),
            Style::Render | Style::Strip => tree::end(&self.source),
        }
    }

    fn raw(&mut self, end: usize, printer: &Printer<'_>) -> Vec<Row> {
        let part = &self.source[self.settled..end];
        let rows = lines(part).flat_map(|line| printer.raw(line)).collect();
        self.settled = end;
        rows
    }

    /// The complete lines of an open block of code.
    fn in_fence(&mut self, end: usize, printer: &Printer<'_>) -> Vec<Row> {
        let mut rows = Vec::new();
        let Some(mut fence) = self.fence.take() else {
            return rows;
        };
        self.looked = 0;
        while self.settled < end {
            let rest = &self.source[self.settled..end];
            let line = rest.split('\n').next().unwrap_or_default();
            self.settled = (self.settled + line.len() + 1).min(end);
            if fence.closes(line) {
                return rows;
            }
            let code = fence.line(line);
            rows.extend(printer.code_line(&code, &mut fence.colouring, printer.columns));
        }
        self.fence = Some(fence);
        rows
    }

    fn worth_a_look(&self, end: usize) -> bool {
        let pending = end.saturating_sub(self.settled);
        match pending {
            ..=SMALL => pending > self.looked,
            _ => pending >= self.looked + self.looked / GROWTH,
        }
    }

    /// Hands out the blocks that are final, and opens the fence that isn't.
    fn blocks(&mut self, end: usize, printer: &Printer<'_>) -> Vec<Row> {
        let tree = tree::parse(&self.source, self.settled..end, &self.refs);
        self.parsed += (end - self.settled) as u64;
        let mut blocks = tree.blocks;
        let last = match blocks.last() {
            Some(last) if !self.is_final(last, end) => blocks.pop(),
            _ => None,
        };
        let list = self.list.filter(|_| !blocks.is_empty());
        let mut rows = print(printer, &blocks, list, &mut self.before);
        if !blocks.is_empty() {
            self.list = None;
        }
        match last {
            Some(last) => rows.extend(self.open(last, printer)),
            None if !blocks.is_empty() => self.settled = end,
            None => {}
        }
        for (label, url, place) in tree.refs {
            if place <= self.settled {
                self.refs.add(&label, url);
            }
        }
        self.looked = end - self.settled;
        rows
    }

    /// Whether the last block cannot go on in the next line.
    fn is_final(&self, block: &Block, end: usize) -> bool {
        match &block.kind {
            Kind::Heading(..) | Kind::Rule => true,
            Kind::Text(_) | Kind::Quote(_) | Kind::Table(_) => ends_blank(&self.source[..end]),
            Kind::Code(_) | Kind::List(_) | Kind::Source(_) => false,
        }
    }

    /// What can be said of the last block already: items of a list, the opening of a fence.
    fn open(&mut self, block: Block, printer: &Printer<'_>) -> Vec<Row> {
        self.settled = block.start;
        match &block.kind {
            Kind::List(list) => self.open_list(&block, list, printer),
            Kind::Code(Code {
                info: Some(info), ..
            }) => {
                let rest = &self.source[block.start..];
                let line = rest.split('\n').next().unwrap_or_default();
                let Some(mut fence) = Fence::open(line) else {
                    return Vec::new();
                };
                let mut rows = printer.above(&block.kind, block.gap, self.before);
                rows.extend(printer.code_label(info, printer.columns));
                fence.colouring = printer.colouring(info, 0);
                self.settled += line.len() + 1;
                self.before = Before::Other;
                self.fence = Some(fence);
                self.list = None;
                rows
            }
            _ => Vec::new(),
        }
    }

    fn open_list(&mut self, block: &Block, list: &List, printer: &Printer<'_>) -> Vec<Row> {
        let Some((last, done)) = list.items.split_last().filter(|(_, done)| !done.is_empty())
        else {
            return Vec::new();
        };
        let (mut rows, from, first) = match self.list {
            Some(number) => (Vec::new(), From::Item(number), number),
            None => {
                let above = printer.above(&block.kind, block.gap, self.before);
                (above, From::Start, list.first)
            }
        };
        rows.extend(printer.items(done, list.first, from, printer.columns));
        self.list = Some(first.map(|first| first.saturating_add(done.len() as u64)));
        self.before = Before::Other;
        self.settled = last.start;
        rows
    }

    /// Where the tail begins: at the end of a very long one.
    fn tail_start(&self) -> usize {
        let long = self.source.len().saturating_sub(MAX_TAIL);
        if long <= self.settled {
            return self.settled;
        }
        let whole = (long..).find(|at| self.source.is_char_boundary(*at));
        let from = whole.unwrap_or(self.settled);
        let line = self.source[from..].find('\n');
        line.map_or(from, |at| from + at + 1)
    }
}

/// Blocks in a row; the first may be the rest of a list.
fn print(
    printer: &Printer<'_>,
    blocks: &[Block],
    list: Option<Option<u64>>,
    before: &mut Before,
) -> Vec<Row> {
    let mut rows = Vec::new();
    for (index, block) in blocks.iter().enumerate() {
        match (&block.kind, list) {
            (Kind::List(items), Some(number)) if index == 0 => {
                rows.extend(printer.list(items, From::Item(number), printer.columns));
                *before = Before::Other;
            }
            _ => rows.extend(printer.top(block, before)),
        }
    }
    rows
}

/// Complete lines, and what follows them.
pub(super) fn lines(text: &str) -> impl Iterator<Item = &str> {
    let text = (!text.is_empty()).then(|| text.strip_suffix('\n').unwrap_or(text));
    text.into_iter().flat_map(|text| text.split('\n'))
}

/// Whether the last line is blank. `text` ends with a line break.
fn ends_blank(text: &str) -> bool {
    let above = text.strip_suffix('\n').unwrap_or(text);
    let line = &above[tree::line_start(above, above.len())..];
    !above.is_empty() && tree::is_blank(line)
}
