//! What is looked for beside the chat, and what becomes of it once it is found.

use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use super::effect::Effect;
use super::over::Over;
use super::run::Chat;
use super::world::Pickable;
use crate::menu::Candidate;

pub(super) enum Found {
    /// For what was typed.
    Files(String, Vec<Candidate>),
    /// To choose from, for a command.
    Rows(&'static str, Result<Vec<Pickable>, String>),
    /// What can follow a command.
    Words(&'static str, Vec<Pickable>),
    /// What is in the clipboard.
    Image(Result<Vec<u8>, String>),
    /// Why nothing was copied.
    Uncopied(String),
}

impl Chat {
    /// Asks what there is to choose from.
    pub(super) fn choose(&mut self, command: &'static str) {
        let Some(on) = &self.on else {
            return self.room.notice("the session is not open yet");
        };
        let (rows, found) = (on.lists.rows(command), self.found.0.clone());
        self.searching = Some(AbortOnDropHandle::new(TaskTracker::new().spawn(
            async move {
                // Nobody is there to hear it only when the chat is over.
                let _ = found.send(Found::Rows(command, rows.await));
            },
        )));
    }

    /// Asks what could follow a command, for whoever types it.
    pub(super) fn list(&mut self, command: &'static str) {
        let Some(on) = &self.on else {
            return;
        };
        let (rows, found) = (on.lists.rows(command), self.found.0.clone());
        self.searching = Some(AbortOnDropHandle::new(TaskTracker::new().spawn(
            async move {
                let _ = found.send(Found::Words(command, rows.await.unwrap_or_default()));
            },
        )));
    }

    /// Looks for files on a thread of its own; a newer wish replaces this one.
    pub(super) fn complete(&mut self, typed: String) {
        let (files, found) = (self.world.files.clone(), self.found.0.clone());
        self.searching = Some(AbortOnDropHandle::new(TaskTracker::new().spawn_blocking(
            move || {
                let candidates = files.candidates(&typed);
                let _ = found.send(Found::Files(typed, candidates));
            },
        )));
    }

    pub(super) fn arrived(&mut self, found: Found) -> Vec<Effect> {
        match found {
            Found::Files(typed, candidates) => {
                self.room.menu.arrived(&typed, candidates);
            }
            Found::Rows(command, Ok(rows)) if !rows.is_empty() => {
                match Over::list(self.terminal.out(), self.room.size, command, rows) {
                    Ok(over) => self.over = Some(over),
                    Err(error) => self.room.warn(error.to_string()),
                }
            }
            Found::Rows(_, Ok(_)) => self.room.notice("there is nothing to choose from"),
            Found::Rows(_, Err(why)) => self.room.warn(why),
            Found::Image(image) => self.pasted(image),
            Found::Uncopied(why) => self.room.warn(why),
            Found::Words(command, rows) => return self.room.listed(command, &rows),
        }
        Vec::new()
    }
}
