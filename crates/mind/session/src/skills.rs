//! Skills in a conversation: called by name, listed, looked at anew.

use std::sync::Arc;

use hermes_skills::Skills;
use hermes_skills::slash::command;
use hermes_types::Message;

use crate::actor::{Input, Live};
use crate::references::Said;
use crate::slash::{Known, TABLE, Typed, read_with, row};

const NONE: &str = "there are no skills here";
/// Characters of a description in the list.
const MOST: usize = 70;

/// What a single question asks for: with `/NAME` in front, that skill.
pub fn asked(skills: Option<&Skills>, prompt: &str) -> Input {
    let is_skill = |word: &str| skills.is_some_and(|skills| skills.has_command(word));
    let known = Known {
        is_quick: &|_| false,
        is_skill: &is_skill,
    };
    match read_with(prompt, known) {
        Typed::Skill { name, rest } => Input::Skill {
            name: name.to_owned(),
            words: rest.to_owned(),
        },
        _ => Input::Prompt(Message::user(prompt)),
    }
}

impl Live {
    /// With skills that can be called.
    #[must_use]
    pub fn with_skills(mut self, skills: Option<Arc<Skills>>) -> Self {
        self.skills = skills;
        self
    }

    /// What the model is asked when somebody calls a skill; says so if there is none.
    pub(crate) async fn skill(&self, name: &str, words: &str) -> Option<Said> {
        let Some(skills) = &self.skills else {
            self.notice(NONE);
            return None;
        };
        match skills.called(name, words, self.task.as_str()).await {
            Ok(text) => Some(Said::ending_with(Message::user(text), words)),
            Err(missing) => {
                self.notice(missing.to_string());
                None
            }
        }
    }

    pub(crate) fn reload_skills(&self) -> String {
        let Some(skills) = &self.skills else {
            return NONE.to_owned();
        };
        format!(
            "{}\nThe model hears of it with the next conversation (/new); /NAME works at once.",
            skills.reload()
        )
    }

    pub(crate) fn list_skills(&self, rest: &str) -> String {
        let Some(skills) = &self.skills else {
            return NONE.to_owned();
        };
        let (word, name) = rest.split_once(' ').unwrap_or((rest, ""));
        match (word, name.trim()) {
            ("" | "list", _) => overview(skills),
            ("view", name) if !name.is_empty() => match skills.view(name) {
                Ok(view) => view.content,
                Err(missing) => missing.to_string(),
            },
            _ => "/skills lists them, /skills view NAME shows one; `hermes skills` does more"
                .to_owned(),
        }
    }
}

/// One line for each, by category.
fn overview(skills: &Skills) -> String {
    let mut all = skills.visible();
    if all.is_empty() {
        return "there are no skills yet".to_owned();
    }
    all.sort_by(|a, b| (a.category(), a.name()).cmp(&(b.category(), b.name())));
    let mut text = String::new();
    let mut category = None;
    for skill in &all {
        let own = skill.category().unwrap_or_default();
        if category != Some(own) && !own.is_empty() {
            text.push_str(&format!("{own}\n"));
        }
        category = Some(own);
        let command = command(skill.name());
        // A command of the same name comes first.
        let slash = if TABLE.iter().any(|slash| slash.name == command) {
            " "
        } else {
            "/"
        };
        let about = in_short(&skill.found.description);
        text.push_str(&row(&format!("{slash}{}", skill.name()), &about));
    }
    text.trim_end().to_owned()
}

/// The first sentence; a long one ends with a word.
fn in_short(description: &str) -> String {
    let first = description.lines().next().unwrap_or_default();
    let sentence = first.split_once(". ").map_or(first, |(first, _)| first);
    if sentence.chars().count() <= MOST {
        return sentence.trim_end_matches('.').to_owned();
    }
    let cut: String = sentence.chars().take(MOST).collect();
    let words = cut
        .rsplit_once(' ')
        .map_or(cut.as_str(), |(words, _)| words);
    format!("{words} …")
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn a_skill_in_short() {
        assert_eq!(in_short("Mends it. Use for all."), "Mends it");
        assert_eq!(in_short("Mends it."), "Mends it");
        assert_eq!(in_short(""), "");
        let long = in_short(&"word ".repeat(40));
        assert!(
            long.ends_with("word …") && long.chars().count() <= MOST + 2,
            "{long}"
        );
    }
}
