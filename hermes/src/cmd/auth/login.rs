//! `hermes auth login` and `logout`

use std::io::{self, IsTerminal, Write};

use anyhow::{Result, bail};
use futures::FutureExt;
use futures::future::BoxFuture;
use hermes_home::Env;
use hermes_model::auth::{LoginOptions, LoginPage, LoginUi, log_in};
use hermes_types::Scope;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};

use super::desk;
use crate::cli::{AuthLogin, LoginArgs};
use crate::wire::{App, say};
use hermes_lines::browser;

pub fn login(app: &mut App, login: &AuthLogin) -> Result<()> {
    let pool = desk(app).pool(&login.provider)?;
    told(app, &pool, &login.login)
}

/// Logs in, and says so.
pub fn told(app: &mut App, pool: &str, args: &LoginArgs) -> Result<()> {
    let label = to(app, pool, args)?;
    let mark = app.out.good("✓");
    Ok(writeln!(app.out, "{mark} logged in to {pool}: {label}")?)
}

/// The whole way: a page, a wait, and a credential in the end. Ctrl+C ends it, as it ends any command.
pub fn to(app: &App, pool: &str, args: &LoginArgs) -> Result<String> {
    let options = LoginOptions {
        label: args.label.clone(),
        portal_url: args.portal_url.clone(),
        inference_url: args.inference_url.clone(),
        client_id: args.client_id.clone(),
        scope: args.scope.clone(),
        timeout: args.timeout,
    };
    app.block_on(async {
        let mut person = Person {
            provider: pool,
            env: &app.env,
            opens_browser: !args.no_browser,
            lines: BufReader::new(tokio::io::stdin()).lines(),
        };
        let scope = Scope::new("login".into());
        Ok(log_in(&desk(app), pool, &options, &mut person, &scope).await?)
    })
}

pub fn logout(app: &mut App, provider: Option<&str>) -> Result<()> {
    let pool = match provider {
        Some(name) => desk(app).pool(name)?,
        None => match desk(app).active() {
            Some(active) => active,
            None => bail!("nobody is logged in; name a provider to forget its login"),
        },
    };
    let text = match desk(app).log_out(&pool)? {
        true => format!("{} logged out of {pool}", app.out.good("✓")),
        false => format!("there is no login with {pool}"),
    };
    Ok(writeln!(app.out, "{text}")?)
}

/// Whoever is in front of the program.
struct Person<'a> {
    provider: &'a str,
    env: &'a Env,
    opens_browser: bool,
    lines: Lines<BufReader<tokio::io::Stdin>>,
}

impl Person<'_> {
    fn tell(&self, page: &LoginPage) -> io::Result<()> {
        let mut out = io::stdout();
        writeln!(out, "Log in to {} here:\n\n  {}\n", self.provider, page.url)?;
        if let Some(code) = &page.code {
            writeln!(out, "and confirm this code there: {code}\n")?;
        }
        if let Some(port) = page.port.filter(|_| browser::is_remote(self.env)) {
            writeln!(
                out,
                "This machine is not the one with your browser. Either forward the port first:\n  \
                 ssh -L {port}:127.0.0.1:{port} THIS-MACHINE"
            )?;
        }
        if page.port.is_some() && io::stdin().is_terminal() {
            writeln!(
                out,
                "If the browser cannot come back here, paste the address it ends at (skip ends it)."
            )?;
        }
        let minutes = page.time.as_secs().div_ceil(60);
        writeln!(out, "Waiting, at most {minutes} minutes …")?;
        out.flush()
    }
}

impl LoginUi for Person<'_> {
    fn show(&mut self, page: &LoginPage) {
        // Nobody is left to tell when the terminal is gone; the login may still be confirmed.
        let _ = self.tell(page);
        if self.opens_browser && browser::is_wanted(self.env) {
            browser::open(self.env, &page.url);
        }
    }

    fn note(&mut self, text: &str) {
        say(text);
    }

    fn pasted(&mut self) -> BoxFuture<'_, Option<String>> {
        async { self.lines.next_line().await.ok().flatten() }.boxed()
    }
}
