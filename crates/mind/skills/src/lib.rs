//! What Hermes learns. Skills: instructions for kinds of tasks, found, shown, changed and guarded. Memory: notes that
//! every session begins with. A journal of how all of it came about. And a curator that tidies up.

pub mod bundled;
mod choice;
pub mod curator;
mod error;
mod file;
mod find;
pub mod format;
pub mod guard;
mod index;
pub mod journal;
mod manage;
pub mod memory;
mod provenance;
mod resolve;
mod service;
pub mod slash;
mod template;
mod tools;
pub mod usage;
mod view;

pub use choice::{Scope, Switch, set_disabled, switch};
pub use error::{Error, Result};
pub use find::{Found, Library, Place, Shelf, Skill, disabled};
pub use index::Offer;
pub use manage::{Change, Changed, Origin, Refused};
pub use provenance::{Listed, Source};
pub use resolve::Missing;
pub use service::{Grant, Passing, Skills};
pub use template::RunInline;
pub use tools::{SkillManage, SkillView, SkillsList, skill_tools};
pub use view::View;
