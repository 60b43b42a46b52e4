//! Where a person is asked: on a screen, or line by line where there is none.

use std::fmt;
use std::io::{self, BufRead, IsTerminal, Write};

use hermes_home::Env;

use super::terminal::{Unseen, is_there};
use super::{Outcome, Widget, on_terminal};
use crate::look::Look;

/// A person at a terminal.
#[derive(Debug)]
pub struct Desk {
    look: Look,
    way: Way,
}

enum Way {
    /// With what is known about the terminal.
    Screen(Box<Env>),
    Lines,
    #[cfg(test)]
    Keys(std::cell::RefCell<std::collections::VecDeque<crossterm::event::KeyEvent>>),
}

impl Desk {
    /// `None` if nobody is there to ask. A terminal that cannot be drawn on, or whose output goes elsewhere, gets
    /// numbered lines.
    pub fn find(env: &Env, look: Look) -> Option<Self> {
        if !io::stdin().is_terminal() {
            return None;
        }
        let is_dumb = env.filled("TERM").is_none_or(|term| term == "dumb");
        let way = match is_there() && !is_dumb {
            true => Way::Screen(Box::new(env.clone())),
            false => Way::Lines,
        };
        Some(Self { look, way })
    }

    /// Asks until there is an answer, or none.
    pub fn ask<W: Widget>(&self, widget: W) -> io::Result<Outcome<W::Answer>> {
        match &self.way {
            Way::Screen(env) => on_terminal(widget, env, &self.look),
            Way::Lines => by_lines(widget),
            #[cfg(test)]
            Way::Keys(keys) => by_keys(widget, &mut keys.borrow_mut()),
        }
    }

    /// Something to read between two questions.
    pub fn say(&self, text: &str) -> io::Result<()> {
        match &self.way {
            #[cfg(test)]
            Way::Keys(_) => Ok(()),
            _ => writeln!(io::stderr(), "{}", crate::text::harmless(text)),
        }
    }
}

impl fmt::Debug for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Screen(_) => "Screen",
            Self::Lines => "Lines",
            #[cfg(test)]
            Self::Keys(_) => "Keys",
        })
    }
}

fn by_lines<W: Widget>(mut widget: W) -> io::Result<Outcome<W::Answer>> {
    let unseen = match widget.is_secret() {
        true => Some(Unseen::begin()?),
        false => None,
    };
    let end = if unseen.is_some() { "\r\n" } else { "\n" };
    let mut question = widget.lines();
    loop {
        write!(io::stderr(), "{} ", question.join(end))?;
        let line = match &unseen {
            Some(unseen) => {
                let line = unseen.line();
                write!(io::stderr(), "{end}")?;
                line
            }
            None => seen_line(),
        };
        let line = match line {
            Ok(Some(line)) => line,
            Ok(None) => return Ok(Outcome::Cancelled),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                return Ok(Outcome::Interrupted);
            }
            Err(error) => return Err(error),
        };
        match widget.said(&line) {
            Ok(outcome) => return Ok(outcome),
            Err(problem) => question = vec![format!("{problem}:")],
        }
    }
}

/// `None` at the end of what is typed.
fn seen_line() -> io::Result<Option<String>> {
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line)?;
    Ok((read > 0).then_some(line))
}

#[cfg(test)]
fn by_keys<W: Widget>(
    mut widget: W,
    keys: &mut std::collections::VecDeque<crossterm::event::KeyEvent>,
) -> io::Result<Outcome<W::Answer>> {
    use super::Step;
    loop {
        let Some(key) = keys.pop_front() else {
            let screen = widget.rows(ratatui::layout::Size::new(80, 24), &Look::plain());
            let screen: Vec<String> = screen.iter().map(ToString::to_string).collect();
            panic!("no keys are left for:\n{}", screen.join("\n"));
        };
        if let Step::Done(outcome) = widget.key(key) {
            return Ok(outcome);
        }
    }
}

/// A person whose keys are known: letters as they are, `\n` Enter, `\u{1b}` Esc, `\t` down, `\u{3}` Ctrl+C.
#[cfg(test)]
impl Desk {
    pub(crate) fn with_keys(text: &str) -> Self {
        let keys = text.chars().map(super::tests::key).collect();
        Self {
            look: Look::plain(),
            way: Way::Keys(std::cell::RefCell::new(keys)),
        }
    }

    /// Whether everything was asked for.
    pub(crate) fn is_done(&self) -> bool {
        match &self.way {
            Way::Keys(keys) => keys.borrow().is_empty(),
            _ => true,
        }
    }
}
