//! Which tools of a server the model sees, and whether there is a server at all.

use std::io::{self, IsTerminal, Write};

use anyhow::{Result, anyhow, bail};
use hermes_home::config::Document;
use hermes_lines::one_line;
use hermes_mcp::{FileTokens, TokenStore};
use hermes_mcp_tools::choice::{self, FilterEdit, Switch};
use serde_json::json;

use super::test::{complain, look};
use super::{configured, named, path, unknown};
use crate::cmd::{Failed, ask, confirm};
use crate::mcp::Source;
use crate::wire::{App, say};

/// `hermes mcp configure`
pub fn configure(app: &mut App, name: &str) -> Result<()> {
    let entry = named(app, name)?;
    if !io::stdin().is_terminal() {
        bail!(
            "choosing tools needs a terminal; use `hermes tools enable|disable {name}:TOOL` instead"
        );
    }
    let seen = match look(app, &entry)? {
        Ok(seen) => seen,
        Err(failure) => {
            complain(app, name, &failure)?;
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
    let wanted = pick(app, &names, &before)?;
    let edits = choice::chosen(&names, &wanted);
    Document::edit(&app.home, |document| apply(document, name, &edits))??;
    let mark = app.out.good("✓");
    Ok(writeln!(
        app.out,
        "{mark} {name}: {} of {} tools",
        wanted.len(),
        names.len()
    )?)
}

/// A numbered list with those marked that are on; asks until the answer makes sense.
pub fn pick(app: &mut App, names: &[String], on: &[usize]) -> Result<Vec<usize>> {
    for (index, name) in names.iter().enumerate() {
        let mark = if on.contains(&index) { "x" } else { " " };
        writeln!(app.out, "{:>4} [{mark}] {}", index + 1, one_line(name))?;
    }
    loop {
        let answer = ask(
            app,
            "Which should be on? (such as 1 3-5; a: all, n: none, Enter: as marked) ",
        )?;
        let picked = match answer.to_lowercase().as_str() {
            "" => Ok(on.to_vec()),
            "a" | "all" => Ok((0..names.len()).collect()),
            "n" | "none" => Ok(Vec::new()),
            typed => choice::places(typed, names.len()),
        };
        match picked {
            Ok(picked) => return Ok(picked),
            Err(problem) => say(&problem),
        }
    }
}

/// `hermes tools enable|disable SERVER:TOOL`
pub fn switch(app: &mut App, server: &str, tool: &str, to: Switch) -> Result<()> {
    let all = configured(app);
    let (_, value) = all
        .iter()
        .find(|(known, _)| known == server)
        .ok_or_else(|| unknown(server, &all))?;
    let tools = value.get("tools").cloned().unwrap_or_default();
    // The rest of the entry may be unusable; which tools are on can be changed all the same.
    let stand_in = json!({"url": "http://localhost/", "tools": tools});
    let filter = Source::of(app).entry(server, &stand_in)?.filter;
    let edits = choice::switched(&filter, tool, to).map_err(|why| anyhow!(why))?;
    Document::edit(&app.home, |document| apply(document, server, &edits))?
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
