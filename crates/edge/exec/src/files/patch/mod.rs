//! `patch`: changes to parts of files, by a text and its replacement or by a V4A patch over several files.

mod apply;
mod hunks;
mod plan;
mod v4a;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use hermes_text::{Mismatch, Occurrences, did_you_mean, replace};
use hermes_types::{Args, CallCx, Parallel, Tool, ToolOutput, ToolSpec};
use serde_json::{Value, json};

use super::guard::Access;
use super::outcome::{Failure, until_stopped};
use super::place::Place;
use super::save::{look, refuse_masks, save};
use super::text::Before;
use super::write::MAX_OUTPUT;
use super::{FileServices, args, diff};

/// With two syntax checks of 30 s.
const TIME: Duration = Duration::from_secs(120);

#[derive(Debug)]
pub struct Patch {
    spec: ToolSpec,
    services: Arc<FileServices>,
}

impl Patch {
    pub fn new(services: Arc<FileServices>) -> Self {
        let spec = ToolSpec {
            name: "patch".to_owned(),
            toolset: "file",
            description: "Change parts of files; use it instead of sed or awk. mode=replace needs path, old_string \
                and new_string; small differences in whitespace and indentation are forgiven. mode=patch needs \
                patch: a V4A patch over any number of files, applied as a whole or not at all. Returns a diff \
                and a syntax check."
                .to_owned(),
            parameters: parameters(),
            emoji: "🔧",
            parallel: Parallel::ByPath,
            idempotent: false,
            housekeeping: false,
            refundable: false,
            paths,
            digest,
            max_output: Some(MAX_OUTPUT),
        };
        Self { spec, services }
    }

    async fn run(&self, args: &Args, cx: &CallCx) -> Result<ToolOutput, Failure> {
        self.services.state.other_tool_called(&cx.scope.session);
        match args::text(args, "mode").unwrap_or("replace") {
            "replace" => until_stopped(&cx.scope, TIME, self.replace(args, cx)).await,
            "patch" => {
                let patch = args::text(args, "patch")
                    .ok_or_else(|| Failure::new("mode=patch needs 'patch', the V4A patch."))?;
                apply::run(patch, &self.services, cx).await
            }
            other => Err(Failure::new(format!(
                "Unknown mode '{other}': use replace or patch."
            ))),
        }
    }

    async fn replace(&self, args: &Args, cx: &CallCx) -> Result<ToolOutput, Failure> {
        let services = &*self.services;
        let edit = Edit::from_args(args)?;
        let cwd = cx.workspace.cwd();
        let place = Place::find(edit.path, &cwd, &services.user_home).await;
        services.guard.check_place(&place, Access::Write)?;
        let _alone = services.state.lock(vec![place.real.clone()]).await;
        let stat = look(&place, cx).await?;
        let warning = stat.and_then(|now| {
            services
                .state
                .warning(&cx.scope.session, &place.real, now.into())
        });
        let before = Before::load(&place, &*cx.workspace).await?;
        let old = match &before {
            Before::Text(file) => &file.text,
            Before::Missing => return Err(Failure::new(format!("File not found: {}", edit.path))),
            Before::Opaque(why) => {
                return Err(Failure::new(format!("Cannot patch {}: {why}.", edit.path)));
            }
        };
        let new = edit.apply(old, &before)?;
        refuse_masks(&place, &before, &new)?;
        let saved = save(&place, &before, &new, services, cx).await?;
        let mut result = json!({
            "success": true,
            "diff": diff::unified(&place.shown(&cwd), Some(old), Some(&new)),
            "files_modified": [place.asked],
            "resolved_path": place.real.to_string_lossy(),
            "lint": saved.lint.to_json(),
        });
        if let Some(warning) = warning {
            result["_warning"] = warning.into();
        }
        let diff = diff::shown(&place.shown(&cwd), Some(old), &new);
        Ok(ToolOutput {
            changed: vec![place.real],
            ..ToolOutput::json(&result).with_diff(diff)
        })
    }
}

impl Tool for Patch {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, args: Args, cx: &'a CallCx) -> BoxFuture<'a, ToolOutput> {
        async move {
            let done = self.run(&args, cx).await;
            done.unwrap_or_else(|failure| failure.with("success", false).into())
        }
        .boxed()
    }
}

/// What mode=replace is asked to do.
struct Edit<'a> {
    path: &'a str,
    old: &'a str,
    new: &'a str,
    occurrences: Occurrences,
}

impl<'a> Edit<'a> {
    fn from_args(args: &'a Args) -> Result<Self, Failure> {
        let need = |name| {
            args::string(args, name)
                .ok_or_else(|| Failure::new(format!("mode=replace needs '{name}'.")))
        };
        let occurrences = if args::switch(args, "replace_all") {
            Occurrences::All
        } else {
            Occurrences::One
        };
        let path = need("path")?;
        if path.is_empty() {
            return Err(Failure::new("mode=replace needs 'path'."));
        }
        Ok(Self {
            path,
            old: need("old_string")?,
            new: need("new_string")?,
            occurrences,
        })
    }

    fn apply(&self, text: &str, before: &Before) -> Result<String, Failure> {
        let style = before.style();
        let (old, new) = (style.adopt(self.old), style.adopt(self.new));
        replace(text, &old, &new, self.occurrences).map_err(|missed| {
            if missed != Mismatch::NotFound {
                return Failure::new(format!("{missed}."));
            }
            match did_you_mean(&old, text) {
                excerpt if excerpt.is_empty() => Failure::new(format!("{missed}.")).with(
                    "_hint",
                    "Read the file again with read_file, or look for the text with search_files.",
                ),
                excerpt => Failure::new(format!("{missed}.{excerpt}")),
            }
        })
    }
}

fn parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "mode": {"type": "string", "enum": ["replace", "patch"], "default": "replace"},
            "path": {"type": "string"},
            "old_string": {"type": "string",
                "description": "Text to replace, with enough lines around it to be unique"},
            "new_string": {"type": "string", "description": "Its replacement; empty to delete"},
            "replace_all": {"type": "boolean", "default": false},
            "patch": {"type": "string", "description": "*** Begin Patch\n*** Update File: a.py\n\
                @@ text near the change @@\n context\n-removed\n+added\n*** Add File: b.py\n+line\n\
                *** Delete File: c.py\n*** Move File: d.py -> e.py\n*** End Patch"},
        },
        "required": ["mode"],
    })
}

fn paths(args: &Args) -> Vec<PathBuf> {
    if args::text(args, "mode") != Some("patch") {
        return args::path(args);
    }
    // What cannot be parsed will change nothing.
    let changes = v4a::parse(args::string(args, "patch").unwrap_or_default()).unwrap_or_default();
    let names = changes.iter().flat_map(v4a::Change::paths);
    names.map(PathBuf::from).collect()
}

fn digest(args: &Args, _: &ToolOutput) -> String {
    let names: Vec<_> = paths(args)
        .iter()
        .map(|path| path.to_string_lossy().into_owned())
        .collect();
    names.join(", ")
}
