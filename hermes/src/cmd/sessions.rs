//! `hermes sessions`

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use hermes_lines::{Table, one_line, printable};
use hermes_store::{
    ExportSources, Hit, ListQuery, Listed, Prune, Repaired, SearchQuery, Store, session_files,
};
use hermes_types::{Content, SessionId};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{ago, browse, confirm, size};
use crate::cli::{Format, Sessions, Talk};
use crate::wire::{App, say};

pub fn run(app: &mut App, before: &Talk, action: &Sessions) -> Result<()> {
    match action {
        Sessions::Browse { limit } => return browse::run(app, before, *limit),
        Sessions::Repair | Sessions::Recover { .. } if !app.home.state_db().exists() => {
            return without_store(app, action);
        }
        Sessions::Repair => return repair(app),
        Sessions::Recover { yes } => return recover(app, *yes),
        _ => {}
    }
    let Some(store) = app.block_on(app.existing_store())? else {
        return without_store(app, action);
    };
    let result = match action {
        Sessions::List {
            source,
            limit,
            json,
        } => list(app, &store, source.as_deref(), *limit, (*json).into()),
        Sessions::Show { session, json } => show(app, &store, session, (*json).into()),
        Sessions::Search {
            query,
            source,
            limit,
            json,
        } => {
            let query = SearchQuery {
                sources: source.iter().cloned().collect(),
                limit: *limit,
                ..SearchQuery::new(query.join(" "))
            };
            search(app, &store, query, (*json).into())
        }
        Sessions::Rename { session, title } => rename(app, &store, session, &title.join(" ")),
        Sessions::Export {
            out,
            source,
            session_id,
        } => export(app, &store, out, source.as_deref(), session_id.as_deref()),
        Sessions::Delete { session, yes } => delete(app, &store, session, *yes),
        Sessions::Prune {
            older_than,
            source,
            yes,
        } => prune(app, &store, *older_than, source.clone(), *yes),
        Sessions::Stats { json } => stats(app, &store, (*json).into()),
        Sessions::Browse { .. } | Sessions::Repair | Sessions::Recover { .. } => Ok(()),
    };
    app.block_on(async {
        store.close().await;
        Ok(())
    })?;
    result
}

/// A home without conversations is not an error, unless one was asked for by name.
fn without_store(app: &mut App, action: &Sessions) -> Result<()> {
    match action {
        Sessions::List { json, .. } | Sessions::Search { json, .. }
            if Format::from(*json) == Format::Json =>
        {
            Ok(app.out.json(&json!([]))?)
        }
        Sessions::Show { session, .. }
        | Sessions::Rename { session, .. }
        | Sessions::Delete { session, .. } => {
            bail!("session '{session}' not found: there are no conversations yet")
        }
        Sessions::Export {
            session_id: Some(id),
            ..
        } => {
            bail!("session '{id}' not found: there are no conversations yet")
        }
        Sessions::Export { .. } => Ok(()),
        Sessions::Stats { json } if Format::from(*json) == Format::Json => Ok(app
            .out
            .json(&json!({"sessions": 0, "messages": 0, "sources": {}, "bytes": 0}))?),
        _ => Ok(writeln!(app.out, "No conversations yet.")?),
    }
}

fn list(
    app: &mut App,
    store: &Store,
    source: Option<&str>,
    limit: usize,
    format: Format,
) -> Result<()> {
    let query = ListQuery {
        sources: source.into_iter().map(str::to_owned).collect(),
        limit,
        ..ListQuery::default()
    };
    let rows = app.block_on(async { Ok(store.list(query).await?) })?;
    if format == Format::Json {
        return Ok(app
            .out
            .json(&rows.iter().map(listed_json).collect::<Vec<_>>())?);
    }
    if rows.is_empty() {
        return Ok(writeln!(app.out, "No conversations found.")?);
    }
    let now = Timestamp::now();
    let mut table = Table::new(&["title", "last active", "source", "messages", "id"], 0);
    for row in rows {
        let name = row.title.as_deref().unwrap_or(&row.preview);
        table.row(vec![
            one_line(name),
            ago(now.as_second() - row.last_active.as_second()),
            row.source,
            row.message_count.to_string(),
            row.id.to_string(),
        ]);
    }
    Ok(table.print(&mut app.out)?)
}

fn listed_json(row: &Listed) -> Value {
    json!({
        "id": row.id, "title": row.title, "source": row.source, "model": row.model, "preview": row.preview,
        "started_at": unix(row.started_at), "last_active": unix(row.last_active),
        "ended_at": row.ended_at.map(unix), "end_reason": row.end_reason,
        "message_count": row.message_count, "tool_call_count": row.tool_call_count, "root_id": row.root,
    })
}

/// Seconds, as in the exported columns.
fn unix(time: Timestamp) -> f64 {
    time.as_duration().as_secs_f64()
}

fn show(app: &mut App, store: &Store, what: &str, format: Format) -> Result<()> {
    let id = app.block_on(async { Ok(store.find(what).await?) })?;
    if format == Format::Json {
        let session = app.block_on(async { Ok(store.export_session(&id).await?) })?;
        return Ok(app
            .out
            .json(&session.ok_or_else(|| anyhow!("session '{what}' not found"))?)?);
    }
    let (session, messages) =
        app.block_on(async { Ok((store.session(&id).await?, store.messages(&id).await?)) })?;
    let session = session.ok_or_else(|| anyhow!("session '{what}' not found"))?;
    let title = one_line(session.title.as_deref().unwrap_or("(untitled)"));
    let title = app.out.heading(title);
    writeln!(app.out, "{title}")?;
    let model = session.model.as_deref().unwrap_or("unknown model");
    let about = format!(
        "{id} · {} · {model} · {} messages",
        session.source, session.message_count
    );
    let about = app.out.faint(about);
    writeln!(app.out, "{about}")?;
    for stored in messages {
        let message = stored.message;
        let who = match &message.name {
            Some(tool) => format!("{} {tool}", message.role.as_str()),
            None => message.role.as_str().to_owned(),
        };
        let who = app.out.heading(one_line(&who));
        writeln!(app.out, "\n{who}")?;
        let text = message
            .content
            .as_ref()
            .map(Content::plain)
            .unwrap_or_default();
        if !text.is_empty() {
            writeln!(app.out, "{}", printable(text.trim_end()))?;
        }
        for call in &message.tool_calls {
            writeln!(
                app.out,
                "→ {} {}",
                one_line(&call.function.name),
                one_line(&call.function.arguments)
            )?;
        }
    }
    Ok(())
}

fn search(app: &mut App, store: &Store, query: SearchQuery, format: Format) -> Result<()> {
    let hits = app.block_on(async { Ok(store.search(query).await?) })?;
    if format == Format::Json {
        return Ok(app
            .out
            .json(&hits.iter().map(hit_json).collect::<Vec<_>>())?);
    }
    if hits.is_empty() {
        return Ok(writeln!(app.out, "Nothing found.")?);
    }
    let now = Timestamp::now();
    for hit in hits {
        let when = ago(now.as_second() - hit.at.as_second());
        let about = app.out.faint(format!(
            "{} · {} · {} · {when}",
            hit.session,
            hit.source,
            hit.role.as_str()
        ));
        let snippet = one_line(&hit.snippet);
        writeln!(app.out, "{about}\n  {snippet}")?;
    }
    Ok(())
}

fn hit_json(hit: &Hit) -> Value {
    let context: Vec<Value> = hit
        .context
        .iter()
        .map(|line| json!({"role": line.role.as_str(), "content": line.text}))
        .collect();
    json!({
        "id": hit.message, "session_id": hit.session, "role": hit.role.as_str(), "snippet": hit.snippet,
        "timestamp": unix(hit.at), "tool_name": hit.tool_name, "source": hit.source, "model": hit.model,
        "session_started": unix(hit.session_started_at), "context": context,
    })
}

fn rename(app: &mut App, store: &Store, what: &str, title: &str) -> Result<()> {
    let stored = app.block_on(async {
        let id = store.find_by_id(what).await?;
        Ok(store.set_title(&id, title).await?)
    })?;
    let Some(title) = stored else {
        bail!("the title is empty")
    };
    let mark = app.out.good("✓");
    Ok(writeln!(app.out, "{mark} renamed to '{title}'")?)
}

fn export(
    app: &mut App,
    store: &Store,
    out: &Path,
    source: Option<&str>,
    session: Option<&str>,
) -> Result<()> {
    if out == Path::new("-") {
        write_export(app, store, source, session)?;
        return Ok(());
    }
    let partial = out.with_extension("partial");
    let written = File::create(&partial)
        .map_err(anyhow::Error::from)
        .and_then(|file| {
            let mut file = BufWriter::new(file);
            let count = each_export(app, store, source, session, &mut file)?;
            file.flush()?;
            std::fs::rename(&partial, out)?;
            Ok(count)
        });
    if written.is_err() {
        let _ = std::fs::remove_file(&partial); // the failure itself is reported
    }
    let count = written.with_context(|| format!("cannot export to {}", out.display()))?;
    let mark = app.out.good("✓");
    Ok(writeln!(
        app.out,
        "{mark} {count} sessions in {}",
        out.display()
    )?)
}

fn write_export(
    app: &mut App,
    store: &Store,
    source: Option<&str>,
    session: Option<&str>,
) -> Result<usize> {
    let mut stdout = BufWriter::new(io::stdout().lock());
    let count = each_export(app, store, source, session, &mut stdout)?;
    stdout.flush()?;
    Ok(count)
}

/// One JSON line for each session, never more than one in memory.
fn each_export(
    app: &App,
    store: &Store,
    source: Option<&str>,
    session: Option<&str>,
    target: &mut dyn Write,
) -> Result<usize> {
    app.block_on(async {
        if let Some(session) = session {
            let id = store.find_by_id(session).await?;
            let value = store
                .export_session(&id)
                .await?
                .ok_or_else(|| anyhow!("session '{session}' not found"))?;
            writeln!(target, "{value}")?;
            return Ok(1);
        }
        let sources = source.map_or(ExportSources::All, |source| {
            ExportSources::Only(source.to_owned())
        });
        let mut export = store.export(sources).await?;
        let mut count = 0;
        while let Some(value) = export.next().await? {
            writeln!(target, "{value}")?;
            count += 1;
        }
        Ok(count)
    })
}

fn delete(app: &mut App, store: &Store, what: &str, yes: bool) -> Result<()> {
    let id = app.block_on(async { Ok(store.find_by_id(what).await?) })?;
    if !yes && !confirm(app, &format!("Delete session {id} and its messages?"))? {
        return Ok(writeln!(app.out, "Nothing was deleted.")?);
    }
    app.block_on(async { Ok(store.delete_session(&id).await?) })?;
    remove_files(app, std::slice::from_ref(&id));
    let mark = app.out.good("✓");
    Ok(writeln!(app.out, "{mark} session {id} deleted")?)
}

fn prune(app: &mut App, store: &Store, days: u32, source: Option<String>, yes: bool) -> Result<()> {
    let age = SignedDuration::from_hours(24 * i64::from(days));
    let started_before = Timestamp::now().saturating_sub(age)?;
    let prune = Prune {
        started_before,
        source,
    };
    let candidates = app.block_on(async { Ok(store.prune_candidates(&prune).await?) })?;
    if candidates.is_empty() {
        return Ok(writeln!(
            app.out,
            "No ended session is older than {days} days."
        )?);
    }
    let question = format!(
        "Delete {} ended sessions older than {days} days?",
        candidates.len()
    );
    if !yes && !confirm(app, &question)? {
        return Ok(writeln!(app.out, "Nothing was deleted.")?);
    }
    let removed = app.block_on(async { Ok(store.prune(&prune).await?) })?;
    remove_files(app, &removed);
    let mark = app.out.good("✓");
    Ok(writeln!(
        app.out,
        "{mark} {} sessions deleted",
        removed.len()
    )?)
}

/// What lies beside the database for these sessions: snapshots, transcripts, request dumps.
pub fn remove_files(app: &App, sessions: &[SessionId]) {
    for file in session_files(&app.home.sessions_dir(), sessions) {
        if let Err(error) = std::fs::remove_file(&file) {
            say(&format!("{} could not be removed: {error}", file.display()));
        }
    }
}

fn stats(app: &mut App, store: &Store, format: Format) -> Result<()> {
    let stats = app.block_on(async { Ok(store.stats().await?) })?;
    if format == Format::Json {
        let sources: serde_json::Map<String, Value> = stats
            .sources
            .iter()
            .map(|(source, count)| (source.clone(), (*count).into()))
            .collect();
        return Ok(app.out.json(&json!({
            "sessions": stats.sessions, "messages": stats.messages, "sources": sources, "bytes": stats.bytes,
        }))?);
    }
    writeln!(app.out, "Sessions  {}", stats.sessions)?;
    writeln!(app.out, "Messages  {}", stats.messages)?;
    for (source, count) in stats.sources {
        writeln!(app.out, "  {source}: {count}")?;
    }
    Ok(writeln!(app.out, "File      {}", size(stats.bytes))?)
}

fn repair(app: &mut App) -> Result<()> {
    say("examining the whole file; this can take a while");
    let repair = hermes_store::repair(&app.home.state_db())?;
    let done = match repair.outcome {
        Repaired::Healthy => "nothing is wrong with it",
        Repaired::SearchRebuilt | Repaired::SearchReplaced => "the search index was built again",
        Repaired::IndexesRebuilt => "the indexes were built again",
        Repaired::DuplicatesRemoved => "duplicate schema entries were removed",
    };
    let mark = app.out.good("✓");
    writeln!(app.out, "{mark} {}: {done}", app.home.state_db().display())?;
    if let Some(backup) = repair.backup {
        writeln!(app.out, "  the file as it was: {}", backup.display())?;
    }
    Ok(())
}

fn recover(app: &mut App, yes: bool) -> Result<()> {
    let path = app.home.state_db();
    let question = format!(
        "Build a new {} from what can be read of it? The old file is kept.",
        path.display()
    );
    if !yes && !confirm(app, &question)? {
        return Ok(writeln!(app.out, "Nothing was changed.")?);
    }
    let recovery = hermes_store::recover(&path)?;
    for loss in &recovery.losses {
        say(&format!("lost: {loss}"));
    }
    let mark = app.out.good("✓");
    writeln!(
        app.out,
        "{mark} {} sessions and {} messages recovered",
        recovery.sessions, recovery.messages
    )?;
    Ok(writeln!(
        app.out,
        "  the file as it was: {}",
        recovery.quarantined.display()
    )?)
}
