//! The file tools on a real directory.

mod desk;
mod local;
mod patch;
mod read;
mod search;
mod specs;
mod write;
