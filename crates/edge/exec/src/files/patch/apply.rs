//! Carrying out a V4A patch: everything is checked before the first file changes.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hermes_types::{CallCx, Outcome, ToolOutput};
use serde_json::{Map, Value, json};
use tokio::sync::OwnedMutexGuard;

use super::plan::{Files, Step, plan};
use super::v4a::{self, Change};
use crate::files::guard::Access;
use crate::files::outcome::{Failure, cancelled, until_stopped};
use crate::files::place::Place;
use crate::files::save::{Saved, look, refuse_masks, save};
use crate::files::text::Before;
use crate::files::{FileServices, diff, local};

/// For preparing and again for writing, with syntax checks.
const TIME: Duration = Duration::from_secs(120);

type Places = HashMap<String, Place>;

/// Parses, checks and applies a patch.
pub(super) async fn run(
    patch: &str,
    services: &FileServices,
    cx: &CallCx,
) -> Result<ToolOutput, Failure> {
    let ready = until_stopped(&cx.scope, TIME, prepare(patch, services, cx)).await?;
    if cx.scope.is_cancelled() {
        return Err(cancelled());
    }
    // From here on it is all or trouble: a patch that is cancelled half way leaves files that don't fit together.
    let mut report = Report::default();
    let work = report.carry_out(&ready, services, cx);
    if tokio::time::timeout(TIME, work).await.is_err() {
        report
            .errors
            .push("the files did not answer in time".to_owned());
    }
    Ok(report.finish(&ready.warnings))
}

struct Ready {
    steps: Vec<Step>,
    places: Places,
    warnings: Vec<String>,
    /// Nobody else changes these files until the patch is done.
    _alone: Vec<OwnedMutexGuard<()>>,
}

async fn prepare(patch: &str, services: &FileServices, cx: &CallCx) -> Result<Ready, Failure> {
    let mut changes = v4a::parse(patch)
        .map_err(|why| Failure::new(format!("Failed to parse the patch: {why}")))?;
    let places = find_all(&mut changes, services, cx).await?;
    let paths = places.values().map(|place| place.real.clone()).collect();
    let alone = services.state.lock(paths).await;
    let mut files = Files::new();
    let mut warnings = Vec::new();
    for (name, place) in &places {
        let stat = look(place, cx).await.map_err(refused)?;
        let warning = stat.and_then(|now| {
            services
                .state
                .warning(&cx.scope.session, &place.real, now.into())
        });
        warnings.extend(warning);
        files.insert(name.clone(), Before::load(place, &*cx.workspace).await?);
    }
    warnings.sort();
    let steps = plan(&changes, files).map_err(|errors| invalid(&errors))?;
    for step in &steps {
        if let Step::Write { path, before, text } = step {
            refuse_masks(&places[path], before, text)?;
        }
    }
    Ok(Ready {
        steps,
        places,
        warnings,
        _alone: alone,
    })
}

/// Where the files are. Two names of one file become the first of them, so that its changes see each other.
async fn find_all(
    changes: &mut [Change],
    services: &FileServices,
    cx: &CallCx,
) -> Result<Places, Failure> {
    let cwd = cx.workspace.cwd();
    let mut places = Places::new();
    let mut first_names: HashMap<PathBuf, String> = HashMap::new();
    for name in changes.iter_mut().flat_map(Change::paths_mut) {
        let place = Place::find(name, &cwd, &services.user_home).await;
        services.guard.check_place(&place, Access::Write)?;
        let first = first_names
            .entry(place.real.clone())
            .or_insert_with(|| name.clone());
        name.clone_from(first);
        places.entry(name.clone()).or_insert(place);
    }
    Ok(places)
}

fn invalid(errors: &[String]) -> Failure {
    let list = bullets(errors);
    Failure::new(format!(
        "Patch validation failed (no files were modified):\n{list}"
    ))
}

fn bullets(errors: &[String]) -> String {
    let lines: Vec<String> = errors.iter().map(|error| format!("  • {error}")).collect();
    lines.join("\n")
}

fn refused(failure: Failure) -> Failure {
    invalid(&[failure.text().to_owned()])
}

/// What has been done so far.
#[derive(Default)]
struct Report {
    modified: Vec<String>,
    created: Vec<String>,
    deleted: Vec<String>,
    diffs: Vec<String>,
    lint: Map<String, Value>,
    changed: Vec<PathBuf>,
    errors: Vec<String>,
}

impl Report {
    async fn carry_out(&mut self, ready: &Ready, services: &FileServices, cx: &CallCx) {
        let cwd = cx.workspace.cwd();
        for step in &ready.steps {
            let place = |name: &String| &ready.places[name];
            let done = match step {
                Step::Write { path, before, text } => {
                    let saved = save(place(path), before, text, services, cx).await;
                    saved.map(|saved| self.wrote(place(path), before, text, &saved, &cwd))
                }
                Step::Delete { path, before } => {
                    let gone = delete(place(path), services).await;
                    gone.map(|()| self.deleted(place(path), before, &cwd))
                }
                Step::Move { from, to } => {
                    let moved = rename(place(from), place(to), services, cx).await;
                    moved.map(|()| self.moved(place(from), place(to)))
                }
            };
            if let Err(failure) = done {
                self.errors.push(failure.text().to_owned());
                // Later changes were planned on top of this one.
                break;
            }
        }
    }

    fn wrote(&mut self, place: &Place, before: &Before, text: &str, saved: &Saved, cwd: &Path) {
        let name = place.asked.clone();
        let old = before.text().map(|file| file.text.as_str());
        let diff = diff::unified(&place.shown(cwd), old, Some(text));
        self.diffs.push(diff);
        self.lint.insert(name.clone(), saved.lint.to_json());
        let list = match before {
            Before::Missing => &mut self.created,
            _ => &mut self.modified,
        };
        list.push(name);
        self.changed.push(place.real.clone());
    }

    fn deleted(&mut self, place: &Place, before: &Before, cwd: &Path) {
        self.diffs.push(match before.text() {
            Some(file) => diff::unified(&place.shown(cwd), Some(&file.text), None),
            None => format!("# Deleted: {}\n", place.asked),
        });
        self.deleted.push(place.asked.clone());
        self.changed.push(place.real.clone());
    }

    fn moved(&mut self, from: &Place, to: &Place) {
        let arrow = format!("{} -> {}", from.asked, to.asked);
        self.diffs.push(format!("# Moved: {arrow}\n"));
        self.modified.push(arrow);
        let both = [from.real.clone(), to.real.clone()];
        self.changed.extend(both);
    }

    fn finish(mut self, warnings: &[String]) -> ToolOutput {
        for list in [&mut self.modified, &mut self.created] {
            list.dedup();
        }
        let mut result = json!({
            "success": self.errors.is_empty(),
            "diff": self.diffs.concat(),
            "files_modified": self.modified,
            "files_created": self.created,
            "files_deleted": self.deleted,
            "lint": self.lint,
        });
        if !warnings.is_empty() {
            result["_warning"] = warnings.join(" | ").into();
        }
        let mut outcome = Outcome::Done;
        if !self.errors.is_empty() {
            outcome = Outcome::Failed;
            let list = bullets(&self.errors);
            result["error"] = format!(
                "The patch was applied only in part; `git diff` shows what has changed:\n{list}"
            )
            .into();
        }
        self.changed.dedup();
        ToolOutput {
            changed: self.changed,
            ..ToolOutput::json(&result)
                .with_outcome(outcome)
                .with_diff(diff::brief(self.diffs.concat()))
        }
    }
}

async fn delete(place: &Place, services: &FileServices) -> Result<(), Failure> {
    local::remove(&place.entry).await?;
    services.state.was_removed(&place.real);
    Ok(())
}

async fn rename(
    from: &Place,
    to: &Place,
    services: &FileServices,
    cx: &CallCx,
) -> Result<(), Failure> {
    local::rename(&from.entry, &to.real).await?;
    services.state.was_removed(&from.real);
    let stat = cx.workspace.stat(&to.real).await?;
    let session = &cx.scope.session;
    services.state.was_written(session, &to.real, stat.into());
    Ok(())
}
