//! `auth.json`: keys and logins, shared with the Python program and with other processes of ours.
//!
//! What is there is read by [`AuthFile`], understood by [`Credential`], and completed by [`Seed`]s: keys that lie
//! somewhere else (variables, settings) and are never copied into the file.

mod claims;
mod codex;
mod cooldown;
mod desk;
mod endpoints;
mod entry;
mod error;
mod file;
mod login;
mod nous;
mod openrouter;
mod renew;
mod seed;
mod web;

pub(crate) use claims::chatgpt_account;
pub(crate) use cooldown::{Spent, reset_in};
pub use desk::{KeyOptions, Listed, PoolDesk, PoolList, Removed};
pub(crate) use endpoints::Endpoints;
pub(crate) use entry::Credential;
pub use entry::{Condition, Kind};
pub use error::AuthError;
pub(crate) use file::{AuthFile, Document, Stamp};
pub use login::{LoginOptions, LoginPage, LoginUi, LoginWay, log_in, login_way};
pub(crate) use renew::{is_alive, is_renewable, needs_renewal, renew};
pub(crate) use seed::{LOGIN_FIELDS, Seed, is_subscription, merge};
pub(crate) use web::Web;
