//! One module for each command: what was asked for, and how the answer looks.

mod audit;
mod auth;
mod backup;
mod browse;
pub mod chat;
mod checkpoints;
pub mod completion;
mod config;
mod curator;
pub mod demo;
mod doctor;
mod fallback;
mod insights;
mod journey;
mod logs;
mod market;
mod mcp;
mod memory;
mod model;
mod profile;
mod sessions;
pub mod setup;
mod skills;
mod status;
mod tools;
pub mod version;

use std::fmt;
use std::io::{self, BufRead, IsTerminal, Write};

use anyhow::{Result, bail};
use hermes_home::log::Console;

use crate::cli::{Command, Talk};
use crate::wire::App;

/// The command has printed what is wrong; only the exit code is left.
#[derive(Debug)]
pub struct Failed(pub u8);

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("failed")
    }
}

impl std::error::Error for Failed {}

pub fn run(app: &mut App, before: &Talk, command: &Command) -> Result<()> {
    match command {
        Command::Model { login, action } => model::run(app, login, action.as_ref()),
        Command::Setup(args) => setup::run(app, before, args),
        Command::Fallback { action } => fallback::run(app, action.as_ref()),
        Command::Tools { summary, action } => tools::run(app, *summary, action.as_ref()),
        Command::PromptSize { json } => chat::prompt_size(app, before, (*json).into()),
        Command::Mcp { action } => mcp::run(app, action.as_ref()),
        Command::Skills { action } => skills::run(app, action.as_ref()),
        Command::Auth { action } => auth::run(app, action.as_ref()),
        Command::Login(login) => auth::login(app, login),
        Command::Logout { provider } => auth::logout(app, provider.as_deref()),
        Command::Config { action } => config::run(app, action.as_ref()),
        Command::Sessions { action } => sessions::run(app, before, action),
        Command::Checkpoints { action } => checkpoints::run(app, action.as_ref()),
        Command::Profile { action } => profile::run(app, action),
        Command::Status { all, json } => status::run(app, *all, (*json).into()),
        Command::Insights(insights) => insights::run(app, insights),
        Command::Doctor { fix, json } => doctor::run(app, *fix, (*json).into()),
        Command::Memory { action } => memory::run(app, action.as_ref()),
        Command::Journey(journey) => journey::run(app, journey),
        Command::Curator { action } => curator::run(app, action.as_ref()),
        Command::Logs(logs) => logs::run(app, logs),
        Command::Audit { action } => audit::run(app, action),
        Command::Backup(backup) => backup::run(app, backup),
        Command::Import { source, force } => backup::import(app, source, *force),
        Command::Chat {
            talk,
            query,
            quiet,
            source,
        } => {
            let job = match query {
                Some(prompt) => chat::Job::Query {
                    prompt,
                    quiet: *quiet,
                },
                None => chat::Job::Lines,
            };
            chat::run(app, &before.with(talk), source, &job)
        }
        Command::Completion { shell } => completion::print(&mut app.out, *shell),
        Command::Demo => demo::run(app.env.clone()),
        Command::Version { json } => version::print(&mut app.out, (*json).into()),
    }
}

/// What of the log this command copies to stderr.
pub fn console(command: Option<&Command>) -> Console {
    match command {
        Some(Command::Mcp { action }) => mcp::console(action.as_ref()),
        _ => Console::Quiet,
    }
}

/// Fails if `config.yaml` cannot be read: nothing could be written to it. What is wrong was said at the start.
fn intact(app: &App) -> Result<()> {
    match app.settings.broken() {
        Some(_) => Err(Failed(1).into()),
        None => Ok(()),
    }
}

/// Asks on the terminal; without one, nothing irreversible happens unasked.
fn confirm(app: &mut App, question: &str) -> Result<bool> {
    if !io::stdin().is_terminal() {
        bail!("{question} There is no terminal to ask on: pass -y to go ahead");
    }
    Ok(matches!(
        ask(app, &format!("{question} [y/N] "))?
            .to_lowercase()
            .as_str(),
        "y" | "yes"
    ))
}

fn ask(app: &mut App, prompt: &str) -> Result<String> {
    app.out.flush()?;
    let mut stderr = io::stderr();
    write!(stderr, "{prompt}")?;
    stderr.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(answer.trim().to_owned())
}

/// `1.5 MB`
fn size(bytes: u64) -> String {
    let units = ["B", "KB", "MB", "GB", "TB"];
    let mut amount = bytes as f64;
    let mut unit = 0;
    while amount >= 1024.0 && unit + 1 < units.len() {
        amount /= 1024.0;
        unit += 1;
    }
    if unit == 0 {
        format!("{bytes} B")
    } else {
        format!("{amount:.1} {}", units[unit])
    }
}

/// `5m ago`
fn ago(seconds: i64) -> String {
    match seconds {
        ..60 => "just now".to_owned(),
        60..3_600 => format!("{}m ago", seconds / 60),
        3_600..86_400 => format!("{}h ago", seconds / 3_600),
        _ => format!("{}d ago", seconds / 86_400),
    }
}
