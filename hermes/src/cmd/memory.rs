//! `hermes memory`: what every session begins with, and who remembers besides.

use std::io::{IsTerminal, Write};

use anyhow::{Result, bail};
use hermes_lines::printable;
use hermes_skills::journal::{Author, By, Journal, Subject};
use hermes_skills::memory::{Choice, ELSEWHERE, Memory, ServerTools, Shown, Target, ToolUse, Use};
use serde_json::Value;

use super::{ask, confirm};
use crate::cli::{self, Format};
use crate::wire::App;

pub fn run(app: &mut App, action: Option<&cli::Memory>) -> Result<()> {
    match action {
        Some(cli::Memory::Reset { target, yes }) => reset(app, target, *yes),
        Some(cli::Memory::Status { json }) => status(app, (*json).into()),
        Some(cli::Memory::Setup { name, recall, keep }) => {
            let tools = (recall.as_deref(), keep.as_deref());
            setup(app, name.as_deref(), tools)
        }
        Some(cli::Memory::Off) => choose(app, &Choice::BuiltIn),
        None => status(app, Format::Text),
    }
}

fn status(app: &mut App, format: Format) -> Result<()> {
    let choice = Choice::read(&app.settings);
    let stores = Memory::new(&app.home, &app.settings).shown(&app.home);
    if format == Format::Json {
        let stores: Vec<Value> = stores.iter().map(Shown::to_json).collect();
        return Ok(app.out.json(&Value::from(stores))?);
    }
    for store in stores {
        let heading = app.out.heading(store.target.file());
        let state = app.out.faint(store.state());
        writeln!(app.out, "{heading}  {state}")?;
        if let Some(problem) = &store.problem {
            let problem = app.out.warn(printable(problem));
            writeln!(app.out, "{problem}")?;
        }
        for entry in store.entries {
            let entry = printable(&entry).replace('\n', "\n  ");
            writeln!(app.out, "- {entry}")?;
        }
    }
    let tools = choice.tools().map(|tools| format!(": {tools}"));
    let line = format!("provider: {choice}{}", tools.unwrap_or_default());
    writeln!(app.out, "{}", printable(&line))?;
    if let Some(problem) = choice.problem() {
        let problem = app.out.warn(printable(&problem));
        writeln!(app.out, "{problem}")?;
    }
    Ok(())
}

/// The names that can be chosen.
fn names(app: &App) -> Vec<String> {
    let servers = app.settings.get("mcp_servers").and_then(Value::as_object);
    let servers = servers.into_iter().flat_map(|servers| servers.keys());
    let servers = servers.map(|server| format!("mcp:{server}"));
    std::iter::once("none".to_owned()).chain(servers).collect()
}

fn setup(app: &mut App, name: Option<&str>, tools: (Option<&str>, Option<&str>)) -> Result<()> {
    let known = names(app);
    let name = match name {
        Some(name) => name.to_owned(),
        None => pick(app, &known)?,
    };
    let choice = match Choice::named(&name) {
        Choice::BuiltIn => Choice::BuiltIn,
        Choice::Server(server) if known.contains(&name) => with_tools(app, server, tools)?,
        other => {
            let unknown = format!("there is no memory provider '{name}'");
            let elsewhere = ELSEWHERE.contains(&name.as_str());
            let why = other.problem().filter(|_| elsewhere).unwrap_or(unknown);
            bail!("{why}; known here: {}", known.join(", "));
        }
    };
    choose(app, &choice)
}

fn pick(app: &mut App, known: &[String]) -> Result<String> {
    if !std::io::stdin().is_terminal() {
        bail!(
            "there is no terminal to ask on: name one of {}",
            known.join(", ")
        );
    }
    for (index, name) in known.iter().enumerate() {
        writeln!(app.out, "  {}  {}", index + 1, printable(name))?;
    }
    let elsewhere = format!("not available in this build: {}", ELSEWHERE.join(", "));
    let elsewhere = app.out.faint(elsewhere);
    writeln!(app.out, "{elsewhere}")?;
    let answer = ask(app, "Which memory besides the files? ")?;
    let place = answer.parse::<usize>().ok().and_then(|n| n.checked_sub(1));
    let chosen = place.and_then(|place| known.get(place).cloned());
    Ok(chosen.unwrap_or(answer))
}

/// Which tools of the server: as said, as set before, or as somebody answers.
fn with_tools(
    app: &mut App,
    server: ServerTools,
    (recall, keep): (Option<&str>, Option<&str>),
) -> Result<Choice> {
    let before = match Choice::read(&app.settings) {
        Choice::Server(set) if set.server == server.server => set,
        _ => ServerTools::default(),
    };
    let mut tools = ServerTools {
        recall: ToolUse::of(recall.unwrap_or_default(), Use::Recall, &app.settings)
            .or(before.recall),
        keep: ToolUse::of(keep.unwrap_or_default(), Use::Keep, &app.settings).or(before.keep),
        ..server
    };
    if tools.recall.is_none() && tools.keep.is_none() {
        if !std::io::stdin().is_terminal() {
            bail!("say which of the server's tools to use: --recall TOOL, --keep TOOL or both");
        }
        let answer = ask(app, "Its tool that looks things up (empty: none): ")?;
        tools.recall = ToolUse::of(&answer, Use::Recall, &app.settings);
        let answer = ask(app, "Its tool that takes things in (empty: none): ")?;
        tools.keep = ToolUse::of(&answer, Use::Keep, &app.settings);
    }
    let choice = Choice::Server(tools);
    match choice.problem() {
        Some(problem) => bail!(problem),
        None => Ok(choice),
    }
}

fn choose(app: &mut App, choice: &Choice) -> Result<()> {
    choice.save(&app.home)?;
    let tools = choice.tools().map(|tools| format!(": {tools}"));
    let line = format!("memory provider: {choice}{}", tools.unwrap_or_default());
    writeln!(app.out, "{}", printable(&line))?;
    Ok(())
}

fn reset(app: &mut App, target: &str, yes: bool) -> Result<()> {
    let all = Target::ALL.into_iter();
    let targets: Vec<Target> = all
        .filter(|known| target == "all" || known.name() == target)
        .filter(|known| Memory::path(app.home.dir(), *known).exists())
        .collect();
    let names: Vec<&str> = targets.iter().map(|target| target.file()).collect();
    if names.is_empty() {
        writeln!(app.out, "There is nothing to forget.")?;
        return Ok(());
    }
    let question = format!("Forget everything in {}?", names.join(" and "));
    if !yes && !confirm(app, &question)? {
        return Ok(());
    }
    let journal = Journal::new(&app.home);
    for target in targets {
        let subject = Subject::Memory(target);
        journal.keep(&subject, &Author::of(By::Outside))?;
        Memory::forget(&app.home, target)?;
        let noted = journal.keep(&subject, &Author::of(By::Owner))?;
        let number = noted.map_or(0, |entry| entry.number);
        writeln!(
            app.out,
            "{} is empty now; `hermes journey undo {number}` brings it back",
            target.file()
        )?;
    }
    Ok(())
}
