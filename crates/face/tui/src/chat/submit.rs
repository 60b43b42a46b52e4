//! What becomes of what was typed: a command, a prompt, or something for the running turn.

use std::time::Instant;

use hermes_session::slash::{self, Typed};
use hermes_session::{Busy, Input};

use super::effect::Effect;
use super::room::Room;
use crate::cells::Cell;
use crate::input::Draft;
use crate::menu::Kind;
use crate::text::one_line;

impl Room {
    /// The owner pressed Enter.
    pub fn submit(&mut self, now: Instant) -> Vec<Effect> {
        self.menu.close();
        // What cannot be sent whole is not sent.
        if let Err(gone) = self.pastes.revive(&mut self.editor) {
            self.warn(gone.to_string());
            return Vec::new();
        }
        let draft = self.editor.take();
        if draft.text.trim().is_empty() && draft.images.is_empty() {
            return Vec::new();
        }
        self.history.rest();
        if let Err(error) = self.history.add(&draft.record) {
            tracing::warn!("the history was not written: {error}");
        }
        let is_skill = |word: &str| {
            let skills = self.more.iter().filter(|more| more.kind == Kind::Skill);
            let mut names = skills.map(|skill| skill.label.trim_start_matches('/'));
            names.any(|name| name == word)
        };
        match slash::read_with(&draft.text, &is_skill) {
            Typed::Text => self.talk(draft, now),
            Typed::Skill { name, rest } => {
                let (name, rest) = (name.to_owned(), rest.to_owned());
                self.skill(name, rest, &draft)
            }
            Typed::Command { slash, rest } => {
                let rest = rest.to_owned();
                self.add(Cell::Plain(format!("⚙ {}", draft.text.trim())));
                self.command(slash, &rest, now)
            }
            Typed::Ambiguous(names) => {
                let names: Vec<String> = names.iter().map(|name| format!("/{name}")).collect();
                self.unclear(&draft, &format!("did you mean {}?", names.join(", ")))
            }
            Typed::Unknown(word) => {
                let told = format!("there is no command /{word}; /help lists them");
                self.unclear(&draft, &told)
            }
        }
    }

    /// What is no command stays in the input, to be mended.
    fn unclear(&mut self, draft: &Draft, told: &str) -> Vec<Effect> {
        self.warn(told);
        self.editor.set(&draft.text);
        Vec::new()
    }

    fn skill(&mut self, name: String, rest: String, draft: &Draft) -> Vec<Effect> {
        self.add_said(&draft.text);
        self.talked = true;
        vec![Effect::Send(Input::Skill { name, words: rest })]
    }

    /// Something for the model, now or as the owner wants it while a turn runs.
    pub fn talk(&mut self, draft: Draft, now: Instant) -> Vec<Effect> {
        if !self.is_running() && self.joined {
            return self.say(draft, now);
        }
        if !self.joined {
            self.queue.push(draft);
            return Vec::new();
        }
        match self.display.busy {
            // A picture cannot be slipped in between tool calls.
            Busy::Steer if draft.images.is_empty() => self.steer(&draft.text),
            Busy::Queue | Busy::Steer => {
                self.queue.push(draft);
                Vec::new()
            }
            Busy::Interrupt => {
                self.queue.redirect(draft);
                self.interrupt()
            }
        }
    }

    pub fn steer(&mut self, text: &str) -> Vec<Effect> {
        self.notice(format!("⏩ Steered: '{}'", one_line(text)));
        vec![Effect::Send(Input::Steer(text.to_owned()))]
    }

    /// Ends the running turn.
    pub fn interrupt(&mut self) -> Vec<Effect> {
        match &mut self.turn {
            Some(turn) => {
                turn.stopping = true;
                vec![Effect::Send(Input::Interrupt)]
            }
            None => Vec::new(),
        }
    }
}
