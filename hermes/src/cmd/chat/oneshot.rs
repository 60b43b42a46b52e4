//! One question, one answer: `-z` and `chat -q`.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use hermes_exec::process::Processes;
use hermes_lines::{Out, Show, compaction, printable};
use hermes_session::{Feed, Input, Session, asked};
use hermes_types::{AgentEvent, SessionId, TurnEnd};
use serde_json::json;

use super::open::{Presence, open};
use super::place::Changes;
use super::signals::{Caught, Signals};
use crate::cli::Talk;
use crate::cmd::Failed;
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

pub fn run(app: &mut App, talk: &Talk, prompt: &str, form: &Form<'_>, source: &str) -> Result<()> {
    if prompt.trim().is_empty() {
        say("the prompt is empty");
        return Err(Failed(2).into());
    }
    let mut out = Out::stdout(&app.env);
    let outcome = app.block_on(turn(app, talk, prompt, form, source, &mut out));
    let (id, end, caught) = match outcome {
        Ok(outcome) => outcome,
        Err(error) => {
            let end = TurnEnd {
                error: Some(format!("{error:#}")),
                ..TurnEnd::default()
            };
            report(app, form, &end, talk, "")?;
            return Err(error);
        }
    };
    report(app, form, &end, talk, id.as_str())?;
    finish(&mut out, form, &end, caught, id.as_str())
}

/// The whole of a session with one turn.
async fn turn(
    app: &App,
    talk: &Talk,
    prompt: &str,
    form: &Form<'_>,
    source: &str,
    out: &mut Out,
) -> Result<(SessionId, TurnEnd, Option<Caught>)> {
    let presence = if matches!(form, Form::Bare { .. }) {
        Presence::Nobody
    } else {
        Presence::Unattended
    };
    let mut signals = Signals::watch(&Caught::ALL, &app.env)?;
    let open = open(app, talk, source, presence, &mut signals).await?;
    let session = &open.session;
    let face = async {
        let asked = asked(open.hands.skills.as_deref(), prompt);
        let end = ask(
            (session, open.hands.processes()),
            &open.feed,
            asked,
            form,
            out,
        )
        .await;
        session.send(Input::Close).await;
        end
    };
    let work = async { tokio::join!(face, open.live.run()).0 };
    let (end, caught) = signals.during(session, work).await;
    open.hands.put_down().await;
    open.place.leave(async |_| Changes::Keep).await;
    // Where the conversation is now, should it have been made shorter.
    let id = session.id();
    match (end, caught) {
        (Some(Ok(end)), caught) => Ok((id, end, caught)),
        // It was stopped before it could say anything.
        (_, Some(_)) => {
            let end = TurnEnd {
                error: Some("interrupted".to_owned()),
                ..TurnEnd::default()
            };
            Ok((id, end, caught))
        }
        (Some(Err(error)), None) => Err(error),
        (None, None) => Err(anyhow::anyhow!(NO_ANSWER)),
    }
}

const NO_ANSWER: &str = "the session ended before it answered";

/// Sends the prompt and waits for the turn to end; what happens to background jobs meanwhile reaches the model.
async fn ask(
    (session, processes): (&Session, &Processes),
    feed: &Feed,
    prompt: Input,
    form: &Form<'_>,
    out: &mut Out,
) -> Result<TurnEnd> {
    session.send(prompt).await;
    let mut show = Show::default();
    let mut begun = false;
    let id = session.task();
    loop {
        let event = tokio::select! {
            event = feed.next() => event,
            () = processes.noticed_here(&id) => {
                for notice in processes.drain_notices(&id) {
                    session.send(Input::Steer(notice.text())).await;
                }
                continue;
            }
        };
        let event = event.ok_or_else(|| anyhow::anyhow!(NO_ANSWER))?;
        if matches!(form, Form::Full) {
            show.event(out, &event)?;
        } else if let Some(line) = compaction(&event) {
            say(&line);
        } else if let (AgentEvent::Notice(text), false) = (&event, begun) {
            // About what the prompt refers to.
            say(&printable(text));
        }
        begun |= !matches!(
            event,
            AgentEvent::TurnStarted | AgentEvent::Notice(_) | AgentEvent::Opened(_)
        );
        if let AgentEvent::TurnEnded(end) = event {
            // Before anything is put in order: whoever waits for the answer need not wait for that.
            print(out, form, &end)?;
            return Ok(*end);
        }
    }
}

/// The answer, where it was not shown as it came.
fn print(out: &mut Out, form: &Form<'_>, end: &TurnEnd) -> Result<()> {
    if end.answered() && !matches!(form, Form::Full) {
        writeln!(out, "{}", printable(end.text.trim_end()))?;
    }
    Ok(out.flush()?)
}

fn finish(
    out: &mut Out,
    form: &Form<'_>,
    end: &TurnEnd,
    caught: Option<Caught>,
    id: &str,
) -> Result<()> {
    if let Some(caught) = caught {
        return Err(caught.failed().into());
    }
    if !end.answered() {
        say(end.error.as_deref().unwrap_or("the model gave no answer"));
        return Err(Failed(1).into());
    }
    if let (Some(reason), false) = (&end.unsaved, matches!(form, Form::Full)) {
        say(&format!("this conversation is not being saved: {reason}"));
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
