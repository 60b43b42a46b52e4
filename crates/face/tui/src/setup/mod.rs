//! What is asked before Hermes can work, and where the answers are written.
//!
//! Every answer is written as soon as it is given, and only if it is another one than before: who leaves in the
//! middle keeps what was answered, and Enter changes nothing.

mod agent;
mod auxiliary;
mod choice;
mod credentials;
mod endpoint;
mod error;
mod keys;
mod market;
mod model;
mod own;
mod pen;
mod place;
mod reconfigure;
mod summary;
mod tools;
mod wizard;

#[cfg(test)]
mod tests;

use crate::pick::{Desk, Item, List, Outcome, Widget};

pub use error::Error;
pub use market::{Endpoint, Login, Main, Market, Model, Offered, Provider};
pub use model::{Chosen, choose_model};
pub use pen::Pen;
pub use tools::{Inventory, choose_tools, platforms};
pub use wizard::{Finish, GUIDANCE, Plan, SECTIONS, Section, Wizard};

/// What most questions here come to.
pub type Result<T> = std::result::Result<T, Error>;

/// The answer; `None` if it was left open.
fn ask<W: Widget>(desk: &Desk, widget: W) -> Result<Option<W::Answer>> {
    match desk.ask(widget)? {
        Outcome::Chosen(answer) | Outcome::Key(_, answer) => Ok(Some(answer)),
        Outcome::Cancelled => Ok(None),
        Outcome::Interrupted => Err(Error::Interrupted),
    }
}

/// Yes or no; the first of the two is where the cursor begins. Leaving is no.
fn confirm(desk: &Desk, question: &str, note: &str, begins: Begins) -> Result<bool> {
    let item = |value: bool, label: &str, letter: char| Item::new(value, label).letter(letter);
    let (yes, no) = (item(true, "Yes", 'y'), item(false, "No", 'n'));
    let items = match begins {
        Begins::Yes => vec![yes, no],
        Begins::No => vec![no, yes],
    };
    Ok(ask(desk, List::new(question, items).note(note))?.unwrap_or(false))
}

/// What Enter alone means.
#[derive(Clone, Copy)]
enum Begins {
    Yes,
    No,
}
