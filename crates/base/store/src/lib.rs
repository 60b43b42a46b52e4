//! `state.db`: sessions, their messages, full-text search and usage, in one SQLite file that the
//! Python program can open as well.
//!
//! [`Store`] is the handle: one writer thread per process behind a queue, a few reader connections,
//! and no SQL outside this crate. An append is answered after its commit. [`check`], [`repair`],
//! [`recover`] and [`copy_database`] work on files that need not be open.

mod backup;
mod chain;
mod check;
mod checkpoint;
mod codec;
mod compact;
mod connect;
mod damage;
mod delete;
mod error;
mod export;
mod gateway;
mod insights;
mod journal;
mod list;
mod merge;
mod messages;
mod once;
mod readers;
mod recover;
mod repair;
mod replay;
mod restore;
mod retry;
mod schema;
mod search;
mod sessions;
mod shape;
mod shares;
mod spending;
mod stats;
mod store;
mod time;
mod titles;
mod usage;
mod writer;

pub use backup::copy_database;
pub use check::check;
pub use codec::StoredMessage;
pub use compact::{Restored, Shortened};
pub use connect::{Mode, OpenOptions};
pub use delete::{Maintenance, MaintenanceReport, Prune, session_files};
pub use error::{Error, ErrorKind, Result};
pub use export::{Export, ExportSources};
pub use gateway::{GatewaySession, News, Said};
pub use insights::{
    Activity, Bill, Insights, InsightsQuery, ModelCount, Money, Notable, Overview, Platform,
    SkillCount, ToolCount,
};
pub use journal::Journal;
pub use list::{ListQuery, Listed, Order};
pub use recover::{Recovery, recover};
pub use repair::{Repair, Repaired, rebuild_search, repair};
pub use replay::Reach;
pub use restore::restore_database;
pub use search::{ContextLine, Hit, SearchOrder, SearchQuery};
pub use sessions::{NewSession, Session};
pub use shares::{Share, Tokens};
pub use spending::Account;
pub use stats::Stats;
pub use store::{Health, Store};
pub use titles::clean_title;
pub use usage::{Occasion, Usage};
