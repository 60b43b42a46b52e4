//! A live conversation: takes input, runs turns one after another, asks the owner, keeps everything.

mod actor;
mod ask;
mod begin;
mod clarify;
mod command;
mod compaction;
mod compress;
mod context;
mod delegate;
mod feed;
mod insights;
mod jobs;
mod journal;
mod personality;
mod prompt;
mod recall;
mod rules;
mod servers;
pub mod slash;
mod spending;
mod title;
pub mod toolsets;
mod usage;

pub use actor::{Busy, Input, Live, Opening, Session, Switch, Switched, Titles, ToolSource, Which};
pub use ask::Asking;
pub use clarify::Clarify;
pub use compaction::compaction;
pub use delegate::{ChildHands, ChildServices, Delegate, Delegation, MakeHands, Timing};
pub use feed::Feed;
pub use insights::{Line, Section};
pub use jobs::StopJobs;
pub use personality::Personalities;
pub use prompt::{OwnCheckout, Surroundings, system_prompt};
pub use recall::SessionSearch;
pub use servers::{Asking as ReloadAsking, ToolServers};
pub use spending::Spending;
