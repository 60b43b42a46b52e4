//! What becomes of what was typed: a command, a prompt, or something for the running turn.

use std::time::Instant;

use hermes_session::slash::{self, Known, Typed};
use hermes_session::{Busy, Input};
use serde_json::json;

use super::effect::Effect;
use super::picture;
use super::room::Room;
use crate::cells::Cell;
use crate::input::{Draft, Dropped, Ground, Image, attached, leading};
use crate::menu::Kind;
use crate::text::one_line;

/// The setting that remembers who was told about input while a turn runs.
pub const BUSY_TIP: &str = "onboarding.seen.busy_input_prompt";

/// What is told about it.
pub fn busy_tip(busy: Busy) -> String {
    let becomes = match busy {
        Busy::Interrupt => "ends that turn and is next",
        Busy::Queue => "waits for its end",
        Busy::Steer => "guides it",
    };
    format!(
        "What you type while a turn runs {becomes}. /busy interrupt, queue or steer changes that; \
         /queue TEXT and /steer TEXT do it once."
    )
}

impl Room {
    /// The owner pressed Enter.
    pub fn submit(&mut self, now: Instant) -> Vec<Effect> {
        self.menu.close();
        self.listed.clear();
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
        self.remember(&draft);
        if let Some(draft) = self.with_file(&draft) {
            return self.talk(draft, now);
        }
        let line = self.quick.unfold(&draft.text);
        let is_quick = |word: &str| self.quick.has(word);
        let is_skill = |word: &str| {
            let skills = self.more.iter().filter(|more| more.kind == Kind::Skill);
            let mut names = skills.map(|skill| skill.label.trim_start_matches('/'));
            names.any(|name| name == word)
        };
        let known = Known {
            is_quick: &is_quick,
            is_skill: &is_skill,
        };
        match slash::read_with(&line, known) {
            Typed::Text => self.talk(draft, now),
            Typed::Quick { name, rest } => {
                let rest = rest.to_owned();
                self.echo(&draft.text);
                vec![Effect::Send(Input::Quick { name, rest })]
            }
            Typed::Skill { name, rest } => {
                let (name, rest) = (name.to_owned(), rest.to_owned());
                self.skill(name, rest, &draft)
            }
            Typed::Command { slash, rest } => {
                let rest = rest.to_owned();
                self.echo(&draft.text);
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

    /// Whoever has to go in the middle of a line finds it in the history.
    pub fn keep_draft(&mut self) {
        let draft = self.editor.take();
        self.remember(&draft);
    }

    fn remember(&mut self, draft: &Draft) {
        if let Err(error) = self.history.add(&draft.record) {
            tracing::warn!("the history was not written: {error}");
        }
    }

    /// A command as it was given.
    fn echo(&mut self, line: &str) {
        self.add(Cell::Plain(format!("⚙ {}", line.trim())));
    }

    /// What is taken back can be said again, unless something else is being typed.
    pub fn took_back(&mut self, text: &str) {
        if self.editor.text().trim().is_empty() {
            self.editor.set(text);
        }
    }

    /// What begins with the path of a file comes with that file.
    fn with_file(&self, draft: &Draft) -> Option<Draft> {
        let ground = Ground {
            user_home: &self.user_home,
            is_file: &|path| path.is_file(),
        };
        let (file, rest) = leading(&draft.text, ground)?;
        let mut draft = draft.clone();
        draft.text = match file {
            Dropped::Image(path) if picture::check(&path).is_ok() => {
                let number = draft.images.len() + 1;
                draft.images.push(Image { number, path });
                format!("[📎 Image #{number}] {rest}").trim_end().to_owned()
            }
            Dropped::Image(path) | Dropped::File(path) => attached(&path, rest),
        };
        Some(draft)
    }

    /// The first time somebody types while a turn runs, they are told what becomes of it.
    fn tell_busy(&mut self) -> Vec<Effect> {
        if self.knows_busy {
            return Vec::new();
        }
        self.knows_busy = true;
        self.notice(busy_tip(self.display.busy));
        vec![Effect::Keep(BUSY_TIP, json!(true))]
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
        let mut effects = self.tell_busy();
        effects.extend(match self.display.busy {
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
        });
        effects
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
