//! The owner's browser, where there is one to open a login page in.

use std::io::{self, IsTerminal};
use std::path::PathBuf;

use hermes_home::Env;
use hermes_proc::{Spawn, Stdin, Tty};

/// Whether this machine is not the one in front of its owner.
pub fn is_remote(env: &Env) -> bool {
    ["SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY"]
        .iter()
        .any(|name| env.filled(name).is_some())
}

/// Where somebody is likely to see it, and to have asked for it.
pub fn is_wanted(env: &Env) -> bool {
    let has_display = cfg!(target_os = "macos")
        || env.filled("DISPLAY").is_some()
        || env.filled("WAYLAND_DISPLAY").is_some();
    has_display && !is_remote(env) && io::stdin().is_terminal()
}

pub fn open(env: &Env, url: &str) {
    let program = match cfg!(target_os = "macos") {
        true => "open",
        false => "xdg-open",
    };
    let spawn = Spawn {
        program: PathBuf::from(program),
        args: vec![url.to_owned()],
        env: env
            .iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
        dir: env.user_home(),
        stdin: Stdin::Null,
        tty: Tty::None,
    };
    // Without one, the address is on the screen.
    if let Ok(mut browser) = spawn.start() {
        browser.release();
    }
}
