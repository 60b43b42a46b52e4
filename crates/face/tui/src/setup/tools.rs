//! `hermes tools`: which toolsets are on, for each platform.

use std::collections::BTreeMap;

use hermes_home::config::Settings;
use hermes_session::toolsets::{enabled, leaves, names};
use serde_json::{Value, json};

use super::{Pen, Result, ask};
use crate::pick::{Checklist, Desk, Item, List};

/// How many bytes each tool adds to a request. Tools that are not in it don't exist in this program.
pub type ToolSizes = BTreeMap<String, usize>;

/// Bytes that make a token, roughly.
const BYTES_PER_TOKEN: usize = 4;

#[derive(Clone)]
enum Row {
    Platform(String),
    All,
    Done,
}

/// Platform by platform until it is left; what was changed, in words.
pub fn choose_tools(desk: &Desk, pen: &mut Pen<'_>, sizes: &ToolSizes) -> Result<Vec<String>> {
    let mut changes = Vec::new();
    loop {
        let platforms = platforms(&pen.settings());
        let chosen = match menu(desk, &pen.settings(), &platforms, sizes)? {
            Some(Row::Platform(platform)) => vec![platform],
            Some(Row::All) => platforms,
            Some(Row::Done) | None => return Ok(changes),
        };
        if let Some(on) = checklist(desk, &pen.settings(), &chosen, sizes)? {
            for platform in &chosen {
                changes.extend(write(pen, platform, &on, sizes)?);
            }
        }
    }
}

/// The wizard's way: the terminal's own tools, without a menu.
pub(super) fn section(desk: &Desk, pen: &mut Pen<'_>, sizes: &ToolSizes) -> Result<()> {
    let platform = ["cli".to_owned()];
    if let Some(on) = checklist(desk, &pen.settings(), &platform, sizes)? {
        write(pen, "cli", &on, sizes)?;
    }
    Ok(())
}

/// The terminal, and whatever else has a list of its own.
pub fn platforms(settings: &Settings) -> Vec<String> {
    let section = settings.get("platform_toolsets").and_then(Value::as_object);
    let others = section.into_iter().flatten().map(|(name, _)| name.clone());
    let others = others.filter(|name| name != "cli");
    std::iter::once("cli".to_owned()).chain(others).collect()
}

fn menu(
    desk: &Desk,
    settings: &Settings,
    platforms: &[String],
    sizes: &ToolSizes,
) -> Result<Option<Row>> {
    let here = offered(sizes);
    let mut items: Vec<Item<Row>> = platforms
        .iter()
        .map(|platform| {
            let on = enabled(settings, platform);
            let on = here.iter().filter(|(leaf, _)| on.contains(leaf)).count();
            let label = format!("Configure {platform} ({on}/{} enabled)", here.len());
            Item::new(Row::Platform(platform.clone()), label)
        })
        .collect();
    if platforms.len() > 1 {
        items.push(Item::new(Row::All, "Configure all platforms"));
    }
    items.push(Item::new(Row::Done, "Done"));
    ask(desk, List::new("Tools", items))
}

/// The toolsets that have tools here.
fn offered(sizes: &ToolSizes) -> Vec<(&'static str, Vec<&'static str>)> {
    let tools = |tools: &'static [&'static str]| {
        let here = tools
            .iter()
            .copied()
            .filter(|tool| sizes.contains_key(*tool));
        here.collect::<Vec<_>>()
    };
    let all = leaves().map(|(leaf, names)| (leaf, tools(names)));
    all.filter(|(_, tools)| !tools.is_empty()).collect()
}

/// The toolsets that are to be on; `None` if nothing is to change.
fn checklist(
    desk: &Desk,
    settings: &Settings,
    platforms: &[String],
    sizes: &ToolSizes,
) -> Result<Option<Vec<&'static str>>> {
    let here = offered(sizes);
    let first = platforms.first().map(String::as_str).unwrap_or("cli");
    let now = enabled(settings, first);
    let on: Vec<usize> = (0..here.len())
        .filter(|place| now.contains(&here[*place].0))
        .collect();
    let items = here
        .iter()
        .map(|(leaf, tools)| Item::new((), *leaf).about(format!("({})", tools.join(", "))));
    let weights: Vec<usize> = here
        .iter()
        .map(|(_, tools)| tools.iter().filter_map(|tool| sizes.get(*tool)).sum())
        .collect();
    let footer = move |on: &[usize]| {
        let bytes: usize = on.iter().map(|place| weights[*place]).sum();
        format!("~{} tokens per request", bytes.div_ceil(BYTES_PER_TOKEN))
    };
    let title = format!("Tools for {}", platforms.join(", "));
    let list = Checklist::new(title, items.collect(), &on).footer(footer);
    let chosen = ask(desk, list)?;
    // Several platforms may differ from the one that was shown.
    let is_same = |chosen: &Vec<usize>| *chosen == on && platforms.len() == 1;
    let chosen = chosen.filter(|chosen| !is_same(chosen));
    Ok(chosen.map(|chosen| chosen.into_iter().map(|place| here[place].0).collect()))
}

/// Writes the list. What is not shown here stays as it is: toolsets of other programs, servers, plugins.
fn write(
    pen: &mut Pen<'_>,
    platform: &str,
    on: &[&'static str],
    sizes: &ToolSizes,
) -> Result<Option<String>> {
    let key = format!("platform_toolsets.{platform}");
    let settings = pen.settings();
    let shown = offered(sizes);
    let is_shown = |name: &str| shown.iter().any(|(leaf, _)| *leaf == name);
    let before = enabled(&settings, platform);
    let hidden = before.iter().copied().filter(|leaf| !is_shown(leaf));
    let written = settings.get(&key).map(names).unwrap_or_default();
    let foreign = written.iter().map(String::as_str);
    let foreign = foreign.filter(|name| leaves().all(|(leaf, _)| leaf != *name));
    let list: Vec<&str> = on.iter().copied().chain(hidden).chain(foreign).collect();
    let is_same = |leaf: &&str| before.contains(leaf) == on.contains(leaf);
    if shown.iter().map(|(leaf, _)| leaf).all(is_same) {
        return Ok(None);
    }
    pen.set(&key, &json!(list))?;
    Ok(Some(format!("{platform}: {}", on.join(", "))))
}
