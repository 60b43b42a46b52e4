//! Snapshots before calls that change files. A call never fails because of one.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt};
use hermes_home::redact::{Redactor, Switch};
use hermes_types::{Args, Availability, CallCx, SessionId, Tool, ToolOutput, ToolSpec};
use serde_json::Value;

use crate::destructive::is_destructive;
use crate::project::root_of;
use crate::store::Checkpoints;
use crate::{Error, Taken};

/// How much of a command is told.
const MAX_REASON: usize = 60;

impl Checkpoints {
    /// The tools, with a snapshot before calls that may change files, if checkpoints are on.
    pub fn guard(self: &Arc<Self>, tools: Vec<Arc<dyn Tool>>) -> Vec<Arc<dyn Tool>> {
        if !self.is_on {
            return tools;
        }
        if !self.has_git() {
            self.said.call_once(|| {
                tracing::warn!("checkpoints are on, but there is no git: none are made")
            });
            return tools;
        }
        tools.into_iter().map(|tool| self.before(tool)).collect()
    }

    /// The tool, with a snapshot before calls of it that may change files: at most one for each project and reply.
    pub fn before(self: &Arc<Self>, tool: Arc<dyn Tool>) -> Arc<dyn Tool> {
        let touches = match tool.spec().name.as_str() {
            "write_file" | "patch" => Touches::Paths,
            "terminal" => Touches::Command,
            _ => return tool,
        };
        Arc::new(Kept {
            checkpoints: self.clone(),
            tool,
            touches,
        })
    }

    /// The project of what a session does in `cwd`; `None` where there is none to make checkpoints of.
    pub(crate) async fn project_at(&self, path: &Path, cwd: &Path) -> Option<PathBuf> {
        let (path, cwd) = (path.to_owned(), cwd.to_owned());
        let user_home = self.user_home.clone();
        let found = tokio::task::spawn_blocking(move || root_of(&path, &cwd, &user_home));
        found.await.ok().flatten()
    }

    /// The project of somebody who is in `cwd`; where there is none, the directory itself.
    pub async fn project_here(&self, cwd: &Path) -> PathBuf {
        let found = self.project_at(cwd, cwd).await;
        found.unwrap_or_else(|| cwd.to_owned())
    }

    async fn keep_before(&self, dir: &Path, reason: &str) {
        match self.take(dir, reason).await {
            Ok(Taken::New(hash)) => tracing::info!("checkpoint {hash} of {}", dir.display()),
            Ok(Taken::Unchanged | Taken::Empty) => {}
            Err(error @ Error::Unfit { .. }) => tracing::info!("{error}"),
            Err(error) => tracing::warn!("no checkpoint of {}: {error}", dir.display()),
        }
    }
}

/// A tool before whose calls files are kept.
struct Kept {
    checkpoints: Arc<Checkpoints>,
    tool: Arc<dyn Tool>,
    touches: Touches,
}

/// How to know what a call changes.
#[derive(Clone, Copy)]
enum Touches {
    /// It says so itself.
    Paths,
    /// By reading the command.
    Command,
}

impl Kept {
    async fn keep(&self, args: &Args, cx: &CallCx) {
        let (cwd, text) = (cx.workspace.cwd(), |name: &str| {
            args.get(name).and_then(Value::as_str)
        });
        let (places, reason) = match self.touches {
            Touches::Paths => {
                let paths = (self.tool.spec().paths)(args);
                (paths, format!("before {}", self.tool.spec().name))
            }
            Touches::Command => {
                let command = text("command").unwrap_or_default();
                if !is_destructive(command) {
                    return;
                }
                let dir = text("workdir").map_or_else(|| cwd.clone(), PathBuf::from);
                (
                    vec![dir],
                    format!("before terminal: {}", shortened(command)),
                )
            }
        };
        let mut projects = BTreeSet::new();
        for place in places {
            let place = cwd.join(self.at_home(&place));
            projects.extend(self.checkpoints.project_at(&place, &cwd).await);
        }
        let (checkpoints, scope) = (&self.checkpoints, &cx.scope);
        for dir in projects {
            let take = async || checkpoints.keep_before(&dir, &reason).await;
            checkpoints
                .once(&scope.session, &dir, scope.round, take)
                .await;
        }
    }

    fn at_home(&self, path: &Path) -> PathBuf {
        match path.strip_prefix("~") {
            Ok(rest) => self.checkpoints.user_home.join(rest),
            Err(_) => path.to_owned(),
        }
    }
}

impl Tool for Kept {
    fn spec(&self) -> &ToolSpec {
        self.tool.spec()
    }

    fn call<'a>(&'a self, args: Args, cx: &'a CallCx) -> BoxFuture<'a, ToolOutput> {
        async move {
            self.keep(&args, cx).await;
            self.tool.call(args, cx).await
        }
        .boxed()
    }

    fn available(&self) -> Availability {
        self.tool.available()
    }

    fn most_per_reply(&self) -> Option<usize> {
        self.tool.most_per_reply()
    }

    fn compacted(&self, session: &SessionId) -> Option<String> {
        self.tool.compacted(session)
    }
}

/// The beginning of a command, on one line. The store is kept for long: no secrets in it.
fn shortened(command: &str) -> String {
    let redactor = Redactor::new(Switch::On);
    let line = redactor
        .force(command)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    let line: String = line.chars().filter(|c| !c.is_control()).collect();
    line.chars().take(MAX_REASON).collect()
}
