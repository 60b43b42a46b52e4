//! Calls of tools against a server that says what it was told to.

use std::sync::Mutex;

use hermes_home::{Env, Home, Resolved};
use hermes_mcp::{Answer, Content, ToolResult};
use hermes_testkit::TempHome;
use hermes_testkit::doubles::{FixedAsker, cx_with};
use hermes_types::{Outcome, Question};
use pretty_assertions::assert_eq;

use super::*;
use crate::redact::Secrets;
use crate::result::Caches;

/// What the server does with a call.
#[derive(Clone, Copy)]
enum Does {
    Answer,
    Refuse,
    /// Asks the owner, and answers what it got.
    Ask,
    Tell,
    /// Waits until it is cancelled, and says so or not.
    Wait {
        says_so: bool,
    },
}

struct Fake {
    does: Does,
    seen: Mutex<Vec<Operation>>,
}

impl Caller for Fake {
    fn name(&self) -> &str {
        "srv"
    }

    fn call(
        &self,
        operation: Operation,
        context: CallContext,
    ) -> BoxFuture<'_, Result<Reply, CallError>> {
        self.seen.lock().unwrap().push(operation);
        async move {
            let error = |cause| CallError {
                cause,
                retries: 0,
                generation: 4,
            };
            match self.does {
                Does::Answer => Ok(says("done")),
                Does::Refuse => {
                    let said = "token-of-the-connection refused";
                    Err(error(Cause::Ambiguous(Failure::new(
                        Class::Cut,
                        "Connection reset",
                        said,
                    ))))
                }
                Does::Ask => {
                    let elicitor = context.elicitor.ok_or_else(|| error(Cause::Cancelled))?;
                    Ok(says(
                        &elicitor
                            .elicit("srv", json!({"message": "may I?"}))
                            .await
                            .to_string(),
                    ))
                }
                Does::Tell => {
                    let told = Progress {
                        done: 1.0,
                        total: Some(4.0),
                        message: Some("copy\u{7}ing".to_owned()),
                    };
                    (context.progress.unwrap())(told);
                    Ok(says("done"))
                }
                Does::Wait { says_so } => {
                    context.cancel.cancelled().await;
                    match says_so {
                        true => Err(error(Cause::Cancelled)),
                        false => futures::future::pending().await,
                    }
                }
            }
        }
        .boxed()
    }

    fn secrets(&self) -> Vec<Secret> {
        vec![Secret::new("token-of-the-connection")]
    }
}

fn says(text: &str) -> Reply {
    let result = ToolResult {
        content: vec![Content::Text(text.to_owned())],
        structured: None,
        is_error: false,
    };
    Reply {
        answer: Answer::Tool(result),
        retries: 0,
        generation: 1,
    }
}

struct Desk {
    server: Arc<Fake>,
    tool: ServerTool,
    cx: CallCx,
    asker: Arc<FixedAsker>,
    _home: TempHome,
}

impl Desk {
    fn new(does: Does, subject: Subject) -> Self {
        let temp = TempHome::new();
        let server = Arc::new(Fake {
            does,
            seen: Mutex::default(),
        });
        let shelf = Shelf {
            caches: Caches::of(&home(&temp)),
            secrets: Secrets::default(),
            reader: None,
        };
        let side = ServerSide {
            caller: server.clone(),
            shelf,
            parallel: Parallel::Never,
            elicitation: Some(Duration::from_secs(300)),
        };
        let asker = FixedAsker::new(hermes_types::Answer::Once);
        let cx = cx_with(asker.clone());
        let name = format!("mcp__srv__{}", subject.name());
        let tool = ServerTool::new(name, subject, Arc::new(side));
        Self {
            server,
            tool,
            cx,
            asker,
            _home: temp,
        }
    }

    async fn call(&self, args: Value) -> (Value, Outcome) {
        let Value::Object(args) = args else {
            panic!("{args}")
        };
        let output = self.tool.call(args, &self.cx).await;
        (serde_json::from_str(&output.text).unwrap(), output.outcome)
    }
}

fn home(temp: &TempHome) -> Home {
    let hermes = temp.hermes().display().to_string();
    let env = Env::from([("HERMES_HOME", hermes.as_str())]);
    Resolved::from(None, &env).unwrap().home(&env)
}

fn send() -> Subject {
    Subject::Tool(Arc::new(hermes_mcp::Tool {
        name: "send-it".to_owned(),
        title: None,
        description: String::new(),
        input_schema: json!({"properties": {"to": {"type": "string"}}, "required": ["to", "gone"]}),
        reads_only: false,
        is_idempotent: false,
    }))
}

#[tokio::test]
async fn each_subject_is_an_operation() {
    let check = async |subject: Subject, args: Value, expected: Operation| {
        let desk = Desk::new(Does::Answer, subject);
        assert_eq!(
            desk.call(args).await,
            (json!({"result": "done"}), Outcome::Done)
        );
        assert_eq!(*desk.server.seen.lock().unwrap(), [expected]);
    };
    let args = |value: Value| value.as_object().cloned().unwrap();
    check(
        send(),
        json!({"to": "a", "more": 1}),
        Operation::CallTool {
            name: "send-it".to_owned(),
            arguments: args(json!({"to": "a", "more": 1})),
        },
    )
    .await;
    check(Subject::ListResources, json!({}), Operation::ListResources).await;
    check(
        Subject::ReadResource,
        json!({"uri": "a:b"}),
        Operation::ReadResource {
            uri: "a:b".to_owned(),
        },
    )
    .await;
    check(Subject::ListPrompts, json!({}), Operation::ListPrompts).await;
    check(
        Subject::GetPrompt,
        json!({"name": "p", "arguments": {"x": "y"}}),
        Operation::GetPrompt {
            name: "p".to_owned(),
            arguments: args(json!({"x": "y"})),
        },
    )
    .await;
}

#[tokio::test]
async fn a_missing_argument_is_named_and_nothing_is_sent() {
    let check = async |subject: Subject, args: Value, missing: &str| {
        let desk = Desk::new(Does::Answer, subject);
        let (answer, outcome) = desk.call(args).await;
        let error = answer["error"].as_str().unwrap();
        assert!(
            error.contains(&format!("'{missing}' is missing")),
            "{error}"
        );
        assert_eq!(outcome, Outcome::Failed);
        assert!(desk.server.seen.lock().unwrap().is_empty());
    };
    check(Subject::ReadResource, json!({}), "uri").await;
    check(Subject::GetPrompt, json!({"arguments": {}}), "name").await;
    check(send(), json!({"other": 1}), "to").await;
}

#[tokio::test]
async fn a_failure_names_the_tool_and_no_secret() {
    let (answer, outcome) = Desk::new(Does::Refuse, send())
        .call(json!({"to": "a"}))
        .await;
    assert_eq!(outcome, Outcome::Failed);
    assert_eq!(
        (&answer["outcome_unknown"], &answer["tool"]),
        (&json!(true), &json!("send-it"))
    );
    let error = answer["error"].as_str().unwrap();
    assert!(
        error.starts_with("MCP call failed: Connection reset: [REDACTED] refused"),
        "{error}"
    );
}

#[tokio::test]
async fn the_owner_and_the_watcher_of_a_call_are_reached() {
    let desk = Desk::new(Does::Ask, Subject::ListPrompts);
    let (answer, _) = desk.call(json!({})).await;
    assert_eq!(answer["result"], r#"{"action":"accept","content":{}}"#);
    assert!(
        matches!(&desk.asker.asked()[..], [Question::Elicit { server, .. }] if server == "srv")
    );

    let mut desk = Desk::new(Does::Tell, Subject::ListPrompts);
    let told = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&told);
    desk.cx.progress = hermes_types::Progress::new(move |told| {
        if let hermes_types::Told::Text(text) = told {
            heard.lock().unwrap().push(text.to_owned());
        }
    });
    desk.call(json!({})).await;
    assert_eq!(*told.lock().unwrap(), ["1/4 copying"]);
}

#[tokio::test]
async fn a_cancelled_call_ends_soon_whatever_the_server_does() {
    for says_so in [true, false] {
        let desk = Desk::new(Does::Wait { says_so }, send());
        let cancel = async {
            tokio::task::yield_now().await;
            desk.cx.scope.cancel.cancel();
        };
        let (answered, ()) = futures::join!(desk.call(json!({"to": "a"})), cancel);
        let text = "The MCP call was interrupted by a new user message";
        assert_eq!(answered, (json!({"error": text}), Outcome::Cancelled));
    }
}

#[tokio::test]
async fn a_turn_without_time_is_honest_about_it() {
    let check = async |subject: Subject, is_unknown: bool| {
        let mut desk = Desk::new(Does::Wait { says_so: true }, subject);
        desk.cx.scope = desk.cx.scope.within(Duration::from_millis(5));
        let (answer, outcome) = desk.call(json!({"to": "a"})).await;
        assert_eq!(
            (answer["outcome_unknown"] == true, outcome),
            (is_unknown, Outcome::Failed),
            "{answer}"
        );
    };
    check(send(), true).await;
    check(Subject::ListResources, false).await;
}

#[test]
fn what_the_model_is_told() {
    let spec = |subject| Desk::new(Does::Answer, subject).tool.spec;
    let tool = spec(send());
    assert_eq!(tool.description, "The tool send-it of the MCP server srv.");
    assert_eq!(
        tool.parameters,
        json!({"properties": {"to": {"type": "string"}}, "type": "object", "required": ["to"]})
    );
    let about = json!({"n": 1, "q": "first line\nsecond"})
        .as_object()
        .cloned()
        .unwrap();
    assert_eq!((tool.digest)(&about, &ToolOutput::done("")), "first line");
    assert_eq!(
        spec(Subject::ReadResource).parameters["required"],
        json!(["uri"])
    );
}
