//! What is there now, what is missing, and what to do next.

use hermes_session::toolsets::{enabled, leaves};

use super::Pen;
use super::market::Market;
use super::tools::Inventory;

/// Lines for the end.
pub(super) fn lines(pen: &Pen<'_>, market: &dyn Market, here: &Inventory) -> Vec<String> {
    let settings = pen.settings();
    let mut lines = vec![String::new(), model(pen, market)];
    let on = enabled(&settings, "cli");
    let sets = here.toolsets();
    let is_here = |leaf: &&str| sets.iter().any(|set| set.name == *leaf);
    let missing = leaves().map(|(leaf, _)| leaf);
    let missing: Vec<&str> = missing
        .filter(|leaf| on.contains(leaf) && !is_here(leaf))
        .collect();
    let (unusable, there): (Vec<_>, Vec<_>) = sets
        .iter()
        .filter(|set| on.contains(&set.name))
        .partition(|set| set.problem.is_some());
    let there: Vec<&str> = there.iter().map(|set| set.name).collect();
    lines.push(format!("✓ tools: {}", there.join(", ")));
    for set in unusable {
        let problem = set.problem.unwrap_or_default();
        lines.push(format!("○ {}: {problem}", set.name));
    }
    if !missing.is_empty() {
        lines.push(format!("○ not in this version yet: {}", missing.join(", ")));
    }
    lines.push(String::new());
    let home = pen.home();
    for (what, path) in [
        ("Settings", home.config_path()),
        ("Keys", home.env_path()),
        ("Logs", home.logs_dir()),
    ] {
        lines.push(format!("{what:<10}{}", path.display()));
    }
    lines.push(String::new());
    for (command, what) in [
        ("hermes", "talk"),
        ("hermes model", "choose another model"),
        ("hermes tools", "choose tools"),
        ("hermes doctor", "find what is wrong"),
    ] {
        lines.push(format!("{command:<15}{what}"));
    }
    lines.extend(copy(pen));
    lines
}

/// Where the settings are as they were, and how to get them back.
pub(super) fn copy(pen: &Pen<'_>) -> Vec<String> {
    let Some(copy) = pen.copy() else {
        return Vec::new();
    };
    let (copy, config) = (copy.display(), pen.home().config_path());
    vec![
        String::new(),
        format!("Your settings as they were: {copy}"),
        format!("To get them back: cp '{copy}' '{}'", config.display()),
    ]
}

fn model(pen: &Pen<'_>, market: &dyn Market) -> String {
    let settings = pen.settings();
    let (provider, model) = (
        settings.text("model.provider"),
        settings.text("model.default"),
    );
    match (model, market.main().is_some()) {
        ("", _) => "✗ no model is chosen: hermes model".to_owned(),
        (model, true) => format!("✓ model: {model} ({provider})"),
        (model, false) => {
            format!("○ model: {model} ({provider}); check its key with `hermes model`")
        }
    }
}
