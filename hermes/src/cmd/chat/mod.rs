//! Talking: one question, or a conversation line by line.

mod attend;
mod children;
mod compaction;
mod farewell;
mod hands;
mod keep;
pub mod learning;
mod lines;
mod lists;
pub mod models;
mod oneshot;
pub mod open;
mod place;
mod screen;
mod scripts;
pub mod signals;
mod tip;

use std::io::{self, IsTerminal, Read, Write};

use anyhow::{Result, bail};

use super::setup;
use crate::cli::{Format, Talk};
use crate::wire::App;

/// What to do with a model.
pub enum Job<'a> {
    /// `-z`: the answer and nothing else.
    Oneshot {
        prompt: &'a str,
        usage_file: Option<&'a std::path::Path>,
    },
    /// `chat -q`
    Query { prompt: &'a str, quiet: bool },
    /// One question with everything shown, and a person asked if there is one.
    Shown { prompt: &'a str },
    /// A conversation.
    Lines,
}

pub fn run(app: &mut App, talk: &Talk, source: &str, job: &Job<'_>) -> Result<()> {
    match job {
        Job::Oneshot { prompt, usage_file } => {
            let prompt = with_stdin(prompt)?;
            oneshot::run(
                app,
                talk,
                &prompt,
                &oneshot::Form::Bare {
                    usage_file: *usage_file,
                },
                source,
            )
        }
        Job::Query { prompt, quiet } => {
            let prompt = with_stdin(prompt)?;
            let form = if *quiet {
                oneshot::Form::Quiet
            } else {
                oneshot::Form::Full
            };
            oneshot::run(app, talk, &prompt, &form, source)
        }
        Job::Shown { prompt } if io::stdin().is_terminal() => {
            lines::run(app, talk, source, lines::Until::Answered(prompt))
        }
        Job::Shown { prompt } => oneshot::run(app, talk, prompt, &oneshot::Form::Full, source),
        Job::Lines if io::stdin().is_terminal() => {
            setup::offer(app, talk)?;
            match screen::is_wanted(app, talk) {
                true => screen::run(app, talk, source),
                false => lines::run(app, talk, source, lines::Until::Left),
            }
        }
        Job::Lines => {
            let prompt = with_stdin("-")?;
            if prompt.trim().is_empty() {
                models::check_model(app, talk)?;
                bail!(
                    "nothing to answer: standard input is empty and there is no terminal to talk on"
                );
            }
            oneshot::run(app, talk, &prompt, &oneshot::Form::Full, source)
        }
    }
}

/// The bytes each tool adds to a request.
pub fn preamble(app: &App, talk: &Talk) -> Result<open::Preamble> {
    app.block_on(open::preamble(app, talk))
}

/// What every request of a new session begins with.
pub fn prompt_size(app: &mut App, talk: &Talk, format: Format) -> Result<()> {
    let open::Preamble { system, tools, .. } = preamble(app, talk)?;
    let total: usize = tools.iter().map(|(_, bytes)| bytes).sum();
    if format == Format::Json {
        let sizes: serde_json::Map<String, serde_json::Value> = tools
            .into_iter()
            .map(|(name, bytes)| (name, bytes.into()))
            .collect();
        return Ok(app
            .out
            .json(&serde_json::json!({"system": system, "tools": total, "each": sizes}))?);
    }
    writeln!(app.out, "system prompt  {system:>7} bytes")?;
    writeln!(app.out, "tools          {total:>7} bytes")?;
    for (name, bytes) in tools {
        writeln!(app.out, "  {name:<18} {bytes:>5}")?;
    }
    Ok(())
}

/// `-` is all of standard input; what is piped in beside a prompt is added to it.
fn with_stdin(prompt: &str) -> Result<String> {
    let piped = if io::stdin().is_terminal() {
        String::new()
    } else {
        let mut bytes = Vec::new();
        io::stdin().lock().read_to_end(&mut bytes)?;
        String::from_utf8_lossy(&bytes).into_owned()
    };
    Ok(match (prompt, piped.trim().is_empty()) {
        ("-", _) => piped,
        (prompt, true) => prompt.to_owned(),
        (prompt, false) => format!("{prompt}\n\n<stdin>\n{}\n</stdin>", piped.trim_end()),
    })
}
