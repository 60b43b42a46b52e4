//! Background jobs: the table that owns them, what it tells by itself, and the `process` tool.

mod actions;
mod job;
mod notice;
mod record;
mod rolling;
mod table;
mod watch;

use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use hermes_home::redact::Redactor;
use hermes_types::{Args, CallCx, Parallel, Tool, ToolOutput, ToolSpec};
use serde_json::{Value, json};

pub use notice::{Happened, Notice};
pub use record::Registry;
pub(crate) use table::NewProcess;
pub use table::{Farewell, Processes, Tell};

/// The `process` tool.
#[derive(Debug)]
pub struct Process {
    spec: ToolSpec,
    processes: Processes,
    redactor: Redactor,
    /// `terminal.timeout`: no `wait` is longer.
    max_wait: Duration,
}

impl Process {
    pub fn new(processes: Processes, redactor: Redactor, max_wait: Duration) -> Self {
        let spec = ToolSpec {
            name: "process".to_owned(),
            toolset: "terminal",
            description: "Background processes started with terminal(background=true). list; poll (status, recent \
                output); log (more output, by line); wait (until it ends or timeout); kill; write (raw input), \
                submit (input + Enter), close (end of input)."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "action": {
                        "type": "string",
                        "enum": ["list", "poll", "log", "wait", "kill", "write", "submit", "close"],
                    },
                    "session_id": {"type": "string", "description": "proc_…, for all but list"},
                    "data": {"type": "string", "description": "For write and submit"},
                    "timeout": {"type": "integer", "minimum": 1, "description": "Seconds to wait"},
                    "offset": {"type": "integer", "description": "log: first line; default: the last 200"},
                    "limit": {"type": "integer", "minimum": 1, "description": "log: number of lines"},
                },
                "required": ["action"],
            }),
            emoji: "⚙️",
            parallel: Parallel::Never,
            idempotent: false,
            housekeeping: false,
            refundable: false,
            paths: |_| Vec::new(),
            digest,
            max_output: Some(100_000),
        };
        Self {
            spec,
            processes,
            redactor,
            max_wait,
        }
    }
}

impl Tool for Process {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, args: Args, cx: &'a CallCx) -> BoxFuture<'a, ToolOutput> {
        async move { self.act(&args, cx).await }.boxed()
    }
}

fn digest(args: &Args, _: &ToolOutput) -> String {
    let text = |name| args.get(name).and_then(Value::as_str).unwrap_or_default();
    format!("{} {}", text("action"), text("session_id"))
        .trim_end()
        .to_owned()
}
