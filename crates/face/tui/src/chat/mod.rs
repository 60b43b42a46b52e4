//! The conversation on the screen: what happens becomes rows, keys become input.
//!
//! [`Room`](room::Room) decides and touches nothing: events and keys change it, and what it wants done comes back
//! as [`Effect`](effect::Effect)s. [`run`] waits, acts and draws.

mod act;
mod ask;
mod background;
mod clipboard;
mod commands;
mod display;
mod effect;
mod events;
mod found;
mod group;
mod growing;
mod keys;
mod live;
mod outside;
mod over;
mod pace;
mod picture;
mod queue;
mod recap;
mod room;
mod run;
mod start;
mod submit;
mod transcript;
mod turn;
mod world;

pub use picture::message;
pub use run::{Error, run};
pub use submit::{BUSY_TIP, busy_tip};
pub use world::{Jobs, Joined, Left, Lists, Pickable, World};

#[cfg(test)]
mod tests;
