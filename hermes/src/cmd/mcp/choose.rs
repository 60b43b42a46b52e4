//! Which tools of a server the model sees, and whether there is a server at all.

use std::io::{self, IsTerminal, Write};

use anyhow::{Result, anyhow, bail};
use hermes_home::config::Document;
use hermes_mcp::{FileTokens, TokenStore};
use hermes_mcp_tools::choice::{self, FilterEdit, Switch};
use hermes_mcp_tools::config::Filter;
use hermes_tui::pick::{Checklist, Item, List, Outcome, Search};
use serde_json::{Value, json};

use super::test::{complain, look};
use super::{configured, named, path, unknown};
use crate::cmd::{Failed, confirm};
use crate::mcp::Source;
use crate::wire::App;

/// `hermes mcp configure`
pub fn configure(app: &mut App, name: Option<&str>) -> Result<()> {
    let name = match name {
        Some(name) => name.to_owned(),
        None => match which(app)? {
            Some(name) => name,
            None => return Ok(()),
        },
    };
    let entry = named(app, &name)?;
    if !io::stdin().is_terminal() {
        bail!(
            "choosing tools needs a terminal; use `hermes tools enable|disable {name}:TOOL` instead"
        );
    }
    let seen = match look(app, &entry)? {
        Ok(seen) => seen,
        Err(failure) => {
            complain(app, &name, &failure)?;
            return Err(Failed(1).into());
        }
    };
    let tools = &seen.look.catalog.tools;
    let names: Vec<String> = tools.iter().map(|tool| tool.name.clone()).collect();
    if names.is_empty() {
        bail!("MCP server '{name}' offers no tools");
    }
    let admitted = names.iter().enumerate();
    let admitted = admitted.filter(|(_, tool)| entry.filter.admits(tool));
    let before: Vec<usize> = admitted.map(|(index, _)| index).collect();
    let rows = tools
        .iter()
        .map(|tool| Item::new((), &tool.name).about(&tool.description));
    let title = format!("Tools of {name}");
    let Some(wanted) = pick(app, &title, rows.collect(), &before)? else {
        return Ok(writeln!(app.out, "Its tools are left as they are.")?);
    };
    let edits = choice::chosen(&names, &wanted);
    Document::edit(&app.home, |document| apply(document, &name, &edits))??;
    let mark = app.out.good("✓");
    Ok(writeln!(
        app.out,
        "{mark} {name}: {} of {} tools",
        wanted.len(),
        names.len()
    )?)
}

/// The only server, or the one somebody picks.
fn which(app: &App) -> Result<Option<String>> {
    let all = configured(app);
    if let [(only, _)] = all.as_slice() {
        return Ok(Some(only.clone()));
    }
    if all.is_empty() {
        bail!("no MCP server is configured (`hermes mcp add`)");
    }
    let desk = app.desk("choosing a server", "name one")?;
    let items = all
        .into_iter()
        .map(|(name, _)| Item::new(name.clone(), name));
    match desk.ask(List::new("Which server?", items.collect()).search(Search::Letters))? {
        Outcome::Chosen(name) | Outcome::Key(_, name) => Ok(Some(name)),
        Outcome::Cancelled => Ok(None),
        Outcome::Interrupted => Err(Failed(130).into()),
    }
}

/// A list with those marked that are on; `None` if it is left.
pub fn pick(
    app: &App,
    title: &str,
    rows: Vec<Item<()>>,
    on: &[usize],
) -> Result<Option<Vec<usize>>> {
    let desk = app.desk("choosing from a list", "name what you want instead")?;
    let list = Checklist::new(title, rows, on).search(Search::Letters);
    match desk.ask(list)? {
        Outcome::Chosen(wanted) | Outcome::Key(_, wanted) => Ok(Some(wanted)),
        Outcome::Cancelled => Ok(None),
        Outcome::Interrupted => Err(Failed(130).into()),
    }
}

/// `hermes tools enable|disable SERVER:TOOL`
pub fn switch(app: &mut App, server: &str, tool: &str, to: Switch) -> Result<()> {
    let all = configured(app);
    let (_, value) = all
        .iter()
        .find(|(known, _)| known == server)
        .ok_or_else(|| unknown(server, &all))?;
    let filter = filter(app, server, value)?;
    let edits = choice::switched(&filter, tool, to).map_err(|why| anyhow!(why))?;
    Document::edit(&app.home, |document| apply(document, server, &edits))?
}

/// Servers some of whose tools are left out, and which these are.
pub fn left_out(app: &App) -> Vec<(String, String)> {
    let all = configured(app).into_iter();
    all.filter_map(|(name, value)| {
        let summary = filter(app, &name, &value).ok()?.summary()?;
        Some((name, summary))
    })
    .collect()
}

/// The rest of the entry may be unusable; which tools are on can be seen and changed all the same.
fn filter(app: &App, server: &str, value: &Value) -> Result<Filter> {
    let tools = value.get("tools").cloned().unwrap_or_default();
    let stand_in = json!({"url": "http://localhost/", "tools": tools});
    Ok(Source::of(app).entry(server, &stand_in)?.filter)
}

/// Writes the changes below `tools:`, which goes when nothing is left in it.
fn apply(
    document: &mut Document,
    server: &str,
    edits: &[FilterEdit],
) -> hermes_home::Result<Result<()>> {
    let at = |below: &str| path(server, below);
    for edit in edits {
        let path = match at(&format!(".tools.{}", edit.key)) {
            Ok(path) => path,
            Err(problem) => return Ok(Err(problem)),
        };
        match (edit.names.is_empty(), document.get(&path).is_some()) {
            (false, _) => document.set(&path, &json!(edit.names))?,
            (true, true) => document.unset(&path)?,
            (true, false) => {}
        }
    }
    if let Ok(tools) = at(".tools")
        && let Some(left) = document.get(&tools)
        && (left.is_null() || *left == json!({}))
    {
        document.unset(&tools)?;
    }
    Ok(Ok(()))
}

/// `hermes mcp remove`
pub fn remove(app: &mut App, name: &str, yes: bool) -> Result<()> {
    let all = configured(app);
    if !all.iter().any(|(known, _)| known == name) {
        return Err(unknown(name, &all));
    }
    let entry = path(name, "")?;
    if !yes && !confirm(app, &format!("Remove the MCP server '{name}'?"))? {
        return Ok(writeln!(app.out, "Nothing was removed.")?);
    }
    let section = hermes_home::yaml::Path::parse("mcp_servers")?;
    Document::edit(&app.home, |document| {
        document.unset(&entry)?;
        match document.get(&section) {
            Some(left) if left.is_null() || *left == json!({}) => document.unset(&section),
            _ => Ok(()),
        }
    })?;
    let tokens = FileTokens::new(app.home.dir().join("mcp-tokens"));
    for document in [
        hermes_mcp::Document::Tokens,
        hermes_mcp::Document::Client,
        hermes_mcp::Document::ClientBackup,
        hermes_mcp::Document::Metadata,
    ] {
        tokens.remove(name, document)?;
    }
    let mark = app.out.good("✓");
    Ok(writeln!(app.out, "{mark} {name} removed")?)
}
