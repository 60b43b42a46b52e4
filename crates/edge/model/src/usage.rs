//! Token counts as servers report them, brought to one meaning: `input` is what no cache was involved in.

use hermes_types::Usage;
use serde_json::Value;

/// Chat completions count cached tokens within the prompt.
pub(crate) fn chat(usage: &Value) -> Usage {
    let count = |pointer: &str| usage.pointer(pointer).and_then(Value::as_u64);
    let first = |pointers: [&str; 2]| pointers.into_iter().find_map(count).unwrap_or_default();
    let cache_read = first([
        "/prompt_tokens_details/cached_tokens",
        "/cache_read_input_tokens",
    ]);
    let cache_write = first([
        "/prompt_tokens_details/cache_write_tokens",
        "/cache_creation_input_tokens",
    ]);
    let prompt = count("/prompt_tokens").unwrap_or_default();
    Usage {
        input: prompt.saturating_sub(cache_read + cache_write),
        output: count("/completion_tokens").unwrap_or_default(),
        cache_read,
        cache_write,
        reasoning: count("/completion_tokens_details/reasoning_tokens").unwrap_or_default(),
    }
}

/// Anthropic counts them beside it, and reports in pieces: what a later report doesn't name stays.
pub(crate) fn anthropic(known: &mut Usage, usage: &Value) {
    let take = |field: &mut u64, name: &str| {
        if let Some(count) = usage[name].as_u64() {
            *field = count;
        }
    };
    take(&mut known.input, "input_tokens");
    take(&mut known.output, "output_tokens");
    take(&mut known.cache_read, "cache_read_input_tokens");
    take(&mut known.cache_write, "cache_creation_input_tokens");
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn chat_counts_are_split() {
        let check = |usage: Value, expected: [u64; 5]| {
            let Usage {
                input,
                output,
                cache_read,
                cache_write,
                reasoning,
            } = chat(&usage);
            assert_eq!(
                [input, output, cache_read, cache_write, reasoning],
                expected
            );
        };
        check(
            json!({"prompt_tokens": 100, "completion_tokens": 5}),
            [100, 5, 0, 0, 0],
        );
        check(
            json!({"prompt_tokens": 100, "completion_tokens": 5,
                "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 10},
                "completion_tokens_details": {"reasoning_tokens": 3}}),
            [30, 5, 60, 10, 3],
        );
        check(
            json!({"prompt_tokens": 100, "prompt_tokens_details": null,
                "cache_read_input_tokens": 40, "cache_creation_input_tokens": 1}),
            [59, 0, 40, 1, 0],
        );
        check(
            json!({"prompt_tokens": 1, "prompt_tokens_details": {"cached_tokens": 5}}),
            [0, 0, 5, 0, 0],
        );
        check(json!(null), [0; 5]);
    }

    #[test]
    fn anthropic_counts_come_in_pieces() {
        let mut usage = Usage::default();
        anthropic(
            &mut usage,
            &json!({"input_tokens": 7, "output_tokens": 1, "cache_read_input_tokens": 3,
                "cache_creation_input_tokens": null}),
        );
        anthropic(&mut usage, &json!({"output_tokens": 9}));
        assert_eq!((usage.input, usage.output, usage.cache_read), (7, 9, 3));
    }
}
