//! Named groups of tools, and which of them a session gets.

use std::collections::BTreeSet;

use hermes_home::config::Settings;
use serde_json::Value;

/// Groups of tools by name.
const LEAVES: &[(&str, &[&str])] = &[
    ("web", &["web_search", "web_extract"]),
    ("search", &["web_search"]),
    ("vision", &["vision_analyze"]),
    ("video", &["video_analyze"]),
    ("image_gen", &["image_generate", "image_edit"]),
    ("video_gen", &["video_generate"]),
    ("terminal", &["terminal", "process"]),
    ("moa", &["mixture_of_agents"]),
    ("skills", &["skills_list", "skill_view", "skill_manage"]),
    ("browser", BROWSER),
    ("cronjob", &["cronjob"]),
    ("messaging", &["send_message"]),
    (
        "file",
        &["read_file", "write_file", "patch", "search_files"],
    ),
    ("tts", &["text_to_speech"]),
    ("todo", &["todo"]),
    ("memory", &["memory"]),
    ("session_search", &["session_search"]),
    ("clarify", &["clarify"]),
    ("code_execution", &["execute_code"]),
    ("delegation", &["delegate_task"]),
    (
        "homeassistant",
        &[
            "ha_list_entities",
            "ha_get_state",
            "ha_list_services",
            "ha_call_service",
        ],
    ),
];

const BROWSER: &[&str] = &[
    "browser_navigate",
    "browser_snapshot",
    "browser_click",
    "browser_type",
    "browser_scroll",
    "browser_back",
    "browser_press",
    "browser_get_images",
    "browser_vision",
    "browser_console",
    "browser_cdp",
    "browser_dialog",
    "web_search",
];

/// Off unless named.
const DEFAULT_OFF: &[&str] = &[
    "moa",
    "homeassistant",
    "rl",
    "spotify",
    "discord",
    "discord_admin",
    "video",
    "video_gen",
];

/// Groups of groups.
const COMPOSITES: &[(&str, &[&str])] = &[
    ("debugging", &["terminal", "web", "file"]),
    ("safe", &["web", "vision", "image_gen"]),
];

/// What people of older versions call them.
const LEGACY: &[(&str, &str)] = &[
    ("web_tools", "web"),
    ("terminal_tools", "terminal"),
    ("vision_tools", "vision"),
    ("moa_tools", "moa"),
    ("image_tools", "image_gen"),
    ("skills_tools", "skills"),
    ("browser_tools", "browser"),
    ("cronjob_tools", "cronjob"),
    ("file_tools", "file"),
    ("tts_tools", "tts"),
];

/// A choice of tools: which names a session may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    tools: BTreeSet<String>,
    /// Names nobody knows.
    pub unknown: Vec<String>,
}

impl Selection {
    /// Resolves toolset names; `disabled` ones are taken out last, so that nothing can bring them back.
    pub fn of<'n>(enabled: impl IntoIterator<Item = &'n str>, disabled: &[String]) -> Self {
        let mut selection = Self {
            tools: BTreeSet::new(),
            unknown: Vec::new(),
        };
        for name in enabled {
            match resolve(name) {
                Some(tools) => selection.tools.extend(tools.into_iter().map(str::to_owned)),
                None => selection.unknown.push(name.to_owned()),
            }
        }
        for tool in disabled.iter().filter_map(|name| resolve(name)).flatten() {
            selection.tools.remove(tool);
        }
        selection
    }

    pub fn allows(&self, tool: &str) -> bool {
        self.tools.contains(tool)
    }

    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }
}

/// Names as YAML may have read them: numbers are names too.
pub fn names(value: &Value) -> Vec<String> {
    let list = value.as_array().cloned().unwrap_or_default();
    list.iter()
        .map(|item| {
            item.as_str()
                .map_or_else(|| item.to_string(), str::to_owned)
        })
        .collect()
}

/// Every leaf with its tools, for `hermes tools list`.
pub fn leaves() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    LEAVES.iter().copied()
}

/// The leaves that are on for a platform: named one by one, or all that a composite covers.
pub fn enabled(settings: &Settings, platform: &str) -> Vec<&'static str> {
    let configured = settings
        .get(&format!("platform_toolsets.{platform}"))
        .filter(|value| value.is_array())
        .or(settings.get("toolsets"));
    let chosen = names(configured.unwrap_or(&Value::Null));
    let disabled = settings.get("agent.disabled_toolsets");
    let disabled = names(disabled.unwrap_or(&Value::Null));
    let explicit = leaves().any(|(leaf, _)| chosen.iter().any(|name| name == leaf));
    let selection = Selection::of(chosen.iter().map(String::as_str), &disabled);
    leaves()
        .filter(|(leaf, tools)| {
            let covered = tools.iter().all(|tool| selection.allows(tool));
            match explicit {
                true => chosen.iter().any(|name| name == leaf) && covered,
                false => covered && is_default(leaf),
            }
        })
        .map(|(leaf, _)| leaf)
        .collect()
}

/// Whether a leaf is on when nobody says anything about it.
pub fn is_default(leaf: &str) -> bool {
    !DEFAULT_OFF.contains(&leaf)
}

fn resolve(name: &str) -> Option<Vec<&'static str>> {
    let name = name.trim();
    let name = LEGACY
        .iter()
        .find(|(old, _)| *old == name)
        .map_or(name, |(_, new)| new);
    if name == "all" || name == "*" {
        return Some(
            LEAVES
                .iter()
                .flat_map(|(_, tools)| tools.iter().copied())
                .collect(),
        );
    }
    if name.starts_with("hermes-") {
        return Some(core(name));
    }
    if let Some((_, parts)) = COMPOSITES.iter().find(|(known, _)| *known == name) {
        return Some(
            parts
                .iter()
                .filter_map(|part| resolve(part))
                .flatten()
                .collect(),
        );
    }
    LEAVES
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, tools)| tools.to_vec())
}

/// What the terminal and every messaging platform share.
fn core(face: &str) -> Vec<&'static str> {
    let left_out: &[&str] = match face {
        "hermes-acp" => &[
            "clarify",
            "send_message",
            "text_to_speech",
            "image_generate",
            "image_edit",
            "cronjob",
        ],
        "hermes-api-server" => &["clarify", "send_message", "text_to_speech"],
        _ => &[],
    };
    let leaves = LEAVES.iter().filter(|(leaf, _)| is_default(leaf));
    leaves
        .flat_map(|(_, tools)| tools.iter().copied())
        .filter(|tool| !left_out.contains(tool))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_tools_a_selection_allows() {
        let check = |enabled: &[&str], disabled: &[&str], yes: &[&str], no: &[&str]| {
            let disabled: Vec<String> = disabled.iter().map(|name| (*name).to_owned()).collect();
            let selection = Selection::of(enabled.iter().copied(), &disabled);
            for tool in yes {
                assert!(
                    selection.allows(tool),
                    "{tool} in {enabled:?} without {disabled:?}"
                );
            }
            for tool in no {
                assert!(
                    !selection.allows(tool),
                    "{tool} in {enabled:?} without {disabled:?}"
                );
            }
        };
        check(
            &["hermes-cli"],
            &[],
            &["terminal", "read_file", "todo", "clarify"],
            &["mixture_of_agents", "ha_get_state"],
        );
        check(
            &["hermes-cli"],
            &["terminal"],
            &["read_file"],
            &["terminal", "process"],
        );
        check(
            &["safe"],
            &[],
            &["web_search", "vision_analyze"],
            &["terminal", "read_file", "execute_code"],
        );
        check(
            &["debugging"],
            &["web"],
            &["terminal", "patch"],
            &["web_search"],
        );
        check(&["file_tools"], &[], &["patch"], &["terminal"]);
        check(&["*"], &["moa"], &["ha_get_state"], &["mixture_of_agents"]);
        check(
            &["hermes-api-server"],
            &[],
            &["terminal"],
            &["clarify", "send_message"],
        );
        let unknown = Selection::of(["nope", "file"], &[]);
        assert_eq!(unknown.unknown, ["nope"]);
        assert!(Selection::of(["nope"], &[]).is_empty());
        assert_eq!(names(&serde_json::json!(["a", 7])), ["a", "7"]);
    }
}
