//! The running turn: what is still growing and may look different in the next moment.

use std::time::{Duration, Instant};

use hermes_types::{AgentEvent, Child, Retrying};

use crate::cells::answer::Frame;
use crate::cells::children::{Last, State, Task};
use crate::cells::{Explored, Todo};
use crate::markdown::{Stream, Style};

/// Lines of a running tool's output that are in sight.
const OUTPUT: usize = 5;

#[derive(Debug)]
pub struct Turn {
    pub began: Instant,
    pub answer: Option<Answer>,
    pub reasoning: Option<Reasoning>,
    /// The tool whose call the model is writing.
    pub preparing: Option<String>,
    pub tools: Vec<Running>,
    pub children: Vec<ChildLine>,
    pub retrying: Option<Retrying>,
    /// The owner has interrupted it; it is ending.
    pub stopping: bool,
    /// The tool the last line was about.
    pub last_tool: String,
    /// Calls that are shown together, as long as nothing else comes between them.
    pub explored: Explored,
    /// What is to be done.
    pub plan: Option<Todo>,
}

/// An answer as far as it has come.
#[derive(Debug)]
pub struct Answer {
    pub stream: Stream,
    pub frame: Frame,
    /// Its frame is on the screen.
    pub begun: bool,
}

/// Thinking as far as it has come.
#[derive(Debug, Default)]
pub struct Reasoning {
    pub text: String,
    pub begun: bool,
    /// Bytes of it whose rows are on the screen.
    pub shown: usize,
}

#[derive(Debug)]
pub struct Running {
    pub id: String,
    pub name: String,
    pub about: String,
    pub began: Instant,
    /// The last of what it printed.
    pub output: Vec<String>,
}

/// A conversation that a call started.
#[derive(Debug)]
pub struct ChildLine {
    pub call: String,
    /// Its place among the call's tasks, and below a child its own.
    pub path: Vec<usize>,
    pub goal: String,
    /// The last tool it used, and what for; or what else there is to say.
    pub doing: (String, String),
    pub began: Instant,
    /// How long it took, once it is over, and how it ended.
    pub over: Option<(Duration, State)>,
}

impl Answer {
    pub fn new(style: Style, frame: Frame) -> Self {
        Self {
            stream: Stream::new(style),
            frame,
            begun: false,
        }
    }
}

impl Turn {
    pub fn new(now: Instant) -> Self {
        Self {
            began: now,
            answer: None,
            reasoning: None,
            preparing: None,
            tools: Vec::new(),
            children: Vec::new(),
            retrying: None,
            stopping: false,
            last_tool: String::new(),
            explored: Explored::default(),
            plan: None,
        }
    }

    /// The answer that grows, begun if there is none.
    pub fn answering(&mut self, style: Style, frame: impl FnOnce() -> Frame) -> &mut Answer {
        self.answer
            .get_or_insert_with(|| Answer::new(style, frame()))
    }

    pub fn started(&mut self, id: String, name: String, about: String, now: Instant) {
        self.preparing = None;
        self.tools.push(Running {
            id,
            name,
            about,
            began: now,
            output: Vec::new(),
        });
    }

    pub fn progress(&mut self, id: &str, text: &str) {
        if let Some(tool) = self.tools.iter_mut().find(|tool| tool.id == id) {
            let lines: Vec<&str> = text.lines().collect();
            let from = lines.len().saturating_sub(OUTPUT);
            tool.output = lines[from..].iter().map(|&line| line.to_owned()).collect();
        }
    }

    /// Takes a tool away that has finished, with its children.
    pub fn finished(&mut self, id: &str) -> (Option<Running>, Vec<ChildLine>) {
        let place = self.tools.iter().position(|tool| tool.id == id);
        let tool = place.map(|place| self.tools.remove(place));
        let (gone, stay) = std::mem::take(&mut self.children)
            .into_iter()
            .partition(|child| child.call == id);
        self.children = stay;
        (tool, gone)
    }

    pub fn child(&mut self, child: &Child, now: Instant) {
        let (path, goal, event) = innermost(child);
        let known = self
            .children
            .iter()
            .position(|line| line.call == child.call_id && line.path == path);
        let place = known.unwrap_or_else(|| {
            self.children.push(ChildLine {
                call: child.call_id.clone(),
                path,
                goal: goal.to_owned(),
                doing: Default::default(),
                began: now,
                over: None,
            });
            self.children.len() - 1
        });
        self.children[place].hear(event, now);
    }
}

impl ChildLine {
    fn hear(&mut self, event: &AgentEvent, now: Instant) {
        let says = |text: &str| (String::new(), text.to_owned());
        match event {
            AgentEvent::ToolStarted { name, about, .. } => {
                self.doing = (name.clone(), about.clone());
            }
            AgentEvent::Retrying(retrying) => self.doing = says(&retrying.reason),
            AgentEvent::Notice(text) => self.doing = says(text),
            AgentEvent::TurnEnded(end) => {
                let state = match (end.answered(), &end.error) {
                    (true, _) => State::Done,
                    (false, Some(_)) => State::Failed,
                    (false, None) => State::Stopped,
                };
                self.over = Some((now - self.began, state));
                if let Some(error) = &end.error {
                    self.doing = says(error);
                }
            }
            _ => {}
        }
    }

    fn task(&self, now: Instant) -> Task {
        let (elapsed, state) = self.over.unwrap_or((now - self.began, State::Running));
        let (tool, about) = self.doing.clone();
        let last = (!tool.is_empty() || !about.is_empty()).then_some(Last { tool, about });
        Task {
            index: self.path.last().copied().unwrap_or(0),
            goal: self.goal.clone(),
            last,
            elapsed,
            state,
            children: Vec::new(),
        }
    }
}

/// Lines as a tree: children of a child below it.
pub fn tree(lines: &[ChildLine], now: Instant) -> Vec<Task> {
    below(lines, &[], now)
}

fn below(lines: &[ChildLine], path: &[usize], now: Instant) -> Vec<Task> {
    let children = lines
        .iter()
        .filter(|line| line.path.len() == path.len() + 1 && line.path.starts_with(path));
    children
        .map(|line| Task {
            children: below(lines, &line.path, now),
            ..line.task(now)
        })
        .collect()
}

/// The conversation an event is about, which may be a child's child.
fn innermost(child: &Child) -> (Vec<usize>, &str, &AgentEvent) {
    let mut path = vec![child.index];
    let mut current = child;
    while let AgentEvent::Child(inner) = &*current.event {
        path.push(inner.index);
        current = inner;
    }
    (path, &current.goal, &current.event)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn a_childs_child_has_a_line_of_its_own() {
        let now = Instant::now();
        let child = |index, goal: &str, event| Child {
            call_id: "call".to_owned(),
            index,
            goal: goal.to_owned(),
            event: Box::new(event),
        };
        let mut turn = Turn::new(now);
        turn.child(&child(0, "outer", AgentEvent::TurnStarted), now);
        let inner = child(1, "inner", AgentEvent::Notice("busy".to_owned()));
        turn.child(&child(0, "outer", AgentEvent::Child(inner)), now);
        let tasks = tree(&turn.children, now);
        let [outer] = tasks.as_slice() else {
            panic!("{tasks:?}");
        };
        assert_eq!((outer.goal.as_str(), outer.children.len()), ("outer", 1));
        let last = outer.children[0]
            .last
            .as_ref()
            .map(|last| last.about.as_str());
        assert_eq!(last, Some("busy"));
    }
}
