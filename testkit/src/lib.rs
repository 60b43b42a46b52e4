//! What tests of any crate need: a throw-away home, the program run as a user runs it, a terminal to
//! run it in, and a network that misbehaves on demand. Dev only.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test helper fails by panicking, and starts programs with an environment of its own"
)]

mod alone;
mod cmd;
pub mod doubles;
mod exit;
mod home;
mod logins;
mod proxy;
mod pty;

pub use alone::is_alone;
pub use cmd::{Cmd, Output};
pub use exit::Exit;
pub use home::TempHome;
pub use logins::{LoginServer, Visit};
pub use nix::sys::signal::Signal;
pub use proxy::{Fault, FaultProxy};
pub use pty::Pty;
