//! Which memory outside the owner chose, if any: `memory.provider`.

use std::fmt::{self, Display, Formatter};

use hermes_home::config::{Document, Settings};
use hermes_home::{Home, yaml};
use serde_json::{Map, Value, json};

/// Providers there are elsewhere and not in this build.
pub const ELSEWHERE: [&str; 8] = [
    "honcho",
    "mem0",
    "hindsight",
    "holographic",
    "openviking",
    "retaindb",
    "supermemory",
    "byterover",
];

const MCP: &str = "mcp:";
const KEY: &str = "memory.provider";

/// What `memory.provider` says.
#[derive(Clone, Debug, PartialEq)]
pub enum Choice {
    /// Only the notes of our own.
    BuiltIn,
    /// Tools of a configured MCP server.
    Server(ServerTools),
    /// A name nobody here answers to.
    Missing(String),
}

/// The tools of a server that remember.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServerTools {
    pub server: String,
    pub recall: Option<ToolUse>,
    pub keep: Option<ToolUse>,
}

/// A tool, and which of its arguments gets the text.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolUse {
    pub tool: String,
    pub argument: String,
    /// All of its arguments, if it wants them in a shape of its own: `{text}` in them is the text.
    pub shape: Option<Map<String, Value>>,
}

/// What a tool is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    Recall,
    Keep,
}

impl Use {
    fn name(self) -> &'static str {
        match self {
            Self::Recall => "recall",
            Self::Keep => "keep",
        }
    }

    /// The argument most servers take.
    fn usual(self) -> &'static str {
        match self {
            Self::Recall => "query",
            Self::Keep => "content",
        }
    }
}

impl ToolUse {
    /// A tool with the arguments that are set for it; `None` without a name.
    pub fn of(tool: &str, what: Use, settings: &Settings) -> Option<Self> {
        let set = |key: &str| settings.get(&format!("memory.mcp.{}_{key}", what.name()));
        let argument = set("argument").and_then(Value::as_str).map(str::trim);
        let argument = argument.filter(|argument| !argument.is_empty());
        let shape = set("arguments").and_then(Value::as_object);
        let tool = Some(tool.trim()).filter(|tool| !tool.is_empty())?;
        Some(Self {
            tool: tool.to_owned(),
            argument: argument.unwrap_or(what.usual()).to_owned(),
            shape: shape.filter(|shape| !shape.is_empty()).cloned(),
        })
    }
}

impl Choice {
    pub fn read(settings: &Settings) -> Self {
        let name = settings.text(KEY).trim().to_owned();
        let used = |what: Use| {
            let tool = settings.get(&format!("memory.mcp.{}_tool", what.name()));
            let tool = tool.and_then(Value::as_str).unwrap_or_default();
            ToolUse::of(tool, what, settings)
        };
        match Self::named(&name) {
            Self::Server(server) => Self::Server(ServerTools {
                recall: used(Use::Recall),
                keep: used(Use::Keep),
                ..server
            }),
            other => other,
        }
    }

    /// What a name stands for, without the tools that go with it.
    pub fn named(name: &str) -> Self {
        match name {
            "" | "none" | "off" | "builtin" | "built-in" => Self::BuiltIn,
            _ => match name.strip_prefix(MCP).filter(|server| !server.is_empty()) {
                Some(server) => Self::Server(ServerTools {
                    server: server.to_owned(),
                    ..ServerTools::default()
                }),
                None => Self::Missing(name.to_owned()),
            },
        }
    }

    /// Why it cannot be used as it is, and what to do. Whether its server is configured is not looked at.
    pub fn problem(&self) -> Option<String> {
        match self {
            Self::BuiltIn => None,
            Self::Missing(name) if ELSEWHERE.contains(&name.as_str()) => Some(format!(
                "the memory provider {name} is not available in this build; built-in memory works without it, and \
                 `hermes memory setup` can choose an MCP server (mcp:NAME)"
            )),
            Self::Missing(name) => Some(format!(
                "there is no memory provider '{name}'; known are mcp:NAME for a configured MCP server, and none"
            )),
            Self::Server(tools) if tools.recall.is_none() && tools.keep.is_none() => Some(format!(
                "memory.provider is {self}, but neither memory.mcp.recall_tool nor memory.mcp.keep_tool says which \
                 of its tools to use"
            )),
            Self::Server(_) => None,
        }
    }

    /// Writes it down for all sessions to come. Tools that are not named stay as they are.
    pub fn save(&self, home: &Home) -> hermes_home::Result<()> {
        Document::edit(home, |document| {
            let mut set =
                |key: &str, value: &str| document.set(&yaml::Path::parse(key)?, &json!(value));
            match self {
                Self::BuiltIn => set(KEY, ""),
                Self::Missing(name) => set(KEY, name),
                Self::Server(tools) => {
                    set(KEY, &self.to_string())?;
                    for (what, used) in [("recall", &tools.recall), ("keep", &tools.keep)] {
                        if let Some(used) = used {
                            set(&format!("memory.mcp.{what}_tool"), &used.tool)?;
                            set(&format!("memory.mcp.{what}_argument"), &used.argument)?;
                        }
                    }
                    Ok(())
                }
            }
        })
    }

    /// The tools in a line, if there are any.
    pub fn tools(&self) -> Option<String> {
        let Self::Server(tools) = self else {
            return None;
        };
        let used = |what: &str, used: &Option<ToolUse>| match used {
            Some(ToolUse {
                tool,
                shape: Some(shape),
                ..
            }) => {
                let names: Vec<&str> = shape.keys().map(String::as_str).collect();
                format!("{what} with {tool}({})", names.join(", "))
            }
            Some(used) => format!("{what} with {}({})", used.tool, used.argument),
            None => format!("does not {what}"),
        };
        Some(format!(
            "{}, {}",
            used("recall", &tools.recall),
            used("keep", &tools.keep)
        ))
    }
}

impl Display for Choice {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("none (built-in memory only)"),
            Self::Server(tools) => write!(f, "{MCP}{}", tools.server),
            Self::Missing(name) => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_what_they_stand_for() {
        let check = |name: &str, told: &str, usable: bool| {
            let choice = Choice::named(name);
            assert_eq!(choice.to_string(), told, "{name}");
            let problem = choice.problem().unwrap_or_default();
            let is_usable = problem.is_empty() || problem.contains("says which");
            assert_eq!(is_usable, usable, "{name}: {problem}");
        };
        check("", "none (built-in memory only)", true);
        check("off", "none (built-in memory only)", true);
        check("mcp:notes", "mcp:notes", true);
        check("mcp:", "mcp:", false);
        check("frobnicate", "frobnicate", false);
        for name in ELSEWHERE {
            check(name, name, false);
            let problem = Choice::named(name).problem().unwrap();
            assert!(
                problem.contains("is not available in this build"),
                "{problem}"
            );
        }
    }
}
