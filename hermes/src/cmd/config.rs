//! `hermes config`

use std::collections::BTreeSet;
use std::io::Write;

use anyhow::{Context, Result, anyhow, bail};
use hermes_home::config::{self, Assigned, Document, Settings};
use hermes_home::dotenv::DotEnv;
use hermes_home::envvars::{self, Category};
use hermes_home::redact::is_secret_name;
use hermes_lines::settings;
use serde_json::Value;

use super::Failed;
use crate::cli::{Config, Format};
use crate::wire::{App, say};

pub fn run(app: &mut App, action: Option<&Config>) -> Result<()> {
    match action {
        None => show(app, Format::Text),
        Some(Config::Show { json }) => show(app, (*json).into()),
        Some(Config::Get { key, reveal, json }) => get(app, key, *reveal, (*json).into()),
        Some(Config::Set {
            key,
            value,
            force,
            quiet,
        }) => {
            let (Some(key), Some(value)) = (key, value) else {
                bail!(
                    "usage: hermes config set KEY VALUE, for example: hermes config set agent.max_turns 50"
                );
            };
            set(
                app,
                key,
                value,
                Notices {
                    unknown: !force && !quiet,
                    done: !quiet,
                },
            )
        }
        Some(Config::Unset { key }) => unset(app, key),
        Some(Config::Edit) => edit(app),
        Some(Config::Path) => Ok(writeln!(app.out, "{}", app.home.config_path().display())?),
        Some(Config::EnvPath) => Ok(writeln!(app.out, "{}", app.home.env_path().display())?),
        Some(Config::Check) => check(app),
        Some(Config::Migrate) => migrate(app),
    }
}

fn show(app: &mut App, format: Format) -> Result<()> {
    let masked = settings::masked(app.settings.value(), "");
    if format == Format::Json {
        return Ok(app.out.json(&masked)?);
    }
    Ok(settings::print(&mut app.out, &app.home, &masked, &app.env)?)
}

fn get(app: &mut App, key: &str, reveal: bool, format: Format) -> Result<()> {
    let name = key.to_uppercase();
    let (value, secret) = if envvars::belongs_in_env_file(&name) && !key.contains('.') {
        let value = app
            .env
            .get(&name)
            .ok_or_else(|| anyhow!("{name} is not set"))?;
        (Value::from(value), envvars::is_secret(&name))
    } else {
        let path = hermes_home::yaml::Path::parse(key)?;
        let value = path
            .get(app.settings.value())
            .ok_or_else(|| anyhow!("'{key}' is not set and has no default"))?;
        (
            value.clone(),
            path.segments()
                .last()
                .is_some_and(|last| is_secret_name(last)),
        )
    };
    let name = if secret { "secret" } else { "" };
    let value = if reveal {
        value
    } else {
        settings::masked(&value, name)
    };
    match (format, &value) {
        (Format::Json, value) => Ok(app.out.json(value)?),
        (_, Value::String(text)) => Ok(writeln!(app.out, "{text}")?),
        (_, Value::Object(_) | Value::Array(_)) => {
            Ok(write!(app.out, "{}", hermes_home::yaml::write(&value))?)
        }
        (_, value) => Ok(writeln!(app.out, "{value}")?),
    }
}

struct Notices {
    unknown: bool,
    done: bool,
}

fn set(app: &mut App, key: &str, value: &str, notices: Notices) -> Result<()> {
    let assigned = config::assign(&app.home, key, value)?;
    if let Assigned::Config {
        path, known: false, ..
    } = &assigned
        && notices.unknown
    {
        say(&format!(
            "'{path}' is not a key Hermes knows; it is saved all the same"
        ));
    }
    if notices.done {
        report(app, &assigned, "set")
    } else {
        Ok(())
    }
}

fn unset(app: &mut App, key: &str) -> Result<()> {
    let assigned = config::unassign(&app.home, key)?;
    report(app, &assigned, "unset")
}

fn report(app: &mut App, assigned: &Assigned, verb: &str) -> Result<()> {
    let mark = app.out.good("✓");
    match assigned {
        Assigned::EnvFile { name } => writeln!(
            app.out,
            "{mark} {name} {verb} in {}",
            app.home.env_path().display()
        )?,
        Assigned::Config {
            path,
            secret,
            mirrored,
            ..
        } => {
            writeln!(
                app.out,
                "{mark} {path} {verb} in {}",
                app.home.config_path().display()
            )?;
            if let Some(name) = secret {
                writeln!(
                    app.out,
                    "  its value is kept as {name} in {}",
                    app.home.env_path().display()
                )?;
            }
            if let Some(name) = mirrored {
                writeln!(app.out, "  {name} {verb} in .env too, for child processes")?;
            }
        }
    }
    Ok(())
}

fn edit(app: &mut App) -> Result<()> {
    app.home.writable()?;
    let path = app.home.config_path();
    if !path.exists() {
        hermes_home::replace_file(&path, "", app.home.modes())?;
    }
    let chosen = ["EDITOR", "VISUAL"]
        .into_iter()
        .filter_map(|name| app.env.filled(name));
    let editors: Vec<String> = chosen
        .chain(["nano", "vim", "vi", "code"])
        .map(str::to_owned)
        .collect();
    for editor in &editors {
        // An editor may come with arguments of its own: `code --wait`.
        let mut words = editor.split_whitespace().map(str::to_owned);
        let program = words.next().unwrap_or_default();
        let args = words.chain([path.display().to_string()]);
        match hermes_proc::foreground(&program, args, app.env.iter()) {
            Err(error) if error.is_missing() => {}
            Err(error) => return Err(error.into()),
            Ok(status) if !status.success() => bail!("{editor} ended with {status}"),
            Ok(_) => return Ok(Document::load(&path)?.value().map(|_| ())?),
        }
    }
    bail!("no editor found (tried {}); set EDITOR", editors.join(", "))
}

fn check(app: &mut App) -> Result<()> {
    let document = Document::load(&app.home.config_path())?;
    document.value()?;
    let version = config::version(&document);
    writeln!(
        app.out,
        "Configuration version {version}, current is {}",
        config::CURRENT_VERSION
    )?;
    if version < config::CURRENT_VERSION && !document.text().is_empty() {
        writeln!(
            app.out,
            "  run `hermes config migrate` to bring it up to date"
        )?;
    }
    for problem in config::problems(&document, &DotEnv::load(&app.home.env_path())?) {
        let mark = app.out.warn("⚠");
        writeln!(app.out, "{mark} {}\n  → {}", problem.text, problem.fix)?;
    }
    let title = app.out.heading("Keys");
    writeln!(app.out, "{title}")?;
    let mut unset = BTreeSet::new();
    for var in envvars::all()
        .iter()
        .filter(|var| matches!(var.category, Category::Provider | Category::Tool) && var.secret)
    {
        if app.env.filled(var.name).is_none() {
            unset.insert(var.name);
            continue;
        }
        let mark = app.out.good("✓");
        writeln!(app.out, "  {mark} {} {}", var.name, var.tools.join(", "))?;
    }
    let rest = app
        .out
        .faint(format!("○ {} optional keys are not set", unset.len()));
    Ok(writeln!(app.out, "  {rest}")?)
}

fn migrate(app: &mut App) -> Result<()> {
    if let Some(broken) = app.settings.broken() {
        bail!("{broken}");
    }
    let done = config::migrate(&app.home, &app.env).context("config.yaml was not changed")?;
    for change in &done.changes {
        writeln!(app.out, "  {change}")?;
    }
    if done.from >= done.to {
        writeln!(
            app.out,
            "Nothing to do: configuration version {}",
            done.from
        )?;
    } else {
        writeln!(app.out, "Configuration version {} → {}", done.from, done.to)?;
    }
    let after = Settings::load(&app.home, &app.env);
    match after.broken() {
        Some(broken) => {
            say(broken);
            Err(Failed(1).into())
        }
        None => Ok(()),
    }
}
