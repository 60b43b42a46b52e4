//! Hermes on a screen: a chat that writes what is finished once into the terminal's own scrollback and redraws
//! only the few rows that live, and the lists and forms of the interactive commands.

pub mod browse;
pub mod cells;
pub mod chat;
pub mod input;
pub mod look;
pub mod markdown;
pub mod menu;
pub mod pick;
pub mod screen;
pub mod setup;
pub mod text;

/// One row of a screen, with its colours. Never wider than what it was made for, never a control character.
pub type Row = ratatui::text::Line<'static>;
