//! Skills that a person calls: `/name`, and those a session begins with. Both are texts for the model.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::find::Skill;
use crate::resolve::Missing;
use crate::service::Skills;
use crate::usage::Act;
use crate::view::View;

/// How a skill is called: `My_Skill 2` → `my-skill-2`.
pub fn command(name: &str) -> String {
    let mut command = String::new();
    for c in name.to_lowercase().chars() {
        match c {
            ' ' | '_' | '-' if !command.ends_with('-') => command.push('-'),
            c if c.is_ascii_alphanumeric() => command.push(c),
            _ => {}
        }
    }
    command.trim_matches('-').to_owned()
}

impl Skills {
    /// Every skill that can be called, by its command.
    pub fn commands(&self) -> BTreeMap<String, Vec<Skill>> {
        let mut commands: BTreeMap<String, Vec<Skill>> = BTreeMap::new();
        for skill in self.visible() {
            let command = command(skill.name());
            if !command.is_empty() {
                commands.entry(command).or_default().push(skill);
            }
        }
        commands
    }

    /// Whether somebody who types this means a skill.
    pub fn has_command(&self, typed: &str) -> bool {
        self.commands().contains_key(&command(typed))
    }

    /// What the model is told when a person calls a skill.
    pub async fn called(&self, typed: &str, words: &str, session: &str) -> Result<String, Missing> {
        let skills = self.commands().remove(&command(typed)).unwrap_or_default();
        let view = match skills.as_slice() {
            [one] => self.open(one.clone())?,
            _ => self.view(typed)?,
        };
        let name = view.skill.name().to_owned();
        let note =
            format!("[The user called the skill \"{name}\". Follow the instructions below.]");
        let mut text = self.message(&view, &note, session).await;
        if !words.trim().is_empty() {
            text.push_str(&format!("\n\nThe user says with it: {}", words.trim()));
        }
        self.count(&name, Act::Called);
        Ok(text)
    }

    /// What the model is told of skills a session begins with.
    pub async fn preloaded(&self, names: &[String], session: &str) -> Result<String, Missing> {
        let mut texts = Vec::new();
        for name in names {
            let view = self.view(name)?;
            let note = format!(
                "[The skill \"{}\" was preloaded for this session. Follow it wherever it applies.]",
                view.skill.name()
            );
            texts.push(self.message(&view, &note, session).await);
            self.count(view.skill.name(), Act::Called);
        }
        Ok(texts.join("\n\n"))
    }

    async fn message(&self, view: &View, note: &str, session: &str) -> String {
        self.saw(&view.file);
        let dir = view.dir();
        let mut parts = vec![
            note.to_owned(),
            self.text(view, session).await.trim().to_owned(),
        ];
        parts.push(format!(
            "[Skill directory: {}] Relative paths in the skill begin there; use absolute ones in commands.",
            dir.display()
        ));
        parts.extend(self.settings_of(view));
        let setup = self.setup(view);
        parts.extend(
            setup
                .get("setup_note")
                .and_then(Value::as_str)
                .map(|note| format!("[{note}]")),
        );
        let files: Vec<String> = view
            .linked_files()
            .values()
            .filter_map(Value::as_array)
            .flatten()
            .filter_map(Value::as_str)
            .map(|file| format!("- {file}: {}", dir.join(file).display()))
            .collect();
        if !files.is_empty() {
            let name = view.skill.name();
            parts.push(format!(
                "[Files of this skill; load one with skill_view(name=\"{name}\", file_path=…), run scripts by their path]\n{}",
                files.join("\n")
            ));
        }
        parts.join("\n\n")
    }

    /// The skill's own settings as they are now.
    fn settings_of(&self, view: &View) -> Option<String> {
        let lines: Vec<String> = view
            .document
            .config_keys()
            .iter()
            .map(|entry| {
                let value = self.setting(&entry.key).unwrap_or(&entry.default);
                format!("- {}: {}", entry.key, plain(value))
            })
            .collect();
        (!lines.is_empty())
            .then(|| format!("[Skill settings, from skills.config]\n{}", lines.join("\n")))
    }

    /// Under its own name, or level by level.
    fn setting(&self, key: &str) -> Option<&Value> {
        let nested = || {
            key.split('.')
                .try_fold(&self.config, |value, part| value.get(part))
        };
        let value = self.config.get(key).or_else(nested);
        value.filter(|value| !value.is_null() && value.as_str() != Some(""))
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "(not set)".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_from_names() {
        let check = |name: &str, expected: &str| assert_eq!(command(name), expected, "{name}");
        check("plan", "plan");
        check("My Skill_2", "my-skill-2");
        check("a--b__c", "a-b-c");
        check("C++ (fast)!", "c-fast");
        check("-x-", "x");
        check("日本", "");
    }
}
