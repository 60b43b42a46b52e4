//! The store as its callers see it, on real files.
#![allow(clippy::unwrap_used)] // clippy excuses tests, but not the functions they share

mod chains;
mod compact;
mod concurrency;
mod damage;
mod delete;
mod export;
mod fixtures;
mod gateway;
mod insights;
mod messages;
mod open;
mod readonly;
mod search;
mod spending;
mod support;
mod titles;
