//! Model names as each provider spells them, and whose models they are.

use crate::catalogue::{Names, Row, catalogue};

/// The model's name as the provider spells it.
pub(crate) fn spell(row: &Row, model: &str) -> String {
    let name = match row.names {
        Names::Plain => own(row, model).to_owned(),
        Names::Anthropic => as_anthropic(model),
        Names::Deepseek => as_deepseek(own(row, model)),
        Names::Vendor if model.contains('/') => model.to_owned(),
        Names::Vendor => match vendor(model) {
            Some(vendor) => format!("{vendor}/{model}"),
            None => model.to_owned(),
        },
    };
    match row.lower_case {
        true => name.to_lowercase(),
        false => name,
    }
}

/// As Anthropic writes it: no vendor, hyphens for dots.
pub(crate) fn as_anthropic(model: &str) -> String {
    let bare = model.strip_prefix("anthropic/").unwrap_or(model);
    bare.replace('.', "-")
}

/// Whose model a name is, with or without the vendor in front.
pub(crate) fn vendor(model: &str) -> Option<&'static str> {
    let vendors = &catalogue().vendors;
    if let Some((left, _)) = model.split_once('/') {
        return vendors.values().find(|id| *id == left).map(String::as_str);
    }
    let model = model.to_lowercase();
    let families = vendors
        .iter()
        .filter(|(family, _)| model.starts_with(family.as_str()));
    let family = families.max_by_key(|(family, _)| family.len());
    family.map(|(_, vendor)| vendor.as_str())
}

/// Without the provider's own name in front; what else is there belongs to the model's.
fn own<'m>(row: &Row, model: &'m str) -> &'m str {
    let Some((left, rest)) = model.split_once('/') else {
        return model;
    };
    let is_own = left.eq_ignore_ascii_case(&row.id) || row.strip.iter().any(|name| name == left);
    if is_own { rest } else { model }
}

/// It has two: what thinks, and what doesn't. Versions are names of their own.
fn as_deepseek(model: &str) -> String {
    let name = model.to_lowercase();
    let rest = name.strip_prefix("deepseek-").unwrap_or(&name);
    let mut letters = rest.chars();
    let is_version = letters.next() == Some('v') && letters.next().is_some_and(char::is_numeric);
    let thinks = ["r1", "think", "reason"]
        .iter()
        .any(|part| rest.contains(part));
    match (is_version, thinks) {
        (true, _) => format!("deepseek-{rest}"),
        (false, true) => "deepseek-reasoner".to_owned(),
        (false, false) => "deepseek-chat".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn names_are_spelled_as_the_provider_does() {
        let check = |provider, model, expected| {
            let row = catalogue().by_id(provider).unwrap();
            assert_eq!(spell(row, model), expected, "{provider} {model}");
        };
        let sonnet = "anthropic/claude-sonnet-4.6";
        for provider in ["openrouter", "nous", "ai-gateway", "kilocode"] {
            check(provider, "claude-sonnet-4.6", sonnet);
            check(provider, "my/own", "my/own");
        }
        check("openrouter", "unheard-of", "unheard-of");
        check("anthropic", sonnet, "claude-sonnet-4-6");
        check("openai", "openai/gpt-5", "gpt-5");
        check("copilot", "openai/gpt-5", "gpt-5");
        check("openai-codex", "openai/gpt-5.3-codex", "gpt-5.3-codex");
        check("deepseek", "deepseek/deepseek-r1", "deepseek-reasoner");
        check("deepseek", "deepseek-think", "deepseek-reasoner");
        check("deepseek", "deepseek-reasoner", "deepseek-reasoner");
        check("deepseek", "deepseek-v4-pro", "deepseek-v4-pro");
        check("deepseek", "v3.2", "deepseek-v3.2");
        check("deepseek", "whatever", "deepseek-chat");
        check("zai", "z-ai/glm-5", "glm-5");
        check("zai", "zai/glm-5", "glm-5");
        check("zai", "other/glm-5", "other/glm-5");
        check("kimi-coding", "moonshotai/kimi-k2.5", "kimi-k2.5");
        check("minimax-cn", "minimax/MiniMax-M2.7", "MiniMax-M2.7");
        check("alibaba", "alibaba/qwen3.5-plus", "qwen3.5-plus");
        check("alibaba", "qwen/qwen3", "qwen/qwen3");
        check("xiaomi", "xiaomi/MiMo-V2.5", "mimo-v2.5");
        check("arcee", "arcee-ai/trinity-mini", "trinity-mini");
        check("gemini", "google/gemini-3-pro", "gemini-3-pro");
        check("custom", "qwen3.5:27b", "qwen3.5:27b");
        check("custom", "org/model", "org/model");
    }

    #[test]
    fn whose_model_it_is() {
        let check = |model, expected| assert_eq!(vendor(model), expected, "{model}");
        check("claude-x", Some("anthropic"));
        check("GPT-5", Some("openai"));
        check("x-ai/grok-4", Some("x-ai"));
        check("someone/else", None);
        check("mock-1", None);
    }
}
