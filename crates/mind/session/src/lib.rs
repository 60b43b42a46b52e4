//! A live conversation: takes input, runs turns one after another, asks the owner, keeps everything.

mod actor;
mod ask;
mod clarify;
mod command;
mod feed;
mod journal;
mod prompt;
mod recall;
mod rules;
pub mod slash;
mod title;
pub mod toolsets;

pub use actor::{Busy, Input, Live, Opening, Session, Switch, Titles, Which};
pub use ask::Asking;
pub use clarify::Clarify;
pub use feed::Feed;
pub use prompt::{Surroundings, system_prompt};
pub use recall::SessionSearch;
