//! Which skills are switched off, as the settings have it.

use std::collections::BTreeSet;

use hermes_home::config::Document;
use hermes_home::{Home, yaml};
use serde_json::json;

use crate::Result;
use crate::format::names;

/// Where something is switched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope<'p> {
    Everywhere,
    /// Only where sessions are reached this way: `cli`, `telegram`, …
    Platform(&'p str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    On,
    Off,
}

/// Switches skills on or off and leaves the others as they are.
pub fn switch(home: &Home, scope: Scope<'_>, skills: &[String], to: Switch) -> Result<()> {
    edit(home, scope, |mut off| {
        for name in skills {
            match to {
                Switch::On => off.remove(name),
                Switch::Off => off.insert(name.clone()),
            };
        }
        off
    })
}

/// Exactly these are off.
pub fn set_disabled(home: &Home, scope: Scope<'_>, off: BTreeSet<String>) -> Result<()> {
    edit(home, scope, |_| off)
}

fn edit(
    home: &Home,
    scope: Scope<'_>,
    change: impl FnOnce(BTreeSet<String>) -> BTreeSet<String>,
) -> Result<()> {
    let everywhere = yaml::Path::parse("skills.disabled").map_err(hermes_home::Error::from)?;
    let path = match scope {
        Scope::Everywhere => everywhere.clone(),
        Scope::Platform(platform) => {
            let dotted = format!("skills.platform_disabled.{platform}");
            yaml::Path::parse(&dotted).map_err(hermes_home::Error::from)?
        }
    };
    Ok(Document::edit(home, |document| {
        // A platform's list replaces the common one, so it begins as that.
        let before = document.get(&path).or_else(|| document.get(&everywhere));
        let off = change(names(before).into_iter().collect());
        document.set(&path, &json!(off))
    })?)
}
