//! References to real files, repositories and pages, and what is found while typing.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod bench;
mod expanding;
mod finding;
mod pages;
mod repository;
