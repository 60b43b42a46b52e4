//! `config.yaml`: the owner's document, and the settings it amounts to.
//!
//! The two are different types on purpose. [`Document`] is the text as written; only it is ever saved.
//! [`Settings`] is that text laid over the defaults with `${VAR}` filled in; it is never written anywhere,
//! so no secret can leak from the environment into the file.

mod assign;
mod check;
mod defaults;
mod document;
mod migrate;
mod settings;

pub use assign::{Assigned, assign, unassign};
pub use check::{Problem, problems, unknown_keys};
pub use defaults::{Kind, defaults, kind_of, knows};
pub use document::Document;
pub use migrate::{CURRENT_VERSION, Migration, migrate, version};
pub use settings::Settings;
