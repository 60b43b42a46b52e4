//! The settings in force, for people: the most asked for, with secrets masked.

use std::io::{self, Write};

use hermes_home::config;
use hermes_home::envvars::{self, Category};
use hermes_home::redact::{is_secret_name, mask_display};
use hermes_home::{Env, Home, yaml};
use serde_json::Value;

use crate::out::Out;

/// Prints a summary of a tree that is [`masked`] already.
pub fn print(out: &mut Out, home: &Home, masked: &Value, env: &Env) -> io::Result<()> {
    section(out, "Paths")?;
    let paths = [
        ("config", home.config_path()),
        ("secrets", home.env_path()),
        ("home", home.dir().to_owned()),
    ];
    for (name, path) in paths {
        pair(out, name, &path.display().to_string())?;
    }
    section(out, "API keys")?;
    keys(out, env)?;
    for (title, names) in SECTIONS {
        section(out, title)?;
        for key in *names {
            let value = at(masked, key).cloned().unwrap_or_default();
            pair(out, key, &shown(&value))?;
        }
    }
    section(out, "Auxiliary models")?;
    overrides(out, "auxiliary", masked)?;
    section(out, "Messaging")?;
    messaging(out, env)?;
    section(out, "Skill settings")?;
    overrides(out, "skills.config", masked)
}

fn at<'v>(tree: &'v Value, key: &str) -> Option<&'v Value> {
    yaml::Path::parse(key).ok()?.get(tree)
}

/// What the summary shows of the tree; `config get KEY` shows any of it.
const SECTIONS: &[(&str, &[&str])] = &[
    (
        "Model",
        &[
            "model.default",
            "model.provider",
            "model.base_url",
            "model.api_key",
            "agent.max_turns",
            "agent.reasoning_effort",
            "toolsets",
        ],
    ),
    (
        "Display",
        &[
            "display.skin",
            "display.personality",
            "display.compact",
            "display.show_reasoning",
            "display.tool_progress",
        ],
    ),
    (
        "Terminal",
        &[
            "terminal.backend",
            "terminal.cwd",
            "terminal.timeout",
            "terminal.docker_image",
        ],
    ),
    ("Timezone", &["timezone"]),
    (
        "Context compression",
        &[
            "compression.enabled",
            "compression.threshold",
            "compression.target_ratio",
            "compression.protect_last_n",
        ],
    ),
];

fn section(out: &mut Out, title: &str) -> io::Result<()> {
    let title = out.heading(title);
    writeln!(out, "{title}")
}

fn pair(out: &mut Out, name: &str, value: &str) -> io::Result<()> {
    writeln!(out, "  {name:<28} {value}")
}

fn keys(out: &mut Out, env: &Env) -> io::Result<()> {
    let wanted = |var: &&envvars::Var| {
        var.secret && matches!(var.category, Category::Provider | Category::Tool)
    };
    let vars: Vec<_> = envvars::all().iter().filter(wanted).collect();
    let set: Vec<_> = vars
        .iter()
        .filter_map(|var| Some((var.name, env.filled(var.name)?.to_owned())))
        .collect();
    for (name, value) in &set {
        pair(out, name, &mask_display(value))?;
    }
    let rest = out.faint(format!("{} others (not set)", vars.len() - set.len()));
    writeln!(out, "  {rest}")
}

fn messaging(out: &mut Out, env: &Env) -> io::Result<()> {
    let set: Vec<String> = envvars::all()
        .iter()
        .filter(|var| var.category == Category::Messaging && env.filled(var.name).is_some())
        .map(|var| var.name.to_owned())
        .collect();
    match set.as_slice() {
        [] => writeln!(out, "  nothing set"),
        names => names.iter().try_for_each(|name| {
            let value = env.get(name).unwrap_or_default();
            let value = if envvars::is_secret(name) {
                mask_display(value)
            } else {
                value.to_owned()
            };
            pair(out, name, &value)
        }),
    }
}

/// Values below `key` that differ from the defaults.
fn overrides(out: &mut Out, key: &str, masked: &Value) -> io::Result<()> {
    let mut rows = Vec::new();
    differences(at(config::defaults(), key), at(masked, key), key, &mut rows);
    if rows.is_empty() {
        return writeln!(out, "  nothing set");
    }
    rows.iter()
        .try_for_each(|(name, value)| pair(out, name, value))
}

fn differences(
    default: Option<&Value>,
    value: Option<&Value>,
    key: &str,
    rows: &mut Vec<(String, String)>,
) {
    match (default, value) {
        (default, Some(Value::Object(map))) => {
            for (name, value) in map {
                differences(
                    default.and_then(|default| default.get(name)),
                    Some(value),
                    &format!("{key}.{name}"),
                    rows,
                );
            }
        }
        (default, Some(value)) if default != Some(value) => {
            rows.push((key.to_owned(), shown(value)))
        }
        _ => {}
    }
}

/// A value on one line.
pub fn shown(value: &Value) -> String {
    match value {
        Value::Null => "(not set)".to_owned(),
        Value::String(text) if text.is_empty() => "(not set)".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(shown).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

/// The same tree with every value named like a secret masked, however deep it is.
pub fn masked(value: &Value, name: &str) -> Value {
    match value {
        Value::String(text) if is_secret_name(name) && !text.is_empty() => {
            mask_display(text).into()
        }
        Value::Array(items) => items.iter().map(|item| masked(item, name)).collect(),
        Value::Object(map) => map
            .iter()
            .map(|(name, value)| (name.clone(), masked(value, name)))
            .collect(),
        other => other.clone(),
    }
}
