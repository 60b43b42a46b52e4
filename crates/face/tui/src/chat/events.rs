//! From what happens in the session to what is on the screen.

use std::time::{Duration, Instant};

use hermes_home::clock;
use hermes_types::{
    AgentEvent, Background, Compacted, Opened, Outcome, Question, Shown, Switched, TurnEnd,
};

use super::display::Progress;
use super::effect::Effect;
use super::growing::Closed;
use super::recap;
use super::room::Room;
use super::turn::{Running, Turn, tree};
use crate::cells::answer::Frame;
use crate::cells::children::Task;
use crate::cells::tool::{Ended, State};
use crate::cells::{Answer, Approval, Children, Decided, Diff, Explored, Notice, Output, Tool};

/// A call that has ended.
struct Ran {
    name: String,
    about: String,
    outcome: Outcome,
    took: Duration,
    shown: Shown,
}

/// Whoever waits this long may look elsewhere meanwhile.
const LONG: Duration = Duration::from_secs(10);

impl Room {
    /// Tells somebody who looks elsewhere.
    fn call(&self, words: &str) -> Vec<Effect> {
        match self.focused || !self.display.notifications {
            true => Vec::new(),
            false => vec![Effect::Bell, Effect::Notify(words.to_owned())],
        }
    }

    pub fn event(&mut self, event: AgentEvent, now: Instant) -> Vec<Effect> {
        if let (AgentEvent::Text(_) | AgentEvent::ToolStarted { .. }, Some(turn)) =
            (&event, &mut self.turn)
        {
            turn.retrying = None;
        }
        match event {
            AgentEvent::Opened(opened) => self.opened(&opened),
            AgentEvent::Yolo(now) => self.standing.yolo = now,
            AgentEvent::TookBack(text) => self.took_back(&text),
            AgentEvent::Cleared => {
                self.transcript.clear();
                return vec![Effect::Repaint];
            }
            AgentEvent::Model(info) => self.standing.model = Some(info),
            AgentEvent::TurnStarted => {
                self.turn.get_or_insert_with(|| Turn::new(now));
            }
            AgentEvent::Text(text) => self.text(&text),
            AgentEvent::Reasoning(text) => self.reasoning(&text),
            AgentEvent::Preparing(name) => {
                self.close_answer();
                if let Some(turn) = &mut self.turn {
                    turn.preparing = Some(name);
                }
            }
            AgentEvent::ToolStarted { id, name, about } => {
                self.close_answer();
                if let Some(turn) = &mut self.turn {
                    turn.started(id, name, about, now);
                }
            }
            AgentEvent::ToolProgress { id, text } => {
                if let Some(turn) = &mut self.turn {
                    turn.progress(&id, &text);
                }
            }
            AgentEvent::ToolFinished {
                id,
                name,
                outcome,
                about,
                took,
                shown,
            } => self.tool_finished(
                &id,
                Ran {
                    name,
                    about,
                    outcome,
                    took,
                    shown,
                },
                now,
            ),
            AgentEvent::Asked { id, question } => {
                self.close_answer();
                self.questions.add(id, question, now);
                return self.call("Hermes asks something");
            }
            AgentEvent::Answered { id } => {
                if let Some(asking) = self.questions.remove(id, now) {
                    self.unanswered(asking.question);
                }
            }
            AgentEvent::Retrying(retrying) => {
                if let Some(turn) = &mut self.turn {
                    turn.retrying = Some(retrying);
                }
            }
            AgentEvent::Switched(switched) => self.switched(&switched),
            AgentEvent::Compacting { messages, tokens } => {
                self.close_answer();
                self.notice(format!(
                    "compacting the conversation: {messages} messages, about {tokens} tokens ..."
                ));
            }
            AgentEvent::Compacted(compacted) => self.compacted(&compacted),
            AgentEvent::Child(child) => {
                if let Some(turn) = &mut self.turn {
                    turn.child(&child, now);
                }
            }
            AgentEvent::Background(task) => return self.background(&task),
            AgentEvent::Usage { usage, usd } => {
                self.standing.used = Some(usage.prompt() + usage.output);
                if let Some(usd) = usd {
                    *self.standing.usd.get_or_insert(0.0) += usd;
                }
            }
            AgentEvent::Notice(text) => {
                self.close_answer();
                self.notice(text);
            }
            AgentEvent::TurnEnded(end) => return self.turn_ended(&end, now),
        }
        Vec::new()
    }

    fn opened(&mut self, opened: &Opened) {
        let first = self.standing.session.is_none();
        let other = self.standing.session.as_ref() != Some(&opened.session);
        self.standing.session = Some(opened.session.clone());
        self.standing.title.clone_from(&opened.title);
        self.standing.model = Some(opened.model.clone());
        if !first && other {
            self.standing.used = None;
            self.standing.usd = None;
            self.standing.compactions = 0;
        }
        if !opened.earlier.is_empty() {
            self.add(recap::of(opened, self.display.recap));
        }
    }

    fn text(&mut self, text: &str) {
        self.close_reasoning();
        let style = self.style;
        let Some(turn) = &mut self.turn else {
            return;
        };
        turn.preparing = None;
        let format = self.display.clock.as_ref();
        let frame = || Frame {
            label: None,
            clock: format.map(|format| clock::now().strftime(format).to_string()),
        };
        turn.answering(style, frame).stream.push(text);
        self.settle();
    }

    fn reasoning(&mut self, text: &str) {
        let Some(turn) = &mut self.turn else {
            return;
        };
        // Once the answer stands there, thinking goes on behind it.
        if !self.display.reasoning || turn.answer.is_some() {
            return;
        }
        turn.reasoning.get_or_insert_default().text.push_str(text);
        self.settle();
    }

    /// Rows that can no longer change go up.
    fn settle(&mut self) {
        if !self.display.streaming {
            return;
        }
        if let Some(turn) = &mut self.turn {
            let rows = turn.settle(self.size.width, &self.look);
            if rows.is_empty() {
                return;
            }
            self.close_group();
            self.pace.settled(rows.len());
            self.transcript.show(rows);
        }
    }

    /// Something that grew is complete.
    fn closed(&mut self, closed: Option<Closed>) {
        if let Some((rows, cell)) = closed {
            self.close_group();
            self.pace.close();
            self.transcript.show(rows);
            self.transcript.keep(cell);
        }
    }

    /// What was being said is complete.
    pub fn close_answer(&mut self) {
        self.close_reasoning();
        let Some(turn) = &mut self.turn else {
            return;
        };
        let closed = turn.close_answer(self.size.width, &self.look, self.style);
        self.closed(closed);
    }

    fn close_reasoning(&mut self) {
        let Some(turn) = &mut self.turn else {
            return;
        };
        let closed = turn.close_reasoning(self.size.width, &self.look);
        self.closed(closed);
    }

    fn tool_finished(&mut self, id: &str, ran: Ran, now: Instant) {
        let Some(turn) = &mut self.turn else {
            return;
        };
        let (running, children) = turn.finished(id);
        let again = turn.last_tool == ran.name;
        turn.last_tool.clone_from(&ran.name);
        let wanted = match self.display.progress {
            Progress::Off => false,
            Progress::New => !again || ran.outcome != Outcome::Done,
            Progress::All | Progress::Verbose => true,
        };
        let listed = self.lists(&ran);
        if wanted && !listed {
            self.tell(&ran, running, tree(&children, now));
        }
        let Ran { outcome, shown, .. } = ran;
        if self.display.diffs && outcome == Outcome::Done && !shown.diff.is_empty() {
            self.add(Diff::parse(&shown.diff, &self.dir));
        }
    }

    /// Whether a call is told by the list of what is to be done, which is changed in its place.
    fn lists(&mut self, ran: &Ran) -> bool {
        let there = self.turn.as_ref().is_some_and(|turn| turn.plan.is_some());
        let is_plan = ran.name == "todo" && (there || !ran.shown.plan.is_empty());
        let shown = is_plan && ran.outcome == Outcome::Done;
        if shown && self.display.progress != Progress::Off {
            self.planned(ran.shown.plan.clone());
        }
        shown && self.display.progress != Progress::Verbose
    }

    /// A call and what it started, as finished rows; what only looked at something waits for more of its kind.
    fn tell(&mut self, ran: &Ran, running: Option<Running>, tasks: Vec<Task>) {
        let output = running.as_ref().map(|tool| tool.output.join("\n"));
        let ended = Ended {
            exit: ran.shown.code,
            ..Ended::new(ran.outcome, ran.took)
        };
        let call = Tool {
            name: ran.name.clone(),
            // What it was about before the result is known is shorter and says what was wanted.
            about: running.map_or(ran.about.clone(), |Running { about, .. }| about),
            state: State::Ended(ended),
            preview: self.display.preview,
        };
        let looked = ran.outcome == Outcome::Done && Explored::takes(&ran.name);
        if looked && self.display.progress == Progress::All {
            return self.explored(call);
        }
        self.add(call);
        if !tasks.is_empty() {
            self.add(Children { tasks });
        }
        let output = output.filter(|output| !output.is_empty());
        if let (Progress::Verbose, Some(text)) = (self.display.progress, output) {
            self.add(Output { text });
        }
    }

    /// Another model answers.
    fn switched(&mut self, switched: &Switched) {
        if let Some(model) = &mut self.standing.model {
            let name = switched.to.split(" (").next().unwrap_or(&switched.to);
            name.clone_into(&mut model.model);
        }
        self.warn(format!(
            "{}: {}; {} answers from here on",
            switched.from, switched.reason, switched.to
        ));
    }

    fn compacted(&mut self, compacted: &Compacted) {
        self.standing.compactions += 1;
        self.standing.used = Some(compacted.tokens.1);
        if let Some(session) = &compacted.session {
            self.standing.session = Some(session.clone());
        }
        let ((from, to), (before, after)) = (compacted.messages, compacted.tokens);
        let note = compacted.note.as_ref();
        let note = note.map(|note| format!(" ({note})")).unwrap_or_default();
        self.notice(format!(
            "compacted: {from} → {to} messages, about {before} → {after} tokens{note}"
        ));
    }

    fn background(&mut self, task: &Background) -> Vec<Effect> {
        match &*task.event {
            AgentEvent::TurnStarted => {
                self.standing.background.insert(task.number);
            }
            AgentEvent::TurnEnded(end) => {
                self.standing.background.remove(&task.number);
                self.close_answer();
                self.task_ended(task, end);
                return self.call("a background task is done");
            }
            _ => {}
        }
        Vec::new()
    }

    fn task_ended(&mut self, task: &Background, end: &TurnEnd) {
        let number = task.number;
        if end.answered() {
            let label = format!("⚕ Hermes (background #{number})");
            let frame = Frame {
                label: Some(label),
                clock: None,
            };
            let (text, style) = (end.text.clone(), self.style);
            return self.add(Answer { text, style, frame });
        }
        let why = end.error.as_deref().unwrap_or("stopped");
        self.warn(format!("background #{number} ({}): {why}", task.goal));
    }

    /// Nobody answered in time, or the turn ended before.
    fn unanswered(&mut self, question: Question) {
        if let Question::Approve { command, .. } = question {
            let decided = Decided::TimedOut;
            self.add(Approval { command, decided });
        }
    }

    fn turn_ended(&mut self, end: &TurnEnd, now: Instant) -> Vec<Effect> {
        self.close_answer();
        self.close_group();
        self.close_plan();
        let turn = self.turn.take();
        let lasted = turn.map(|turn| now - turn.began);
        self.standing.last_turn = lasted;
        self.interrupted = None;
        if end.interrupted {
            self.warn("interrupted");
        }
        if let Some(error) = &end.error {
            self.add(Notice::bad(error));
        }
        if let Some(text) = end.pending_steer.as_ref().filter(|_| !end.interrupted) {
            // The session takes it up by itself.
            self.add_said(text);
            self.turn = Some(Turn::new(now));
            return Vec::new();
        }
        let mut effects = self.next_in_queue(now);
        if self.display.bell {
            effects.push(Effect::Bell);
        }
        if lasted.is_some_and(|lasted| lasted > LONG) {
            effects.extend(self.call("Hermes has answered"));
        }
        effects
    }
}
