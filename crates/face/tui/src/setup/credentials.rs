//! The key or login of a provider: kept, replaced, cleared or given for the first time.

use hermes_home::redact::mask_display;

use super::market::{Login, Market, Provider};
use super::{Pen, Result, ask, keys};
use crate::pick::{Desk, Item, Line, List};

/// Whether a provider can be asked now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ready {
    Yes,
    No,
}

#[derive(Clone, Copy)]
enum Do {
    Keep,
    Key,
    LogIn,
    Clear,
}

pub(super) fn settle(
    desk: &Desk,
    pen: &mut Pen<'_>,
    market: &dyn Market,
    provider: &Provider,
) -> Result<Ready> {
    if address(desk, pen, provider)? == Ready::No {
        return Ok(Ready::No);
    }
    let env = pen.env();
    let key = env
        .filled(&provider.key)
        .filter(|_| !provider.key.is_empty());
    let what = match (key, provider.is_ready, &provider.login) {
        (Some(key), ..) => with_key(desk, provider, &mask_display(key))?,
        // A login, a pool of keys, or nothing is wanted.
        (None, true, _) => Some(Do::Keep),
        (None, false, Login::Account) if provider.key.is_empty() => Some(Do::LogIn),
        (None, false, Login::Account) => without_key(desk, provider)?,
        (None, false, Login::Forbidden(why)) if provider.key.is_empty() => {
            desk.say(&format!("{}: {why}", provider.name))?;
            None
        }
        (None, false, _) if provider.key.is_empty() => Some(Do::Keep),
        (None, false, _) => Some(Do::Key),
    };
    match what {
        Some(Do::Keep) => Ok(Ready::Yes),
        Some(Do::Key) => new_key(desk, pen, provider),
        Some(Do::LogIn) => log_in(desk, market, provider),
        Some(Do::Clear) => clear(desk, pen, provider),
        None => Ok(Ready::No),
    }
}

fn with_key(desk: &Desk, provider: &Provider, shown: &str) -> Result<Option<Do>> {
    let mut items = vec![
        // No letter: in lists `k` goes up.
        Item::new(Do::Keep, "Keep it").about(shown),
        Item::new(Do::Key, "Replace it").letter('r'),
        Item::new(Do::Clear, "Clear it").letter('c'),
    ];
    if provider.login == Login::Account {
        items.push(Item::new(Do::LogIn, "Log in with an account"));
    }
    let title = format!("{} has a key ({})", provider.name, provider.key);
    ask(desk, List::new(title, items))
}

fn without_key(desk: &Desk, provider: &Provider) -> Result<Option<Do>> {
    let items = vec![
        Item::new(Do::LogIn, "Log in with an account"),
        Item::new(Do::Key, "Enter an API key"),
    ];
    let title = format!("How do you want to use {}?", provider.name);
    ask(desk, List::new(title, items))
}

fn new_key(desk: &Desk, pen: &mut Pen<'_>, provider: &Provider) -> Result<Ready> {
    let title = format!("API key for {}", provider.name);
    match keys::replace(desk, pen, &provider.key, &title)? {
        Some(_) => Ok(Ready::Yes),
        None => Ok(Ready::No),
    }
}

fn log_in(desk: &Desk, market: &dyn Market, provider: &Provider) -> Result<Ready> {
    match market.log_in(&provider.id) {
        Ok(()) => Ok(Ready::Yes),
        Err(why) => {
            desk.say(&format!("{}: {why}", provider.name))?;
            Ok(Ready::No)
        }
    }
}

fn clear(desk: &Desk, pen: &mut Pen<'_>, provider: &Provider) -> Result<Ready> {
    let text = keys::clear(pen, &provider.key)?;
    desk.say(&format!("{text}."))?;
    Ok(Ready::No)
}

/// Some providers are somewhere else for everybody.
fn address(desk: &Desk, pen: &mut Pen<'_>, provider: &Provider) -> Result<Ready> {
    let variable = format!("{}_BASE_URL", provider.id.to_uppercase().replace('-', "_"));
    if !provider.address.is_empty() || pen.env().filled(&variable).is_some() {
        return Ok(Ready::Yes);
    }
    if provider.is_own() {
        let name = &provider.name;
        desk.say(&format!(
            "{name} has no address: give it one as `api` in config.yaml."
        ))?;
        return Ok(Ready::No);
    }
    let line = Line::new(format!("Your address at {}", provider.name))
        .note(format!("Kept in .env as {variable}."))
        .check(super::endpoint::is_address);
    let Some(address) = ask(desk, line)? else {
        return Ok(Ready::No);
    };
    pen.keep_secret(&variable, &address)?;
    Ok(Ready::Yes)
}
