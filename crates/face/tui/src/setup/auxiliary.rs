//! Which models do the small work beside the conversation: `auxiliary.*`.

use hermes_home::config::Settings;

use super::endpoint::is_address;
use super::market::Market;
use super::{Pen, Result, ask, keys, model, own};
use crate::pick::{Desk, Item, Line, List, Search};

/// What there is to do, and for what.
const TASKS: [(&str, &str); 6] = [
    ("compression", "making long conversations shorter"),
    ("title_generation", "titles of conversations"),
    ("session_search", "recalling earlier conversations"),
    ("background_review", "learning from what was done"),
    ("approval", "judging commands, with approvals.mode smart"),
    ("mcp", "questions of tool servers"),
];

/// Who children think with, when a task is handed on.
pub(super) const CHILDREN: &str = "delegation";

const FIELDS: [&str; 4] = ["provider", "model", "base_url", "api_key"];

#[derive(Clone)]
enum Row {
    Task(&'static str),
    ResetAll,
    Done,
}

#[derive(Clone)]
enum Who {
    Auto,
    Main,
    Provider(String, String),
    Endpoint,
}

/// Task by task until it is left.
pub(super) fn menu(desk: &Desk, pen: &mut Pen<'_>, market: &dyn Market) -> Result<()> {
    loop {
        let settings = pen.settings();
        let mut items: Vec<Item<Row>> = TASKS
            .iter()
            .map(|(task, about)| {
                Item::new(Row::Task(task), *task)
                    .about(*about)
                    .cells([now(&settings, &section(task))])
            })
            .collect();
        items.push(Item::new(Row::ResetAll, "Reset all to auto").group("More"));
        items.push(Item::new(Row::Done, "Done").group("More"));
        let list = List::new("Auxiliary models", items)
            .note("auto: the main model, or somebody cheaper where that is known to do.");
        match ask(desk, list)? {
            Some(Row::Task(task)) => choose(desk, pen, market, &section(task))?,
            Some(Row::ResetAll) => {
                for (task, _) in TASKS {
                    reset(pen, &section(task))?;
                }
            }
            Some(Row::Done) | None => return Ok(()),
        }
    }
}

fn section(task: &str) -> String {
    format!("auxiliary.{task}")
}

/// Who a section names, in short.
pub(super) fn now(settings: &Settings, section: &str) -> String {
    let text = |field: &str| settings.text(&format!("{section}.{field}"));
    let who = match (text("provider"), text("base_url")) {
        ("" | "auto", "") => usual(section),
        (_, address) if !address.is_empty() => super::market::host(address),
        (provider, _) => provider,
    };
    match text("model") {
        "" => who.to_owned(),
        model => format!("{who}: {model}"),
    }
}

/// Who it is where nobody is named.
fn usual(section: &str) -> &'static str {
    match section == CHILDREN {
        true => "the main model",
        false => "auto",
    }
}

/// Asks whom a section should name.
pub(super) fn choose(
    desk: &Desk,
    pen: &mut Pen<'_>,
    market: &dyn Market,
    section: &str,
) -> Result<()> {
    let settings = pen.settings();
    let now = settings.text(&format!("{section}.provider"));
    let is_usual =
        matches!(now, "" | "auto") && settings.text(&format!("{section}.base_url")).is_empty();
    let mut items = vec![Item::new(Who::Auto, usual(section)).current_if(is_usual)];
    if section != CHILDREN {
        items.push(Item::new(Who::Main, "the main model").current_if(now == "main"));
    }
    let ready = market
        .providers()
        .into_iter()
        .filter(|one| one.is_ready && one.id != "custom");
    items.extend(ready.map(|one| {
        let name = match one.is_own() {
            true => own::title(&settings, &one),
            false => one.name,
        };
        let is_current = one.id == now;
        Item::new(Who::Provider(one.id, name.clone()), name).current_if(is_current)
    }));
    items.push(Item::new(Who::Endpoint, "Custom endpoint…"));
    let task = section.trim_start_matches("auxiliary.");
    let list = List::new(format!("Who does {task}?"), items).search(Search::Letters);
    match ask(desk, list)? {
        None => Ok(()),
        Some(Who::Auto) => reset(pen, section),
        Some(Who::Main) => {
            reset(pen, section)?;
            pen.assign(&format!("{section}.provider"), "main").map(drop)
        }
        Some(Who::Provider(id, name)) => {
            let now = settings.text(&format!("{section}.model"));
            desk.say(&format!("Asking {name} for its models …"))?;
            match model::pick(desk, &name, &market.models(&id), now)? {
                Some(model) => write(pen, section, [&id, &model, "", ""]),
                None => Ok(()),
            }
        }
        Some(Who::Endpoint) => endpoint(desk, pen, section),
    }
}

fn endpoint(desk: &Desk, pen: &mut Pen<'_>, section: &str) -> Result<()> {
    let line = Line::new("Address of the server").check(is_address);
    let Some(address) = ask(desk, line)? else {
        return Ok(());
    };
    let line = Line::new("API key for it")
        .note("Enter alone: it wants none. Kept in .env.")
        .masked()
        .optional()
        .check(keys::is_key);
    let Some(key) = ask(desk, line)? else {
        return Ok(());
    };
    match ask(desk, Line::new("Name of the model"))? {
        Some(model) => write(pen, section, ["custom", &model, &address, &key]),
        None => Ok(()),
    }
}

fn reset(pen: &mut Pen<'_>, section: &str) -> Result<()> {
    for field in FIELDS {
        pen.unset(&format!("{section}.{field}"))?;
    }
    Ok(())
}

/// The values of [`FIELDS`]; an empty one is taken out.
fn write(pen: &mut Pen<'_>, section: &str, values: [&str; 4]) -> Result<()> {
    for (field, value) in FIELDS.into_iter().zip(values) {
        let key = format!("{section}.{field}");
        match value.is_empty() {
            true => pen.unset(&key)?,
            false => drop(pen.assign(&key, value)?),
        }
    }
    Ok(())
}
