//! What is typed: an editor whose pastes are one piece each, what arrives without a keyboard, and what was
//! typed before.
//!
//! A key goes through [`Burst`] first, then to the menu, then to the [`Editor`]; what comes back from there is
//! the chat's, with the arrows for the [`History`]. A paste goes to [`dropped`] and then to [`Pastes`], which
//! must also [`revive`](Pastes::revive) what stands in the editor before that is emptied to be sent.
//!
//! Everything here is a state that is told what happened and when; only the history and the copies of pastes
//! touch the disk.

mod acts;
mod buffer;
mod burst;
mod draw;
mod dropped;
mod editor;
mod history;
mod keys;
mod kills;
mod motion;
mod paste;
mod reply;
mod rows;
mod token;
mod undo;
mod vi;

pub use burst::{Burst, Fed, Timing};
pub use draw::Drawn;
pub use dropped::{Dropped, Ground, attached, dropped, leading};
pub use editor::{Draft, Editor, Pressed, Stash};
pub use history::{History, Search, Searched};
pub use keys::Keys;
pub use paste::{Gone, Limits, Pasted, Pastes, normal};
pub use reply::{Heard, Replies};
pub use token::Image;
