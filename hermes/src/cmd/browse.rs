//! `hermes sessions browse`

use std::io::Write;

use anyhow::Result;
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
    Again,
    Leave,
    Resume(SessionId),
}

pub fn run(app: &mut App, before: &Talk, limit: usize) -> Result<()> {
    let desk = app.desk("choosing a conversation from a list")?;
    let Some(store) = app.block_on(app.existing_store())? else {
        return Ok(writeln!(app.out, "No conversations yet.")?);
    };
    let then = loop {
        match once(app, &desk, &store, limit) {
            Ok(Then::Again) => {}
            then => break then,
        }
    };
    app.block_on(async {
        store.close().await;
        Ok(())
    })?;
    match then? {
        Then::Again | Then::Leave => Ok(()),
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

fn once(app: &mut App, desk: &Desk, store: &Store, limit: usize) -> Result<Then> {
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
    match desk.ask(browse::list(&sessions, Timestamp::now(), look))? {
        Outcome::Chosen(id) => Ok(Then::Resume(id)),
        Outcome::Key('r', id) => rename(app, desk, store, &sessions, &id),
        Outcome::Key(_, id) => delete(app, desk, store, &id),
        Outcome::Cancelled => Ok(Then::Leave),
        Outcome::Interrupted => Err(Failed(130).into()),
    }
}

fn rename(
    app: &App,
    desk: &Desk,
    store: &Store,
    sessions: &[Listed],
    id: &SessionId,
) -> Result<Then> {
    let session = sessions.iter().find(|session| session.id == *id);
    let title = session.and_then(|session| session.title.as_deref());
    let line = Line::new("A title for it").text(title.unwrap_or_default());
    if let Outcome::Chosen(title) = desk.ask(line)? {
        let renamed = app.block_on(async { Ok(store.set_title(id, &title).await?) });
        if let Err(error) = renamed {
            say(&format!("{error:#}"));
        }
    }
    Ok(Then::Again)
}

fn delete(app: &App, desk: &Desk, store: &Store, id: &SessionId) -> Result<Then> {
    let items = vec![
        Item::new(false, "No").letter('n'),
        Item::new(true, "Yes, with all its messages").letter('y'),
    ];
    let list = List::new(format!("Delete session {id}?"), items);
    if let Outcome::Chosen(true) = desk.ask(list)? {
        app.block_on(async { Ok(store.delete_session(id).await?) })?;
        sessions::remove_files(app, std::slice::from_ref(id));
    }
    Ok(Then::Again)
}
