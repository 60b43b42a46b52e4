//! The state of a chat: everything that decides what is on the screen, and nothing that touches a terminal.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_session::{Input, QuickCommands, slash};
use hermes_types::{Message, ModelInfo, SessionId};

use super::ask::Questions;
use super::display::Display;
use super::effect::Effect;
use super::pace::Pace;
use super::queue::Queue;
use super::transcript::Transcript;
use super::turn::Turn;
use crate::cells::spinner::Indicator;
use crate::cells::{Cell, Notice, Said};
use crate::input::{Burst, Draft, Editor, History, Pastes, Search};
use crate::look::Look;
use crate::markdown::Style;
use crate::menu::{Candidate, Listed, Menu, Words};
use crate::screen::Size;

/// A hint that goes away by itself.
#[derive(Debug)]
pub struct Hint {
    pub text: String,
    pub until: Instant,
}

/// What the status bar tells.
#[derive(Debug)]
pub struct Standing {
    pub session: Option<SessionId>,
    pub title: Option<String>,
    pub model: Option<ModelInfo>,
    /// Tokens the last request had.
    pub used: Option<u64>,
    pub compactions: u32,
    pub usd: Option<f64>,
    pub began: Instant,
    pub last_turn: Option<Duration>,
    /// How the MCP servers are.
    pub servers: Option<String>,
    pub yolo: bool,
    /// Numbers of tasks that run beside the conversation.
    pub background: BTreeSet<usize>,
}

pub struct Room {
    pub look: Look,
    pub display: Display,
    pub style: Style,
    pub size: Size,
    pub transcript: Transcript,
    pub turn: Option<Turn>,
    pub questions: Questions,
    /// How fast what streams in comes into sight.
    pub pace: Pace,
    pub queue: Queue,
    pub editor: Editor,
    pub burst: Burst,
    pub pastes: Pastes,
    pub history: History,
    pub search: Option<Search>,
    pub menu: Menu,
    pub standing: Standing,
    pub hint: Option<Hint>,
    /// The session is open; before that, what is sent waits.
    pub joined: bool,
    /// The owner looks at the terminal, as far as it says so.
    pub focused: bool,
    /// The owner is leaving.
    pub leaving: bool,
    /// Something was said.
    pub talked: bool,
    pub interrupted: Option<Instant>,
    /// For the spinner.
    pub ticks: u64,
    /// Skills and quick commands, for the menu.
    pub more: Vec<Candidate>,
    /// The owner's own commands.
    pub quick: QuickCommands,
    pub words: Arc<dyn Words + Send + Sync>,
    /// What can follow commands, until something is said.
    pub listed: Listed,
    /// The owner was told what becomes of input while a turn runs.
    pub knows_busy: bool,
    /// What `~` means, for files dragged in.
    pub user_home: PathBuf,
    /// Spinners stand still.
    pub still: bool,
    pub indicator: Indicator,
    pub cwd: String,
    /// The same, for what is read from there.
    pub dir: PathBuf,
    /// Until then the first rows can still change.
    pub first_until: Option<Instant>,
}

impl Room {
    /// Adds something finished to what is above the live region.
    pub fn add(&mut self, cell: impl Into<Cell>) {
        let cell = cell.into();
        self.close_group();
        self.pace.let_up();
        self.transcript.add(cell, self.size.width, &self.look);
    }

    pub fn notice(&mut self, text: impl Into<String>) {
        self.add(Notice::info(text));
    }

    pub fn warn(&mut self, text: impl Into<String>) {
        self.add(Notice::warn(text));
    }

    /// What the owner said.
    pub fn add_said(&mut self, text: &str) {
        let (first_lines, last_lines) = self.display.said;
        self.add(Said {
            text: text.to_owned(),
            first_lines,
            last_lines,
        });
    }

    pub fn is_running(&self) -> bool {
        self.turn.is_some()
    }

    /// Whether something on the screen moves by itself.
    pub fn is_moving(&self) -> bool {
        self.is_running()
            || !self.joined
            || self
                .questions
                .current()
                .is_some_and(|q| q.countdown.is_some())
    }

    /// Whether rows that have come will be in sight with the next frame only.
    pub fn is_draining(&self) -> bool {
        self.is_running() && self.questions.is_empty() && self.pace.is_waiting()
    }

    /// Says something for a moment.
    pub fn hint(&mut self, text: &str, now: Instant, time: Duration) {
        self.hint = Some(Hint {
            text: text.to_owned(),
            until: now + time,
        });
    }

    /// Sends a draft as the next prompt.
    pub fn say(&mut self, draft: Draft, now: Instant) -> Vec<Effect> {
        let message = match message(&draft) {
            Ok(message) => message,
            Err(problem) => {
                self.warn(problem);
                self.editor.take_back(&draft);
                return Vec::new();
            }
        };
        self.add_said(&draft.text);
        self.talked = true;
        // Until the session says so itself, nothing else must be sent.
        self.turn = Some(Turn::new(now));
        vec![Effect::Send(Input::Prompt(message))]
    }

    /// A row of a list was chosen for a command.
    pub fn chosen(&mut self, command: &str, argument: &str) -> Vec<Effect> {
        let found = slash::TABLE.iter().find(|slash| slash.name == command);
        let Some(slash) = found else {
            return Vec::new();
        };
        self.add(Cell::Plain(format!("⚙ /{command} {argument}")));
        vec![Effect::Send(Input::Command(slash, argument.to_owned()))]
    }

    /// What the window is called.
    pub fn window_title(&self) -> String {
        let about = self.standing.title.as_deref().unwrap_or(&self.cwd);
        match self.questions.is_empty() {
            true => format!("hermes — {about}"),
            false => format!("hermes — action required — {about}"),
        }
    }

    /// Everything that was said, nothing cut.
    pub fn in_full(&self) -> Vec<crate::Row> {
        let mut rows = self.transcript.in_full(self.size.width, &self.look);
        rows.extend(self.group_rows());
        if let Some(turn) = &self.turn {
            rows.extend(turn.tail(self.size.width, &self.look));
        }
        rows.extend(self.plan_rows());
        rows
    }

    /// Rows for the screen, each once; some come with the next frame.
    pub fn take_fresh(&mut self, now: Instant) -> Vec<crate::Row> {
        if self.holds_first(now) {
            return Vec::new();
        }
        self.first_until = None;
        if !self.questions.is_empty() {
            self.pace.let_up();
        }
        self.transcript.take_all_but(self.pace.held())
    }

    /// Nothing runs any more: what waits is next.
    pub fn next_in_queue(&mut self, now: Instant) -> Vec<Effect> {
        if !self.joined || self.is_running() || self.leaving {
            return Vec::new();
        }
        match self.queue.next() {
            Some(draft) => self.say(draft, now),
            None => Vec::new(),
        }
    }

    /// Everything finished again, with what has come of an answer that grows, at another width.
    pub fn history_rows(&mut self, width: u16) -> Vec<crate::Row> {
        self.transcript.take_fresh();
        self.first_until = None;
        self.pace.reveal();
        let mut rows = self.transcript.rows(width, &self.look);
        if let Some(turn) = &mut self.turn {
            rows.extend(turn.replay(width, &self.look, self.style));
        }
        rows
    }
}

/// What is sent for a draft: text, and images beside it.
fn message(draft: &Draft) -> Result<Message, String> {
    let images = draft.images.iter().map(|image| image.path.as_path());
    super::picture::message(draft.text.clone(), images)
}

impl std::fmt::Debug for Room {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Room")
            .field("running", &self.is_running())
            .field("joined", &self.joined)
            .finish_non_exhaustive()
    }
}
