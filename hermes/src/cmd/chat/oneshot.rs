//! One question, one answer: `-z` and `chat -q`.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use hermes_session::{Feed, Input, Session};
use hermes_types::{AgentEvent, Message, TurnEnd};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use super::open::{Open, Presence, open};
use super::show::Show;
use crate::cli::Talk;
use crate::cmd::Failed;
use crate::out::{Out, printable};
use crate::wire::{App, say};

/// What is printed besides the answer.
pub enum Form<'a> {
    /// Nothing (`-z`).
    Bare { usage_file: Option<&'a Path> },
    /// The session's id, on stderr (`-Q`).
    Quiet,
    /// What happens on the way.
    Full,
}

/// Exit codes of a run that a signal ended.
const INTERRUPTED: u8 = 130;
const TERMINATED: u8 = 143;

pub fn run(app: &mut App, talk: &Talk, prompt: &str, form: &Form<'_>, source: &str) -> Result<()> {
    if prompt.trim().is_empty() {
        say("the prompt is empty");
        return Err(Failed(2).into());
    }
    let mut out = Out::stdout(&app.env);
    let outcome = app.block_on(async {
        let presence = if matches!(form, Form::Bare { .. }) {
            Presence::Nobody
        } else {
            Presence::Unattended
        };
        let Open {
            session,
            live,
            feed,
            hands,
        } = open(app, talk, source, presence).await?;
        let id = session.id();
        let face = ask(session, &feed, prompt, form, &mut out);
        let (outcome, ()) = tokio::join!(face, live.run());
        hands.put_down().await;
        outcome.map(|(end, signal)| (id, end, signal))
    });
    let (id, end, signal) = match outcome {
        Ok(outcome) => outcome,
        Err(error) => {
            report(
                app,
                form,
                &TurnEnd {
                    error: Some(format!("{error:#}")),
                    ..TurnEnd::default()
                },
                talk,
                "",
            )?;
            return Err(error);
        }
    };
    report(app, form, &end, talk, id.as_str())?;
    finish(&mut out, form, &end, signal, id.as_str())
}

/// Sends the prompt and waits for the turn to end, or for a signal to end it.
async fn ask(
    session: Session,
    feed: &Feed,
    prompt: &str,
    form: &Form<'_>,
    out: &mut Out,
) -> Result<(TurnEnd, Option<u8>)> {
    let mut interrupt = signal(SignalKind::interrupt()).context("watching for signals")?;
    let mut terminate = signal(SignalKind::terminate()).context("watching for signals")?;
    session.send(Input::Prompt(Message::user(prompt))).await;
    let mut show = Show::new();
    let mut code = None;
    loop {
        tokio::select! {
            event = feed.next() => match event {
                Some(AgentEvent::TurnEnded(end)) => {
                    if matches!(form, Form::Full) {
                        show.event(out, &AgentEvent::TurnEnded(end.clone()))?;
                    }
                    return Ok((*end, code));
                }
                Some(event) if matches!(form, Form::Full) => show.event(out, &event)?,
                Some(_) => {}
                None => anyhow::bail!("the session ended before it answered"),
            },
            _ = interrupt.recv() => { code = Some(INTERRUPTED); session.send(Input::Interrupt).await; }
            _ = terminate.recv() => { code = Some(TERMINATED); session.send(Input::Interrupt).await; }
        }
    }
}

fn finish(
    out: &mut Out,
    form: &Form<'_>,
    end: &TurnEnd,
    signal: Option<u8>,
    id: &str,
) -> Result<()> {
    if let Some(code) = signal {
        return Err(Failed(code).into());
    }
    if !end.answered() {
        say(end.error.as_deref().unwrap_or("the model gave no answer"));
        return Err(Failed(1).into());
    }
    if let (Some(reason), false) = (&end.unsaved, matches!(form, Form::Full)) {
        say(&format!("this conversation is not being saved: {reason}"));
    }
    if !matches!(form, Form::Full) {
        writeln!(out, "{}", printable(end.text.trim_end()))?;
    }
    out.flush()?;
    if matches!(form, Form::Quiet) {
        let _ = writeln!(std::io::stderr(), "\nsession_id: {id}"); // a closed stderr has no reader to miss it
    }
    Ok(())
}

/// The usage file, also when there was no answer.
fn report(app: &App, form: &Form<'_>, end: &TurnEnd, talk: &Talk, id: &str) -> Result<()> {
    let Form::Bare {
        usage_file: Some(path),
    } = form
    else {
        return Ok(());
    };
    let usage = end.usage;
    let model = talk
        .model
        .clone()
        .unwrap_or_else(|| app.settings.text("model.default").to_owned());
    let provider = talk
        .provider
        .clone()
        .unwrap_or_else(|| app.settings.text("model.provider").to_owned());
    let mut content = json!({
        "estimated_cost_usd": end.usd,
        "cost_status": if end.usd.is_some() { "estimated" } else { "unknown" },
        "cost_source": null,
        "input_tokens": usage.input, "output_tokens": usage.output,
        "cache_read_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write,
        "reasoning_tokens": usage.reasoning, "total_tokens": usage.total(),
        "api_calls": end.api_calls, "model": model, "provider": provider, "session_id": id,
        "completed": end.answered(), "failed": !end.answered(), "service_tier": null,
    });
    if let Some(error) = &end.error {
        content["failure"] = error.clone().into();
    }
    if let Some(dir) = path.parent().filter(|dir| !dir.as_os_str().is_empty()) {
        std::fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))?;
    }
    std::fs::write(path, format!("{content:#}\n"))
        .with_context(|| format!("cannot write {}", path.display()))
}
