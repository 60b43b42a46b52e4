//! The terminal itself: its modes, the live region, scrollback and overlays.
//!
//! [`Terminal`] switches the terminal to what a screen needs, and back. [`Screen`] draws on its normal screen:
//! finished rows once into the scrollback, and below them the few rows that live. [`Overlay`] covers everything
//! for a while; [`Pager`] is what is in it when there is much to read.

#[cfg(test)]
mod glass;
mod gone;
mod ink;
mod inline;
mod osc;
mod overlay;
mod pager;
mod restore;
mod terminal;
mod tty;

pub use gone::Gone;
pub use inline::{HISTORY_ROWS, Screen, Scrollback};
pub use overlay::Overlay;
pub use pager::{Pager, Pressed};
pub use ratatui::layout::{Position, Size};
pub use restore::restore_now;
pub use terminal::{Keyboard, Terminal};
pub use tty::Tty;

/// The terminal shows what follows at once, when it has all of it; terminals that don't know this ignore it.
const BEGIN: &str = "\x1b[?2026h\x1b[?25l\x1b[?7l";
const END: &str = "\x1b[?7h\x1b[?2026l";
const SHOW_CURSOR: &str = "\x1b[?25h";
