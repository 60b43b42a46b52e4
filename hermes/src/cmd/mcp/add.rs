//! `hermes mcp add`: look first, save afterwards.

use std::io::{self, IsTerminal, Write};

use anyhow::{Result, bail};
use hermes_home::config::Document;
use hermes_home::dotenv;
use hermes_mcp_tools::choice::{self, FilterEdit};
use hermes_mcp_tools::config::{Auth, ProblemKind};
use hermes_mcp_tools::draft::{self, Draft, Login, Place, Written};
use hermes_mcp_tools::{Entry, Problem};
use hermes_tui::pick::Item;
use serde_json::{Value, json};

use super::choose::pick;
use super::test::{complain, look, tools};
use super::{auth, configured, path};
use crate::cli::{McpAdd, McpAuth};
use crate::cmd::{Failed, ask, confirm};
use crate::mcp::Source;
use crate::wire::{App, say};

pub fn run(app: &mut App, add: &McpAdd) -> Result<()> {
    if let Some(problem) = draft::name_problem(&add.name) {
        say(problem);
        return Err(Failed(2).into());
    }
    app.home.writable()?;
    let is_known = configured(app).iter().any(|(name, _)| *name == add.name);
    let question = format!("There is an MCP server '{}' already. Replace it?", add.name);
    if is_known && !add.yes && !confirm(app, &question)? {
        return Ok(writeln!(app.out, "Nothing was changed.")?);
    }
    let draft = Draft {
        name: add.name.clone(),
        place: place(app, add)?,
        connect_timeout: add.connect_timeout,
    };
    let written = draft.written();
    for (name, value) in &written.variables {
        app.env.set(name.clone(), value.clone());
    }
    match Source::of(app).entry(&add.name, &written.entry) {
        Ok(entry) => connect(app, add, &entry, written),
        Err(problem) if is_final(&problem) => Err(problem.into()),
        Err(problem) => unreached(app, add, written, &problem.to_string()),
    }
}

/// A missing program may be installed later; everything else is wrong as it was typed.
fn is_final(problem: &Problem) -> bool {
    problem.kind == ProblemKind::Suspicious || problem.key != "command"
}

fn place(app: &App, add: &McpAdd) -> Result<Place> {
    if let Some(name) = &add.preset {
        let Some(mut place) = draft::preset(name) else {
            let known: Vec<&str> = draft::presets().collect();
            say(&format!(
                "there is no preset '{name}'; there is: {}",
                known.join(", ")
            ));
            return Err(Failed(2).into());
        };
        if let Place::Program { env, .. } = &mut place {
            env.clone_from(&add.env);
        }
        return Ok(place);
    }
    match (&add.url, &add.command) {
        (Some(url), _) => Ok(Place::Url {
            url: url.clone(),
            login: match add.auth {
                None => Login::Open,
                Some(McpAuth::Oauth) => Login::OAuth,
                Some(McpAuth::Header) => Login::Key(key(app, add)?),
            },
        }),
        (None, command) => Ok(Place::Program {
            command: command.clone().unwrap_or_default(),
            args: add.args.clone(),
            env: add.env.clone(),
        }),
    }
}

/// The key the server wants; `None` for the one that is stored already.
fn key(app: &App, add: &McpAdd) -> Result<Option<String>> {
    let variable = draft::key_variable(&add.name);
    let is_stored = app.env.filled(&variable).is_some();
    if is_stored && add.yes {
        return Ok(None);
    }
    let hint = if is_stored {
        " (Enter: the stored one)"
    } else {
        ""
    };
    let key = draft::key(&app.ask_hidden(&format!("Key for {}{hint}: ", add.name))?);
    if key.is_none() && !is_stored {
        bail!("no key was given; nothing was saved");
    }
    Ok(key)
}

fn connect(app: &mut App, add: &McpAdd, entry: &Entry, written: Written) -> Result<()> {
    for warning in &entry.warnings {
        say(warning);
    }
    if matches!(entry.auth, Auth::OAuth(_))
        && io::stdin().is_terminal()
        && let Err(error) = auth::log_in(app, entry)
    {
        return unreached(app, add, written, &format!("{error:#}"));
    }
    writeln!(app.out, "Connecting to {} …", add.name)?;
    app.out.flush()?;
    let seen = match look(app, entry)? {
        Ok(seen) => seen,
        Err(failure) => {
            complain(app, &add.name, &failure)?;
            return unreached(app, add, written, "it could not be reached");
        }
    };
    let catalog = &seen.look.catalog;
    let mark = app.out.good("✓");
    let ms = seen.look.took.as_millis();
    let count = catalog.tools.len();
    writeln!(app.out, "{mark} connected in {ms} ms, {count} tools")?;
    tools(app, catalog)?;
    let names: Vec<String> = (catalog.tools.iter())
        .map(|tool| tool.name.clone())
        .collect();
    let edits = wanted(app, add, &names)?;
    save(app, add, written, &edits, State::Enabled)?;
    let mark = app.out.good("✓");
    writeln!(
        app.out,
        "{mark} {} saved; new sessions have its tools",
        add.name
    )?;
    Ok(())
}

/// All, unless somebody is there who says otherwise.
fn wanted(app: &mut App, add: &McpAdd, names: &[String]) -> Result<Vec<FilterEdit>> {
    let all: Vec<usize> = (0..names.len()).collect();
    if names.is_empty() || add.yes || !io::stdin().is_terminal() {
        return Ok(choice::chosen(names, &all));
    }
    loop {
        let answer = ask(app, "Use all tools, none, or select some? [A/n/s] ")?;
        let places = match answer.to_lowercase().as_str() {
            "" | "a" | "all" | "y" | "yes" => all,
            "n" | "none" | "no" => Vec::new(),
            "s" | "select" => {
                let rows = names.iter().map(|name| Item::new((), name)).collect();
                match pick(app, &format!("Tools of {}", add.name), rows, &all)? {
                    Some(places) => places,
                    None => continue,
                }
            }
            _ => continue,
        };
        return Ok(choice::chosen(names, &places));
    }
}

/// It does not work now; it may be kept for later.
fn unreached(app: &mut App, add: &McpAdd, written: Written, why: &str) -> Result<()> {
    say(&format!(
        "MCP server '{}' is not connected: {why}",
        add.name
    ));
    let keep = match (add.yes, io::stdin().is_terminal()) {
        (true, _) => true,
        (false, true) => confirm(app, "Save it all the same, disabled?")?,
        (false, false) => {
            say("nothing was saved; pass -y to save it disabled");
            false
        }
    };
    if keep {
        save(app, add, written, &[], State::Disabled)?;
        writeln!(
            app.out,
            "{0} saved, disabled. When it works (hermes mcp test {0}): \
             hermes config set mcp_servers.{0}.enabled true",
            add.name
        )?;
    }
    Err(Failed(1).into())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Enabled,
    Disabled,
}

fn save(
    app: &mut App,
    add: &McpAdd,
    written: Written,
    edits: &[FilterEdit],
    state: State,
) -> Result<()> {
    let Written {
        mut entry,
        variables,
    } = written;
    let filter: serde_json::Map<String, Value> = edits
        .iter()
        .filter(|edit| !edit.names.is_empty())
        .map(|edit| (edit.key.to_owned(), json!(edit.names)))
        .collect();
    if !filter.is_empty() {
        entry["tools"] = Value::Object(filter);
    }
    entry["enabled"] = (state == State::Enabled).into();
    let path = path(&add.name, "")?;
    Document::edit(&app.home, |document| document.set(&path, &entry))?;
    for (name, value) in &variables {
        dotenv::save(&app.home, name, value)?;
    }
    Ok(())
}
