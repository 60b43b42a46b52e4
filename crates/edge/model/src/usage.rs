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

/// So do Responses, under other names.
pub(crate) fn responses(usage: &Value) -> Usage {
    let count = |pointer: &str| usage.pointer(pointer).and_then(Value::as_u64);
    let cache_read = count("/input_tokens_details/cached_tokens").unwrap_or_default();
    let cache_write = count("/input_tokens_details/cache_creation_tokens")
        .or_else(|| count("/input_tokens_details/cache_write_tokens"))
        .unwrap_or_default();
    let input = count("/input_tokens").unwrap_or_default();
    Usage {
        input: input.saturating_sub(cache_read + cache_write),
        output: count("/output_tokens").unwrap_or_default(),
        cache_read,
        cache_write,
        reasoning: count("/output_tokens_details/reasoning_tokens").unwrap_or_default(),
    }
}

/// Gemini counts thinking beside the answer; nobody else does.
pub(crate) fn gemini(usage: &Value) -> Usage {
    let count = |name: &str| usage[name].as_u64().unwrap_or_default();
    let cache_read = count("cachedContentTokenCount");
    let input = count("promptTokenCount") + count("toolUsePromptTokenCount");
    let reasoning = count("thoughtsTokenCount");
    Usage {
        input: input.saturating_sub(cache_read),
        output: count("candidatesTokenCount") + reasoning,
        cache_read,
        cache_write: 0,
        reasoning,
    }
}

/// Amazon counts like Anthropic, under names of its own.
pub(crate) fn converse(usage: &Value) -> Usage {
    let count = |name: &str| usage[name].as_u64().unwrap_or_default();
    Usage {
        input: count("inputTokens"),
        output: count("outputTokens"),
        cache_read: count("cacheReadInputTokens"),
        cache_write: count("cacheWriteInputTokens"),
        reasoning: 0,
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
    fn the_others_are_split_too() {
        let check = |usage: Usage, expected: [u64; 5]| {
            let Usage {
                input,
                output,
                cache_read,
                cache_write,
                reasoning,
            } = usage;
            let all = [input, output, cache_read, cache_write, reasoning];
            assert_eq!(all, expected);
        };
        let said = json!({"input_tokens": 100, "output_tokens": 5,
            "input_tokens_details": {"cached_tokens": 60, "cache_creation_tokens": 10},
            "output_tokens_details": {"reasoning_tokens": 3}});
        check(responses(&said), [30, 5, 60, 10, 3]);
        let said = json!({"promptTokenCount": 100, "candidatesTokenCount": 5,
            "cachedContentTokenCount": 60, "thoughtsTokenCount": 3, "toolUsePromptTokenCount": 1});
        check(gemini(&said), [41, 8, 60, 0, 3]);
        let said = json!({"inputTokens": 30, "outputTokens": 5, "cacheReadInputTokens": 60,
            "cacheWriteInputTokens": 10, "totalTokens": 105});
        check(converse(&said), [30, 5, 60, 10, 0]);
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
