//! Commands that change how a session works: how hard it thinks, what it does with input while a turn runs, and
//! whether it asks.

use std::sync::Arc;

use hermes_home::config::Document;
use hermes_home::{Home, yaml};
use hermes_types::{AgentEvent, Effort, Message, Speed};
use serde_json::{Value, json};

use crate::actor::{Busy, Live};
use crate::command::Then;
use crate::lose::Losing;
use crate::references::Said;

/// What `/yolo` turns, and where choices are written down.
pub struct Controls {
    pub home: Home,
    pub yolo: Yolo,
    pub losing: Losing,
}

/// Says whether dangerous commands run unasked from here on, after changing it.
pub type Yolo = Arc<dyn Fn() -> bool + Send + Sync>;

const LEVELS: [&str; 6] = ["none", "minimal", "low", "medium", "high", "xhigh"];

impl Live {
    /// With what the owner can change while it runs.
    #[must_use]
    pub fn with_controls(mut self, controls: Controls) -> Self {
        self.controls = Some(controls);
        self
    }

    /// `/reasoning LEVEL`
    pub(crate) async fn change_effort(&mut self, level: &str) -> String {
        let level = level.to_lowercase();
        if level.is_empty() {
            let now = format!("{:?}", self.opening.limits.effort).to_lowercase();
            return format!(
                "reasoning: {now} (/reasoning {} changes it)",
                LEVELS.join("|")
            );
        }
        if matches!(level.as_str(), "show" | "hide" | "on" | "off") {
            return format!("/reasoning {level} needs a screen");
        }
        if !LEVELS.contains(&level.as_str()) {
            return format!("there is no level '{level}': {}", LEVELS.join(", "));
        }
        self.opening.limits.effort = Effort::from(level.as_str());
        let unsaved = self.keep("agent.reasoning_effort", json!(level)).await;
        format!("reasoning: {level}{unsaved}")
    }

    /// `/fast SPEED`
    pub(crate) async fn change_speed(&mut self, word: &str) -> String {
        let (speed, kept) = match word.to_lowercase().as_str() {
            "" | "status" => return self.speed(),
            "fast" | "on" if !self.opening.model.can_hurry() => {
                return format!("{}; nothing was changed", self.speed());
            }
            "fast" | "on" => (Speed::Fast, "fast"),
            "normal" | "off" => (Speed::Normal, "normal"),
            other => return format!("/fast takes fast, normal or status, not '{other}'"),
        };
        self.opening.limits.speed = speed;
        let unsaved = self.keep("agent.service_tier", json!(kept)).await;
        format!("{}{unsaved}", self.speed())
    }

    fn speed(&self) -> String {
        let info = self.opening.model.info();
        match (self.opening.model.can_hurry(), self.opening.limits.speed) {
            (true, Speed::Fast) => "speed: fast; answers come before others and cost more",
            (true, Speed::AsSet | Speed::Normal) => "speed: normal",
            (false, _) => {
                let (model, provider) = (&info.model, &info.provider);
                return format!("speed: normal; {model} ({provider}) has no other");
            }
        }
        .to_owned()
    }

    /// `/busy MODE`
    pub(crate) async fn change_busy(&mut self, mode: &str) -> String {
        let mode = match mode.to_lowercase().as_str() {
            "" | "status" => return format!("while a turn runs: {}", self.opening.busy.word()),
            word => match Busy::read(word) {
                Some(mode) => mode,
                None => {
                    return format!("/busy takes interrupt, queue or steer, not '{word}'");
                }
            },
        };
        self.opening.busy = mode;
        let unsaved = self
            .keep("display.busy_input_mode", json!(mode.word()))
            .await;
        format!("while a turn runs: {}{unsaved}", mode.word())
    }

    /// `/yolo`
    pub(crate) fn turn_yolo(&self) -> String {
        let yolo = self.controls.as_ref().map(|controls| (controls.yolo)());
        if let Some(now) = yolo {
            self.events.send(AgentEvent::Yolo(now));
        }
        match yolo {
            Some(true) => {
                "yolo: dangerous commands run without asking (what is never allowed still isn't)"
            }
            Some(false) => "yolo is off: dangerous commands are asked about",
            None => "nobody is asked here",
        }
        .to_owned()
    }

    /// `/queue TEXT` and `/steer TEXT` while nothing runs: an ordinary prompt.
    pub(crate) fn say_now(&self, command: &str, text: &str) -> Then {
        if text.is_empty() {
            self.notice(format!("/{command} needs something to say"));
            return Then::Wait;
        }
        Then::Ask(Said::typed(Message::user(text)))
    }

    /// The same while a turn runs.
    pub(crate) fn say_later(&mut self, command: &str, text: &str) -> String {
        match (command, text) {
            (_, "") => format!("/{command} needs something to say"),
            ("steer", text) => {
                self.steer(text);
                format!("⏩ Steered: '{text}'")
            }
            (_, text) => {
                self.waiting.push_back(Said::typed(Message::user(text)));
                format!("queued ({} waiting)", self.waiting.len())
            }
        }
    }

    /// Writes a choice down; says why not.
    pub(crate) async fn keep(&self, key: &'static str, value: Value) -> String {
        let Some(controls) = &self.controls else {
            return String::new();
        };
        let home = controls.home.clone();
        let write = move || -> hermes_home::Result<()> {
            home.writable()?;
            let path = yaml::Path::parse(key)?;
            Document::edit(&home, |document| document.set(&path, &value))
        };
        // The file may be locked for a moment: no task waits for that.
        match tokio::task::spawn_blocking(write).await {
            Ok(Ok(())) => String::new(),
            Ok(Err(error)) => format!("; only for now: {error}"),
            Err(error) => format!("; only for now: {error}"),
        }
    }
}

impl Busy {
    pub fn read(word: &str) -> Option<Self> {
        match word {
            "interrupt" => Some(Self::Interrupt),
            "queue" => Some(Self::Queue),
            "steer" => Some(Self::Steer),
            _ => None,
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Self::Interrupt => "interrupt",
            Self::Queue => "queue",
            Self::Steer => "steer",
        }
    }
}

impl std::fmt::Debug for Controls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Controls")
    }
}
