//! What a model can take and write, by its name: the last resort when nobody else says.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

/// For models nobody has heard of. Wrong guesses are put right by the server's own error messages.
pub const DEFAULT_CONTEXT: u64 = 256_000;
const DEFAULT_ON_BEDROCK: u64 = 128_000;
const DEFAULT_OUTPUT: u64 = 128_000;

#[derive(Default, Deserialize)]
struct Table {
    context: BTreeMap<String, u64>,
    bedrock: BTreeMap<String, u64>,
    output: BTreeMap<String, u64>,
}

static TABLE: LazyLock<Table> =
    LazyLock::new(|| crate::data::read(include_str!("../data/limits.json")));

/// The window of a model we know the family of.
pub(crate) fn known_context(model: &str) -> Option<u64> {
    longest(&TABLE.context, model)
}

/// The window of a model on Amazon Bedrock, where they are smaller than at their makers'.
pub(crate) fn on_bedrock(model: &str) -> u64 {
    longest(&TABLE.bedrock, model).unwrap_or(DEFAULT_ON_BEDROCK)
}

/// How long a reply of the model can get.
pub(crate) fn output(model: &str) -> u64 {
    longest(&TABLE.output, model).unwrap_or(DEFAULT_OUTPUT)
}

fn longest(table: &BTreeMap<String, u64>, model: &str) -> Option<u64> {
    let model = model.to_lowercase().replace('.', "-");
    let rows = table
        .iter()
        .filter(|(name, _)| model.contains(name.as_str()));
    rows.max_by_key(|(name, _)| name.len())
        .map(|(_, tokens)| *tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_name_counts() {
        let check = |model, context, output_limit| {
            assert_eq!(
                (known_context(model), output(model)),
                (context, output_limit),
                "{model}"
            );
        };
        check("anthropic/claude-opus-4.6", Some(1_000_000), 128_000);
        check("claude-opus-4-20250514", Some(200_000), 32_000);
        check("claude-3-5-sonnet-latest", Some(200_000), 8_192);
        check("claude-3-opus", Some(200_000), 4_096);
        check("gpt-5.4-mini", Some(400_000), 128_000);
        check("Qwen3-Coder-30B", Some(262_144), 65_536);
        check("mock-1", None, 128_000);
        let there = |model, expected| assert_eq!(on_bedrock(model), expected);
        there("us.anthropic.claude-opus-4-6-v1", 200_000);
        there("amazon.nova-lite-v1:0", 300_000);
        there("mistral.large", 128_000);
    }
}
