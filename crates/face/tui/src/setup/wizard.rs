//! `hermes setup`: section by section, each saved as soon as it is answered.

use super::market::Market;
use super::tools::{self, Inventory};
use super::{
    Begins, Chosen, Pen, Result, agent, ask, choose_model, confirm, place, reconfigure, summary,
};
use crate::pick::{Desk, Item, List};

/// What can be set up by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    Model,
    Terminal,
    Agent,
    Tools,
}

/// Their names on the command line, in the order they are asked.
pub const SECTIONS: [(&str, Section); 4] = [
    ("model", Section::Model),
    ("terminal", Section::Terminal),
    ("agent", Section::Agent),
    ("tools", Section::Tools),
];

/// What to do where nobody can be asked.
pub const GUIDANCE: &str = "\
Setup asks questions, and there is no terminal to ask them on. The same by commands:
  hermes config set model.provider openrouter
  hermes config set model.default anthropic/claude-sonnet-4.5
  hermes config set OPENROUTER_API_KEY <key>      (or OPENAI_API_KEY, ANTHROPIC_API_KEY, …; kept in .env)
For a server of your own, with or without a key:
  hermes config set model.provider custom
  hermes config set model.base_url http://127.0.0.1:11434/v1
  hermes config set model.default <model>
Nothing was changed.";

/// How much is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// What fits: everything if something is set up already, else as the owner likes.
    Usual,
    /// Only what is missing.
    Quick,
    /// Everything, with what is set now as defaults.
    Full,
    Only(Section),
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    Done,
    /// Somebody wants to talk now.
    Chat,
}

/// Everything the wizard works with.
#[expect(missing_debug_implementations, reason = "a market is somebody else's")]
pub struct Wizard<'w, 'p> {
    pub desk: &'w Desk,
    pub pen: &'w mut Pen<'p>,
    pub market: &'w dyn Market,
    pub tools: &'w Inventory,
}

impl Wizard<'_, '_> {
    /// Asks what the plan says. On Ctrl+C what was answered stays; [`Wizard::copy`] tells the way back.
    pub fn run(&mut self, plan: Plan) -> Result<Finish> {
        let sections: &[Section] = match plan {
            Plan::Only(ref section) => std::slice::from_ref(section),
            Plan::Quick => &[],
            Plan::Full => &ALL,
            Plan::Usual if self.is_ready() => &ALL,
            Plan::Usual => match self.how_much()? {
                Some(sections) => sections,
                None => {
                    self.say(&["Nothing was changed.".to_owned()])?;
                    return Ok(Finish::Done);
                }
            },
        };
        if plan == Plan::Quick {
            self.missing()?;
        }
        for section in sections {
            self.section(*section)?;
        }
        if let Plan::Only(_) = plan {
            self.say(&summary::copy(self.pen))?;
            return Ok(Finish::Done);
        }
        self.say(&summary::lines(self.pen, self.market, self.tools))?;
        self.and_now()
    }

    /// Where the settings are as they were.
    pub fn copy(&self) -> Vec<String> {
        summary::copy(self.pen)
    }

    fn how_much(&self) -> Result<Option<&'static [Section]>> {
        let quick: &'static [Section] = &[Section::Model, Section::Terminal];
        let items = vec![
            Item::new(quick, "Quick")
                .about("a model and where commands run; good defaults for the rest"),
            Item::new(&ALL[..], "Full").about("everything, step by step"),
        ];
        let note = format!(
            "Settings go to {}, keys to .env beside it. Every answer is saved at once; Enter keeps what is set.",
            self.pen.home().config_path().display()
        );
        ask(
            self.desk,
            List::new("Welcome to Hermes. How do you want to set it up?", items).note(note),
        )
    }

    /// `--quick`: what is needed and not there.
    fn missing(&mut self) -> Result<()> {
        let changes = self.pen.migrate()?;
        let is_current = changes.is_empty();
        self.say(&changes)?;
        let mut is_complete = is_current && self.is_ready();
        if !self.is_ready() {
            self.section(Section::Model)?;
        }
        is_complete &= !reconfigure::missing(self.desk, self.pen, self.tools)?;
        match is_complete {
            true => self.say(&["Nothing is missing.".to_owned()]),
            false => Ok(()),
        }
    }

    fn section(&mut self, section: Section) -> Result<()> {
        match section {
            Section::Model => {
                let text = match choose_model(self.desk, self.pen, self.market)? {
                    Chosen::Model { provider, model } => format!("✓ model: {model} ({provider})"),
                    Chosen::Unchanged => "○ the model is left as it is".to_owned(),
                };
                self.say(&[text])
            }
            Section::Terminal => {
                place::section(self.desk, self.pen)?;
                self.say(&["✓ terminal".to_owned()])
            }
            Section::Agent => {
                agent::section(self.desk, self.pen)?;
                self.say(&["✓ agent".to_owned()])
            }
            Section::Tools => {
                tools::section(self.desk, self.pen, self.tools)?;
                self.say(&["✓ tools".to_owned()])
            }
        }
    }

    /// Whether a model could answer now.
    fn is_ready(&self) -> bool {
        self.market.main().is_some()
    }

    fn and_now(&self) -> Result<Finish> {
        if !self.is_ready() {
            return Ok(Finish::Done);
        }
        let wants = confirm(self.desk, "All set. Start talking now?", "", Begins::Yes)?;
        Ok(if wants { Finish::Chat } else { Finish::Done })
    }

    fn say(&self, lines: &[String]) -> Result<()> {
        for line in lines {
            self.desk.say(line)?;
        }
        Ok(())
    }
}

const ALL: [Section; 4] = [
    Section::Model,
    Section::Terminal,
    Section::Agent,
    Section::Tools,
];
