//! Short names of model families: `sonnet` is the newest Sonnet a provider has.

use std::cmp::Reverse;

use crate::catalogue::catalogue;

/// Whether this is a family's name and not a model's.
pub(crate) fn is_family(name: &str) -> bool {
    catalogue().families.contains_key(bare(name))
}

/// The newest model of a family; the one that is called exactly so, if there is one. Of one version the plainest
/// name counts: `gpt-5.4` before `gpt-5.4-mini`.
pub(crate) fn newest<'n>(names: &[&'n str], family: &str) -> Option<&'n str> {
    let part = catalogue().families.get(bare(family))?;
    if let Some(exact) = names.iter().find(|name| bare(name) == bare(family)) {
        return Some(exact);
    }
    let members = names.iter().filter(|name| belongs(name, part));
    members
        .max_by_key(|name| (version(bare(name)), Reverse(name.len()), Reverse(**name)))
        .copied()
}

/// A family whose name is written `*x` may be spoken of anywhere in a model's name, others come first.
fn belongs(name: &str, part: &str) -> bool {
    let name = bare(name).to_lowercase();
    match part.strip_prefix('*') {
        Some(part) => name.contains(part),
        None => name.starts_with(part),
    }
}

/// Without the vendor.
fn bare(name: &str) -> &str {
    name.rsplit_once('/').map_or(name, |(_, bare)| bare)
}

/// The first numbers of a name: `claude-opus-4-6-20260101` is 4.6. Dates and sizes are no versions.
fn version(name: &str) -> Vec<u32> {
    let mut version = Vec::new();
    let mut rest = name;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let gap = &rest[..at];
        if !version.is_empty() && !matches!(gap, "." | "-") {
            break;
        }
        let tail = &rest[at..];
        let end = tail
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(tail.len());
        let is_size = tail[end..].starts_with(['b', 'B']);
        if end > 2 || is_size {
            break;
        }
        version.extend(tail[..end].parse::<u32>());
        rest = &tail[end..];
    }
    version
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn the_newest_of_a_family() {
        let names = [
            "anthropic/claude-3-5-sonnet-20241022",
            "anthropic/claude-sonnet-4.5",
            "anthropic/claude-sonnet-4.6",
            "anthropic/claude-opus-4-6-20260101",
            "openai/gpt-5.4-mini",
            "openai/gpt-5.4",
            "openai/gpt-oss-120b",
            "openai/gpt-5.3-codex",
            "openai/o3-mini",
            "openai/o3",
            "google/gemini-2.5-flash-lite-preview-09-2025",
            "google/gemini-3-pro",
            "meta-llama/llama-3.3-70b-instruct",
            "meta-llama/llama-4-maverick",
            "moonshotai/kimi-k2-0905",
            "moonshotai/kimi-k2.5",
        ];
        let check = |family, expected: Option<&str>| {
            assert_eq!(newest(&names, family), expected, "{family}");
        };
        check("sonnet", Some("anthropic/claude-sonnet-4.6"));
        check("opus", Some("anthropic/claude-opus-4-6-20260101"));
        check("gpt", Some("openai/gpt-5.4"));
        check("openai/gpt", Some("openai/gpt-5.4"));
        check("gpt5", Some("openai/gpt-5.4"));
        check("codex", Some("openai/gpt-5.3-codex"));
        check("o3", Some("openai/o3"));
        check("gemini", Some("google/gemini-3-pro"));
        check("llama", Some("meta-llama/llama-4-maverick"));
        check("kimi", Some("moonshotai/kimi-k2.5"));
        check("haiku", None);
        check("claude-sonnet-4.5", None);
    }

    #[test]
    fn a_models_name_is_no_family() {
        assert!(is_family("sonnet") && is_family("openai/gpt"));
        assert!(!is_family("gpt-5") && !is_family("") && !is_family("qwen3:4b"));
    }
}
