//! Answers the calls of one script: checks who asks and for what, counts, and passes them on.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hermes_types::{Args, FOR_SCRIPT, ToolCaller, ToolOutput};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Mutex;

/// What makes no sense for a caller that waits for the end.
const NOT_FOR_SCRIPTS: [&str; 4] = ["background", "pty", "notify_on_complete", "watch_patterns"];

/// What one script may do through Hermes.
pub(crate) struct Desk {
    /// Only the script knows it.
    token: String,
    tools: Vec<String>,
    max_calls: usize,
    caller: Arc<dyn ToolCaller>,
    made: AtomicUsize,
    /// Tools expect that a conversation does one thing after the other.
    turn: Mutex<()>,
}

/// What goes back through the connection.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    /// With its end.
    pub line: String,
    pub then: Then,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    Listen,
    HangUp,
}

#[derive(Deserialize)]
struct Request {
    tool: String,
    #[serde(default)]
    args: Args,
    #[serde(default)]
    token: String,
}

impl Desk {
    pub fn new(
        token: String,
        tools: Vec<String>,
        max_calls: usize,
        caller: Arc<dyn ToolCaller>,
    ) -> Self {
        Self {
            token,
            tools,
            max_calls,
            caller,
            made: AtomicUsize::new(0),
            turn: Mutex::new(()),
        }
    }

    /// How many calls were passed on.
    pub fn calls_made(&self) -> usize {
        self.made.load(Ordering::Relaxed)
    }

    pub async fn answer(&self, line: &[u8]) -> Reply {
        let request: Request = match serde_json::from_slice(line) {
            Ok(request) => request,
            Err(problem) => {
                let error =
                    format!("This is not a call: {problem}. Use the functions of hermes_tools.");
                return Reply::new(&json!({ "error": error }), Then::Listen);
            }
        };
        if request.token != self.token {
            let error = "This call carries no valid token. Use the functions of hermes_tools.";
            return Reply::new(&json!({ "error": error }), Then::HangUp);
        }
        Reply::new(&self.call(request).await, Then::Listen)
    }

    async fn call(&self, request: Request) -> Value {
        let Request { tool, mut args, .. } = request;
        if !self.tools.contains(&tool) {
            let tools = self.tools.join(", ");
            let error = format!("Scripts cannot call '{tool}'. They can call: {tools}");
            return json!({ "error": error });
        }
        let _turn = self.turn.lock().await;
        if self.calls_made() >= self.max_calls {
            let error = format!(
                "The limit of {} tool calls per script is reached; this call was not made.",
                self.max_calls
            );
            return json!({ "error": error });
        }
        self.made.fetch_add(1, Ordering::Relaxed);
        match tool.as_str() {
            "terminal" => args.retain(|name, _| !NOT_FOR_SCRIPTS.contains(&name.as_str())),
            "read_file" | "search_files" => {
                args.insert(FOR_SCRIPT.to_owned(), true.into());
            }
            _ => {}
        }
        result(&self.caller.call(&tool, args).await)
    }
}

impl Reply {
    fn new(value: &Value, then: Then) -> Self {
        // JSON has no bare line breaks.
        let line = format!("{value}\n");
        Self { line, then }
    }
}

/// What a call gave, for a program. Words for the model that stand behind a result become a field of it.
fn result(output: &ToolOutput) -> Value {
    let mut values = serde_json::Deserializer::from_str(&output.text).into_iter::<Value>();
    let Some(Ok(Value::Object(mut result))) = values.next() else {
        return json!({ "output": output.text });
    };
    let rest = output.text[values.byte_offset()..].trim();
    if !rest.is_empty() {
        result.insert("_note".to_owned(), rest.into());
    }
    Value::Object(result)
}

#[cfg(test)]
mod tests {
    use hermes_testkit::doubles::CannedTools;
    use pretty_assertions::assert_eq;

    use super::*;

    fn desk(max_calls: usize) -> (Desk, Arc<CannedTools>) {
        let caller = CannedTools::echo();
        let tools = ["terminal", "read_file"].map(str::to_owned).into();
        let desk = Desk::new("secret".to_owned(), tools, max_calls, caller.clone());
        (desk, caller)
    }

    #[tokio::test]
    async fn what_is_no_call_is_answered_all_the_same() {
        let check = async |line: &[u8], expected: &str, then: Then| {
            let (desk, caller) = desk(5);
            let reply = desk.answer(line).await;
            let shown = String::from_utf8_lossy(line).into_owned();
            assert!(reply.line.contains(expected), "{shown}: {}", reply.line);
            assert!(reply.line.starts_with("{\"error\":") && reply.line.ends_with("}\n"));
            assert_eq!(reply.then, then, "{shown}");
            assert_eq!((desk.calls_made(), caller.calls()), (0, Vec::new()));
        };
        check(b"garbage\n", "not a call", Then::Listen).await;
        check(b"\xff\xfe\n", "not a call", Then::Listen).await;
        check(b"{}\n", "missing field `tool`", Then::Listen).await;
        check(b"[1,2]\n", "not a call", Then::Listen).await;
        check(
            b"{\"tool\":\"terminal\",\"args\":",
            "not a call",
            Then::Listen,
        )
        .await;
        check(b"{\"tool\":\"terminal\"}\n", "token", Then::HangUp).await;
        check(
            b"{\"tool\":\"terminal\",\"token\":\"Secret\"}\n",
            "token",
            Then::HangUp,
        )
        .await;
        check(
            b"{\"tool\":\"todo\",\"token\":\"secret\"}\n",
            "Scripts cannot call 'todo'. They can call: terminal, read_file",
            Then::Listen,
        )
        .await;
    }

    #[tokio::test]
    async fn calls_are_passed_on_without_what_a_script_cannot_use() {
        let (desk, caller) = desk(2);
        let ask = async |tool: &str, args: Value| {
            let line = json!({"tool": tool, "args": args, "token": "secret"}).to_string();
            serde_json::from_str::<Value>(&desk.answer(line.as_bytes()).await.line).unwrap()
        };
        let args = json!({"command": "make", "pty": true, "background": true, "watch_patterns": ["x"],
            "notify_on_complete": true, "timeout": 5});
        ask("terminal", args).await;
        ask("read_file", json!({"path": "a"})).await;
        assert_eq!(
            caller.calls(),
            [
                (
                    "terminal".to_owned(),
                    json!({"command": "make", "timeout": 5})
                ),
                (
                    "read_file".to_owned(),
                    json!({"path": "a", FOR_SCRIPT: true})
                ),
            ]
        );
        let refused = ask("terminal", json!({"command": "make"})).await;
        assert!(refused["error"].as_str().unwrap().contains("limit of 2"));
        assert_eq!((desk.calls_made(), caller.calls().len()), (2, 2));
    }

    #[test]
    fn results_are_objects_with_what_was_said_behind_them() {
        let check = |text: &str, expected: Value| {
            assert_eq!(result(&ToolOutput::done(text)), expected, "{text}");
        };
        check("{\"a\":1}", json!({"a": 1}));
        check(
            "{\"a\":1}\n\n[Hint: b]",
            json!({"a": 1, "_note": "[Hint: b]"}),
        );
        check("plain\nwords", json!({"output": "plain\nwords"}));
        check("[1]", json!({"output": "[1]"}));
        check("", json!({"output": ""}));
    }
}
