//! `hermes mcp call`: one operation, or the same one many times over one connection.

use std::io::Write;
use std::time::Duration;

use anyhow::{Result, bail};
use hermes_lines::{Out, printable};
use hermes_mcp_tools::{Answered, Entry, Kind, Question, Single};
use hermes_types::Outcome;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{named, only};
use crate::cli::{McpCall, McpOp};
use crate::cmd::Failed;
use crate::cmd::chat::signals::{Caught, Signals};
use crate::mcp::Source;
use crate::wire::{App, say};

pub fn run(app: &mut App, call: &McpCall) -> Result<()> {
    let question = question(call)?;
    let entry = named(app, &call.server)?;
    if !entry.enabled {
        bail!(
            "MCP server '{0}' is disabled; enable it with: hermes config set mcp_servers.{0}.enabled true",
            call.server
        );
    }
    let mut out = Out::stdout(&app.env);
    app.block_on(ask(app, entry, &question, call, &mut out))
}

fn question(call: &McpCall) -> Result<Question> {
    let kind = match call.op {
        McpOp::Tool => Kind::Tool,
        McpOp::ListResources => Kind::ListResources,
        McpOp::ReadResource => Kind::ReadResource,
        McpOp::ListPrompts => Kind::ListPrompts,
        McpOp::GetPrompt => Kind::GetPrompt,
    };
    let subject = call.tool.clone().unwrap_or_default();
    if kind == Kind::Tool && subject.is_empty() {
        say("which tool? usage: hermes mcp call SERVER TOOL [--args JSON]");
        return Err(Failed(2).into());
    }
    Ok(Question {
        kind,
        subject,
        args: call.args.clone(),
    })
}

async fn ask(
    app: &App,
    entry: Entry,
    question: &Question,
    call: &McpCall,
    out: &mut Out,
) -> Result<()> {
    let mut signals = Signals::watch(&Caught::ALL, &app.env)?;
    let starter = Source::of(app).starter(&only(&entry), None)?;
    let single = Single::start(entry, &starter);
    // A server that cannot be reached says so in the answer.
    let caught = tokio::select! {
        caught = signals.next() => Some(caught),
        _ = single.look() => None,
    };
    let ended = match caught {
        Some(caught) => Ok(Err(caught)),
        None => repeat(&single, question, call, &mut signals, out).await,
    };
    single.stop().await;
    match ended? {
        Err(caught) => Err(caught.failed().into()),
        Ok(Outcome::Done) => Ok(()),
        Ok(_) => Err(Failed(1).into()),
    }
}

/// How the last answer was, or what ended it all.
async fn repeat(
    single: &Single,
    question: &Question,
    call: &McpCall,
    signals: &mut Signals,
    out: &mut Out,
) -> Result<Result<Outcome, Caught>> {
    let mut outcome = Outcome::Done;
    for number in 1..=call.repeat {
        if number > 1 {
            let pause = tokio::time::sleep(Duration::from_secs_f64(call.interval));
            tokio::select! {
                caught = signals.next() => return Ok(Err(caught)),
                () = pause => {}
            }
        }
        let cancel = CancellationToken::new();
        let mut caught = None;
        let answered = {
            let answer = single.ask(question, &cancel);
            tokio::pin!(answer);
            tokio::select! {
                answered = &mut answer => answered,
                signal = signals.next() => {
                    caught = Some(signal);
                    cancel.cancel();
                    answer.await
                }
            }
        };
        outcome = answered.output.outcome;
        print(out, number, call, &answered)?;
        if let Some(caught) = caught {
            return Ok(Err(caught));
        }
    }
    Ok(Ok(outcome))
}

/// Flushed at once: whoever drives us acts on it.
fn print(out: &mut Out, number: u32, call: &McpCall, answered: &Answered) -> Result<()> {
    let text = &answered.output.text;
    let output: Value = serde_json::from_str(text).unwrap_or_else(|_| text.as_str().into());
    let elapsed = answered.elapsed.as_secs_f64() * 1000.0;
    if call.json {
        let line = json!({
            "output": output,
            "elapsed_ms": (elapsed * 10.0).round() / 10.0,
            "retries": answered.retries,
            "generation": answered.generation,
        });
        writeln!(out, "{line}")?;
        return Ok(out.flush()?);
    }
    if call.repeat > 1 {
        let title = format!(
            "{number}/{}: {elapsed:.0} ms, generation {}, {} retries",
            call.repeat, answered.generation, answered.retries
        );
        let title = out.faint(title);
        writeln!(out, "{title}")?;
    }
    match (output.get("error"), output.get("result")) {
        (Some(Value::String(error)), _) => say(&printable(error)),
        (_, Some(Value::String(result))) if output.get("structuredContent").is_none() => {
            writeln!(out, "{}", printable(result))?;
        }
        _ => out.json(&output)?,
    }
    Ok(out.flush()?)
}
