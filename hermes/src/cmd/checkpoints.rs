//! `hermes checkpoints`

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Result;
use hermes_checkpoints::{Checkpoint, Checkpoints, Limits, Orphans, Status};
use hermes_lines::{Table, one_line};
use hermes_types::Finding;
use jiff::Timestamp;
use serde_json::json;

use super::{ago, confirm, size};
use crate::cli::{self, Format, PruneCheckpoints};
use crate::wire::App;

pub fn run(app: &mut App, action: Option<&cli::Checkpoints>) -> Result<()> {
    let checkpoints = of(app);
    let status = app.block_on(async { Ok(checkpoints.status().await?) })?;
    match action {
        None => print(app, &status, Format::Text),
        Some(cli::Checkpoints::Status { json }) => print(app, &status, (*json).into()),
        Some(cli::Checkpoints::List { all, json }) => {
            let here = std::env::current_dir()?;
            let here = async { Ok(checkpoints.project_here(&here).await) };
            let dirs = match all {
                true => status.existing(),
                false => vec![app.block_on(here)?],
            };
            list(app, &checkpoints, dirs, (*json).into())
        }
        Some(cli::Checkpoints::Prune(options)) => prune(app, &checkpoints, options),
        Some(cli::Checkpoints::Clear { yes }) => {
            let (count, bytes) = (status.projects.len(), size(status.size));
            let question = format!("Remove all checkpoints of {count} projects ({bytes})?");
            if status.size == 0 {
                return Ok(writeln!(app.out, "There are no checkpoints.")?);
            }
            remove(app, *yes, &question, async || checkpoints.clear().await)
        }
        Some(cli::Checkpoints::ClearLegacy { yes }) => {
            let question = match status.archives.len() {
                0 => return Ok(writeln!(app.out, "There are no old checkpoints.")?),
                count => format!("Remove {count} archives of old checkpoints?"),
            };
            remove(app, *yes, &question, async || {
                checkpoints.clear_legacy().await
            })
        }
    }
}

/// A line about them for `hermes doctor`, for those who have turned them on.
pub fn finding(app: &App) -> Option<Finding> {
    let on = app.settings.is_on("checkpoints.enabled");
    on.then(|| of(app).finding())
}

fn of(app: &App) -> Checkpoints {
    Checkpoints::new(&app.home, &app.settings, &app.env)
}

fn print(app: &mut App, status: &Status, format: Format) -> Result<()> {
    if format == Format::Json {
        return Ok(app.out.json(status)?);
    }
    let on = match app.settings.is_on("checkpoints.enabled") {
        true => "on".to_owned(),
        false => "off (hermes config set checkpoints.enabled true)".to_owned(),
    };
    for (label, value) in [
        ("New ones", on),
        ("Store", status.dir.display().to_string()),
        ("Size", size(status.size)),
        (
            "Tidied up",
            status.last_prune.map_or("never".to_owned(), since),
        ),
        ("Archives", status.archives.len().to_string()),
    ] {
        writeln!(app.out, "{label:<11}{value}")?;
    }
    let mut table = Table::new(&["project", "checkpoints", "last used"], 0);
    for project in &status.projects {
        let gone = if project.exists { "" } else { " (gone)" };
        let name = one_line(&format!("{}{gone}", project.dir.display()));
        let count = project.snapshots.to_string();
        table.row(vec![name, count, since(project.last_touch)]);
    }
    match status.projects.is_empty() {
        true => Ok(writeln!(app.out, "No checkpoints yet.")?),
        false => Ok(table.print(&mut app.out)?),
    }
}

fn list(app: &mut App, of: &Checkpoints, dirs: Vec<PathBuf>, format: Format) -> Result<()> {
    let mut all: Vec<(PathBuf, Vec<Checkpoint>)> = Vec::new();
    for dir in dirs {
        let list = app.block_on(async { Ok(of.list(&dir).await?) })?;
        all.push((dir, list));
    }
    if format == Format::Json {
        let each = all
            .iter()
            .map(|(dir, list)| json!({"dir": dir, "checkpoints": list}));
        return Ok(app.out.json(&each.collect::<Vec<_>>())?);
    }
    all.iter()
        .try_for_each(|(dir, list)| print_list(app, dir, list))
}

fn print_list(app: &mut App, dir: &Path, list: &[Checkpoint]) -> Result<()> {
    let name = app.out.heading(one_line(&dir.display().to_string()));
    writeln!(app.out, "{name}")?;
    if list.is_empty() {
        return Ok(writeln!(app.out, "No checkpoints.")?);
    }
    let mut table = Table::new(&["", "hash", "taken", "before"], 3);
    for (index, one) in list.iter().enumerate() {
        let (number, short) = (index + 1, one.short().to_owned());
        let reason = one.reason.trim_start_matches("before ");
        let changed = format!("{reason} (+{} -{})", one.insertions, one.deletions);
        let row = [number.to_string(), short, since(one.at), one_line(&changed)];
        table.row(row.into());
    }
    Ok(table.print(&mut app.out)?)
}

fn prune(app: &mut App, checkpoints: &Checkpoints, options: &PruneCheckpoints) -> Result<()> {
    let mut limits = Limits::read(&app.settings, &app.env)
        .retaining(options.retention_days)
        .within(options.max_size_mb);
    if options.keep_orphans {
        limits.orphans = Orphans::Keep;
    }
    let pruned = app.block_on(async { Ok(checkpoints.prune(&limits).await?) })?;
    if Format::from(options.json) == Format::Json {
        return Ok(app.out.json(&pruned)?);
    }
    for line in pruned.lines() {
        writeln!(app.out, "{}", one_line(&line))?;
    }
    let (before, after) = (size(pruned.before), size(pruned.after));
    let mark = app.out.good("✓");
    Ok(writeln!(app.out, "{mark} {before} before, {after} now")?)
}

fn remove(
    app: &mut App,
    yes: bool,
    question: &str,
    work: impl AsyncFnOnce() -> hermes_checkpoints::Result<u64>,
) -> Result<()> {
    if !yes && !confirm(app, question)? {
        return Ok(writeln!(app.out, "Nothing was removed.")?);
    }
    let freed = app.block_on(async { Ok(work().await?) })?;
    let mark = app.out.good("✓");
    Ok(writeln!(app.out, "{mark} {} freed", size(freed))?)
}

fn since(at: Timestamp) -> String {
    ago(Timestamp::now().as_second() - at.as_second())
}
