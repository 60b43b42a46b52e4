//! Doing what the chat decided.

use std::io;
use std::time::{Duration, Instant};

use hermes_session::Input;
use hermes_types::SessionId;

use super::effect::Effect;
use super::over::Over;
use super::run::{Chat, Leaving};
use super::world::Left;
use crate::menu::Wanted;

/// For a session to end when its owner leaves; a second wish to leave does not wait for it.
const FAREWELL: Duration = Duration::from_secs(10);

impl Chat {
    pub(super) async fn act(&mut self, effect: Effect, now: Instant) -> io::Result<Option<Left>> {
        match effect {
            Effect::Send(input) => self.send(input).await,
            Effect::Leave => return Ok(self.leave(now).await),
            Effect::Suspend => self.suspend().await?,
            Effect::EditOutside => self.edit_outside()?,
            Effect::Copy(text) => self.copy(text),
            Effect::PasteImage => self.paste_image(),
            Effect::Attach(path) => self.room.attach_image(path),
            Effect::Repaint => {
                let room = &mut self.room;
                self.screen.repaint(&mut |width| room.history_rows(width));
            }
            Effect::Transcript => {
                let rows = self.room.in_full();
                match Over::pager(self.terminal.out(), self.room.size, rows) {
                    Ok(over) => self.over = Some(over),
                    Err(error) => self.room.warn(error.to_string()),
                }
            }
            Effect::Choose(command) => self.choose(command),
            Effect::Bell => self.terminal.bell()?,
            Effect::Notify(words) => self.terminal.notify(&words)?,
            Effect::Complete(Wanted::Files(typed)) => self.complete(typed),
            Effect::Complete(Wanted::List(command)) => self.list(command),
            Effect::Keep(key, value) => self.keep(key, value),
            Effect::Skin(name) => self.skin(&name),
        }
        Ok(None)
    }

    /// The owner leaves. A second wish to leave does not wait.
    async fn leave(&mut self, now: Instant) -> Option<Left> {
        let said = self.room.talked;
        let id: Option<SessionId> = self.on.as_ref().map(|on| on.session.id());
        self.part(Left::Owner(id.filter(|_| said)), now).await
    }

    /// The session is closed and may put things in order; what it does then is still shown.
    pub(super) async fn part(&mut self, left: Left, now: Instant) -> Option<Left> {
        let patience = match left {
            Left::Owner(_) => FAREWELL,
            Left::Ended | Left::Gone => {
                self.room.keep_draft();
                self.world.grace
            }
        };
        if self.on.is_none() || self.leaving.is_some() {
            return Some(left);
        }
        let until = now + patience;
        self.leaving = Some(Leaving { until, left });
        self.room.leaving = true;
        self.events = self.events.take().filter(|_| !self.is_gone());
        self.send(Input::Close).await;
        None
    }

    pub(super) fn is_gone(&self) -> bool {
        matches!(
            &self.leaving,
            Some(Leaving {
                left: Left::Gone,
                ..
            })
        )
    }

    pub(super) fn left(&mut self) -> Left {
        let leaving = self.leaving.take().map(|leaving| leaving.left);
        // A session that ends by itself was told to.
        leaving.unwrap_or_else(|| Left::Owner(self.on.as_ref().map(|on| on.session.id())))
    }
}
