//! `hermes fallback`: who is asked when the main model can't answer.

use std::io::Write;

use anyhow::{Result, bail};
use hermes_lines::one_line;
use hermes_model::{Fallback, check_fallback, edit_fallbacks, fallback_entry, list_fallbacks};
use serde_json::{Value, json};

use crate::cli::{Fallback as Action, FallbackAdd, Format};
use crate::wire::App;

pub fn run(app: &mut App, action: Option<&Action>) -> Result<()> {
    match action {
        None => list(app, Format::Text),
        Some(Action::List { json }) => list(app, (*json).into()),
        Some(Action::Add(add)) => self::add(app, add),
        Some(Action::Remove { which }) => remove(app, which),
        Some(Action::Clear) => clear(app),
    }
}

fn list(app: &mut App, format: Format) -> Result<()> {
    let fallbacks = known(app);
    if format == Format::Json {
        let row = |fallback: &Fallback| match &fallback.means {
            Ok(info) => {
                json!({"provider": info.provider, "model": info.model, "base_url": info.base_url,
                "usable": true})
            }
            Err(error) => {
                json!({"provider": fallback.entry["provider"], "model": fallback.entry["model"],
                "usable": false, "reason": error.message})
            }
        };
        let rows: Vec<Value> = fallbacks.iter().map(row).collect();
        return Ok(app.out.json(&rows)?);
    }
    if fallbacks.is_empty() {
        let hint = "no fallbacks; `hermes fallback add PROVIDER:MODEL` adds one";
        return Ok(writeln!(app.out, "{hint}")?);
    }
    for (index, fallback) in fallbacks.iter().enumerate() {
        let title = title(&fallback.entry);
        let line = match &fallback.means {
            Ok(info) => format!("{} {title}  {}", app.out.good("✓"), info.base_url),
            Err(error) => format!(
                "{} {title}  {}",
                app.out.warn("✗"),
                one_line(&error.message)
            ),
        };
        writeln!(app.out, "{}. {line}", index + 1)?;
    }
    Ok(())
}

/// Decides first whether it can be used at all; only then is it written down.
fn add(app: &mut App, add: &FallbackAdd) -> Result<()> {
    let mut entry = fallback_entry(&app.home, &app.settings, &app.env, &add.name);
    for (key, value) in [
        ("base_url", &add.base_url),
        ("key_env", &add.key_env),
        ("api_mode", &add.api_mode),
    ] {
        if let Some(value) = value {
            entry[key] = value.as_str().into();
        }
    }
    let info = check_fallback(&app.home, &app.settings, &app.env, &entry)?;
    let is_same = |known: &Fallback| {
        known.means.as_ref().is_ok_and(|known| {
            (&known.model, &known.provider, &known.base_url)
                == (&info.model, &info.provider, &info.base_url)
        })
    };
    if known(app).iter().any(is_same) {
        bail!("{} is one already", title(&entry));
    }
    edit_fallbacks(&app.home, |entries| entries.push(entry.clone()))?;
    let mark = app.out.good("✓");
    Ok(writeln!(
        app.out,
        "{mark} {} ({})",
        info.model, info.provider
    )?)
}

fn remove(app: &mut App, which: &str) -> Result<()> {
    let titles: Vec<_> = known(app).iter().map(|known| title(&known.entry)).collect();
    let by_name = titles.iter().position(|title| title == which);
    let by_number = which.parse::<usize>().ok().and_then(|n| n.checked_sub(1));
    let place = by_name.or(by_number.filter(|place| *place < titles.len()));
    let Some(place) = place else {
        bail!("there is no fallback '{which}'; `hermes fallback list` shows them");
    };
    edit_fallbacks(&app.home, |entries| drop(entries.remove(place)))?;
    let mark = app.out.good("✓");
    Ok(writeln!(app.out, "{mark} removed {}", titles[place])?)
}

fn clear(app: &mut App) -> Result<()> {
    let count = known(app).len();
    edit_fallbacks(&app.home, Vec::clear)?;
    let mark = app.out.good("✓");
    Ok(writeln!(app.out, "{mark} removed {count}")?)
}

fn known(app: &App) -> Vec<Fallback> {
    list_fallbacks(&app.home, &app.settings, &app.env)
}

/// As it is typed.
fn title(entry: &Value) -> String {
    let text = |key: &str| entry[key].as_str().unwrap_or_default();
    match text("provider") {
        "" => text("model").to_owned(),
        provider => format!("{provider}:{}", text("model")),
    }
}
