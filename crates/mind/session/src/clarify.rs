//! The `clarify` tool: a question only the owner can answer.

use futures::future::{BoxFuture, FutureExt};
use hermes_types::{Answer, Args, CallCx, Outcome, Parallel, Question, Tool, ToolOutput, ToolSpec};
use serde_json::{Value, json};

const MAX_CHOICES: usize = 4;

/// What a model hears when nobody is there.
const NOBODY: &str = "No user is present. Choose the best option or make a reasonable assumption, say which, and go on.";

pub struct Clarify {
    spec: ToolSpec,
}

impl Default for Clarify {
    fn default() -> Self {
        let spec = ToolSpec {
            name: "clarify".to_owned(),
            toolset: "clarify",
            description: "Ask the user one question you cannot answer yourself, with up to 4 choices or none for an open \
                          question. Not for what a sensible default settles."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "question": {"type": "string"},
                    "choices": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["question"],
            }),
            emoji: "❓",
            parallel: Parallel::Never,
            idempotent: false,
            housekeeping: false,
            refundable: false,
            paths: |_| Vec::new(),
            digest: |args, _| args.get("question").and_then(Value::as_str).unwrap_or_default().to_owned(),
            max_output: None,
        };
        Self { spec }
    }
}

impl Tool for Clarify {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, args: Args, cx: &'a CallCx) -> BoxFuture<'a, ToolOutput> {
        async move {
            let question = args.get("question").and_then(Value::as_str).unwrap_or_default().trim().to_owned();
            if question.is_empty() {
                return ToolOutput::failed("question is empty");
            }
            let given = args.get("choices").and_then(Value::as_array).cloned().unwrap_or_default();
            let choices: Vec<String> = given
                .iter()
                .filter_map(Value::as_str)
                .map(str::trim)
                .filter(|choice| !choice.is_empty())
                .take(MAX_CHOICES)
                .map(str::to_owned)
                .collect();
            let asked = Question::Clarify { question: question.clone(), choices: choices.clone() };
            let response = match cx.asker.ask(asked, &cx.scope).await {
                Answer::Text(text) => text,
                Answer::Nobody => NOBODY.to_owned(),
                Answer::Cancelled => return ToolOutput::failed("the question was cancelled").with_outcome(Outcome::Cancelled),
                _ => "The user did not respond. Make a reasonable assumption, say which, and go on.".to_owned(),
            };
            ToolOutput::json(&json!({"question": question, "choices_offered": choices, "user_response": response}))
        }
        .boxed()
    }
}

impl std::fmt::Debug for Clarify {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Clarify")
    }
}
