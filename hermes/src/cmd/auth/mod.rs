//! `hermes auth`: the keys and logins of providers.

mod list;
mod login;

use std::io::{self, IsTerminal, Write};

use anyhow::{Result, bail};
use hermes_home::redact::mask_display;
use hermes_model::auth::{KeyOptions, LoginWay, PoolDesk, login_way};

use crate::cli::{Auth, AuthAdd, AuthKind, Format};
use crate::wire::{App, say};

pub use login::{login, logout, to as log_in};

pub fn run(app: &mut App, action: Option<&Auth>) -> Result<()> {
    match action {
        None => list::run(app, None, Format::Text),
        Some(Auth::List { provider, json }) => list::run(app, provider.as_deref(), (*json).into()),
        Some(Auth::Add(add)) => self::add(app, add),
        Some(Auth::Remove { provider, target }) => remove(app, provider, target),
        Some(Auth::Reset { provider, target }) => reset(app, provider, target.as_deref()),
        Some(Auth::Login(to)) => login(app, to),
        Some(Auth::Logout { provider }) => logout(app, provider.as_deref()),
        Some(Auth::Status { provider, json }) => list::status(app, provider, (*json).into()),
    }
}

fn desk(app: &App) -> PoolDesk<'_> {
    PoolDesk::new(&app.home, &app.settings, &app.env)
}

fn add(app: &mut App, add: &AuthAdd) -> Result<()> {
    let pool = desk(app).pool(&add.provider)?;
    let way = login_way(&pool);
    let is_login = match add.kind {
        Some(kind) => kind == AuthKind::Oauth,
        None => add.api_key.is_none() && way == Some(LoginWay::DeviceCode),
    };
    if is_login {
        return login::told(app, &pool, &add.login);
    }
    if pool == "openai-codex" {
        bail!("openai-codex has no keys, only logins: `hermes auth login openai-codex`");
    }
    let key = match add.api_key.as_deref() {
        Some("-") => read_line()?,
        Some(key) => key.to_owned(),
        None => app.ask_hidden(&format!("Key for {pool} (not shown): "))?,
    };
    if key.trim().is_empty() {
        bail!("no key was given");
    }
    let options = KeyOptions {
        label: add.login.label.clone(),
        base_url: add.base_url.clone(),
    };
    let added = desk(app).add_key(&pool, &key, &options)?;
    let mark = app.out.good("✓");
    let shown = mask_display(key.trim());
    Ok(writeln!(
        app.out,
        "{mark} {pool} #{}: {} ({shown})",
        added.index, added.label
    )?)
}

fn read_line() -> Result<String> {
    if io::stdin().is_terminal() {
        say("paste the key and press Enter; it is shown while you type");
    }
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    Ok(line)
}

fn remove(app: &mut App, provider: &str, target: &str) -> Result<()> {
    let pool = desk(app).pool(provider)?;
    let removed = desk(app).remove(&pool, target)?;
    let mark = app.out.good("✓");
    writeln!(
        app.out,
        "{mark} {pool} #{}: {} removed",
        removed.index, removed.label
    )?;
    if let Some(place) = removed.still_in {
        writeln!(
            app.out,
            "Its key is still in {place} and is ignored from now on; `hermes auth add {pool}` lets it in again."
        )?;
    }
    Ok(())
}

fn reset(app: &mut App, provider: &str, target: Option<&str>) -> Result<()> {
    let pool = desk(app).pool(provider)?;
    let count = desk(app).reset(&pool, target)?;
    let what = match count {
        0 => "nothing to reset".to_owned(),
        1 => "1 credential can be used again".to_owned(),
        count => format!("{count} credentials can be used again"),
    };
    Ok(writeln!(app.out, "{pool}: {what}")?)
}
