//! Personalities: a text the owner chose that follows the system prompt of every request, and is never stored
//! with a conversation.

use std::collections::BTreeMap;

use hermes_home::config::{Document, Settings};
use hermes_home::{Env, Home, yaml};
use serde_json::{Value, json};

/// Names that mean none of them.
const NONE: [&str; 3] = ["none", "default", "neutral"];
/// Where the chosen one is written down.
const SETTING: &str = "agent.system_prompt";

/// The personalities there are, and the one that speaks.
pub struct Personalities {
    /// Where the choice is kept.
    home: Home,
    /// Names and texts, the owner's own among them.
    known: BTreeMap<String, String>,
    /// Given from outside for this run: wins over every choice.
    fixed: Option<String>,
    chosen: String,
}

impl Personalities {
    pub fn new(home: &Home, settings: &Settings, env: &Env) -> Self {
        let mut known: BTreeMap<String, String> = include_str!("prompts/personalities.md")
            .lines()
            .filter_map(|line| line.split_once(": "))
            .map(|(name, text)| (name.to_owned(), text.to_owned()))
            .collect();
        for key in ["personalities", "agent.personalities"] {
            let own = settings.get(key).and_then(Value::as_object);
            let own = own.into_iter().flatten();
            known.extend(own.filter_map(|(name, entry)| Some((name.to_lowercase(), text(entry)?))));
        }
        let fixed = env.filled("HERMES_EPHEMERAL_SYSTEM_PROMPT");
        Self {
            home: home.clone(),
            known,
            fixed: fixed.map(str::to_owned),
            chosen: settings.text(SETTING).trim().to_owned(),
        }
    }

    /// What can be chosen.
    pub fn names(&self) -> Vec<String> {
        let none = NONE.first().map(|none| (*none).to_owned());
        none.into_iter().chain(self.known.keys().cloned()).collect()
    }

    /// What follows the system prompt; empty if nothing does.
    pub(crate) fn overlay(&self) -> String {
        self.fixed.as_ref().unwrap_or(&self.chosen).clone()
    }

    /// Chooses one for now and for later; says what came of it.
    pub(crate) async fn choose(&mut self, name: &str) -> String {
        let name = name.to_lowercase();
        let text = match self.known.get(&name) {
            Some(text) => text.clone(),
            None if NONE.contains(&name.as_str()) => String::new(),
            None => return self.list(),
        };
        self.chosen.clone_from(&text);
        let unsaved = keep(self.home.clone(), text).await;
        let unsaved = unsaved.map(|reason| format!("; only for now: {reason}"));
        let fixed = self
            .fixed
            .as_ref()
            .map(|_| "; HERMES_EPHEMERAL_SYSTEM_PROMPT is set and comes before it".to_owned());
        let notes: String = [unsaved, fixed].into_iter().flatten().collect();
        format!("personality: {name}{notes}")
    }

    fn list(&self) -> String {
        let line = |(name, text): (&String, &String)| {
            let mark = if *text == self.chosen { "●" } else { " " };
            let first = text.lines().next().unwrap_or_default();
            let short: String = first.chars().take(60).collect();
            format!("{mark} {name:<12} {short}")
        };
        let rows: Vec<String> = self.known.iter().map(line).collect();
        format!(
            "personalities (/personality NAME chooses one, /personality none clears it):\n{}",
            rows.join("\n")
        )
    }
}

/// Writes the choice down; says why not. The file may be locked for a moment: no task waits for that.
async fn keep(home: Home, text: String) -> Option<String> {
    let write = move || -> hermes_home::Result<()> {
        home.writable()?;
        let path = yaml::Path::parse(SETTING)?;
        Document::edit(&home, |document| document.set(&path, &json!(text)))
    };
    match tokio::task::spawn_blocking(write).await {
        Ok(written) => written.err().map(|error| error.to_string()),
        Err(error) => Some(error.to_string()),
    }
}

/// An entry of the owner's: a text, or a map of what it is made of.
fn text(entry: &Value) -> Option<String> {
    if let Some(text) = entry.as_str() {
        return Some(text.trim().to_owned());
    }
    let part = |key: &str| {
        entry[key]
            .as_str()
            .map(str::trim)
            .filter(|part| !part.is_empty())
    };
    let labelled = |label: &str, key: &str| part(key).map(|text| format!("{label}: {text}"));
    let parts = [
        part("system_prompt").map(str::to_owned),
        labelled("Tone", "tone"),
        labelled("Style", "style"),
    ];
    let text = parts.into_iter().flatten().collect::<Vec<_>>().join("\n");
    (!text.is_empty()).then_some(text)
}

impl std::fmt::Debug for Personalities {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Personalities")
            .field("chosen", &self.chosen)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn the_owners_come_from_both_places_and_before_the_built_in_ones() {
        let dir = tempfile::tempdir().unwrap();
        let env = Env::from([("HERMES_HOME", dir.path().to_str().unwrap())]);
        let home = hermes_home::Resolved::from(None, &env).unwrap().home(&env);
        let built_in = Personalities::new(&home, &Settings::load(&home, &env), &env).known;
        let names = "catgirl concise creative helpful hype kawaii noir philosopher pirate \
                     shakespeare surfer teacher technical uwu";
        let known: Vec<&str> = built_in.keys().map(String::as_str).collect();
        assert_eq!(known.join(" "), names);
        let config = "personalities:\n  Butler: Serve.\n  pirate: No sea here.\n\
                      agent:\n  personalities:\n    monk: {system_prompt: Be silent., tone: calm}\n";
        std::fs::write(home.config_path(), config).unwrap();
        let known = Personalities::new(&home, &Settings::load(&home, &env), &env).known;
        let of = |name: &str| known.get(name).map(String::as_str);
        assert_eq!(of("butler"), Some("Serve."));
        assert_eq!(of("monk"), Some("Be silent.\nTone: calm"));
        assert_eq!(of("pirate"), Some("No sea here."));
        assert_eq!(of("noir"), built_in.get("noir").map(String::as_str));
    }

    #[test]
    fn entries_are_texts_or_made_of_parts() {
        let check = |entry: Value, expected: Option<&str>| {
            assert_eq!(text(&entry).as_deref(), expected, "{entry}");
        };
        check(json!(" Be brief. "), Some("Be brief."));
        check(
            json!({"description": "x", "system_prompt": "Be brief.", "tone": "dry", "style": "lists"}),
            Some("Be brief.\nTone: dry\nStyle: lists"),
        );
        check(json!({"tone": "dry"}), Some("Tone: dry"));
        check(json!({"description": "x"}), None);
        check(json!(3), None);
    }
}
