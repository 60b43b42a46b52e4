//! Logging in to servers that use OAuth: `hermes mcp login`, `reauth` and `refresh`.

use std::io::{self, IsTerminal, Write};

use anyhow::{Context, Result, bail};
use futures::FutureExt;
use futures::future::BoxFuture;
use hermes_home::Env;
use hermes_mcp::{Access, Document, LoginOptions, LoginPrompt, LoginUi};
use hermes_mcp_tools::Entry;
use hermes_mcp_tools::config::Auth;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};

use super::{configured, named, only};
use crate::cmd::Failed;
use crate::mcp::Source;
use crate::wire::{App, say};
use hermes_lines::browser;

pub fn login(app: &mut App, name: &str) -> Result<()> {
    let entry = named(app, name)?;
    log_in(app, &entry)?;
    let mark = app.out.good("✓");
    writeln!(app.out, "{mark} logged in to {name}")?;
    if !entry.enabled {
        writeln!(
            app.out,
            "It is disabled; enable it with: hermes config set mcp_servers.{name}.enabled true"
        )?;
    }
    Ok(())
}

/// One server, or one after the other all that use OAuth.
pub fn reauth(app: &mut App, name: Option<&str>) -> Result<()> {
    if let Some(name) = name {
        return login(app, name);
    }
    let mut failed = false;
    for name in oauth_servers(app)? {
        if let Err(error) = login(app, &name) {
            say(&format!("{name}: {error:#}"));
            failed = true;
        }
    }
    match failed {
        true => Err(Failed(1).into()),
        false => Ok(()),
    }
}

/// With what is stored, and without asking anybody.
pub fn refresh(app: &mut App, name: Option<&str>) -> Result<()> {
    let names = match name {
        Some(name) => vec![name.to_owned()],
        None => oauth_servers(app)?,
    };
    let mut failed = false;
    for name in names {
        let entry = named(app, &name)?;
        let done = app.block_on(async {
            let access = access(app, &entry)?;
            Ok(hermes_mcp::refresh(&access).await)
        })?;
        match done {
            Ok(()) => {
                let mark = app.out.good("✓");
                writeln!(app.out, "{mark} {name}: the token is renewed")?;
            }
            Err(error) => {
                say(&format!("{name}: {error} (hermes mcp login {name})"));
                failed = true;
            }
        }
    }
    match failed {
        true => Err(Failed(1).into()),
        false => Ok(()),
    }
}

/// The whole way: a page to log in at, and new tokens in the end.
pub fn log_in(app: &App, entry: &Entry) -> Result<()> {
    let name = entry.name();
    let stored = app.block_on(async {
        let access = access(app, entry)?;
        let mut person = Person::new(name, &app.env);
        hermes_mcp::login(&access, &mut person, LoginOptions::default()).await?;
        Ok(access.store.load(name, Document::Tokens)?)
    })?;
    stored.map(drop).with_context(|| {
        format!(
            "{name} gave no token; register a client by hand and set mcp_servers.{name}.oauth.client_id"
        )
    })
}

/// Must be called inside the runtime.
fn access(app: &App, entry: &Entry) -> Result<Access> {
    let starter = Source::of(app).starter(&only(entry), None)?;
    match starter.access(entry) {
        Some(access) => Ok(access),
        None => bail!(
            "MCP server '{0}' does not use OAuth; it needs a url and `auth: oauth` (mcp_servers.{0})",
            entry.name()
        ),
    }
}

fn oauth_servers(app: &App) -> Result<Vec<String>> {
    let source = Source::of(app);
    let uses_oauth = |(name, value): (String, serde_json::Value)| {
        let entry = source.entry(&name, &value).ok()?;
        matches!(entry.auth, Auth::OAuth(_)).then_some(name)
    };
    let names: Vec<String> = configured(app).into_iter().filter_map(uses_oauth).collect();
    match names.is_empty() {
        true => bail!("no MCP server uses OAuth"),
        false => Ok(names),
    }
}

/// Whoever is in front of the program.
struct Person<'a> {
    server: &'a str,
    env: &'a Env,
    lines: Lines<BufReader<tokio::io::Stdin>>,
}

impl<'a> Person<'a> {
    fn new(server: &'a str, env: &'a Env) -> Self {
        Self {
            server,
            env,
            lines: BufReader::new(tokio::io::stdin()).lines(),
        }
    }

    fn tell(&self, prompt: &LoginPrompt) -> io::Result<()> {
        let mut out = io::stdout();
        writeln!(out, "Log in to {} here:\n\n  {}\n", self.server, prompt.url)?;
        match prompt.port {
            Some(port) if browser::is_remote(self.env) => {
                writeln!(
                    out,
                    "This machine is not the one with your browser. Either forward the port first:\n  \
                     ssh -L {port}:127.0.0.1:{port} THIS-MACHINE\nor log in, and paste here the address \
                     the browser ends at (skip ends it)."
                )?;
            }
            _ if io::stdin().is_terminal() => {
                writeln!(
                    out,
                    "If the browser cannot come back here, paste the address it ends at (skip ends it)."
                )?;
            }
            _ => {}
        }
        out.flush()
    }
}

impl LoginUi for Person<'_> {
    fn show(&mut self, prompt: &LoginPrompt) {
        // Nobody is left to tell when the terminal is gone; the browser may still come back.
        let _ = self.tell(prompt);
        if browser::is_wanted(self.env) {
            browser::open(self.env, &prompt.url);
        }
    }

    fn pasted(&mut self) -> BoxFuture<'_, Option<String>> {
        async { self.lines.next_line().await.ok().flatten() }.boxed()
    }

    fn complain(&mut self, text: &str) {
        say(text);
    }
}
