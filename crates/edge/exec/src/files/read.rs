//! `read_file`: a page of a text file with line numbers.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use hermes_types::{
    Args, CallCx, FileError, Parallel, SessionId, Stat, Tool, ToolOutput, ToolSpec, Workspace,
};
use serde_json::{Map, Value, json};

use super::args::Reader;
use super::echo::UNCHANGED;
use super::guard::{Access, is_device};
use super::gutter::numbered;
use super::kind::{self, Kind};
use super::outcome::{Failure, until_stopped};
use super::page::{Page, Pager, Window};
use super::place::Place;
use super::state::{Region, Seen, View};
use super::{FileServices, args, similar};

const DEFAULT_LIMIT: usize = 500;

/// How much is read at a time; a file of any size takes no more memory than this and its page.
const PIECE: usize = 1024 * 1024;

const TIME: Duration = Duration::from_secs(60);

/// A file above this size, read widely, earns the advice to read less of it.
const LARGE: u64 = 512_000;
const WIDE: usize = 200;

#[derive(Debug)]
pub struct ReadFile {
    spec: ToolSpec,
    services: Arc<FileServices>,
}

impl ReadFile {
    pub fn new(services: Arc<FileServices>) -> Self {
        let most = services.limits.max_lines;
        let spec = ToolSpec {
            name: "read_file".to_owned(),
            toolset: "file",
            description:
                "Read a text file; use it instead of cat, head or tail. Each line comes as \
                NUMBER|TEXT. Long files come in pages: go on with offset. About 100K characters at \
                most per call. Not for images or other binary files."
                    .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "Absolute, relative or ~/path"},
                    "offset": {"type": "integer", "minimum": 1, "default": 1, "description": "First line"},
                    "limit": {"type": "integer", "maximum": most, "default": DEFAULT_LIMIT,
                        "description": "Number of lines"},
                },
                "required": ["path"],
            }),
            emoji: "📖",
            parallel: Parallel::Always,
            idempotent: true,
            housekeeping: false,
            refundable: false,
            paths: args::path,
            digest,
            // A stored result is read with this very tool: storing that again would never end.
            max_output: None,
        };
        Self { spec, services }
    }

    async fn run(&self, args: &Args, cx: &CallCx) -> Result<ToolOutput, Failure> {
        let services = &*self.services;
        let asked = args::text(args, "path").ok_or_else(|| {
            Failure::new("read_file: 'path' is missing. Send it again with path set.")
        })?;
        let workspace = &*cx.workspace;
        let place = Place::find(asked, &workspace.cwd(), &services.user_home).await;
        self.admit(&place)?;
        let stat = look(&place, workspace).await?;
        let window = self.window(args);
        let region = Region {
            path: place.real.clone(),
            offset: window.offset,
            limit: window.limit,
        };
        let (reader, session) = (Reader::of(args), &cx.scope.session);
        if reader == Reader::Model {
            match services.state.seen(session, &region, stat.into()) {
                Seen::New => {}
                Seen::Unchanged => return Ok(unchanged(&place)),
                Seen::Again(times) => return Err(blocked(&place, times)),
            }
        }
        let page = fetch(&place, window, workspace).await?;
        let view = match page.next(window) {
            None if window.offset == 1 => View::Whole,
            _ => View::Partial,
        };
        let result = self.show(&page, window, stat);
        if reader == Reader::Script {
            let path = region.path;
            services
                .state
                .was_read_unseen(session, path, stat.into(), view);
            return Ok(ToolOutput::json(&Value::Object(result)));
        }
        services
            .state
            .was_read(session, region.clone(), stat.into(), view);
        self.unless_repeated(&place, &region, result, cx)
    }

    /// Everything that can be said without opening the file.
    fn admit(&self, place: &Place) -> Result<(), Failure> {
        let asked = &place.asked;
        if is_device(&place.literal) || is_device(&place.real) {
            return Err(Failure::new(format!(
                "Cannot read {asked}: it is a device or a process's memory, not a file."
            )));
        }
        match kind::by_name(&place.real) {
            Kind::Text => {}
            Kind::Image => {
                return Err(Failure::new(format!(
                    "Cannot read {asked} as text: it is an image. Use vision_analyze to look at it."
                ))
                .with("is_binary", true)
                .with("is_image", true));
            }
            Kind::Binary => return Err(binary(asked)),
        }
        Ok(self.services.guard.check_place(place, Access::Read)?)
    }

    fn window(&self, args: &Args) -> Window {
        let limits = self.services.limits;
        Window {
            offset: args::count(args, "offset", 1).unwrap_or(1),
            limit: args::count(args, "limit", 1)
                .unwrap_or(DEFAULT_LIMIT)
                .min(limits.max_lines),
            max_line: limits.max_line_length,
            max_chars: limits.max_chars,
        }
    }

    fn show(&self, page: &Page, window: Window, stat: Stat) -> Map<String, Value> {
        let next = page.next(window);
        let mut result = Map::new();
        let mut put = |name: &str, value: Value| result.insert(name.to_owned(), value);
        let content = numbered(&page.lines, window.offset, &self.services.redactor);
        put("content", content.into());
        put("total_lines", page.newlines.into());
        put("file_size", stat.size.into());
        put("truncated", next.is_some().into());
        put("is_binary", false.into());
        put("is_image", false.into());
        if let Some(next) = next {
            put("next_offset", next.into());
            put("hint", go_on(page, window, next).into());
            if stat.size > LARGE && window.limit > WIDE {
                let size = grouped(usize::try_from(stat.size).unwrap_or(usize::MAX));
                let hint = format!(
                    "This file is large ({size} bytes). Read only the part you need, with offset and limit."
                );
                put("_hint", hint.into());
            }
        } else if page.lines.is_empty() && window.offset > 1 {
            let hint = format!("The file has only {} lines.", page.total);
            put("hint", hint.into());
        }
        result
    }

    /// The same lines a third time earn a warning, a fourth time nothing.
    fn unless_repeated(
        &self,
        place: &Place,
        region: &Region,
        mut result: Map<String, Value>,
        cx: &CallCx,
    ) -> Result<ToolOutput, Failure> {
        let request = format!("read {region:?}");
        let content = result["content"].as_str().unwrap_or_default();
        let state = &self.services.state;
        let times = state.times_in_a_row(&cx.scope.session, &request, content);
        if times >= 4 {
            return Err(blocked(place, times));
        }
        if times == 3 {
            let warning = "You have read these same lines three times in a row and they are the same. \
                Use what you have.";
            result.insert("_warning".to_owned(), warning.into());
        }
        Ok(ToolOutput::json(&Value::Object(result)))
    }
}

impl Tool for ReadFile {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, args: Args, cx: &'a CallCx) -> BoxFuture<'a, ToolOutput> {
        async move {
            let work = self.run(&args, cx);
            let done = until_stopped(&cx.scope, TIME, work).await;
            done.unwrap_or_else(ToolOutput::from)
        }
        .boxed()
    }

    fn compacted(&self, session: &SessionId) -> Option<String> {
        self.services.state.compacted(session);
        None
    }
}

async fn look(place: &Place, workspace: &dyn Workspace) -> Result<Stat, Failure> {
    match workspace.stat(&place.real).await {
        Ok(stat) if stat.is_dir => Err(Failure::new(format!(
            "{} is a directory. Use search_files with target=files to list it.",
            place.asked
        ))),
        Ok(stat) => Ok(stat),
        Err(FileError::NotFound(_)) => {
            let failure = Failure::new(format!("File not found: {}", place.asked));
            let similar = similar::beside(&place.literal, workspace).await;
            Err(if similar.is_empty() {
                failure
            } else {
                failure.with("similar_files", similar)
            })
        }
        Err(error) => Err(error.into()),
    }
}

/// Streams the whole file, because the lines after the page are counted as well.
async fn fetch(place: &Place, window: Window, workspace: &dyn Workspace) -> Result<Page, Failure> {
    let mut pager = Pager::new(window);
    let mut at = 0;
    loop {
        let piece = workspace.read(&place.real, at, PIECE).await?;
        if piece.is_empty() {
            return Ok(pager.finish());
        }
        if at > 0 {
            pager.push(&piece);
        } else if kind::looks_binary(&piece) {
            return Err(binary(&place.asked));
        } else {
            // A byte order mark is no text.
            pager.push(piece.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&piece));
        }
        at += piece.len() as u64;
    }
}

fn go_on(page: &Page, window: Window, next: usize) -> String {
    let why = if page.full {
        "; the character limit was reached"
    } else {
        ""
    };
    let (first, last, total) = (window.offset, next - 1, page.total);
    format!("Use offset={next} to continue (showing {first}-{last} of {total} lines{why})")
}

fn binary(asked: &str) -> Failure {
    Failure::new(format!(
        "Cannot read {asked} as text: it is a binary file. Use terminal to inspect it."
    ))
    .with("is_binary", true)
}

fn unchanged(place: &Place) -> ToolOutput {
    ToolOutput::json(&json!({
        "status": "unchanged",
        "message": UNCHANGED,
        "path": place.asked,
        "dedup": true,
        "content_returned": false,
    }))
}

fn blocked(place: &Place, times: u32) -> Failure {
    Failure::new(format!(
        "BLOCKED: you have asked for these lines {times} times and they have not changed. \
         You already have them: stop reading and go on with the task."
    ))
    .with("path", place.asked.clone())
    .with("already_read", times)
}

fn digest(args: &Args, _: &ToolOutput) -> String {
    let path = args::text(args, "path").unwrap_or("?");
    let from = match args::count(args, "offset", 1) {
        Some(offset) if offset > 1 => format!(" from line {offset}"),
        _ => String::new(),
    };
    format!("{path}{from}")
}

/// `1234567` as `1,234,567`.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
