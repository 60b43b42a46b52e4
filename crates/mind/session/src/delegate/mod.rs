//! The `delegate_task` tool: tasks for children, each a turn in a conversation of its own.

mod args;
mod child;
mod diagnose;
mod limits;
mod record;
mod report;
mod together;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use futures::future::{BoxFuture, FutureExt};
use hermes_home::Modes;
use hermes_home::redact::Redactor;
use hermes_store::Store;
use hermes_types::{
    Args, CallCx, Parallel, SessionId, Tool, ToolOutput, ToolSpec, Witness, Workspace,
};
use serde_json::{Value, json};
use tokio_util::task::TaskTracker;

pub use limits::{Delegation, Timing};

pub(crate) const NAME: &str = "delegate_task";

/// The tool as one agent has it: the session itself, or an orchestrator among its children.
#[derive(Clone)]
pub struct Delegate {
    spec: ToolSpec,
    services: Arc<ChildServices>,
    config: Arc<Delegation>,
    /// How many agents stand above the one that has the tool.
    depth: u32,
    reach: Reach,
    /// Who writes down what the children's tools do.
    witness: Option<Arc<dyn Witness>>,
}

/// What children are made with; they share it with whoever started them.
pub struct ChildServices {
    pub store: Store,
    pub hands: MakeHands,
    pub stale: Stale,
    pub farewell: Farewell,
    /// Where it is written down why a child never got going.
    pub logs: PathBuf,
    pub modes: Modes,
    pub redactor: Redactor,
    /// Children may still be putting things down when their call has been answered; whoever ends the process
    /// waits for these.
    pub tasks: TaskTracker,
}

/// Makes the hands of a child that begins in this directory.
pub type MakeHands = Arc<dyn Fn(PathBuf) -> BoxFuture<'static, ChildHands> + Send + Sync>;

/// What a session has read and others have written since then.
pub type Stale = Arc<dyn Fn(&SessionId, SystemTime) -> Vec<PathBuf> + Send + Sync>;

/// Puts in order what a child left behind.
pub type Farewell = Arc<dyn Fn(SessionId) -> BoxFuture<'static, ()> + Send + Sync>;

/// What one child works with.
pub struct ChildHands {
    pub workspace: Arc<dyn Workspace>,
    /// The tools its parent has, but those that remember something made anew.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Tools of MCP servers, each with its server's name.
    pub servers: Vec<(String, Arc<dyn Tool>)>,
}

/// Which tools an agent can hand on: no more than it has.
#[derive(Clone, Debug)]
enum Reach {
    All,
    Only(BTreeSet<String>),
}

impl Reach {
    fn covers(&self, tool: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) => names.contains(tool),
        }
    }
}

impl Delegate {
    /// The tool of a session.
    pub fn new(services: ChildServices, config: Delegation) -> Self {
        let depth = 0;
        Self {
            spec: spec(&config, depth),
            services: Arc::new(services),
            config: Arc::new(config),
            depth,
            reach: Reach::All,
            witness: None,
        }
    }

    /// With somebody who writes down what the children's tools do.
    #[must_use]
    pub fn with_witness(self, witness: Option<Arc<dyn Witness>>) -> Self {
        Self { witness, ..self }
    }

    /// The tool of an orchestrator that this agent starts.
    fn for_child(&self, tools: BTreeSet<String>) -> Self {
        let depth = self.depth + 1;
        Self {
            spec: spec(&self.config, depth),
            depth,
            reach: Reach::Only(tools),
            ..self.clone()
        }
    }
}

impl Tool for Delegate {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, args: Args, cx: &'a CallCx) -> BoxFuture<'a, ToolOutput> {
        async move {
            match args::read(&args, &self.config, self.depth) {
                Ok(tasks) => self.run(tasks, cx).await,
                Err(reason) => ToolOutput::failed(reason),
            }
        }
        .boxed()
    }

    fn most_per_reply(&self) -> Option<usize> {
        Some(self.config.children)
    }
}

/// The description tells the owner's limits, and offers no role that cannot be had.
fn spec(config: &Delegation, depth: u32) -> ToolSpec {
    let (most, levels) = (config.children, config.depth);
    let orchestrators = config.may_orchestrate(depth);
    let roles = match orchestrators {
        true => {
            format!(" role=orchestrator: it may delegate in turn (agents may stand {levels} deep).")
        }
        false => " They cannot delegate in turn.".to_owned(),
    };
    let mut task = json!({
        "goal": {"type": "string"},
        "context": {"type": "string"},
        "toolsets": {"type": "array", "items": {"type": "string"}},
    });
    if orchestrators {
        task["role"] = json!({"type": "string", "enum": ["leaf", "orchestrator"]});
    }
    let mut properties = task.clone();
    properties["context"]["description"] = "All it must know: paths, errors, constraints".into();
    properties["toolsets"]["description"] =
        "Only these of yours, such as file (default: all)".into();
    properties["tasks"] = json!({
        "type": "array",
        "maxItems": most,
        "items": {"type": "object", "properties": task, "required": ["goal"]},
    });
    ToolSpec {
        name: NAME.to_owned(),
        toolset: "delegation",
        description: format!(
            "Hand work to subagents, each with a fresh conversation and its own shell directory, and get only their \
             reports back: one with goal, or up to {most} at once with tasks. For work that is long, wide or would \
             fill your context, not for a single call. They know nothing of this conversation, cannot ask, and have \
             no memory.{roles}"
        ),
        parameters: json!({"type": "object", "properties": properties}),
        emoji: "🔀",
        parallel: Parallel::Never,
        idempotent: false,
        housekeeping: false,
        refundable: false,
        paths: |_| Vec::new(),
        digest,
        // Every part of the result has its own limit.
        max_output: None,
    }
}

fn digest(args: &Args, _: &ToolOutput) -> String {
    match args.get("tasks").and_then(Value::as_array) {
        Some(tasks) if !tasks.is_empty() => format!("{} tasks", tasks.len()),
        _ => one_line(args.get("goal").and_then(Value::as_str).unwrap_or_default()),
    }
}

/// The beginning of a goal, for feeds.
fn one_line(goal: &str) -> String {
    const SHOWN: usize = 80;
    let line = goal.trim().lines().next().unwrap_or_default();
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

impl std::fmt::Debug for Delegate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Delegate")
            .field("depth", &self.depth)
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for ChildServices {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ChildServices")
    }
}

impl std::fmt::Debug for ChildHands {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = self.tools.iter().map(|tool| &tool.spec().name);
        f.debug_list().entries(names).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_description_tells_the_limits_and_offers_what_there_is() {
        let config = Delegation {
            children: 5,
            depth: 2,
            ..Delegation::default()
        };
        let outer = spec(&config, 0);
        assert!(outer.description.contains("up to 5 at once"));
        assert!(outer.description.contains("2 deep"));
        assert!(!outer.parameters["properties"]["role"].is_null());
        let inner = spec(&config, 1);
        assert!(inner.description.contains("cannot delegate"));
        let role = |spec: &ToolSpec| spec.parameters.to_string().contains("orchestrator");
        assert!(role(&outer) && !role(&inner));
        let off = Delegation {
            orchestrators: false,
            ..config
        };
        assert!(!role(&spec(&off, 0)));
    }
}
