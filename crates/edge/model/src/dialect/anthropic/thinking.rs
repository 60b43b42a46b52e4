//! How an Anthropic model is told how hard to think.

use hermes_types::Effort;
use serde_json::{Map, Value, json};

/// Room for an answer beside the thinking.
const ANSWER_ROOM: u64 = 4096;

/// The fields to send, and how long the reply must at least be allowed to get.
#[derive(Default)]
pub(super) struct Thinking {
    pub fields: Map<String, Value>,
    pub least_output: u64,
}

pub(super) fn fields(model: &str, effort: Effort) -> Thinking {
    let off = matches!(effort, Effort::Default | Effort::None);
    if off
        || ["haiku", "kimi"]
            .iter()
            .any(|family| model.contains(family))
    {
        return Thinking::default();
    }
    if ["4-6", "4.6", "4-7", "4.7"]
        .iter()
        .any(|version| model.contains(version))
    {
        adaptive(model, effort)
    } else {
        budgeted(effort)
    }
}

fn adaptive(model: &str, effort: Effort) -> Thinking {
    let has_xhigh = model.contains("4-7") || model.contains("4.7");
    let effort = match effort {
        Effort::Minimal => "low".to_owned(),
        Effort::XHigh if !has_xhigh => "max".to_owned(),
        effort => effort.to_string(),
    };
    Thinking {
        fields: object([
            (
                "thinking",
                json!({"type": "adaptive", "display": "summarized"}),
            ),
            ("output_config", json!({"effort": effort})),
        ]),
        least_output: 0,
    }
}

fn budgeted(effort: Effort) -> Thinking {
    let budget = match effort {
        Effort::XHigh => 32_000,
        Effort::High => 16_000,
        Effort::Medium => 8_000,
        _ => 4_000,
    };
    Thinking {
        fields: object([
            (
                "thinking",
                json!({"type": "enabled", "budget_tokens": budget}),
            ),
            // The only value allowed beside it.
            ("temperature", json!(1)),
        ]),
        least_output: budget + ANSWER_ROOM,
    }
}

fn object<const N: usize>(fields: [(&str, Value); N]) -> Map<String, Value> {
    fields
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}
