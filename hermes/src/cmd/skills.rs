//! `hermes skills`: what has been learned, and which of it is on.

use std::collections::BTreeSet;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

use anyhow::{Result, anyhow, bail};
use hermes_lines::{Table, one_line, printable};
use hermes_skills::bundled::{Restore, reset};
use hermes_skills::format::validate_dir;
use hermes_skills::{Listed, Scope, Skills as Library, Switch, set_disabled, switch};
use hermes_tui::pick::Item;
use serde_json::json;

use super::Failed;
use super::chat::learning::seed;
use super::mcp::pick;
use crate::cli::{Format, SkillSource, Skills};
use crate::wire::{App, say};

pub fn run(app: &mut App, action: Option<&Skills>) -> Result<()> {
    seed(app);
    let Some(action) = action else {
        return list(app, SkillSource::All, false, Format::Text);
    };
    match action {
        Skills::List {
            source,
            enabled_only,
            json,
        } => list(app, *source, *enabled_only, (*json).into()),
        Skills::View { name, file } => view(app, name, file.as_deref()),
        Skills::Validate { dir, json } => validate(app, dir, (*json).into()),
        Skills::Config { platform } => config(app, scope(platform.as_deref())),
        Skills::Enable { names, platform } => {
            turn(app, scope(platform.as_deref()), names, Switch::On)
        }
        Skills::Disable { names, platform } => {
            turn(app, scope(platform.as_deref()), names, Switch::Off)
        }
        Skills::Reset { name, restore } => bring_back(app, name, *restore),
    }
}

fn library(app: &App) -> Library {
    Library::new(&app.home, &app.settings, &app.env, "cli")
}

fn scope(platform: Option<&str>) -> Scope<'_> {
    platform.map_or(Scope::Everywhere, Scope::Platform)
}

fn list(app: &mut App, from: SkillSource, enabled_only: bool, format: Format) -> Result<()> {
    let skills = library(app);
    let mut rows = skills.list();
    rows.retain(|row| from.includes(row.source) && (row.enabled || !enabled_only));
    if format == Format::Json {
        let rows: Vec<_> = rows.iter().map(Listed::to_json).collect();
        return Ok(app.out.json(&rows)?);
    }
    for trouble in skills.library().troubles() {
        say(&one_line(&trouble));
    }
    let mut table = Table::new(&["name", "category", "from", "on", "what it is for"], 4);
    for Listed {
        skill,
        source,
        enabled,
    } in &rows
    {
        table.row(vec![
            one_line(skill.name()),
            one_line(skill.category().unwrap_or("-")),
            source.to_string(),
            if *enabled { "✓" } else { "✗" }.to_owned(),
            one_line(&skill.found.description),
        ]);
    }
    Ok(table.print(&mut app.out)?)
}

fn view(app: &mut App, name: &str, file: Option<&str>) -> Result<()> {
    let skills = library(app);
    let view = skills.view(name)?;
    let text = match file {
        None => view.content,
        Some(file) => {
            let shown = skills.show_file(&view, file);
            match shown["content"].as_str() {
                Some(text) => text.to_owned(),
                None => bail!("{}", shown["error"].as_str().unwrap_or_default()),
            }
        }
    };
    Ok(writeln!(app.out, "{}", printable(text.trim_end()))?)
}

fn validate(app: &mut App, dir: &Path, format: Format) -> Result<()> {
    let report = validate_dir(dir);
    if format == Format::Json {
        app.out.json(&json!({"valid": report.errors.is_empty(), "errors": report.errors, "notes": report.notes}))?;
    } else {
        for error in &report.errors {
            let mark = app.out.bad("✗");
            writeln!(app.out, "{mark} {}", one_line(error))?;
        }
        for note in &report.notes {
            let mark = app.out.warn("⚠");
            writeln!(app.out, "{mark} {}", one_line(note))?;
        }
        if report.errors.is_empty() {
            let mark = app.out.good("✓");
            writeln!(app.out, "{mark} {} is a valid skill", dir.display())?;
        }
    }
    match report.errors.is_empty() {
        true => Ok(()),
        false => Err(Failed(1).into()),
    }
}

/// A list to choose from.
fn config(app: &mut App, scope: Scope<'_>) -> Result<()> {
    if !io::stdin().is_terminal() {
        bail!(
            "choosing skills from a list needs a terminal; use `hermes skills enable NAME` or `disable NAME`"
        );
    }
    let platform = match scope {
        Scope::Everywhere => "",
        Scope::Platform(platform) => platform,
    };
    let mut off = hermes_skills::disabled(&app.settings, platform);
    let names: Vec<String> = known(app).into_iter().collect();
    let on: Vec<usize> = (0..names.len())
        .filter(|at| !off.contains(&names[*at]))
        .collect();
    let rows = names.iter().map(|name| Item::new((), name)).collect();
    let Some(wanted) = pick(app, "Skills", rows, &on)? else {
        return Ok(writeln!(app.out, "The skills are left as they are.")?);
    };
    for (at, name) in names.iter().enumerate() {
        match wanted.contains(&at) {
            true => off.remove(name),
            false => off.insert(name.clone()),
        };
    }
    set_disabled(&app.home, scope, off)?;
    let mark = app.out.good("✓");
    Ok(writeln!(
        app.out,
        "{mark} {} of {} skills are on",
        wanted.len(),
        names.len()
    )?)
}

fn known(app: &App) -> BTreeSet<String> {
    let all = library(app).library().skills();
    all.into_iter().map(|skill| skill.found.name).collect()
}

fn turn(app: &mut App, scope: Scope<'_>, names: &[String], to: Switch) -> Result<()> {
    let known = known(app);
    // What is not there can be switched on: it is only forgotten then.
    if let Some(unknown) = names
        .iter()
        .find(|name| to == Switch::Off && !known.contains(*name))
    {
        return Err(anyhow!(
            "there is no skill '{unknown}'; `hermes skills list` shows those there are"
        ));
    }
    switch(&app.home, scope, names, to)?;
    let word = if to == Switch::On {
        "enabled"
    } else {
        "disabled"
    };
    let place = match scope {
        Scope::Everywhere => String::new(),
        Scope::Platform(platform) => format!(" for {platform}"),
    };
    let mark = app.out.good("✓");
    Ok(writeln!(
        app.out,
        "{mark} {word}{place}: {} (from the next session on)",
        names.join(", ")
    )?)
}

fn bring_back(app: &mut App, name: &str, restore: bool) -> Result<()> {
    let restore = if restore {
        Restore::Replace
    } else {
        Restore::Keep
    };
    let told = reset(&app.home, &app.env, name, restore)?.told(name);
    let told = told.map_err(|why| anyhow!(why))?;
    let mark = app.out.good("✓");
    Ok(writeln!(app.out, "{mark} {told}")?)
}
