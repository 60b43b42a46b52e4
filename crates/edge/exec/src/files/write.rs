//! `write_file`: a whole file at once.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use hermes_types::{Args, CallCx, Parallel, Tool, ToolOutput, ToolSpec};
use serde_json::{Value, json};

use super::echo::is_tool_output;
use super::guard::Access;
use super::outcome::{Failure, until_stopped};
use super::place::Place;
use super::save::{look, refuse_masks, save};
use super::text::{Before, Ending};
use super::{FileServices, args, diff};

/// With two syntax checks of 30 s.
const TIME: Duration = Duration::from_secs(120);

pub(super) const MAX_OUTPUT: usize = 100_000;

#[derive(Debug)]
pub struct WriteFile {
    spec: ToolSpec,
    services: Arc<FileServices>,
}

impl WriteFile {
    pub fn new(services: Arc<FileServices>) -> Self {
        let spec = ToolSpec {
            name: "write_file".to_owned(),
            toolset: "file",
            description: "Write a whole file; use it instead of echo or heredocs. Replaces what was there and \
                makes missing directories. For a change to part of a file use patch. The result says whether \
                the syntax is right."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string"},
                    "content": {"type": "string", "description": "The complete new content"},
                },
                "required": ["path", "content"],
            }),
            emoji: "✍️",
            parallel: Parallel::ByPath,
            idempotent: false,
            housekeeping: false,
            refundable: false,
            paths: args::path,
            digest,
            max_output: Some(MAX_OUTPUT),
        };
        Self { spec, services }
    }

    async fn run(&self, args: &Args, cx: &CallCx) -> Result<ToolOutput, Failure> {
        let services = &*self.services;
        let (asked, content) = wanted(args)?;
        let place = Place::find(asked, &cx.workspace.cwd(), &services.user_home).await;
        services.guard.check_place(&place, Access::Write)?;
        if is_tool_output(content) {
            return Err(Failure::new(
                "Refused: this is what read_file showed (line numbers or its status), not content for a file. \
                 Send the plain text.",
            ));
        }
        services.state.other_tool_called(&cx.scope.session);
        let _alone = services.state.lock(vec![place.real.clone()]).await;
        let stat = look(&place, cx).await?;
        let warning = stat.and_then(|now| {
            services
                .state
                .warning(&cx.scope.session, &place.real, now.into())
        });
        let before = Before::load(&place, &*cx.workspace).await?;
        refuse_masks(&place, &before, content)?;
        let dirs_created = stat.is_none() && lacks_directory(&place, cx).await;
        let text = match before.style() {
            style if style.ending == Ending::Crlf => style.adopt(content),
            _ => content.into(),
        };
        let saved = save(&place, &before, &text, services, cx).await?;
        let mut result = json!({
            "bytes_written": saved.bytes,
            "dirs_created": dirs_created,
            "lint": saved.lint.to_json(),
            "resolved_path": place.real.to_string_lossy(),
        });
        if let Some(warning) = warning {
            result["_warning"] = warning.into();
        }
        let old = before.text().map(|file| file.text.as_str());
        let diff = diff::shown(&place.shown(&cx.workspace.cwd()), old, &text);
        Ok(ToolOutput {
            changed: vec![place.real],
            ..ToolOutput::json(&result).with_diff(diff)
        })
    }
}

impl Tool for WriteFile {
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
}

fn wanted(args: &Args) -> Result<(&str, &str), Failure> {
    let path = args::text(args, "path").ok_or_else(|| {
        Failure::new(
            "write_file: 'path' is missing. Send the call again with both path and content.",
        )
    })?;
    match args.get("content") {
        Some(Value::String(content)) => Ok((path, content)),
        Some(_) => Err(Failure::new("write_file: 'content' must be a string.")),
        None => Err(Failure::new(
            "write_file: 'content' is missing: the argument was dropped on its way. Send the call again with the \
             full content, or write a very large file in parts with execute_code.",
        )),
    }
}

async fn lacks_directory(place: &Place, cx: &CallCx) -> bool {
    match place.real.parent() {
        Some(dir) => cx.workspace.stat(dir).await.is_err(),
        None => false,
    }
}

fn digest(args: &Args, _: &ToolOutput) -> String {
    let path = args::text(args, "path").unwrap_or("?");
    let size = args::string(args, "content").map_or(0, str::len);
    format!("{path} ({size} bytes)")
}
