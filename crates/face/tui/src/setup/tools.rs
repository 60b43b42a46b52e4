//! `hermes tools`: which toolsets are on, for each platform.

use std::collections::BTreeMap;

use hermes_home::config::Settings;
use hermes_session::toolsets::{enabled, leaves, names};
use serde_json::{Value, json};

use super::market::Market;
use super::{Pen, Result, ask, reconfigure};
use crate::pick::{Checklist, Desk, Item, List};

/// The tools of this program.
#[derive(Clone, Debug, Default)]
pub struct Inventory {
    /// How many bytes each of them adds to a request.
    pub sizes: BTreeMap<String, usize>,
    /// Those that cannot be used now, and why.
    pub unusable: BTreeMap<String, String>,
}

/// A toolset that has tools here.
pub(super) struct Toolset<'i> {
    pub name: &'static str,
    pub tools: Vec<&'static str>,
    /// Why none of them can be used.
    pub problem: Option<&'i str>,
}

impl Inventory {
    pub(super) fn toolsets(&self) -> Vec<Toolset<'_>> {
        let is_here =
            |tool: &&str| self.sizes.contains_key(*tool) || self.unusable.contains_key(*tool);
        let set = |(name, tools): (&'static str, &'static [&'static str])| {
            let tools: Vec<&'static str> = tools.iter().copied().filter(is_here).collect();
            let works = tools.iter().any(|tool| self.sizes.contains_key(*tool));
            let problem = tools.iter().find_map(|tool| self.unusable.get(*tool));
            let problem = problem.filter(|_| !works);
            Toolset {
                name,
                tools,
                problem: problem.map(|why| in_short(why)),
            }
        };
        let all = leaves().map(set);
        all.filter(|set| !set.tools.is_empty()).collect()
    }
}

/// The first sentence.
fn in_short(why: &str) -> &str {
    let line = why.lines().next().unwrap_or_default();
    line.split_once(". ").map_or(line, |(first, _)| first)
}

/// Bytes that make a token, roughly.
const BYTES_PER_TOKEN: usize = 4;

#[derive(Clone)]
enum Row {
    Platform(String),
    All,
    Reconfigure,
    Done,
}

/// Platform by platform until it is left; what was changed, in words.
pub fn choose_tools(
    desk: &Desk,
    pen: &mut Pen<'_>,
    market: &dyn Market,
    here: &Inventory,
) -> Result<Vec<String>> {
    let mut changes = Vec::new();
    loop {
        let platforms = platforms(&pen.settings());
        let chosen = match menu(desk, &pen.settings(), &platforms, here)? {
            Some(Row::Platform(platform)) => vec![platform],
            Some(Row::All) => platforms,
            Some(Row::Reconfigure) => {
                changes.extend(reconfigure::menu(desk, pen, market, here)?);
                continue;
            }
            Some(Row::Done) | None => return Ok(changes),
        };
        changes.extend(configure(desk, pen, &chosen, here)?);
    }
}

/// The wizard's way: the terminal's own tools, without a menu.
pub(super) fn section(desk: &Desk, pen: &mut Pen<'_>, here: &Inventory) -> Result<()> {
    configure(desk, pen, &["cli".to_owned()], here).map(drop)
}

/// The toolsets of these platforms, and the keys of what is switched on and has none.
fn configure(
    desk: &Desk,
    pen: &mut Pen<'_>,
    platforms: &[String],
    here: &Inventory,
) -> Result<Vec<String>> {
    let Some(on) = checklist(desk, &pen.settings(), platforms, here)? else {
        return Ok(Vec::new());
    };
    let before: Vec<_> = platforms
        .iter()
        .flat_map(|platform| enabled(&pen.settings(), platform))
        .collect();
    let mut changes = Vec::new();
    for platform in platforms {
        changes.extend(write(pen, platform, &on, here)?);
    }
    for set in here.toolsets() {
        if on.contains(&set.name) && !before.contains(&set.name) {
            changes.extend(reconfigure::for_new(desk, pen, &set)?);
        }
    }
    Ok(changes)
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
    here: &Inventory,
) -> Result<Option<Row>> {
    let here = here.toolsets();
    let mut items: Vec<Item<Row>> = platforms
        .iter()
        .map(|platform| {
            let on = enabled(settings, platform);
            let on = here.iter().filter(|set| on.contains(&set.name)).count();
            let label = format!("Configure {platform} ({on}/{} enabled)", here.len());
            Item::new(Row::Platform(platform.clone()), label)
        })
        .collect();
    if platforms.len() > 1 {
        items.push(Item::new(Row::All, "Configure all platforms"));
    }
    items.push(Item::new(
        Row::Reconfigure,
        "Reconfigure a tool's provider or key",
    ));
    items.push(Item::new(Row::Done, "Done"));
    ask(desk, List::new("Tools", items))
}

/// The toolsets that are to be on; `None` if nothing is to change.
fn checklist(
    desk: &Desk,
    settings: &Settings,
    platforms: &[String],
    here: &Inventory,
) -> Result<Option<Vec<&'static str>>> {
    let sets = here.toolsets();
    let first = platforms.first().map(String::as_str).unwrap_or("cli");
    let now = enabled(settings, first);
    let on: Vec<usize> = (0..sets.len())
        .filter(|place| now.contains(&sets[*place].name))
        .collect();
    let items = sets.iter().map(|set| {
        let problem = set.problem.map(|why| format!(" [{why}]"));
        let tools = set.tools.join(", ");
        Item::new((), set.name).about(format!("({tools}){}", problem.unwrap_or_default()))
    });
    let weights: Vec<usize> = sets
        .iter()
        .map(|set| {
            set.tools
                .iter()
                .filter_map(|tool| here.sizes.get(*tool))
                .sum()
        })
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
    Ok(chosen.map(|chosen| chosen.into_iter().map(|place| sets[place].name).collect()))
}

/// Writes the list. What is not shown here stays as it is: toolsets of other programs, servers, plugins.
fn write(
    pen: &mut Pen<'_>,
    platform: &str,
    on: &[&'static str],
    here: &Inventory,
) -> Result<Option<String>> {
    let key = format!("platform_toolsets.{platform}");
    let settings = pen.settings();
    let shown = here.toolsets();
    let is_shown = |name: &str| shown.iter().any(|set| set.name == name);
    let before = enabled(&settings, platform);
    let hidden = before.iter().copied().filter(|leaf| !is_shown(leaf));
    let written = settings.get(&key).map(names).unwrap_or_default();
    let foreign = written.iter().map(String::as_str);
    let foreign = foreign.filter(|name| leaves().all(|(leaf, _)| leaf != *name));
    let list: Vec<&str> = on.iter().copied().chain(hidden).chain(foreign).collect();
    let is_same = |leaf: &&str| before.contains(leaf) == on.contains(leaf);
    if shown.iter().map(|set| set.name).all(|leaf| is_same(&leaf)) {
        return Ok(None);
    }
    pen.set(&key, &json!(list))?;
    Ok(Some(format!("{platform}: {}", on.join(", "))))
}
