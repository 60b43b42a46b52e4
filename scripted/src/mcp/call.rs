//! The healthy answer to one request, whatever way it came.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::counters::count;
use super::offer;
use super::options::{Capability, Era};
use super::rpc::Rpc;
use super::state::Shared;

/// Nothing a test asks for takes longer, or is larger.
const MAX_WAIT: Duration = Duration::from_secs(600);
const MAX_BYTES: u64 = 64 << 20;
const MAX_STEPS: u64 = 10_000;

const NO_METHOD: i64 = -32601;
const BAD_PARAMS: i64 = -32602;

/// Who asks, and the way back to them while the call runs.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub shared: Arc<Shared>,
    /// For notifications and requests that belong to the call.
    pub messages: mpsc::Sender<Value>,
    /// Of the child, if the caller talks to one.
    pub env: Arc<BTreeMap<String, String>>,
}

/// A result, or a code and a message.
type Outcome = Result<Value, (i64, String)>;

impl Caller {
    /// The whole JSON-RPC answer.
    pub async fn answer(&self, rpc: &Rpc) -> Value {
        let scripted = self.scripted(rpc);
        let outcome = match scripted {
            Some(answer) => {
                self.executed(rpc);
                match answer.get("error") {
                    Some(error) => return json!({"jsonrpc": "2.0", "id": rpc.id, "error": error}),
                    None => Ok(answer["result"].clone()),
                }
            }
            None => self.outcome(rpc).await,
        };
        match outcome {
            Ok(result) if rpc.is_modern() => rpc.ok(&modern(rpc, result)),
            Ok(result) => rpc.ok(&result),
            Err((code, message)) => rpc.error(code, &message),
        }
    }

    fn scripted(&self, rpc: &Rpc) -> Option<Value> {
        self.shared.with(|inner| {
            let answers = &inner.options.answers;
            let tool = rpc.name().filter(|_| rpc.method == "tools/call");
            let by_tool = tool.and_then(|tool| answers.get(tool));
            by_tool.or_else(|| answers.get(&rpc.method)).cloned()
        })
    }

    async fn outcome(&self, rpc: &Rpc) -> Outcome {
        let options = self.shared.with(|inner| inner.options.clone());
        let list = |capability, key: &str, all: Vec<Value>| {
            if !options.has(capability) {
                return Err(unknown(rpc));
            }
            let cursor = rpc.params["cursor"].as_str();
            let page = offer::page(&options, key, &all, cursor);
            page.ok_or_else(|| (BAD_PARAMS, "Invalid cursor".to_owned()))
        };
        match rpc.method.as_str() {
            "initialize" if options.era != Era::Modern => {
                let asked = rpc.params["protocolVersion"].as_str();
                Ok(offer::initialize(&options, asked.unwrap_or_default()))
            }
            "server/discover" if options.era != Era::Legacy => Ok(offer::discover(&options)),
            "ping" if !rpc.is_modern() => Ok(json!({})),
            "logging/setLevel" => Ok(json!({})),
            "tools/list" => list(Capability::Tools, "tools", offer::tools(&options)),
            "resources/list" => list(Capability::Resources, "resources", offer::resources()),
            "resources/templates/list" => list(Capability::Resources, "resourceTemplates", vec![]),
            "prompts/list" => list(Capability::Prompts, "prompts", offer::prompts()),
            "tools/call" if options.has(Capability::Tools) => {
                let name = rpc.name().unwrap_or_default();
                let known = offer::tools(&options);
                if !known.iter().any(|tool| tool["name"] == name) {
                    return Err((BAD_PARAMS, format!("Unknown tool: {name}")));
                }
                self.run(rpc, name).await
            }
            "resources/read" if options.has(Capability::Resources) => match rpc.name() {
                Some(offer::RESOURCE) => Ok(json!({"contents": [
                    {"uri": offer::RESOURCE, "mimeType": "text/plain", "text": "a few notes"},
                ]})),
                other => Err((-32002, format!("Resource not found: {other:?}"))),
            },
            "prompts/get" if options.has(Capability::Prompts) => match rpc.name() {
                Some(offer::PROMPT) => Ok(greeting(&rpc.params["arguments"])),
                other => Err((BAD_PARAMS, format!("Unknown prompt: {other:?}"))),
            },
            _ => Err(unknown(rpc)),
        }
    }

    /// One more execution of the tool; how many there have been.
    fn executed(&self, rpc: &Rpc) -> u64 {
        let Some(name) = rpc.name().filter(|_| rpc.method == "tools/call") else {
            return 0;
        };
        self.shared.with(|inner| {
            let executions = &mut inner.counters.executions;
            count(executions, name);
            executions.get(name).copied().unwrap_or_default()
        })
    }

    async fn run(&self, rpc: &Rpc, name: &str) -> Outcome {
        let arguments = &rpc.params["arguments"];
        let number = |key: &str| arguments[key].as_u64().unwrap_or_default();
        let wait = |key: &str| Duration::from_millis(number(key)).min(MAX_WAIT);
        if rpc.is_modern() && matches!(name, "ask" | "think") {
            return Ok(self.input_required(rpc, name));
        }
        let times = self.executed(rpc);
        Ok(match name {
            "write" => text(format!("written {times}")),
            "slow" => {
                tokio::time::sleep(wait("ms")).await;
                text("done".to_owned())
            }
            "fail" => failed("it failed, as it always does"),
            "env" => text(json!(*self.env).to_string()),
            "big" => {
                let bytes = number("bytes").min(MAX_BYTES);
                text("x".repeat(usize::try_from(bytes).unwrap_or_default()))
            }
            "progress" => {
                self.progress(rpc, number("steps").min(MAX_STEPS), wait("ms"))
                    .await
            }
            "ask" | "think" => match self.ask(question(name)).await {
                Ok(answer) => text(heard(name, &answer)),
                Err(error) => failed(&error),
            },
            other => text(format!("{other} done")),
        })
    }

    async fn progress(&self, rpc: &Rpc, steps: u64, pause: Duration) -> Value {
        for step in 1..=steps {
            tokio::time::sleep(pause).await;
            let Some(token) = rpc.meta("progressToken") else {
                continue;
            };
            let params = json!({"progressToken": token, "progress": step, "total": steps, "message": format!("step {step}")});
            let message =
                json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params});
            // A caller that is gone doesn't want to know.
            let _ = self.messages.send(message).await;
        }
        text(format!("{steps} steps"))
    }

    /// A request to the client, and its result.
    async fn ask(&self, question: Value) -> Result<Value, String> {
        let (id, answered) = self.shared.with(|inner| inner.ask());
        let mut message = json!({"jsonrpc": "2.0", "id": id});
        message["method"] = question["method"].clone();
        message["params"] = question["params"].clone();
        // A caller that is gone won't answer either.
        let _ = self.messages.send(message).await;
        let answer = tokio::time::timeout(MAX_WAIT, answered).await;
        let mut answer = answer
            .map_err(|_| "no answer")?
            .map_err(|_| "nobody left to answer")?;
        match answer.get("error") {
            Some(error) => Err(error["message"].as_str().unwrap_or("refused").to_owned()),
            None => Ok(answer["result"].take()),
        }
    }

    /// The stateless way to ask: a result that wants the request again, with an answer.
    fn input_required(&self, rpc: &Rpc, name: &str) -> Value {
        let answer = &rpc.params["inputResponses"]["input"];
        if answer.is_null() {
            return json!({
                "resultType": "input_required",
                "inputRequests": {"input": question(name)},
                "requestState": name,
            });
        }
        if rpc.params["requestState"] != name {
            return failed("the request state didn't come back");
        }
        self.executed(rpc);
        text(heard(name, answer))
    }
}

/// What the stateless protocol adds to a result.
fn modern(rpc: &Rpc, mut result: Value) -> Value {
    if result.get("resultType").is_none() {
        result["resultType"] = "complete".into();
    }
    let cacheable = rpc.method.ends_with("/list")
        || matches!(rpc.method.as_str(), "server/discover" | "resources/read");
    if cacheable {
        result["ttlMs"] = 0.into();
        result["cacheScope"] = "private".into();
    }
    result
}

fn unknown(rpc: &Rpc) -> (i64, String) {
    (NO_METHOD, format!("Method not found: {}", rpc.method))
}

pub(crate) fn text(text: String) -> Value {
    json!({"content": [{"type": "text", "text": text}], "isError": false})
}

pub(crate) fn failed(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}], "isError": true})
}

fn greeting(arguments: &Value) -> Value {
    let name = arguments["name"].as_str().unwrap_or("world");
    let content = json!({"type": "text", "text": format!("Hello, {name}!")});
    json!({"description": "A greeting", "messages": [{"role": "user", "content": content}]})
}

fn question(tool: &str) -> Value {
    if tool == "ask" {
        let name = json!({"type": "string", "title": "Name"});
        let schema = json!({"type": "object", "properties": {"name": name}, "required": ["name"]});
        let params = json!({"mode": "form", "message": "Who are you?", "requestedSchema": schema});
        return json!({"method": "elicitation/create", "params": params});
    }
    let content = json!({"type": "text", "text": "What is six times seven?"});
    let params = json!({"messages": [{"role": "user", "content": content}], "maxTokens": 50});
    json!({"method": "sampling/createMessage", "params": params})
}

/// What the client's answer says.
fn heard(tool: &str, answer: &Value) -> String {
    if tool == "think" {
        let content = &answer["content"];
        let said = content["text"].as_str().or(content[0]["text"].as_str());
        return said.unwrap_or_default().to_owned();
    }
    match answer["action"].as_str() {
        Some("accept") => format!(
            "hello {}",
            answer["content"]["name"].as_str().unwrap_or_default()
        ),
        other => other.unwrap_or("no action").to_owned(),
    }
}
