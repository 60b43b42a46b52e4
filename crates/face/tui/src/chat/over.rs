//! What covers the chat for a while: everything that was said, or a list to choose from.

use std::io;

use crossterm::event::KeyEvent;

use super::room::Room;
use super::world::Pickable;
use crate::Row;
use crate::look::Look;
use crate::pick::{Item, List, Outcome, Step, Widget};
use crate::screen::{Overlay, Pager, Pressed, Size, Tty};

#[derive(Debug)]
pub struct Over {
    overlay: Overlay<Tty>,
    what: What,
}

#[derive(Debug)]
enum What {
    Pager(Pager),
    List(&'static str, List<String>),
}

/// Whether it is closed by a key.
#[derive(Debug, PartialEq, Eq)]
pub enum Closed {
    No,
    Yes,
    /// This was chosen, for that command.
    With(&'static str, String),
}

impl Over {
    pub fn pager(out: Tty, size: Size, rows: Vec<Row>) -> io::Result<Self> {
        Ok(Self {
            overlay: Overlay::open(out, size)?,
            what: What::Pager(Pager::from_end(rows)),
        })
    }

    pub fn list(
        out: Tty,
        size: Size,
        command: &'static str,
        rows: Vec<Pickable>,
    ) -> io::Result<Self> {
        let previews: std::collections::HashMap<String, String> = rows
            .iter()
            .filter(|row| !row.preview.is_empty())
            .map(|row| (row.argument.clone(), row.preview.clone()))
            .collect();
        let items = rows.into_iter().map(|row| {
            Item::new(row.argument, row.label)
                .about(row.about)
                .group(row.group)
                .current_if(row.current)
        });
        let list = List::new(format!("/{command}"), items.collect());
        let list = match previews.is_empty() {
            true => list,
            false => list.preview(move |chosen| previews.get(chosen).cloned().unwrap_or_default()),
        };
        Ok(Self {
            overlay: Overlay::open(out, size)?,
            what: What::List(command, list),
        })
    }

    pub fn key(&mut self, key: KeyEvent) -> Closed {
        match &mut self.what {
            What::Pager(pager) => match pager.key(key) {
                Pressed::Closed => Closed::Yes,
                Pressed::Handled | Pressed::Ignored => Closed::No,
            },
            What::List(command, list) => match list.key(key) {
                Step::Stay => Closed::No,
                Step::Done(Outcome::Chosen(argument)) => Closed::With(command, argument),
                Step::Done(_) => Closed::Yes,
            },
        }
    }

    pub fn paste(&mut self, text: &str) {
        if let What::List(_, list) = &mut self.what {
            list.paste(text);
        }
    }

    pub fn resized(&mut self, size: Size, room: &Room) {
        self.overlay.resized(size);
        if let What::Pager(pager) = &mut self.what {
            pager.rewrap(room.in_full());
        }
    }

    pub fn draw(&mut self, look: &Look) -> io::Result<()> {
        let size = self.overlay.size();
        let (rows, cursor) = match &mut self.what {
            What::Pager(pager) => (pager.rows(size), None),
            What::List(_, list) => (list.rows(size, look), list.cursor(size)),
        };
        self.overlay.draw(&rows, cursor)
    }
}
