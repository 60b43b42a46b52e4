//! `hermes model`: who answers, with which key, and which of their models.

use super::choice::Choice;
use super::credentials::{self, Ready};
use super::market::{Market, Offered, Provider};
use super::{Pen, Result, ask, auxiliary, endpoint, own};
use crate::pick::{Desk, Item, Line, List, Search};

/// What belongs to the provider it was set for.
const OF_A_PROVIDER: [&str; 4] = [
    "model.base_url",
    "model.api_key",
    "model.api_mode",
    "model.context_length",
];

/// What choosing came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chosen {
    Model { provider: String, model: String },
    Unchanged,
}

#[derive(Clone)]
enum Row {
    Provider(Provider),
    Endpoint,
    Remove,
    Auxiliary,
    Leave,
}

/// Asks until a model is chosen or nothing is to change. Esc goes one step back.
pub fn choose_model(desk: &Desk, pen: &mut Pen<'_>, market: &dyn Market) -> Result<Chosen> {
    loop {
        let chosen = match who(desk, pen, market)? {
            Row::Leave => return Ok(Chosen::Unchanged),
            Row::Provider(provider) => of_provider(desk, pen, market, &provider)?,
            Row::Endpoint => endpoint::add(desk, pen, market)?,
            Row::Remove => {
                own::remove(desk, pen, market)?;
                None
            }
            Row::Auxiliary => {
                auxiliary::menu(desk, pen, market)?;
                None
            }
        };
        if let Some((provider, model)) = chosen {
            write(desk, pen, &provider, &model)?;
            effort(desk, pen, market)?;
            return Ok(Chosen::Model { provider, model });
        }
    }
}

fn who(desk: &Desk, pen: &Pen<'_>, market: &dyn Market) -> Result<Row> {
    let settings = pen.settings();
    let (now, model) = (
        settings.text("model.provider"),
        settings.text("model.default"),
    );
    let providers = market.providers();
    let has_own = providers.iter().any(Provider::is_own);
    let mut items: Vec<Item<Row>> = providers
        .into_iter()
        .filter(|provider| provider.id != "custom")
        .map(|provider| row(pen, provider, now))
        .collect();
    let more = |row, label: &str| Item::new(row, label).group("More");
    items.push(more(Row::Endpoint, "Custom endpoint…").about("a server of your own"));
    if has_own {
        items.push(more(Row::Remove, "Remove a saved custom provider…"));
    }
    items.push(more(Row::Auxiliary, "Configure auxiliary models…").about("titles, summaries, …"));
    items.push(more(Row::Leave, "Leave unchanged"));
    let note = match model.is_empty() {
        true => "No model is chosen yet. ✓ can be used now.".to_owned(),
        false => format!("Now: {model} ({now}). ✓ can be used now."),
    };
    let list = List::new("Who should answer?", items)
        .note(note)
        .search(Search::Letters);
    Ok(ask(desk, list)?.unwrap_or(Row::Leave))
}

fn row(pen: &Pen<'_>, provider: Provider, now: &str) -> Item<Row> {
    let is_current = provider.id == now || provider.id.strip_prefix("custom:") == Some(now);
    let ready = if provider.is_ready { "✓" } else { "" };
    let (label, about) = match provider.is_own() {
        true => {
            let settings = pen.settings();
            let label = own::title(&settings, &provider);
            let model = own::default_model(&settings, &provider.id);
            (
                label,
                model.map(|model| format!("— {model}")).unwrap_or_default(),
            )
        }
        false => (
            provider.name.clone(),
            provider.host().replace("{region}", "…"),
        ),
    };
    let group = if provider.is_own() { "Your own" } else { "" };
    let words = provider.id.clone();
    Item::new(Row::Provider(provider), label)
        .about(about)
        .cells([ready])
        .also(words)
        .group(group)
        .current_if(is_current)
}

/// `None`: back to the list.
fn of_provider(
    desk: &Desk,
    pen: &mut Pen<'_>,
    market: &dyn Market,
    provider: &Provider,
) -> Result<Option<(String, String)>> {
    if credentials::settle(desk, pen, market, provider)? == Ready::No {
        return Ok(None);
    }
    let settings = pen.settings();
    let is_same = settings.text("model.provider") == provider.id;
    let now = match is_same {
        true => settings.text("model.default").to_owned(),
        false => own::default_model(&settings, &provider.id).unwrap_or_default(),
    };
    let name = match provider.is_own() {
        true => own::title(&settings, provider),
        false => provider.name.clone(),
    };
    desk.say(&format!("Asking {name} for its models …"))?;
    let offered = market.models(&provider.id);
    let model = pick(desk, &name, &offered, &now)?;
    Ok(model.map(|model| (provider.id.clone(), model)))
}

/// One of the models, or a name that is typed; `now` is the one Enter means.
pub(super) fn pick(
    desk: &Desk,
    whose: &str,
    offered: &Offered,
    now: &str,
) -> Result<Option<String>> {
    if offered.models.is_empty() {
        return name(desk, whose, &offered.origin, now);
    }
    let other = Item::new(None, "Enter another name…").also("custom other");
    let models = offered.models.iter().map(|model| {
        Item::new(Some(model.name.clone()), &model.name)
            .cells(model.cells.clone())
            .current_if(model.name == now)
    });
    // What is in use may not be on the list.
    let is_listed = offered.models.iter().any(|model| model.name == now);
    let unlisted = (!now.is_empty() && !is_listed).then(|| {
        Item::new(Some(now.to_owned()), now)
            .current_if(true)
            .about("not on the list")
    });
    let models: Vec<_> = unlisted.into_iter().chain(models).chain([other]).collect();
    let list = List::new(format!("Which model of {whose}?"), models)
        .note(format!(
            "{} models, {}.",
            offered.models.len(),
            offered.origin
        ))
        .header(&["Model", "Context", "In/M", "Out/M"])
        .search(Search::Letters);
    match ask(desk, list)? {
        None => Ok(None),
        Some(Some(model)) => Ok(Some(model)),
        Some(None) => name(desk, whose, "", now),
    }
}

fn name(desk: &Desk, whose: &str, note: &str, now: &str) -> Result<Option<String>> {
    let line = Line::new(format!("Name of the model of {whose}"))
        .note(note)
        .check(|text| match text.contains(char::is_whitespace) {
            true => Err("a model's name has no spaces".to_owned()),
            false => Ok(()),
        });
    let line = match now.is_empty() {
        true => line,
        false => line.default(now),
    };
    ask(desk, line)
}

fn write(desk: &Desk, pen: &mut Pen<'_>, provider: &str, model: &str) -> Result<()> {
    let before = pen.settings();
    if before.text("model.provider") != provider {
        pen.assign("model.provider", provider)?;
        // What was set for the old provider would follow the new one otherwise.
        for key in OF_A_PROVIDER {
            pen.unset(key)?;
        }
    }
    pen.assign("model.default", model)?;
    if pen.forget("OPENAI_BASE_URL")? {
        desk.say("OPENAI_BASE_URL is removed from .env: it was left over.")?;
    }
    Ok(())
}

/// How hard to think, where a model can be told.
fn effort(desk: &Desk, pen: &mut Pen<'_>, market: &dyn Market) -> Result<()> {
    const EFFORTS: [(&str, &str); 7] = [
        ("", "as the provider sees fit"),
        ("none", "not at all"),
        ("minimal", ""),
        ("low", ""),
        ("medium", ""),
        ("high", ""),
        ("xhigh", "as much as it takes"),
    ];
    if !market.main().is_some_and(|main| main.takes_effort) {
        return Ok(());
    }
    let choice = Choice {
        key: "agent.reasoning_effort",
        title: "How hard should it think?",
        note: "agent.reasoning_effort; Esc leaves it as it is.",
        values: &EFFORTS,
    };
    choice.settle(desk, pen)
}
