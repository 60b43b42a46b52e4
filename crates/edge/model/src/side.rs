//! Side tasks: what `auxiliary.<task>` says, and who helps out when it says nothing.

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::Duration;

use hermes_home::config::Settings;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::wish::Wish;

/// What the owner set for one task.
#[derive(Debug)]
pub(crate) struct SideTask {
    pub who: Who,
    /// `None`: as long as the caller waits.
    pub timeout: Option<Duration>,
    pub temperature: Option<f64>,
    pub extra_body: Map<String, Value>,
}

#[derive(Debug)]
pub(crate) enum Who {
    /// The main model, and others where it can't. With a name: that model of the main provider.
    Auto(Option<String>),
    /// The main model, whatever happens. With a name: that model of the main provider.
    Main(Option<String>),
    /// Somebody the owner chose; nobody else is asked instead.
    Chosen(Wish),
}

impl SideTask {
    pub fn new(settings: &Settings, task: &str) -> Self {
        let section = settings.value()["auxiliary"]
            .get(task)
            .unwrap_or(&Value::Null);
        let extra_body = section["extra_body"].as_object();
        let timeout = section["timeout"].as_f64().unwrap_or_default();
        Self {
            who: Who::new(section, task),
            timeout: Duration::try_from_secs_f64(timeout)
                .ok()
                .filter(|limit| !limit.is_zero()),
            temperature: section["temperature"].as_f64(),
            extra_body: extra_body.cloned().unwrap_or_default(),
        }
    }
}

impl Who {
    fn new(section: &Value, task: &str) -> Self {
        let text = |key: &str| section[key].as_str().unwrap_or_default().trim().to_owned();
        let (provider, base_url) = (text("provider").to_lowercase(), text("base_url"));
        let model = Some(text("model")).filter(|model| !model.is_empty());
        let provider = match provider.as_str() {
            "" | "auto" if base_url.is_empty() => return Self::Auto(model),
            "main" if base_url.is_empty() => return Self::Main(model),
            "" | "auto" | "main" => "custom".to_owned(),
            "codex" => "openai-codex".to_owned(),
            _ => provider,
        };
        Self::Chosen(Wish {
            provider,
            base_url,
            model: model.unwrap_or_default(),
            key: text("api_key"),
            key_name: format!("auxiliary.{task}.api_key"),
            api_mode: text("api_mode"),
            ..Wish::default()
        })
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    auto: Vec<Helper>,
    vision: Vision,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Helper {
    provider: String,
    #[serde(default)]
    model: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Vision {
    auto: Vec<String>,
    models: BTreeMap<String, String>,
    blind: Vec<String>,
}

const VISION: &str = "vision";

static TABLE: LazyLock<Table> =
    LazyLock::new(|| crate::data::read(include_str!("../data/side.json")));

/// Whom to ask for this task where the main model can't, in order.
pub(crate) fn helpers(settings: &Settings, task: &str) -> Vec<Wish> {
    let usual = settings.text("model.default");
    let helps = |helper: &&Helper| task != VISION || TABLE.vision.auto.contains(&helper.provider);
    let wish = |helper: &Helper| Wish {
        provider: helper.provider.clone(),
        model: match helper.model.is_empty() {
            true => usual.to_owned(),
            false => helper.model.clone(),
        },
        ..Wish::default()
    };
    TABLE.auto.iter().filter(helps).map(wish).collect()
}

/// A provider's cheap model.
pub(crate) fn cheap(provider: &str) -> Option<&'static str> {
    let helper = TABLE.auto.iter().find(|row| row.provider == provider)?;
    Some(helper.model.as_str()).filter(|model| !model.is_empty())
}

/// What the main provider uses for a task instead of the main model.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Instead {
    Nothing,
    Model(&'static str),
    /// It has none that could.
    Blind,
}

pub(crate) fn instead(provider: &str, task: &str) -> Instead {
    if task != VISION {
        return Instead::Nothing;
    }
    let vision = &TABLE.vision;
    if vision.blind.iter().any(|blind| blind == provider) {
        return Instead::Blind;
    }
    let model = vision.models.get(provider);
    model.map_or(Instead::Nothing, |model| Instead::Model(model))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_looked_at_by_those_who_can() {
        assert_eq!(instead("zai", VISION), Instead::Model("glm-5v-turbo"));
        assert_eq!(instead("zai", "compression"), Instead::Nothing);
        assert_eq!(instead("kimi-coding", VISION), Instead::Blind);
        assert_eq!(instead("openrouter", VISION), Instead::Nothing);
        assert_eq!(cheap("zai"), Some("glm-4.5-flash"));
        assert_eq!(cheap("custom"), None);
    }
}
