//! Keys: what each means depends on what is on the screen.

use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use hermes_session::Input;
use hermes_types::{Answer, Question};

use super::ask::{Asked, Asking};
use super::effect::Effect;
use super::room::Room;
use super::world::Pickable;
use crate::cells::{Approval, Decided};
use crate::input::{Dropped, Editor, Fed, Ground, Pasted, Pastes, Pressed, Searched, dropped};
use crate::menu::{Candidate, Sources};

/// A second Ctrl+C within this time leaves.
const TWICE: Duration = Duration::from_secs(2);

/// How a paste goes into the input.
type Insert = fn(&mut Pastes, &str, &mut Editor) -> Pasted;

impl Room {
    /// A key from the terminal, which may turn out to be part of a paste.
    pub fn key(&mut self, key: KeyEvent, now: Instant) -> Vec<Effect> {
        if key.kind == KeyEventKind::Release {
            return Vec::new();
        }
        let fed = self.burst.key(key, now);
        self.feed(fed, now)
    }

    /// What was held back is let go when its time is over.
    pub fn tick(&mut self, now: Instant) -> Vec<Effect> {
        if self.hint.as_ref().is_some_and(|hint| hint.until <= now) {
            self.hint = None;
        }
        self.first_until = self.first_until.filter(|until| now < *until);
        let fed = self.burst.tick(now);
        self.feed(fed, now)
    }

    /// A paste the terminal marked as one.
    pub fn paste(&mut self, text: &str, now: Instant) -> Vec<Effect> {
        let fed = self.burst.bracketed(now);
        let mut effects = self.feed(fed, now);
        effects.extend(self.pasted(text, now, Pastes::insert));
        effects
    }

    fn feed(&mut self, fed: Vec<Fed>, now: Instant) -> Vec<Effect> {
        fed.into_iter()
            .flat_map(|fed| match fed {
                Fed::Key(key) => self.press(key, now),
                Fed::Paste(text) => self.pasted(&text, now, Pastes::insert_guessed),
            })
            .collect()
    }

    fn pasted(&mut self, text: &str, now: Instant, insert: Insert) -> Vec<Effect> {
        if let Some(asking) = self.questions.current_mut() {
            asking.paste(text);
            return attended(asking, now);
        }
        if let Some(search) = &mut self.search {
            search.insert(text);
            return Vec::new();
        }
        self.menu.close();
        let ground = Ground {
            user_home: &self.user_home,
            is_file: &|path| path.is_file(),
        };
        let files = dropped(text, ground);
        if !files.is_empty() {
            return files
                .into_iter()
                .flat_map(|file| self.attach(file))
                .collect();
        }
        match insert(&mut self.pastes, text, &mut self.editor) {
            Pasted::Empty => vec![Effect::PasteImage],
            // A word typed very quickly looks like a paste, too.
            Pasted::Inserted => self.typed(),
            Pasted::Unsaved(reason) => {
                self.warn(format!("there is no copy of the paste: {reason}"));
                Vec::new()
            }
        }
    }

    /// A file that was dragged in.
    fn attach(&mut self, file: Dropped) -> Vec<Effect> {
        match file {
            Dropped::Image(path) => vec![Effect::Attach(path)],
            Dropped::File(path) => {
                self.editor
                    .insert(&format!("@file:\"{}\" ", path.display()));
                Vec::new()
            }
        }
    }

    fn press(&mut self, key: KeyEvent, now: Instant) -> Vec<Effect> {
        if !self.questions.is_empty() {
            return self.answer(key, now);
        }
        if self.search.is_some() {
            return self.searching(key, now);
        }
        if let Some(effects) = self.shortcut(key, now) {
            return effects;
        }
        let pressed = match self.menu.key(key, &mut self.editor) {
            Pressed::Ignored(key) => self.editor.key(key, now),
            pressed => pressed,
        };
        match pressed {
            Pressed::Submit | Pressed::Run => self.submit(now),
            Pressed::Changed => {
                self.history.rest();
                self.typed()
            }
            Pressed::Ignored(key) => self.beyond(key),
            Pressed::Moved | Pressed::Nothing => Vec::new(),
        }
    }

    /// Keys that mean the same whatever is typed.
    fn shortcut(&mut self, key: KeyEvent, now: Instant) -> Option<Vec<Effect>> {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        Some(match key.code {
            KeyCode::Char('c') if control => self.cancel(now),
            KeyCode::Char('q') if control => self.cancel_gently(),
            KeyCode::Char('d') if control && self.editor.is_empty() => vec![Effect::Leave],
            KeyCode::Char('l') if control => vec![Effect::Repaint],
            KeyCode::Char('z') if control => vec![Effect::Suspend],
            KeyCode::Char('t') if control => vec![Effect::Transcript],
            KeyCode::Char('g') if control || alt => vec![Effect::EditOutside],
            KeyCode::Char('v') if control || alt => vec![Effect::PasteImage],
            KeyCode::Char('r' | 's') if control => {
                self.menu.close();
                self.search = Some(self.history.search());
                Vec::new()
            }
            KeyCode::Up if alt => {
                if let Some(draft) = self.queue.recall() {
                    self.editor.take_back(&draft);
                }
                Vec::new()
            }
            KeyCode::Esc if self.menu.is_open() => {
                self.menu.close();
                Vec::new()
            }
            KeyCode::Esc if self.is_running() => self.interrupt(),
            _ => return None,
        })
    }

    /// Keys the editor has no use for where it stands.
    fn beyond(&mut self, key: KeyEvent) -> Vec<Effect> {
        match key.code {
            KeyCode::Tab => return self.typed(),
            KeyCode::Up => {
                self.history.older(&mut self.editor);
            }
            KeyCode::Down => {
                self.history.newer(&mut self.editor);
            }
            _ => {}
        }
        Vec::new()
    }

    /// Ctrl+C.
    fn cancel(&mut self, now: Instant) -> Vec<Effect> {
        let again = self.interrupted.is_some_and(|at| now - at < TWICE);
        let typed = !self.editor.is_empty();
        if typed && (!self.is_running() || self.display.clear_first) {
            self.editor.clear();
            self.menu.close();
            return Vec::new();
        }
        self.interrupted = Some(now);
        if again {
            return vec![Effect::Leave];
        }
        if self.is_running() {
            return self.interrupt();
        }
        self.hint("press Ctrl+C again to leave", now, TWICE);
        Vec::new()
    }

    /// Ctrl+Q: the same, but never the end.
    fn cancel_gently(&mut self) -> Vec<Effect> {
        if self.is_running() {
            return self.interrupt();
        }
        self.editor.clear();
        self.menu.close();
        Vec::new()
    }

    fn searching(&mut self, key: KeyEvent, now: Instant) -> Vec<Effect> {
        let Some(search) = &mut self.search else {
            return Vec::new();
        };
        match search.key(key, now) {
            Searched::Going => Vec::new(),
            Searched::GivenUp => {
                self.search = None;
                Vec::new()
            }
            Searched::Found(entry) => {
                self.search = None;
                self.editor.set(&entry);
                Vec::new()
            }
            Searched::FoundThen(entry, key) => {
                self.search = None;
                self.editor.set(&entry);
                self.press(key, now)
            }
        }
    }

    /// A key for the question on the screen.
    fn answer(&mut self, key: KeyEvent, now: Instant) -> Vec<Effect> {
        let Some(asking) = self.questions.current_mut() else {
            return Vec::new();
        };
        let id = asking.id;
        let Asked::Answered(answer) = asking.key(key, now) else {
            return attended(asking, now);
        };
        if let Some(asking) = self.questions.remove(id, now) {
            self.tell_answer(&asking.question, &answer);
        }
        vec![Effect::Send(Input::Answer { id, answer })]
    }

    fn tell_answer(&mut self, question: &Question, answer: &Answer) {
        let decided = match answer {
            Answer::Once => Decided::Once,
            Answer::Session => Decided::Session,
            Answer::Always => Decided::Always,
            _ => Decided::Denied,
        };
        match (question, answer) {
            (Question::Approve { command, .. }, _) => self.add(Approval {
                command: command.clone(),
                decided,
            }),
            (Question::Clarify { question, .. }, Answer::Text(text)) => {
                self.notice(format!("{question}\n→ {text}"));
            }
            _ => {}
        }
    }

    /// The text is another one: so is what could be meant.
    pub fn typed(&mut self) -> Vec<Effect> {
        let sources = Sources {
            more: &self.more,
            words: self.words.as_ref(),
            listed: &self.listed,
        };
        let wanted = self.menu.update(&self.editor, sources);
        let ghost = match self.editor.at_end() {
            true => self.menu.ghost().or_else(|| {
                let typed = self.editor.before_cursor();
                self.history.suggest(typed)
            }),
            false => None,
        };
        let ghost = ghost.unwrap_or_default().to_owned();
        self.editor.set_ghost(&ghost);
        wanted.map(Effect::Complete).into_iter().collect()
    }

    /// What can follow a command is known now.
    pub fn listed(&mut self, command: &'static str, rows: &[Pickable]) -> Vec<Effect> {
        let words = rows.iter().map(|row| {
            let twins = rows.iter().filter(|other| other.name == row.name);
            let is_clear = !row.name.is_empty() && twins.count() == 1;
            let given = if is_clear { &row.name } else { &row.argument };
            Candidate {
                insert: given.clone(),
                ..Candidate::word(row.label.as_str(), row.about.as_str())
            }
        });
        self.listed.insert(command, words.collect());
        self.typed()
    }
}

/// Tells the session that somebody is at a question.
fn attended(asking: &mut Asking, now: Instant) -> Vec<Effect> {
    let id = asking.id;
    match asking.attend(now) {
        true => vec![Effect::Send(Input::Attend { id })],
        false => Vec::new(),
    }
}
