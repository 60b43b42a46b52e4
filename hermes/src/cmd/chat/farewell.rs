//! What a conversation leaves its owner with: how to go on with it, and what it was.

use std::io::Write;

use anyhow::Result;
use hermes_lines::{Out, one_line};
use hermes_store::{Reach, Store};
use hermes_types::{Role, SessionId};
use jiff::Timestamp;

pub async fn farewell(out: &mut Out, store: &Store, id: &SessionId) -> Result<()> {
    let Some(session) = store.session(id).await? else {
        return Ok(()); // nothing was said
    };
    let messages = store.conversation(id, Reach::Session).await?;
    let said = messages.iter().filter(|one| one.role == Role::User).count();
    writeln!(out, "Resume this session with:\n  hermes --resume {id}")?;
    let title = session.title.as_deref().map(one_line);
    if let Some(title) = &title {
        writeln!(out, "  hermes -c \"{title}\"")?;
    }
    writeln!(out, "\nSession:   {id}")?;
    if let Some(title) = &title {
        writeln!(out, "Title:     {title}")?;
    }
    let ended = session.ended_at.unwrap_or_else(Timestamp::now);
    let seconds = (ended - session.started_at).total(jiff::Unit::Second);
    let minutes = seconds.unwrap_or_default().max(0.0) as u64 / 60;
    let lasted = match (minutes / 60, minutes % 60) {
        (0, 0) => "less than a minute".to_owned(),
        (0, minutes) => format!("{minutes}m"),
        (hours, minutes) => format!("{hours}h {minutes}m"),
    };
    writeln!(out, "Duration:  {lasted}")?;
    let (all, calls) = (messages.len(), session.tool_call_count);
    Ok(writeln!(
        out,
        "Messages:  {all} ({said} user, {calls} tool calls)"
    )?)
}
