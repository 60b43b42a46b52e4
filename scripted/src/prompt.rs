//! What a request asks, whatever its dialect, and the conditions a script can put on it.

use serde::Deserialize;
use serde_json::Value;

/// The parts of a request that steps are chosen by.
#[derive(Debug, Default)]
pub(crate) struct Prompt {
    pub model: String,
    pub stream: bool,
    /// Tools are offered.
    pub tools: bool,
    /// Everything said so far, system prompt included.
    pub said: Vec<Said>,
    /// The API key it came with.
    pub key: String,
    /// Bytes of the request body, for a guess at its tokens.
    pub size: usize,
}

#[derive(Debug)]
pub(crate) struct Said {
    pub who: Who,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    User,
    Tool,
    Other,
}

impl Prompt {
    /// What all dialects have in the same place.
    pub fn common(body: &Value, said: Vec<Said>) -> Self {
        Self {
            model: body["model"].as_str().unwrap_or_default().to_owned(),
            stream: body["stream"].as_bool().unwrap_or_default(),
            tools: body["tools"]
                .as_array()
                .is_some_and(|tools| !tools.is_empty()),
            said,
            ..Self::default()
        }
    }

    pub fn last_user(&self) -> &str {
        let last = self.said.iter().rfind(|said| said.who == Who::User);
        last.map_or("", |said| &said.text)
    }

    /// The tool result the conversation ends with, if it does.
    fn tool_result(&self) -> Option<&str> {
        let last = self.said.last()?;
        (last.who == Who::Tool).then_some(&last.text)
    }
}

impl Said {
    pub fn new(who: Who, content: &Value) -> Self {
        Self {
            who,
            text: text_of(content),
        }
    }
}

/// The text of a message's content in any dialect: a string, or parts that hold text or more parts.
pub(crate) fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts: Vec<_> = parts
                .iter()
                .map(text_of)
                .filter(|t| !t.is_empty())
                .collect();
            texts.join("\n")
        }
        Value::Object(part) => ["text", "content", "output"]
            .iter()
            .find_map(|key| part.get(*key))
            .map(text_of)
            .unwrap_or_default(),
        _ => String::new(),
    }
}

/// A step's conditions: all that are given must hold.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct When {
    /// In the last user message.
    user: Option<String>,
    /// In any message, the system prompt included.
    message: Option<String>,
    /// In the tool result the conversation ends with.
    tool_result: Option<String>,
    /// The conversation ends with a tool result.
    after_tool: Option<bool>,
    /// Tools are offered.
    tools: Option<bool>,
    /// The model asked for, exactly.
    model: Option<String>,
    /// The API key, exactly.
    key: Option<String>,
}

impl When {
    pub fn holds(&self, prompt: &Prompt) -> bool {
        let within = |wanted: &Option<String>, text: &str| {
            wanted.as_ref().is_none_or(|wanted| text.contains(wanted))
        };
        let is = |wanted: &Option<String>, text: &str| {
            wanted.as_ref().is_none_or(|wanted| text == wanted)
        };
        let result = prompt.tool_result();
        within(&self.user, prompt.last_user())
            && (self.message.is_none()
                || prompt
                    .said
                    .iter()
                    .any(|said| within(&self.message, &said.text)))
            && (self.tool_result.is_none()
                || result.is_some_and(|text| within(&self.tool_result, text)))
            && self
                .after_tool
                .is_none_or(|wanted| wanted == result.is_some())
            && self.tools.is_none_or(|wanted| wanted == prompt.tools)
            && is(&self.model, &prompt.model)
            && is(&self.key, &prompt.key)
    }
}
