//! Where commands run: `terminal.*`.

use std::path::{Path, PathBuf};

use super::choice::Choice;
use super::{Pen, Result, ask};
use crate::pick::{Desk, Item, Line, List};

const SANDBOXES: [(&str, &str); 3] = [
    ("off", "commands may do what you may"),
    (
        "auto",
        "confined to the project where this machine can do that",
    ),
    ("strict", "confined, or not run at all"),
];

pub(super) fn section(desk: &Desk, pen: &mut Pen<'_>) -> Result<()> {
    let settings = pen.settings();
    backend(desk, pen, settings.text("terminal.backend"))?;
    let sandbox = Choice {
        key: "terminal.sandbox",
        title: "Should commands be confined?",
        note: "Bubblewrap or Landlock; `hermes doctor` says which of them works here.",
        values: &SANDBOXES,
    };
    sandbox.settle(desk, pen)?;
    let line = Line::new("Where do commands begin?")
        .note("A directory; . is wherever Hermes is started.")
        .default(settings.text("terminal.cwd"));
    // Where another machine has its directories, nobody here knows.
    let line = match pen.settings().text("terminal.backend") {
        "" | "local" => {
            let user_home = pen.env().user_home();
            line.check(move |text| is_directory(text, &user_home))
        }
        _ => line,
    };
    if let Some(dir) = ask(desk, line)? {
        pen.assign("terminal.cwd", &dir)?;
    }
    sudo(desk, pen)
}

/// Another program with this home may know other places; its choice is not taken away by passing through.
fn backend(desk: &Desk, pen: &mut Pen<'_>, now: &str) -> Result<()> {
    if matches!(now, "" | "local") {
        return Ok(());
    }
    let items = vec![
        Item::new(None, format!("Keep {now}")).current_if(true),
        Item::new(Some("local"), "local").about("on this machine"),
    ];
    let list = List::radio("Where should commands run?", items);
    if let Some(Some(backend)) = ask(desk, list)? {
        pen.assign("terminal.backend", backend)?;
    }
    Ok(())
}

/// Whether commands could begin there. What variables stand for is known only when they do.
fn is_directory(text: &str, user_home: &Path) -> std::result::Result<(), String> {
    if text.contains('$') || text.starts_with('.') {
        return Ok(());
    }
    let path = match text.strip_prefix('~') {
        Some(rest) => user_home.join(rest.trim_start_matches('/')),
        None => PathBuf::from(text),
    };
    match (path.is_absolute(), path.is_dir()) {
        (true, true) => Ok(()),
        (true, false) => Err("there is no such directory".to_owned()),
        (false, _) => Err("a full path, or . for wherever Hermes is started".to_owned()),
    }
}

fn sudo(desk: &Desk, pen: &mut Pen<'_>) -> Result<()> {
    let has_one = pen.env().filled("SUDO_PASSWORD").is_some();
    let note = match has_one {
        true => "There is one in .env. Enter alone keeps it.",
        false => {
            "Enter alone: none; you are asked when a command needs it. Kept in .env otherwise."
        }
    };
    let line = Line::new("Password for sudo (optional)")
        .note(note)
        .masked()
        .optional();
    match ask(desk, line)? {
        Some(password) if !password.is_empty() => pen.keep_secret("SUDO_PASSWORD", &password),
        _ => Ok(()),
    }
}
