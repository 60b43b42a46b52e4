//! The tools: what a client is told about them, and what they do.

use std::sync::Arc;
use std::time::Duration;

use hermes_home::Home;
use serde_json::{Map, Value, json};

use crate::args::Args;
use crate::events::Events;
use crate::records::Records;
use crate::rpc::{Fault, INVALID_PARAMS};
use crate::{channels, messages};

const LIST_LIMIT: u64 = 50;
const EVENTS_LIMIT: u64 = 20;
const MOST: u64 = 200;
const WAIT_MS: u64 = 30_000;
const LONGEST_WAIT_MS: u64 = 300_000;
const DECISIONS: [&str; 3] = ["allow-once", "allow-always", "deny"];

/// Whatever the tools need to know.
#[derive(Debug)]
pub(crate) struct Tools {
    records: Arc<Records>,
    pub events: Events,
}

impl Tools {
    pub fn new(home: Home) -> Self {
        let records = Arc::new(Records::new(home));
        Self {
            events: Events::new(records.clone()),
            records,
        }
    }

    /// `result` of `tools/call`. What goes wrong in a tool is a document like any other.
    pub async fn call(&self, params: &Value) -> Result<Value, Fault> {
        let name = params["name"].as_str().unwrap_or_default();
        if !TOOLS.iter().any(|tool| tool.name == name) {
            let why = format!("Unknown tool: {name}");
            return Err(Fault::new(INVALID_PARAMS, why));
        }
        let document = self.document(name, Args(&params["arguments"])).await;
        let document = document.unwrap_or_else(|error| json!({"error": error}));
        let text = document.to_string();
        Ok(json!({
            "content": [{"type": "text", "text": text}],
            "structuredContent": {"result": text},
            "isError": false,
        }))
    }

    async fn document(&self, name: &str, args: Args<'_>) -> Result<Value, String> {
        let records = &self.records;
        match name {
            "conversations_list" => self.conversations(args).await,
            "conversation_get" => {
                let conversation = records.conversation(&args.text("session_key")?).await?;
                Ok(conversation.full())
            }
            "messages_read" => {
                let limit = limit(args, LIST_LIMIT);
                messages::read(records, &args.text("session_key")?, limit).await
            }
            "attachments_fetch" => {
                let (key, message) = (args.text("session_key")?, args.text("message_id")?);
                messages::attachments(records, &key, &message).await
            }
            "events_poll" => Ok(self.poll(args).await),
            "events_wait" => Ok(self.wait(args).await),
            "messages_send" => send(args),
            "channels_list" => channels::list(records, args.optional("platform").as_deref()).await,
            // Approvals are asked by a gateway, and none asks through this process.
            "permissions_list_open" => Ok(json!({"count": 0, "approvals": []})),
            _ => respond(args),
        }
    }

    async fn conversations(&self, args: Args<'_>) -> Result<Value, String> {
        let platform = args.optional("platform");
        let search = args.optional("search").map(|text| text.to_lowercase());
        let mut found = self.records.conversations().await?;
        found.retain(|chat| {
            platform
                .as_ref()
                .is_none_or(|platform| chat.is_on(platform))
                && search.as_ref().is_none_or(|search| chat.matches(search))
        });
        found.truncate(limit(args, LIST_LIMIT));
        let conversations: Vec<Value> = found.iter().map(|chat| chat.brief()).collect();
        Ok(json!({"count": conversations.len(), "conversations": conversations}))
    }

    async fn poll(&self, args: Args<'_>) -> Value {
        let cursor = args.number("after_cursor", 0, 0..=u64::MAX);
        let key = args.optional("session_key");
        let limit = limit(args, EVENTS_LIMIT);
        let events = self.events.after(cursor, key.as_deref(), limit).await;
        let last = events.last().map(|event| event["cursor"].clone());
        json!({"events": events, "next_cursor": last.unwrap_or_else(|| cursor.into())})
    }

    async fn wait(&self, args: Args<'_>) -> Value {
        let cursor = args.number("after_cursor", 0, 0..=u64::MAX);
        let key = args.optional("session_key");
        let wait = args.number("timeout_ms", WAIT_MS, 0..=LONGEST_WAIT_MS);
        let wait = Duration::from_millis(wait);
        match self.events.next(cursor, key.as_deref(), wait).await {
            Some(event) => json!({"event": event}),
            None => json!({"event": null, "reason": "timeout"}),
        }
    }
}

fn limit(args: Args<'_>, default: u64) -> usize {
    args.number("limit", default, 1..=MOST) as usize
}

/// There is no platform to send through yet, whatever the target.
fn send(args: Args<'_>) -> Result<Value, String> {
    let (target, _) = (args.text("target")?, args.text("message")?);
    Err(format!(
        "Nothing was sent to {target}: no messaging platform is configured"
    ))
}

fn respond(args: Args<'_>) -> Result<Value, String> {
    let (id, decision) = (args.text("id")?, args.text("decision")?);
    if !DECISIONS.contains(&decision.as_str()) {
        let [once, always, deny] = DECISIONS;
        return Err(format!(
            "Invalid decision: {decision}. It must be {once}, {always} or {deny}"
        ));
    }
    Err(format!("Approval not found: {id}"))
}

/// `tools` of `tools/list`.
pub(crate) fn list() -> Vec<Value> {
    TOOLS.iter().map(Tool::json).collect()
}

struct Tool {
    name: &'static str,
    about: &'static str,
    params: &'static [Param],
    effect: Effect,
}

/// What calling it does to the world, for clients that ask their users first.
#[derive(PartialEq)]
enum Effect {
    Reads,
    Acts,
}

struct Param {
    name: &'static str,
    about: &'static str,
    kind: Kind,
}

enum Kind {
    Text,
    OptionalText,
    Decision,
    /// With its default. The limits are in the words only: a client that checks arguments itself would refuse
    /// what we would clamp.
    Number(u64),
}

impl Tool {
    fn json(&self) -> Value {
        let properties: Map<_, _> = self.params.iter().map(Param::property).collect();
        let required: Vec<_> = self
            .params
            .iter()
            .filter(|param| matches!(param.kind, Kind::Text | Kind::Decision))
            .map(|param| param.name)
            .collect();
        json!({
            "name": self.name,
            "description": self.about,
            "inputSchema": {"type": "object", "properties": properties, "required": required},
            "outputSchema": {
                "type": "object",
                "properties": {"result": {"type": "string", "description": "The JSON document of the text"}},
                "required": ["result"],
            },
            "annotations": {"readOnlyHint": self.effect == Effect::Reads},
        })
    }
}

impl Param {
    fn property(&self) -> (String, Value) {
        let mut schema = match self.kind {
            Kind::Text | Kind::OptionalText => json!({"type": "string"}),
            Kind::Decision => json!({"type": "string", "enum": DECISIONS}),
            Kind::Number(default) => json!({"type": "integer", "default": default}),
        };
        schema["description"] = self.about.into();
        (self.name.to_owned(), schema)
    }
}

const fn param(name: &'static str, kind: Kind, about: &'static str) -> Param {
    Param { name, about, kind }
}

const KEY: Param = param(
    "session_key",
    Kind::Text,
    "The conversation, as conversations_list names it",
);
const ONLY_KEY: Param = param(
    "session_key",
    Kind::OptionalText,
    "Only events of this conversation",
);
const CURSOR: Param = param(
    "after_cursor",
    Kind::Number(0),
    "Only events after this cursor; 0 means all there are",
);
const PLATFORM: Param = param(
    "platform",
    Kind::OptionalText,
    "Only this platform, such as telegram, discord or slack",
);

const TOOLS: [Tool; 10] = [
    Tool {
        name: "conversations_list",
        about: "Lists the conversations on messaging platforms, the most recently active first, with the session_key \
                that the other tools want.",
        params: &[
            PLATFORM,
            param(
                "limit",
                Kind::Number(LIST_LIMIT),
                "How many at most, 1 to 200",
            ),
            param(
                "search",
                Kind::OptionalText,
                "Only those with this text in their name, chat name or key",
            ),
        ],
        effect: Effect::Reads,
    },
    Tool {
        name: "conversation_get",
        about: "Tells everything about one conversation: where it is, since when, how many tokens it took.",
        params: &[KEY],
        effect: Effect::Reads,
    },
    Tool {
        name: "messages_read",
        about: "Reads the last messages of a conversation, oldest first.",
        params: &[
            KEY,
            param(
                "limit",
                Kind::Number(LIST_LIMIT),
                "How many at most, 1 to 200",
            ),
        ],
        effect: Effect::Reads,
    },
    Tool {
        name: "attachments_fetch",
        about: "Lists what a message carries besides text: images, other parts, and files it names.",
        params: &[
            KEY,
            param(
                "message_id",
                Kind::Text,
                "The message, as messages_read names it",
            ),
        ],
        effect: Effect::Reads,
    },
    Tool {
        name: "events_poll",
        about: "Gives the events since a cursor at once: new messages, approvals asked for and decided. Pass \
                next_cursor the next time.",
        params: &[
            CURSOR,
            ONLY_KEY,
            param(
                "limit",
                Kind::Number(EVENTS_LIMIT),
                "How many at most, 1 to 200",
            ),
        ],
        effect: Effect::Reads,
    },
    Tool {
        name: "events_wait",
        about: "Waits for the next event after a cursor; event is null if none came in time.",
        params: &[
            CURSOR,
            ONLY_KEY,
            param(
                "timeout_ms",
                Kind::Number(WAIT_MS),
                "How long to wait, up to 300000 milliseconds",
            ),
        ],
        effect: Effect::Reads,
    },
    Tool {
        name: "messages_send",
        about: "Sends a message to a channel or a person on a messaging platform.",
        params: &[
            param(
                "target",
                Kind::Text,
                "A target of channels_list: platform:id, or platform:#name",
            ),
            param("message", Kind::Text, "The text to send"),
        ],
        effect: Effect::Acts,
    },
    Tool {
        name: "channels_list",
        about: "Lists where messages can be sent, with the target that messages_send wants.",
        params: &[PLATFORM],
        effect: Effect::Reads,
    },
    Tool {
        name: "permissions_list_open",
        about: "Lists the approvals that were asked for since this server started and are still open.",
        params: &[],
        effect: Effect::Reads,
    },
    Tool {
        name: "permissions_respond",
        about: "Decides an open approval.",
        params: &[
            param(
                "id",
                Kind::Text,
                "The approval, as permissions_list_open names it",
            ),
            param(
                "decision",
                Kind::Decision,
                "allow-once, allow-always or deny",
            ),
        ],
        effect: Effect::Acts,
    },
];
