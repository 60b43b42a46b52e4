//! Slash commands that are the screen's own; the others go to the session.

use std::path::PathBuf;
use std::time::Instant;

use hermes_session::slash::{self, Face, Slash};
use hermes_session::{Busy, Input};
use serde_json::json;

use super::effect::Effect;
use super::room::Room;
use crate::cells::spinner::Indicator;
use crate::input::Draft;

impl Room {
    pub fn command(&mut self, slash: &'static Slash, rest: &str, now: Instant) -> Vec<Effect> {
        match (slash.name, rest) {
            ("quit", _) => vec![Effect::Leave],
            ("help", _) => {
                let own = self.quick.help();
                self.notice(slash::help(Face::Screen) + &own);
                Vec::new()
            }
            ("redraw", _) => vec![Effect::Repaint],
            ("transcript", _) => vec![Effect::Transcript],
            ("copy", which) => self.copy(which),
            ("paste", _) => vec![Effect::PasteImage],
            ("image", "") => self.told("/image needs the path of an image"),
            ("image", path) => vec![Effect::Attach(PathBuf::from(path))],
            ("statusbar", _) => {
                self.display.bar = !self.display.bar;
                Vec::new()
            }
            ("prompt", text) => {
                if !text.is_empty() {
                    self.editor.set(text);
                }
                vec![Effect::EditOutside]
            }
            ("timestamps", _) => self.turn_clock(),
            ("skin", name) => vec![Effect::Skin(name.to_owned())],
            ("indicator", word) => self.change_indicator(word),
            ("verbose", _) => {
                self.display.progress = self.display.progress.next();
                let word = self.display.progress.word();
                self.told(&format!("tools are shown: {word}"))
            }
            ("reasoning", word @ ("show" | "on" | "hide" | "off")) => self.show_reasoning(word),
            ("busy", word) => {
                if let Some(mode) = Busy::read(word) {
                    self.display.busy = mode;
                }
                self.pass(slash, rest)
            }
            // The queue is ours: it can be seen and taken back.
            ("queue", text) if !text.is_empty() => self.enqueue(text, now),
            ("model" | "resume" | "rollback", "") => vec![Effect::Choose(slash.name)],
            ("stop", _) => {
                if let Some(turn) = &mut self.turn {
                    turn.stopping = true;
                }
                self.pass(slash, rest)
            }
            _ => self.pass(slash, rest),
        }
    }

    fn pass(&mut self, slash: &'static Slash, rest: &str) -> Vec<Effect> {
        vec![Effect::Send(Input::Command(slash, rest.to_owned()))]
    }

    fn told(&mut self, text: &str) -> Vec<Effect> {
        self.notice(text);
        Vec::new()
    }

    fn enqueue(&mut self, text: &str, now: Instant) -> Vec<Effect> {
        let draft = Draft {
            text: text.to_owned(),
            shown: text.to_owned(),
            ..Draft::default()
        };
        if self.is_running() || !self.joined {
            self.queue.push(draft);
            return Vec::new();
        }
        self.say(draft, now)
    }

    fn copy(&mut self, which: &str) -> Vec<Effect> {
        let number = match which {
            "" => Some(1),
            text => text.parse::<usize>().ok().filter(|number| *number > 0),
        };
        let Some(number) = number else {
            return self.told("/copy takes a number: 1 is the last answer, 2 the one before it");
        };
        let answer = self.transcript.answers().nth(number - 1);
        match answer.map(str::to_owned) {
            Some(answer) => {
                self.notice(format!("copied {} characters", answer.chars().count()));
                vec![Effect::Copy(answer)]
            }
            None => self.told("there is no such answer"),
        }
    }

    fn change_indicator(&mut self, word: &str) -> Vec<Effect> {
        if word.is_empty() {
            let now = format!("{:?}", self.indicator).to_lowercase();
            return self.told(&format!(
                "what moves: {now} (kaomoji, emoji, unicode, ascii)"
            ));
        }
        match Indicator::parse(word) {
            Some(indicator) => {
                self.indicator = indicator;
                let word = word.to_lowercase();
                self.notice(format!("what moves: {word}"));
                vec![Effect::Keep("display.tui_status_indicator", json!(word))]
            }
            None => self.told("/indicator takes kaomoji, emoji, unicode or ascii"),
        }
    }

    fn turn_clock(&mut self) -> Vec<Effect> {
        let show = self.display.clock.is_none();
        self.display.clock = show.then(|| self.display.clock_format.clone());
        let word = if show { "shown" } else { "hidden" };
        self.notice(format!("the time of answers is {word}"));
        vec![Effect::Keep("display.timestamps", json!(show))]
    }

    fn show_reasoning(&mut self, word: &str) -> Vec<Effect> {
        let show = matches!(word, "show" | "on");
        self.display.reasoning = show;
        let word = if show { "shown" } else { "hidden" };
        self.notice(format!("thinking is {word}"));
        vec![Effect::Keep("display.show_reasoning", json!(show))]
    }
}
