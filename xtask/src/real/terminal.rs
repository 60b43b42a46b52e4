//! The chat on a terminal with what no test can make up: a disk that is full, a desktop with a clipboard.

use std::process::Command;

use anyhow::Result;

use super::Checks;
use super::sandbox::{install, tested};
use crate::command;

/// What is tested, its tests, and a command that shows whether this machine allows it.
const ALLOWED: [(&str, &str, &[&str]); 2] = [
    (
        "chat on a full disk",
        "screen::disk::a_full_disk",
        &["unshare", "--user", "--map-root-user", "--mount", "true"],
    ),
    (
        "chat with a home that becomes read-only",
        "screen::disk::a_home_that",
        &["setpriv", "--reuid=65534", "--clear-groups", "true"],
    ),
];
/// Programs and the packages they are in.
const DESKTOP: [(&str, &str); 2] = [("Xvfb", "xvfb"), ("xclip", "xclip")];

pub fn run(checks: &mut Checks) -> Result<()> {
    for (what, tests, probe) in ALLOWED {
        match command::stdout(Command::new(probe[0]).args(&probe[1..])) {
            Ok(_) => checks.note(what, tested(tests, 1)),
            Err(reason) => checks.excuse(what, &format!("{reason:#}")),
        }
    }
    let installed = DESKTOP
        .into_iter()
        .try_for_each(|(program, package)| install(program, package));
    let clipboard = installed.and_then(|()| tested("screen::clipboard::", 2));
    checks.note("clipboard of a desktop", clipboard);
    Ok(())
}
