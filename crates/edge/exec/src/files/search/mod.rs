//! `search_files`: lines by a regular expression, or files by their names.

mod content;
mod names;
mod walk;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::FutureExt;
use futures::future::BoxFuture;
use hermes_types::{Args, CallCx, FileError, Parallel, Tool, ToolOutput, ToolSpec};
use serde_json::{Map, Value, json};

use self::walk::{Ended, Tree};
use super::args::Reader;
use super::guard::Access;
use super::outcome::{Failure, cancelled, until_stopped};
use super::place::Place;
use super::write::MAX_OUTPUT;
use super::{FileServices, args, real_path, similar};

const TIME: Duration = Duration::from_secs(60);

/// How much longer than the search itself its thread may take to notice that time is over.
const GRACE: Duration = Duration::from_secs(5);

const DEFAULT_LIMIT: usize = 50;
const MAX_LIMIT: usize = 1000;
const MAX_CONTEXT: usize = 20;

#[derive(Debug)]
pub struct SearchFiles {
    spec: ToolSpec,
    services: Arc<FileServices>,
}

/// A search, understood.
#[derive(Clone, Debug)]
struct Query {
    pub pattern: String,
    pub target: Target,
    /// Which files; by base name, or by the path below the root if there is a slash in it.
    pub file_glob: Option<String>,
    pub offset: usize,
    pub limit: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    Lines {
        context: usize,
    },
    /// Paths of files with a matching line.
    FilesWith,
    /// Matching lines of each file.
    Counts,
    Names,
}

/// One page of results.
#[derive(Debug, Default)]
struct Found {
    /// `matches`, `files` or `counts`; absent if there are none.
    pub rows: Option<(&'static str, Value)>,
    pub total: usize,
    /// Whether there are more behind this page.
    pub more: bool,
    /// Files left out because they hold secrets.
    pub omitted: usize,
    pub ended: Ended,
}

impl SearchFiles {
    pub fn new(services: Arc<FileServices>) -> Self {
        let spec = ToolSpec {
            name: "search_files".to_owned(),
            toolset: "file",
            description: "Search inside files (regex, line by line) or for files (target=files: glob on the name, \
                newest first); use it instead of grep, find or ls. Skips hidden files and what .gitignore names."
                .to_owned(),
            parameters: parameters(),
            emoji: "🔎",
            parallel: Parallel::Always,
            idempotent: true,
            housekeeping: false,
            refundable: false,
            paths,
            digest,
            max_output: Some(MAX_OUTPUT),
        };
        Self { spec, services }
    }

    async fn run(&self, args: &Args, cx: &CallCx) -> Result<ToolOutput, Failure> {
        let services = &*self.services;
        let query = Query::from_args(args)?;
        let asked = args::text(args, "path").unwrap_or(".");
        let cwd = cx.workspace.cwd();
        let place = Place::find(asked, &cwd, &services.user_home).await;
        services.guard.check_place(&place, Access::Read)?;
        missing(&place, cx).await?;
        let tree = Tree {
            root: place.real.clone(),
            cwd,
            guard: services.guard.clone(),
            redactor: services.redactor,
            cancel: cx.scope.cancel.clone(),
            deadline: Instant::now() + cx.scope.remaining().map_or(TIME, |left| left.min(TIME)),
        };
        let found = search(query.clone(), tree).await?;
        if found.ended == Ended::Cancelled {
            return Err(cancelled());
        }
        let result = found.to_json(&query);
        if Reader::of(args) == Reader::Script {
            return Ok(ToolOutput::json(&Value::Object(result)));
        }
        self.unless_repeated(asked, &query, result, cx)
    }

    /// The same search with the same result a third time earns a warning, a fourth time nothing.
    fn unless_repeated(
        &self,
        path: &str,
        query: &Query,
        mut result: Map<String, Value>,
        cx: &CallCx,
    ) -> Result<ToolOutput, Failure> {
        let request = format!("search {path} {query:?}");
        let answer = Value::Object(result.clone()).to_string();
        let state = &self.services.state;
        let times = state.times_in_a_row(&cx.scope.session, &request, &answer);
        if times >= 4 {
            return Err(Failure::new(format!(
                "BLOCKED: you have run this search {times} times in a row with the same result. \
                 You already have it: go on with the task."
            ))
            .with("pattern", query.pattern.clone())
            .with("already_searched", times));
        }
        if times == 3 {
            let warning = "You have run this search three times in a row with the same result. \
                Use what you have.";
            result.insert("_warning".to_owned(), warning.into());
        }
        let hint = result.get("next_offset").map_or_else(String::new, |next| {
            format!("\n\n[Hint: there are more results. Use offset={next}, or a narrower pattern or file_glob.]")
        });
        Ok(ToolOutput::done(Value::Object(result).to_string() + &hint))
    }
}

impl Tool for SearchFiles {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, args: Args, cx: &'a CallCx) -> BoxFuture<'a, ToolOutput> {
        async move {
            let work = self.run(&args, cx);
            let done = until_stopped(&cx.scope, TIME + GRACE, work).await;
            done.unwrap_or_else(ToolOutput::from)
        }
        .boxed()
    }
}

async fn search(query: Query, mut tree: Tree) -> Result<Found, Failure> {
    let work = move || {
        // What is found lies below the real root; only the real directory can be a part of that.
        tree.cwd = real_path(&tree.cwd);
        match query.target {
            Target::Names => names::find(&query, &tree),
            _ => content::find(&query, &tree),
        }
    };
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|gone| Err(gone.to_string()))
        .map_err(Failure::new)
}

async fn missing(place: &Place, cx: &CallCx) -> Result<(), Failure> {
    match cx.workspace.stat(&place.real).await {
        Ok(_) => Ok(()),
        Err(FileError::NotFound(_)) => {
            let similar = similar::beside(&place.literal, &*cx.workspace).await;
            let hint = if similar.is_empty() {
                String::new()
            } else {
                format!(". Similar paths: {}", similar.join(", "))
            };
            Err(Failure::new(format!(
                "Path not found: {}{hint}",
                place.asked
            )))
        }
        Err(error) => Err(error.into()),
    }
}

impl Query {
    fn from_args(args: &Args) -> Result<Self, Failure> {
        let pattern = args::text(args, "pattern")
            .ok_or_else(|| Failure::new("search_files: 'pattern' is missing."))?;
        let context = args::count(args, "context", 0)
            .unwrap_or(0)
            .min(MAX_CONTEXT);
        let target = match (args::text(args, "target"), args::text(args, "output_mode")) {
            (Some("files" | "find"), _) => Target::Names,
            (_, Some("files_only")) => Target::FilesWith,
            (_, Some("count")) => Target::Counts,
            _ => Target::Lines { context },
        };
        Ok(Self {
            pattern: pattern.to_owned(),
            target,
            file_glob: args::text(args, "file_glob").map(str::to_owned),
            offset: args::count(args, "offset", 0).unwrap_or(0),
            limit: args::count(args, "limit", 1)
                .unwrap_or(DEFAULT_LIMIT)
                .min(MAX_LIMIT),
        })
    }

    /// How many results must be seen to fill the page and know whether there are more.
    fn enough(&self) -> usize {
        self.offset.saturating_add(self.limit).saturating_add(1)
    }
}

impl Found {
    fn to_json(&self, query: &Query) -> Map<String, Value> {
        let mut result = Map::new();
        let mut put = |name: &str, value: Value| result.insert(name.to_owned(), value);
        put("total_count", self.total.into());
        if let Some((name, rows)) = &self.rows {
            put(name, rows.clone());
        }
        if self.more {
            put("truncated", true.into());
            put("next_offset", (query.offset + query.limit).into());
        }
        let warning = match self.ended {
            Ended::OutOfTime => {
                "The search was stopped after its time was over; search in a smaller directory."
            }
            _ if self.total == 0
                && query.target != Target::Names
                && query.pattern.contains("\\n") =>
            {
                "The search goes line by line: a pattern with \\n matches nothing."
            }
            _ => "",
        };
        if !warning.is_empty() {
            put("warning", warning.into());
        }
        if self.omitted > 0 {
            let text = format!("{} files that hold secrets were left out", self.omitted);
            put("_omitted", text.into());
        }
        result
    }
}

fn parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "pattern": {"type": "string"},
            "target": {"type": "string", "enum": ["content", "files"], "default": "content"},
            "path": {"type": "string"},
            "file_glob": {"type": "string", "description": "Only these files, e.g. *.py"},
            "limit": {"type": "integer", "default": DEFAULT_LIMIT},
            "offset": {"type": "integer"},
            "output_mode": {"type": "string", "enum": ["content", "files_only", "count"]},
            "context": {"type": "integer"},
        },
        "required": ["pattern"],
    })
}

fn paths(args: &Args) -> Vec<PathBuf> {
    vec![PathBuf::from(args::text(args, "path").unwrap_or("."))]
}

fn digest(args: &Args, _: &ToolOutput) -> String {
    let pattern = args::text(args, "pattern").unwrap_or("?");
    let path = args::text(args, "path").unwrap_or(".");
    format!("{pattern} in {path}")
}
