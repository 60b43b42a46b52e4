//! `hermes sessions browse`

use std::io::Write;

use anyhow::Result;
use hermes_lines::one_line;
use hermes_store::{ListQuery, Listed, Order, Store};
use hermes_tui::browse;
use hermes_tui::pick::{Desk, Item, Line, List, Outcome};
use hermes_types::SessionId;
use jiff::Timestamp;

use super::{Failed, chat, sessions};
use crate::cli::Talk;
use crate::wire::{App, say};

/// What to do next.
enum Then {
    /// The list again, with the cursor where it was.
    Again {
        at: usize,
    },
    Leave,
    Resume(SessionId),
}

pub fn run(app: &mut App, before: &Talk, limit: usize) -> Result<()> {
    let desk = app.desk(
        "choosing a conversation from a list",
        "use `hermes sessions list`",
    )?;
    let Some(store) = app.block_on(app.existing_store())? else {
        return Ok(writeln!(app.out, "No conversations yet.")?);
    };
    let mut place = 0;
    let then = loop {
        match once(app, &desk, &store, limit, place) {
            Ok(Then::Again { at }) => place = at,
            then => break then,
        }
    };
    app.block_on(async {
        store.close().await;
        Ok(())
    })?;
    match then? {
        Then::Again { .. } | Then::Leave => Ok(()),
        Then::Resume(id) => {
            let talk = Talk {
                resume: Some(id.to_string()),
                continue_: None,
                ..before.clone()
            };
            chat::run(app, &talk, "cli", &chat::Job::Lines)
        }
    }
}

fn once(app: &mut App, desk: &Desk, store: &Store, limit: usize, place: usize) -> Result<Then> {
    let query = ListQuery {
        limit,
        order: Order::Activity,
        ..ListQuery::default()
    };
    let sessions = app.block_on(async { Ok(store.list(query).await?) })?;
    if sessions.is_empty() {
        writeln!(app.out, "No conversations yet.")?;
        return Ok(Then::Leave);
    }
    let (handle, reader) = (app.runtime()?.handle().clone(), store.clone());
    let look = move |id: &SessionId| {
        // What cannot be read now has no preview; resuming it will say why.
        let stored = handle.block_on(reader.messages(id)).unwrap_or_default();
        stored.into_iter().map(|stored| stored.message).collect()
    };
    let list = browse::list(&sessions, Timestamp::now(), look).begin_at(place);
    let (key, id) = match desk.ask(list)? {
        Outcome::Chosen(id) => return Ok(Then::Resume(id)),
        Outcome::Key(key, id) => (key, id),
        Outcome::Cancelled => return Ok(Then::Leave),
        Outcome::Interrupted => return Err(Failed(130).into()),
    };
    let at = sessions.iter().position(|session| session.id == id);
    let at = at.unwrap_or_default();
    match key {
        'r' => rename(app, desk, store, &sessions[at])?,
        _ => delete(app, desk, store, &sessions[at])?,
    }
    Ok(Then::Again { at })
}

fn rename(app: &App, desk: &Desk, store: &Store, session: &Listed) -> Result<()> {
    let line = Line::new("A title for it")
        .note(browse::name(session))
        .text(session.title.as_deref().unwrap_or_default());
    if let Outcome::Chosen(title) = desk.ask(line)? {
        let renamed = app.block_on(async { Ok(store.set_title(&session.id, &title).await?) });
        if let Err(error) = renamed {
            say(&format!("{error:#}"));
        }
    }
    Ok(())
}

fn delete(app: &App, desk: &Desk, store: &Store, session: &Listed) -> Result<()> {
    let items = vec![
        Item::new(false, "No").letter('n'),
        Item::new(true, "Yes, with all its messages").letter('y'),
    ];
    let name = one_line(browse::name(session));
    let list = List::new(format!("Delete '{name}'?"), items).note(session.id.as_str());
    if let Outcome::Chosen(true) = desk.ask(list)? {
        app.block_on(async { Ok(store.delete_session(&session.id).await?) })?;
        sessions::remove_files(app, std::slice::from_ref(&session.id));
    }
    Ok(())
}
