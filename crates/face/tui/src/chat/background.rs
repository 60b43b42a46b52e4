//! What the chat stands on: the terminal is asked after the first frame, and nobody waits for the answer.

use std::io;
use std::time::{Duration, Instant};

use crossterm::event::KeyEvent;

use super::effect::Effect;
use super::room::Room;
use super::run::Chat;
use crate::Row;
use crate::input::Heard;
use crate::look::{Background, Skin};

/// For so long the first rows stay where they can still change their colours.
const FIRST: Duration = Duration::from_millis(300);

impl Chat {
    /// Asks what the background is.
    pub(super) fn ask_background(&mut self) -> io::Result<()> {
        if self.terminal.ask_background()? {
            self.replies.expect();
        }
        Ok(())
    }

    /// A key, unless it is part of an answer.
    pub(super) fn heard(&mut self, key: KeyEvent, now: Instant) -> Vec<Effect> {
        match self.replies.key(key, now) {
            Heard::Keys(keys) => self.all(keys, now),
            Heard::Background(colour) => {
                self.room
                    .stands_on(colour.map(Background::of).unwrap_or_default());
                Vec::new()
            }
        }
    }

    /// Keys that could have been one and were not.
    pub(super) fn heard_late(&mut self, now: Instant) -> Vec<Effect> {
        let keys = self.replies.late(now);
        self.all(keys, now)
    }

    fn all(&mut self, keys: Vec<KeyEvent>, now: Instant) -> Vec<Effect> {
        let mut effects = Vec::new();
        for key in keys {
            effects.extend(self.pressed(key, now));
        }
        effects
    }
}

impl Room {
    /// What stands above the first prompt waits in the live region: its colours depend on an answer.
    pub fn hold_first(&mut self, now: Instant) {
        let changes = self.look.skin().name == Skin::default().name;
        if changes && self.look.background() == Background::Unknown {
            self.first_until = Some(now + FIRST);
        }
    }

    /// The terminal has said what its background is. What is in the scrollback keeps its colours.
    pub fn stands_on(&mut self, background: Background) {
        let held = self.first_until.take().is_some();
        if background == Background::Unknown || background == self.look.background() {
            return;
        }
        self.look = self.look.clone().on(background);
        if held {
            let rows = self.history_rows(self.size.width);
            self.transcript.show(rows);
        }
    }

    /// Finished rows that still stand in the live region.
    pub fn first_rows(&self, now: Instant) -> Vec<Row> {
        match self.holds_first(now) {
            true => self.transcript.fresh_but(self.pace.held()).to_vec(),
            false => Vec::new(),
        }
    }

    /// Nobody who has begun to talk waits for colours.
    pub fn holds_first(&self, now: Instant) -> bool {
        !self.is_running() && self.first_until.is_some_and(|until| now < until)
    }
}
