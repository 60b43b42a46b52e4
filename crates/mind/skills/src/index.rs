//! The skills in the system prompt: enough to know that one exists, no more.

use std::collections::{BTreeMap, BTreeSet};

use crate::find::Skill;

/// Descriptions longer than this are cut.
const WIDEST: usize = 60;
/// The least that still says something.
const NARROWEST: usize = 24;
/// What the list may cost in bytes before descriptions are cut shorter; with the tags around it, 3 KB.
const ROOM: usize = 3 * 1024 - 64;

/// What a session can do, for skills that depend on it.
#[derive(Clone, Debug, Default)]
pub struct Offer {
    pub tools: BTreeSet<String>,
    pub toolsets: BTreeSet<String>,
}

impl Offer {
    /// Whether a skill is any use here: all it needs is there, and nothing it stands in for.
    pub fn suits(&self, skill: &Skill) -> bool {
        let needs = &skill.found.conditions;
        needs
            .requires_tools
            .iter()
            .all(|tool| self.tools.contains(tool))
            && needs
                .requires_toolsets
                .iter()
                .all(|set| self.toolsets.contains(set))
            && !needs
                .fallback_for_tools
                .iter()
                .any(|tool| self.tools.contains(tool))
            && !needs
                .fallback_for_toolsets
                .iter()
                .any(|set| self.toolsets.contains(set))
    }
}

/// The part of the system prompt; `None` if there is nothing to tell.
pub fn index(
    skills: &[Skill],
    categories: &BTreeMap<String, String>,
    offer: &Offer,
) -> Option<String> {
    if skills.is_empty() {
        return None;
    }
    let mut parts = vec![include_str!("prompts/index.md").trim()];
    if skills.iter().any(|skill| skill.name() == "hermes-agent") {
        parts.push(include_str!("prompts/hermes.md").trim());
    }
    if offer.tools.contains("skill_manage") {
        parts.push(include_str!("prompts/manage.md").trim());
    }
    let list = list(skills, categories);
    Some(format!(
        "{}\n<available_skills>\n{list}</available_skills>",
        parts.join(" ")
    ))
}

/// One line for each skill, as wide as there is room.
fn list(skills: &[Skill], categories: &BTreeMap<String, String>) -> String {
    let mut shelves: BTreeMap<&str, BTreeMap<&str, &str>> = BTreeMap::new();
    for skill in skills {
        let shelf = shelves.entry(&skill.found.category).or_default();
        shelf
            .entry(skill.name())
            .or_insert(&skill.found.description);
    }
    let fitting = |width: usize| lines(&shelves, categories, width, ROOM);
    if let Some(wide) = fitting(WIDEST) {
        return wide;
    }
    let Some(mut best) = fitting(NARROWEST) else {
        return lines(&shelves, categories, NARROWEST, usize::MAX).unwrap_or_default();
    };
    let (mut least, mut most) = (NARROWEST, WIDEST);
    // The widest that fits lies between the two.
    while most - least > 1 {
        let middle = (least + most) / 2;
        match fitting(middle) {
            Some(text) => (least, best) = (middle, text),
            None => most = middle,
        }
    }
    best
}

/// `None` if it takes more than `room`.
fn lines(
    shelves: &BTreeMap<&str, BTreeMap<&str, &str>>,
    categories: &BTreeMap<String, String>,
    width: usize,
    room: usize,
) -> Option<String> {
    let mut text = String::with_capacity(2 * ROOM);
    for (category, skills) in shelves {
        let about = categories.get(*category).map(String::as_str);
        let about = cut(about.unwrap_or_default(), width);
        entry(&mut text, "  ", category, about);
        for (name, description) in skills {
            entry(&mut text, "    - ", name, cut(description, width));
        }
        if text.len() > room {
            return None;
        }
    }
    Some(text)
}

fn entry(text: &mut String, lead: &str, name: &str, (about, dots): (&str, &str)) {
    let gap = if about.is_empty() { "" } else { " " };
    for part in [lead, name, ":", gap, about, dots, "\n"] {
        text.push_str(part);
    }
}

/// The beginning of a text that fits, and what stands for the rest.
fn cut(text: &str, width: usize) -> (&str, &'static str) {
    // Mostly a character is a byte, and nothing has to be counted.
    let place_of = |nth: usize| match text.get(..=nth) {
        Some(start) if start.is_ascii() => Some(nth),
        _ => text.char_indices().nth(nth).map(|(at, _)| at),
    };
    match (place_of(width), place_of(width - 3)) {
        (Some(_), Some(end)) => (text[..end].trim_end(), "..."),
        _ => (text, ""),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use pretty_assertions::assert_eq;

    use super::*;
    use crate::find::{Found, Place};
    use crate::format::Conditions;

    fn skill(category: &str, name: &str, description: &str) -> Skill {
        Skill {
            found: Found {
                dir_name: name.to_owned(),
                category: category.to_owned(),
                name: name.to_owned(),
                description: description.to_owned(),
                platforms: Vec::new(),
                conditions: Conditions::default(),
                path: format!("{category}/{name}"),
            },
            root: Path::new("/skills").into(),
            place: Place::Own,
        }
    }

    #[test]
    fn sorted_and_cut() {
        let skills = [
            skill("web", "b", &"d".repeat(61)),
            skill("web", "a", &"d".repeat(60)),
            skill("code", "c", ""),
        ];
        let categories = BTreeMap::from([("web".to_owned(), "The web".to_owned())]);
        let text = index(&skills, &categories, &Offer::default()).unwrap();
        let (_, list) = text.split_once("<available_skills>\n").unwrap();
        let expected = format!(
            "  code:\n    - c:\n  web: The web\n    - a: {}\n    - b: {}...\n</available_skills>",
            "d".repeat(60),
            "d".repeat(57)
        );
        assert_eq!(list, expected);
        assert_eq!(index(&[], &categories, &Offer::default()), None);
    }

    #[test]
    fn many_skills_cost_little() {
        let about =
            "Make, check and mend something that takes more than a handful of words to tell";
        let many = |count: usize| -> usize {
            let names = (0..count).map(|n| format!("skill-no-{n:03}"));
            let all: Vec<Skill> = names
                .enumerate()
                .map(|(n, name)| skill(&format!("category-{}", n % 8), &name, about))
                .collect();
            let text = index(&all, &BTreeMap::new(), &Offer::default()).unwrap();
            text.split_once("<available_skills>").unwrap().1.len()
        };
        assert!(
            many(60) + "<available_skills>".len() <= 3 * 1024,
            "{}",
            many(60)
        );
        assert!(many(500) < 25_000, "{}", many(500));
    }

    #[test]
    fn only_what_is_of_use_here() {
        let with = |tools: &[&str], toolsets: &[&str]| Offer {
            tools: tools.iter().map(|name| (*name).to_owned()).collect(),
            toolsets: toolsets.iter().map(|name| (*name).to_owned()).collect(),
        };
        let needs = |conditions: Conditions| {
            let mut made = skill("x", "y", "z");
            made.found.conditions = conditions;
            made
        };
        let list = |name: &str| vec![name.to_owned()];
        let web = needs(Conditions {
            requires_toolsets: list("web"),
            ..Conditions::default()
        });
        assert!(!with(&[], &[]).suits(&web) && with(&[], &["web"]).suits(&web));
        let tool = needs(Conditions {
            requires_tools: list("terminal"),
            ..Conditions::default()
        });
        assert!(!with(&[], &[]).suits(&tool) && with(&["terminal"], &[]).suits(&tool));
        let instead = needs(Conditions {
            fallback_for_toolsets: list("web"),
            ..Conditions::default()
        });
        assert!(with(&[], &[]).suits(&instead) && !with(&[], &["web"]).suits(&instead));
        let instead = needs(Conditions {
            fallback_for_tools: list("web_search"),
            ..Conditions::default()
        });
        assert!(with(&[], &[]).suits(&instead) && !with(&["web_search"], &[]).suits(&instead));
    }
}
