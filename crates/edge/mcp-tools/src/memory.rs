//! A server that remembers: two of its tools as a memory outside. One looks up what belongs to a message, the other
//! takes in what was said; either may be missing.

use futures::future::{BoxFuture, FutureExt};
use hermes_mcp::{Answer, CallContext, Content, Operation, ToolResult};
use hermes_types::{Args, Exchange, MemoryNews, MemoryProvider, Scope};
use serde_json::Value;

use crate::errors::{self, Asked};
use crate::live::LiveServers;

/// A tool, and its arguments with a place for the text.
#[derive(Clone, Debug, PartialEq)]
pub struct Remembering {
    pub tool: String,
    pub arguments: Args,
}

/// Where the text goes in its arguments.
const TEXT: &str = "{text}";

impl Remembering {
    /// One that gets the text as this argument.
    pub fn with_argument(tool: String, argument: String) -> Self {
        let arguments = Args::from_iter([(argument, TEXT.into())]);
        Self { tool, arguments }
    }

    fn filled(&self, text: &str) -> Args {
        let arguments = self.arguments.iter();
        let arguments = arguments.map(|(name, value)| (name.clone(), filled(value, text)));
        arguments.collect()
    }
}

fn filled(value: &Value, text: &str) -> Value {
    match value {
        Value::String(here) => here.replace(TEXT, text).into(),
        Value::Array(list) => list.iter().map(|value| filled(value, text)).collect(),
        Value::Object(map) => {
            let fields = map.iter();
            let fields = fields.map(|(name, value)| (name.clone(), filled(value, text)));
            Value::Object(fields.collect())
        }
        other => other.clone(),
    }
}

#[derive(Debug)]
pub struct ServerMemory {
    /// `mcp:<server>`
    name: String,
    server: String,
    live: LiveServers,
    recall: Option<Remembering>,
    keep: Option<Remembering>,
}

impl ServerMemory {
    /// Uses the connections there are; the server need not be up yet.
    pub fn new(live: LiveServers, server: &str) -> Self {
        Self {
            name: format!("mcp:{server}"),
            server: server.to_owned(),
            live,
            recall: None,
            keep: None,
        }
    }

    #[must_use]
    pub fn recalling(self, recall: Option<Remembering>) -> Self {
        Self { recall, ..self }
    }

    #[must_use]
    pub fn keeping(self, keep: Option<Remembering>) -> Self {
        Self { keep, ..self }
    }

    async fn call(&self, used: &Remembering, text: &str, scope: &Scope) -> Result<String, String> {
        let Some(server) = self.live.server(&self.server) else {
            return Err(format!("the MCP server {} does not run here", self.server));
        };
        let operation = Operation::CallTool {
            name: used.tool.clone(),
            arguments: used.filled(text),
        };
        let context = CallContext {
            cancel: scope.cancel.clone(),
            ..CallContext::default()
        };
        match server.call(&operation, &context).await {
            Ok(reply) => match reply.answer {
                Answer::Tool(result) => read(result),
                _ => Err(format!("{} gave no result of a tool", used.tool)),
            },
            Err(error) => {
                let asked = Asked {
                    server: &self.server,
                    tool: &used.tool,
                };
                let secrets = self.live.secrets(&self.server);
                Err(errors::output(&error, asked, &secrets).text)
            }
        }
    }

    async fn take_in(&self, text: &str, scope: &Scope) -> Result<(), String> {
        match &self.keep {
            Some(keep) => self.call(keep, text, scope).await.map(drop),
            None => Ok(()),
        }
    }
}

impl MemoryProvider for ServerMemory {
    fn name(&self) -> &str {
        &self.name
    }

    fn recall<'a>(
        &'a self,
        words: &'a str,
        scope: &'a Scope,
    ) -> BoxFuture<'a, Result<String, String>> {
        async move {
            match &self.recall {
                Some(recall) => self.call(recall, words, scope).await,
                None => Ok(String::new()),
            }
        }
        .boxed()
    }

    fn keep<'a>(
        &'a self,
        exchange: &'a Exchange,
        scope: &'a Scope,
    ) -> BoxFuture<'a, Result<(), String>> {
        async move {
            let Exchange {
                user, assistant, ..
            } = exchange;
            let text = format!("User: {user}\n\nAssistant: {assistant}");
            self.take_in(&text, scope).await
        }
        .boxed()
    }

    /// What is noted in the built-in memory is worth keeping elsewhere, too.
    fn noted<'a>(
        &'a self,
        news: &'a MemoryNews,
        scope: &'a Scope,
    ) -> BoxFuture<'a, Result<(), String>> {
        async move {
            match news {
                MemoryNews::Written(write) => self.take_in(&write.content, scope).await,
                _ => Ok(()),
            }
        }
        .boxed()
    }

    fn prompt_part(&self) -> Option<String> {
        self.recall.as_ref().map(|_| {
            format!(
                "What the memory {} recalls for a message follows it between memory-context tags. It may be old or \
                 beside the point; it is not what the user said. Don't repeat the tags.",
                self.name
            )
        })
    }
}

/// The text of a result. One without anything in it, such as an empty list, is nothing to be told.
fn read(result: ToolResult) -> Result<String, String> {
    let blocks = result.content.into_iter().filter_map(|block| match block {
        Content::Text(text) => Some(text),
        _ => None,
    });
    let mut text = blocks.collect::<Vec<_>>().join("\n");
    if result.is_error {
        return Err(text);
    }
    if let Some(structured) = result.structured.filter(|_| text.trim().is_empty()) {
        text = structured.to_string();
    }
    let is_empty = serde_json::from_str(&text).is_ok_and(|value| is_hollow(&value));
    Ok(if is_empty { String::new() } else { text })
}

fn is_hollow(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(list) => list.iter().all(is_hollow),
        Value::Object(map) => map.values().all(is_hollow),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_text_goes_where_the_owner_wants_it() {
        let plain = Remembering::with_argument("write".to_owned(), "content".to_owned());
        let text = "a \"b\" {text}";
        assert_eq!(json!(plain.filled(text)), json!({"content": text}));
        let shaped = json!({"all": [{"kind": "turn", "said": ["> {text}"]}], "count": 1});
        let shaped = Remembering {
            tool: "write".to_owned(),
            arguments: shaped.as_object().unwrap().clone(),
        };
        let expected = json!({"all": [{"kind": "turn", "said": ["> x"]}], "count": 1});
        assert_eq!(json!(shaped.filled("x")), expected);
    }

    #[test]
    fn results_as_text() {
        let check = |texts: &[&str], structured: Option<Value>, is_error, expected| {
            let content = texts.iter().map(|text| Content::Text((*text).to_owned()));
            let content = content.collect();
            let result = ToolResult {
                content,
                structured,
                is_error,
            };
            let read = read(result);
            assert_eq!(
                read.as_deref().map_err(String::as_str),
                expected,
                "{texts:?}"
            );
        };
        check(&["likes tea"], None, false, Ok("likes tea"));
        check(&["a", "b"], Some(json!({"a": 1})), false, Ok("a\nb"));
        check(&[], Some(json!({"a": 1})), false, Ok(r#"{"a":1}"#));
        check(&["no such tool"], None, true, Err("no such tool"));
        // As a graph answers that knows nothing.
        let nothing = "{\n  \"entities\": [],\n  \"relations\": []\n}";
        check(&[nothing], Some(json!({"entities": []})), false, Ok(""));
        check(&["[]"], None, false, Ok(""));
        check(&[""], None, false, Ok(""));
        check(&["0"], None, false, Ok("0"));
    }
}
