//! Lines by a regular expression.

use std::fs::File;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::Path;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use serde_json::{Map, Value, json};

use super::walk::{Ended, Names, Tree};
use super::{Found, Query, Target};

const MAX_LINE: usize = 500;

/// Longer lines are not searched.
const MAX_LINE_BYTES: usize = 32 * 1024 * 1024;

/// The total is exact up to here; counting further would only take time.
const COUNT_UP_TO: usize = 1000;

pub(super) fn find(query: &Query, tree: &Tree) -> Result<Found, String> {
    let matcher = matcher(&query.pattern)?;
    let names = query.file_glob.as_deref().map(Names::new).transpose()?;
    let mut searcher = searcher(query.target);
    let mut hits = Hits {
        rows: Vec::new(),
        seen: 0,
        query,
        tree,
    };
    let (ended, omitted) = tree.walk(|entry| {
        let path = entry.path();
        if names
            .as_ref()
            .is_some_and(|names| !names.admits(path, &tree.root))
        {
            return ControlFlow::Continue(());
        }
        hits.search(path, &matcher, &mut searcher)
    });
    let total = match query.target {
        Target::Counts => hits
            .rows
            .iter()
            .filter_map(|row| row[1].as_u64())
            .sum::<u64>() as usize,
        _ => hits.seen,
    };
    Ok(Found {
        total,
        more: hits.seen >= query.enough(),
        rows: hits.into_rows(),
        omitted,
        ended,
    })
}

fn matcher(pattern: &str) -> Result<RegexMatcher, String> {
    // Told about lines the engine is much faster, but refuses patterns that could match a line end; those are
    // searched for all the same, and find nothing.
    RegexMatcherBuilder::new()
        .line_terminator(Some(b'\n'))
        .build(pattern)
        .or_else(|_| RegexMatcherBuilder::new().build(pattern))
        .map_err(|error| format!("Invalid regular expression: {error}"))
}

fn searcher(target: Target) -> Searcher {
    let context = match target {
        Target::Lines { context } => context,
        _ => 0,
    };
    SearcherBuilder::new()
        .binary_detection(BinaryDetection::quit(b'\0'))
        .before_context(context)
        .after_context(context)
        .heap_limit(Some(MAX_LINE_BYTES))
        .build()
}

/// What was found so far: of everything seen only the asked-for page is kept.
struct Hits<'q> {
    rows: Vec<Value>,
    seen: usize,
    query: &'q Query,
    tree: &'q Tree,
}

impl Hits<'_> {
    fn search(
        &mut self,
        path: &Path,
        matcher: &RegexMatcher,
        searcher: &mut Searcher,
    ) -> ControlFlow<Ended> {
        let shown = self.tree.shown(path);
        let tree = self.tree;
        let mut file = InFile {
            path: &shown,
            lines: 0,
            ended: None,
            hits: self,
        };
        let opened = File::open(path).map(|file| InTime { file, tree });
        // A file that cannot be read has no matches; its neighbours may.
        let _ = opened.and_then(|opened| searcher.search_reader(matcher, opened, &mut file));
        let (lines, ended) = (file.lines, file.ended);
        if lines > 0 {
            match self.query.target {
                Target::FilesWith => self.row(|| json!(shown)),
                Target::Counts => self.row(|| json!([shown, lines])),
                Target::Lines { .. } | Target::Names => {}
            }
        }
        match ended {
            Some(why) => ControlFlow::Break(why),
            None if self.is_enough() => ControlFlow::Break(Ended::Enough),
            None => ControlFlow::Continue(()),
        }
    }

    fn row(&mut self, row: impl FnOnce() -> Value) {
        let page = self.query.offset..self.query.offset.saturating_add(self.query.limit);
        if page.contains(&self.seen) {
            self.rows.push(row());
        }
        self.seen += 1;
    }

    fn is_enough(&self) -> bool {
        self.seen >= self.query.enough().max(COUNT_UP_TO)
    }

    fn into_rows(self) -> Option<(&'static str, Value)> {
        if self.rows.is_empty() {
            return None;
        }
        Some(match self.query.target {
            Target::Counts => {
                let entry = |row: Value| Some((row[0].as_str()?.to_owned(), row[1].clone()));
                let counts: Map<String, Value> = self.rows.into_iter().filter_map(entry).collect();
                ("counts", Value::Object(counts))
            }
            Target::FilesWith => ("files", Value::Array(self.rows)),
            Target::Lines { .. } | Target::Names => ("matches", Value::Array(self.rows)),
        })
    }
}

/// Takes the matching lines of one file.
struct InFile<'f, 'q> {
    path: &'f str,
    lines: usize,
    ended: Option<Ended>,
    hits: &'f mut Hits<'q>,
}

impl InFile<'_, '_> {
    /// Whether to go on.
    fn line(&mut self, number: Option<u64>, bytes: &[u8], role: Role) -> bool {
        if let Target::Lines { .. } = self.hits.query.target {
            let (path, redactor) = (self.path, self.hits.tree.redactor);
            self.hits.row(|| {
                let line = String::from_utf8_lossy(bytes);
                // Cut twice, so that no half of a key is left where the line is cut in the end.
                let text = shorten(line.trim_end_matches(['\n', '\r']), 4 * MAX_LINE);
                let text = redactor.file_read(text);
                let text = shorten(&text, MAX_LINE);
                let mut row = json!({"path": path, "line": number, "content": text});
                if role == Role::Context {
                    row["context"] = true.into();
                }
                row
            });
        }
        if let ControlFlow::Break(why) = self.hits.tree.in_time() {
            self.ended = Some(why);
        }
        self.ended.is_none() && !self.hits.is_enough()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Match,
    Context,
}

impl Sink for InFile<'_, '_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.lines += 1;
        let wants_more = self.hits.query.target != Target::FilesWith;
        Ok(self.line(found.line_number(), found.bytes(), Role::Match) && wants_more)
    }

    fn context(&mut self, _: &Searcher, line: &SinkContext<'_>) -> io::Result<bool> {
        Ok(self.line(line.line_number(), line.bytes(), Role::Context))
    }
}

/// A file that ends when the search must.
struct InTime<'t> {
    file: File,
    tree: &'t Tree,
}

impl Read for InTime<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.tree.in_time() {
            ControlFlow::Continue(()) => self.file.read(buffer),
            ControlFlow::Break(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

fn shorten(line: &str, max: usize) -> &str {
    line.char_indices()
        .nth(max)
        .map_or(line, |(end, _)| &line[..end])
}
