//! A variable of `.env`: kept, replaced, taken out, or given for the first time. Secrets are never shown.

use hermes_home::redact::mask_display;
use hermes_home::{Env, envvars};

use super::endpoint::is_address;
use super::{Pen, Result, ask};
use crate::pick::{Desk, Item, Line, List};

#[derive(Clone, Copy)]
enum Do {
    Keep,
    Replace,
    Clear,
}

/// Asks about one of these variables; what was changed, in words. `whose` is what they are for.
pub(super) fn settle(
    desk: &Desk,
    pen: &mut Pen<'_>,
    whose: &str,
    names: &[&str],
) -> Result<Option<String>> {
    let Some(name) = which(desk, &pen.env(), whose, names)? else {
        return Ok(None);
    };
    let env = pen.env();
    let what = match env.filled(name) {
        None => Do::Replace,
        Some(value) => {
            let items = vec![
                // No letter: in lists `k` goes up.
                Item::new(Do::Keep, "Keep it").about(shown(name, value)),
                Item::new(Do::Replace, "Replace it").letter('r'),
                Item::new(Do::Clear, "Clear it").letter('c'),
            ];
            let title = format!("{whose} has {name}");
            ask(desk, List::new(title, items))?.unwrap_or(Do::Keep)
        }
    };
    match what {
        Do::Keep => Ok(None),
        Do::Replace => replace(desk, pen, name, &format!("{name} for {whose}")),
        Do::Clear => clear(pen, name).map(Some),
    }
}

/// Has a value typed and keeps it; `None` if nobody gave one.
pub(super) fn replace(
    desk: &Desk,
    pen: &mut Pen<'_>,
    name: &str,
    title: &str,
) -> Result<Option<String>> {
    let is_secret = envvars::is_secret(name);
    let seen = if is_secret {
        "; not shown while you type"
    } else {
        ""
    };
    let line = Line::new(title).note(format!("Kept in .env as {name}{seen}."));
    let line = match (is_secret, name) {
        // A password may have anything in it.
        (true, name) if name.ends_with("_PASSWORD") => line.masked(),
        (true, _) => line.masked().check(is_key),
        (false, name) if name.ends_with("_URL") => line.check(is_address),
        (false, _) => line,
    };
    let Some(value) = ask(desk, line)? else {
        return Ok(None);
    };
    pen.keep_secret(name, &value)?;
    Ok(Some(format!("{name} is kept in .env")))
}

/// Takes a variable out of `.env`; what came of it.
pub(super) fn clear(pen: &mut Pen<'_>, name: &str) -> Result<String> {
    let was_there = pen.forget(name)?;
    let is_elsewhere = pen.env().filled(name).is_some();
    Ok(match (was_there, is_elsewhere) {
        (true, false) => format!("{name} is removed from .env"),
        (true, true) => {
            format!("{name} is removed from .env; your shell has one too: unset it there")
        }
        (false, _) => format!("{name} is not in .env but in your shell: unset it there"),
    })
}

/// What cannot be a key is a slip of the clipboard.
pub(super) fn is_key(text: &str) -> std::result::Result<(), String> {
    if text.chars().count() < 4 {
        return Err("that is too short for a key".to_owned());
    }
    match text.chars().all(|c| c.is_ascii_graphic()) {
        true => Ok(()),
        false => Err("a key has neither spaces nor letters beyond ASCII".to_owned()),
    }
}

/// How many of them are set, in short.
pub(super) fn state(env: &Env, names: &[&str]) -> String {
    let set = names.iter().filter(|name| env.filled(name).is_some());
    match (names, set.count()) {
        ([name], 0) => format!("{name} is not set"),
        ([name], _) => format!("{name} is set"),
        (names, set) => format!("{set} of {} keys are set", names.len()),
    }
}

/// The only one, or the one that is chosen.
fn which<'n>(desk: &Desk, env: &Env, whose: &str, names: &[&'n str]) -> Result<Option<&'n str>> {
    if let [only] = names {
        return Ok(Some(only));
    }
    let items = names.iter().map(|name| {
        let about = env.filled(name).map(|value| shown(name, value));
        Item::new(*name, *name).about(about.unwrap_or_else(|| "not set".to_owned()))
    });
    let list = List::new(format!("Which key of {whose}?"), items.collect());
    ask(desk, list)
}

/// Enough of a value to know it again; nothing of a password.
fn shown(name: &str, value: &str) -> String {
    match (envvars::is_secret(name), name.ends_with("_PASSWORD")) {
        (true, true) => "set".to_owned(),
        (true, false) => mask_display(value),
        (false, _) => value.to_owned(),
    }
}
