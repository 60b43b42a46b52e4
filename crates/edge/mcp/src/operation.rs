//! The five things one can ask of a server, and what it answers.

use serde_json::{Map, Value, json};

use crate::content::{Prompt, PromptMessages, Resource, ResourceContents, ToolResult};

/// Something to ask of a server.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    CallTool {
        name: String,
        arguments: Map<String, Value>,
    },
    ListResources,
    ReadResource {
        uri: String,
    },
    ListPrompts,
    GetPrompt {
        name: String,
        arguments: Map<String, Value>,
    },
}

/// The answer to the operation of the same name.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    Tool(ToolResult),
    Resources(Vec<Resource>),
    Contents(Vec<ResourceContents>),
    Prompts(Vec<Prompt>),
    Prompt(PromptMessages),
}

impl Operation {
    pub(crate) fn method(&self) -> &'static str {
        match self {
            Self::CallTool { .. } => "tools/call",
            Self::ListResources => "resources/list",
            Self::ReadResource { .. } => "resources/read",
            Self::ListPrompts => "prompts/list",
            Self::GetPrompt { .. } => "prompts/get",
        }
    }

    pub(crate) fn params(&self) -> Value {
        match self {
            Self::CallTool { name, arguments } | Self::GetPrompt { name, arguments } => {
                json!({"name": name, "arguments": arguments})
            }
            Self::ReadResource { uri } => json!({"uri": uri}),
            Self::ListResources | Self::ListPrompts => json!({}),
        }
    }

    /// What the operation is about, as the modern protocol repeats it in a header.
    pub(crate) fn subject(&self) -> Option<&str> {
        match self {
            Self::CallTool { name, .. } | Self::GetPrompt { name, .. } => Some(name),
            Self::ReadResource { uri } => Some(uri),
            Self::ListResources | Self::ListPrompts => None,
        }
    }
}
