//! What a toolset can be told besides on and off: whose model it uses, and its keys.

use hermes_home::config::Settings;
use hermes_home::{Env, envvars};
use hermes_session::toolsets::enabled;

use super::auxiliary;
use super::market::Market;
use super::tools::{Inventory, Toolset};
use super::{Pen, Result, ask, keys};
use crate::pick::{Checklist, Desk, Item, List};

/// Who or what a toolset depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Needs {
    /// A model, set in this section.
    Model(&'static str),
    /// One of these variables.
    Keys(Vec<&'static str>),
}

/// Toolset by toolset until it is left; what was changed, in words.
pub(super) fn menu(
    desk: &Desk,
    pen: &mut Pen<'_>,
    market: &dyn Market,
    here: &Inventory,
) -> Result<Vec<String>> {
    let mut changes = Vec::new();
    loop {
        let (settings, env) = (pen.settings(), pen.env());
        let items = here.toolsets().into_iter().filter_map(|set| {
            let needs = needs(&set)?;
            let about = state(&settings, &env, &needs);
            Some(Item::new((set.name, needs), set.name).about(about))
        });
        let list = List::new("Which tool's provider or key?", items.collect());
        let Some((name, needs)) = ask(desk, list)? else {
            return Ok(changes);
        };
        changes.extend(settle(desk, pen, market, (name, &needs))?);
    }
}

/// Asks for a key of a toolset that was just switched on and cannot work without.
pub(super) fn for_new(desk: &Desk, pen: &mut Pen<'_>, set: &Toolset<'_>) -> Result<Option<String>> {
    match lacking(&pen.env(), set) {
        Some(names) => keys::settle(desk, pen, set.name, &names),
        None => Ok(None),
    }
}

/// Asks for the keys of toolsets that are on and cannot work without; whether there are any.
pub(super) fn missing(desk: &Desk, pen: &mut Pen<'_>, here: &Inventory) -> Result<bool> {
    let (on, env) = (enabled(&pen.settings(), "cli"), pen.env());
    let sets = here.toolsets().into_iter();
    let sets = sets.filter(|set| on.contains(&set.name));
    let found: Vec<_> = sets
        .filter_map(|set| Some((set.name, lacking(&env, &set)?)))
        .collect();
    if found.is_empty() {
        return Ok(false);
    }
    let items = found
        .iter()
        .map(|(name, names)| Item::new((), *name).about(names.join(" or ")));
    let list = Checklist::new("Keys that are missing", items.collect(), &[])
        .note("Which of these tools do you want to give a key to?");
    for place in ask(desk, list)?.unwrap_or_default() {
        let (name, names) = &found[place];
        keys::settle(desk, pen, name, names)?;
    }
    Ok(true)
}

/// The variables of which one would do, if there is none of them and nothing works without.
fn lacking(env: &Env, set: &Toolset<'_>) -> Option<Vec<&'static str>> {
    let Some(Needs::Keys(names)) = set.problem.and_then(|_| needs(set)) else {
        return None;
    };
    let is_there = names.iter().any(|name| env.filled(name).is_some());
    (!is_there).then_some(names)
}

fn settle(
    desk: &Desk,
    pen: &mut Pen<'_>,
    market: &dyn Market,
    (name, needs): (&str, &Needs),
) -> Result<Option<String>> {
    match needs {
        Needs::Keys(names) => keys::settle(desk, pen, name, names),
        Needs::Model(section) => {
            let before = auxiliary::now(&pen.settings(), section);
            auxiliary::choose(desk, pen, market, section)?;
            let now = auxiliary::now(&pen.settings(), section);
            Ok((before != now).then(|| format!("{name}: {now}")))
        }
    }
}

fn state(settings: &Settings, env: &Env, needs: &Needs) -> String {
    match needs {
        Needs::Model(section) => auxiliary::now(settings, section),
        Needs::Keys(names) => keys::state(env, names),
    }
}

fn needs(set: &Toolset<'_>) -> Option<Needs> {
    match set.name {
        "session_search" => return Some(Needs::Model("auxiliary.session_search")),
        "delegation" => return Some(Needs::Model(auxiliary::CHILDREN)),
        "terminal" => return Some(Needs::Keys(vec!["SUDO_PASSWORD"])),
        _ => {}
    }
    let names: Vec<&'static str> = envvars::storable()
        .filter(|var| var.tools.iter().any(|tool| set.tools.contains(tool)))
        .map(|var| var.name)
        .collect();
    (!names.is_empty()).then_some(Needs::Keys(names))
}
