//! What the owner's settings add to every request of one dialect: a place in the queue, a guardrail.

use hermes_home::config::Settings;
use hermes_types::Speed;
use serde_json::{Map, Value, json};

use crate::route::{Mode, Quirks};

const TIER: &str = "service_tier";
const FAST: &str = "priority";

/// Whether this dialect has a place for a place in the queue.
pub(crate) fn can_hurry(mode: Mode) -> bool {
    mode == Mode::CodexResponses
}

/// What one request says about its place in the queue goes before what is set for all of them.
pub(crate) fn hurry(body: &mut Map<String, Value>, speed: Speed) {
    match speed {
        Speed::AsSet => {}
        Speed::Fast => drop(body.insert(TIER.to_owned(), FAST.into())),
        // Another tier is the owner's own and stays.
        Speed::Normal if body.get(TIER).is_some_and(|tier| tier == FAST) => drop(body.remove(TIER)),
        Speed::Normal => {}
    }
}

pub(crate) fn adjust(quirks: &mut Quirks, settings: &Settings, mode: Mode) {
    match mode {
        Mode::CodexResponses => {
            if Speed::from(settings.text("agent.service_tier")) == Speed::Fast {
                quirks.body.insert(TIER.to_owned(), FAST.into());
            }
        }
        Mode::BedrockConverse => {
            if let Some(guardrail) = Guardrail::read(settings) {
                quirks
                    .body
                    .insert("guardrailConfig".to_owned(), guardrail.json());
            }
        }
        Mode::BedrockAnthropic => {
            let headers = Guardrail::read(settings).map(|guardrail| guardrail.headers());
            quirks.headers.extend(headers.into_iter().flatten());
        }
        Mode::ChatCompletions | Mode::AnthropicMessages | Mode::Gemini => {}
    }
}

/// `bedrock.guardrail`; there is none without both its name and its version.
struct Guardrail {
    identifier: String,
    version: String,
    streaming: String,
    trace: String,
}

impl Guardrail {
    fn read(settings: &Settings) -> Option<Self> {
        let text = |key: &str| {
            let value = settings.get(&format!("bedrock.guardrail.{key}"));
            match value {
                Some(Value::String(text)) => text.trim().to_owned(),
                // Versions are numbers.
                Some(number @ Value::Number(_)) => number.to_string(),
                _ => String::new(),
            }
        };
        let guardrail = Self {
            identifier: text("guardrail_identifier"),
            version: text("guardrail_version"),
            streaming: text("stream_processing_mode"),
            trace: text("trace"),
        };
        let is_there = !guardrail.identifier.is_empty() && !guardrail.version.is_empty();
        is_there.then_some(guardrail)
    }

    fn json(&self) -> Value {
        let mut config = Map::new();
        let mut put = |name: &str, value: &str| {
            if !value.is_empty() {
                config.insert(name.to_owned(), json!(value));
            }
        };
        put("guardrailIdentifier", &self.identifier);
        put("guardrailVersion", &self.version);
        put("streamProcessingMode", &self.streaming);
        put("trace", &self.trace);
        config.into()
    }

    fn headers(&self) -> Vec<(String, String)> {
        let header = |name: &str, value: &str| (format!("X-Amzn-Bedrock-{name}"), value.to_owned());
        let mut headers = vec![
            header("GuardrailIdentifier", &self.identifier),
            header("GuardrailVersion", &self.version),
        ];
        if matches!(self.trace.as_str(), "enabled" | "enabled_full") {
            headers.push(header("Trace", &self.trace.to_uppercase()));
        }
        headers
    }
}
