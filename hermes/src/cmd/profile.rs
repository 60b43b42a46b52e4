//! `hermes profile`

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};
use clap::CommandFactory;
use hermes_home::profile::{self, Info, Name, Origin, Profiles};
use hermes_lines::Table;
use serde_json::{Value, json};

use super::{ask, confirm};
use crate::cli::{Cli, CreateProfile, Format, Profile};
use crate::wire::{App, say};

pub fn run(app: &mut App, action: &Profile) -> Result<()> {
    let profiles = Profiles::of(&app.home, &app.env);
    match action {
        Profile::List { json } => list(app, &profiles, (*json).into()),
        Profile::Use { name } => {
            profiles.activate(name)?;
            done(
                app,
                &format!("{} is now the active profile", name.trim().to_lowercase()),
            )
        }
        Profile::Create(create) => self::create(app, &profiles, create),
        Profile::Show { name } => show(app, &profiles, name.as_deref()),
        Profile::Alias { name, remove } => alias(app, &profiles, name, *remove),
        Profile::Rename { old, new } => {
            refuse_default(old, "renamed")?;
            let dir = profiles.rename(&Name::parse(old)?, &Name::for_new(new)?)?;
            done(
                app,
                &format!("profile '{old}' is now '{new}' ({})", dir.display()),
            )
        }
        Profile::Delete { name, yes } => delete(app, &profiles, name, *yes),
        Profile::Export { name, output } => {
            let target = output
                .clone()
                .unwrap_or_else(|| format!("{}.tar.gz", name.trim().to_lowercase()).into());
            let files = profile::export(&profiles, name, &target)?;
            done(
                app,
                &format!(
                    "{files} files in {} (credentials left out)",
                    target.display()
                ),
            )
        }
        Profile::Import { archive, name } => {
            let name = profile::import(&profiles, archive, name.as_deref())?;
            done(
                app,
                &format!("profile '{name}' imported; it has no credentials yet"),
            )
        }
    }
}

fn list(app: &mut App, profiles: &Profiles, format: Format) -> Result<()> {
    let infos = profiles.list()?;
    if format == Format::Json {
        return Ok(app
            .out
            .json(&infos.iter().map(as_json).collect::<Vec<_>>())?);
    }
    let mut table = Table::new(&["", "profile", "model", "gateway", "skills", "command"], 2);
    for info in infos {
        table.row(vec![
            if info.active { "◆" } else { "" }.to_owned(),
            info.name,
            info.model,
            if info.gateway_running { "running" } else { "-" }.to_owned(),
            info.skills.to_string(),
            info.alias
                .and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
                .unwrap_or("-".to_owned()),
        ]);
    }
    Ok(table.print(&mut app.out)?)
}

fn as_json(info: &Info) -> Value {
    json!({
        "name": info.name, "path": info.dir, "active": info.active, "model": info.model,
        "gateway_running": info.gateway_running, "skills": info.skills, "alias": info.alias,
    })
}

fn show(app: &mut App, profiles: &Profiles, name: Option<&str>) -> Result<()> {
    let current = app.home.profile_name().to_owned();
    let info = profiles.info(name.unwrap_or(&current))?;
    let alias = info
        .alias
        .map_or("none".to_owned(), |path| path.display().to_string());
    for (label, value) in [
        ("Profile", info.name),
        ("Path", info.dir.display().to_string()),
        ("Active", if info.active { "yes" } else { "no" }.to_owned()),
        (
            "Model",
            if info.model.is_empty() {
                "(not set)".to_owned()
            } else {
                info.model
            },
        ),
        (
            "Gateway",
            if info.gateway_running {
                "running"
            } else {
                "stopped"
            }
            .to_owned(),
        ),
        ("Skills", info.skills.to_string()),
        ("Command", alias),
    ] {
        writeln!(app.out, "{label:<9}{value}")?;
    }
    Ok(())
}

fn create(app: &mut App, profiles: &Profiles, create: &CreateProfile) -> Result<()> {
    let name = Name::for_new(&create.name)?;
    let source = match &create.clone_from {
        Some(source) => profiles.dir(source)?,
        None => app.home.dir().to_owned(),
    };
    let origin = if create.clone_all {
        Origin::Everything(source)
    } else if create.clone || create.clone_from.is_some() {
        Origin::Settings(source)
    } else {
        Origin::Fresh {
            bundled_skills: !create.no_skills,
        }
    };
    let dir = profiles.create(&name, &origin)?;
    done(
        app,
        &format!("profile '{name}' created at {}", dir.display()),
    )?;
    if !create.no_alias {
        make_alias(app, profiles, &name).unwrap_or_else(|error| say(&error.to_string()));
    }
    Ok(writeln!(
        app.out,
        "  use it with `hermes -p {name}`, or for good with `hermes profile use {name}`"
    )?)
}

fn alias(app: &mut App, profiles: &Profiles, name: &str, remove: bool) -> Result<()> {
    refuse_default(name, "given a command")?;
    profiles.dir(name)?;
    let name = Name::parse(name)?;
    if !remove {
        return make_alias(app, profiles, &name);
    }
    let alias = profiles.alias(&name);
    if !alias.is_ours() {
        bail!(
            "{} is not a command made for a profile",
            alias.path().display()
        );
    }
    alias.remove()?;
    done(app, &format!("{} removed", alias.path().display()))
}

fn make_alias(app: &mut App, profiles: &Profiles, name: &Name) -> Result<()> {
    if Cli::command()
        .get_subcommands()
        .any(|command| command.get_name() == name.as_str())
    {
        bail!("no command '{name}' was made: it would be confused with `hermes {name}`");
    }
    let alias = profiles.alias(name);
    alias.write()?;
    done(app, &format!("command {}", alias.path().display()))
}

fn delete(app: &mut App, profiles: &Profiles, name: &str, yes: bool) -> Result<()> {
    refuse_default(name, "deleted")?;
    let dir = profiles.dir(name)?;
    let name = Name::parse(name)?;
    if !yes && !really(app, &name, &dir)? {
        return Ok(writeln!(app.out, "Nothing was deleted.")?);
    }
    profiles
        .delete(&name)
        .with_context(|| format!("deleting profile '{name}'"))?;
    done(app, &format!("profile '{name}' deleted"))
}

/// Deleting a whole home takes more than one key press.
fn really(app: &mut App, name: &Name, dir: &Path) -> Result<bool> {
    if !confirm(
        app,
        &format!(
            "Delete {} with all its conversations, memories and keys?",
            dir.display()
        ),
    )? {
        return Ok(false);
    }
    Ok(ask(app, &format!("Type '{name}' to confirm: "))? == name.as_str())
}

fn refuse_default(name: &str, verb: &str) -> Result<()> {
    if name.trim().eq_ignore_ascii_case("default") {
        bail!("the default profile is the home itself; it cannot be {verb}");
    }
    Ok(())
}

fn done(app: &mut App, text: &str) -> Result<()> {
    let mark = app.out.good("✓");
    Ok(writeln!(app.out, "{mark} {text}")?)
}
