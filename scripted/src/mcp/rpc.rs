//! JSON-RPC messages and the names in them.

use serde_json::{Value, json};

/// What the fault matrix is about. Faults that spoil an answer hit only these.
pub(crate) const OPERATIONS: &[&str] = &[
    "tools/call",
    "resources/list",
    "resources/read",
    "prompts/list",
    "prompts/get",
];

pub(crate) const MODERN: &str = "2026-07-28";
/// Newest first.
pub(crate) const LEGACY: &[&str] = &["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

pub(crate) const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub(crate) const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
pub(crate) const META_SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// A request or notification.
#[derive(Clone, Debug)]
pub(crate) struct Rpc {
    /// `None` for a notification.
    pub id: Option<Value>,
    pub method: String,
    pub params: Value,
}

/// What a client can send.
#[derive(Clone, Debug)]
pub(crate) enum Incoming {
    Call(Rpc),
    /// To a request of ours.
    Answer {
        id: String,
        body: Value,
    },
}

impl Incoming {
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let mut body: Value = serde_json::from_slice(bytes).ok()?;
        let id = body.get("id").cloned();
        if let Some(method) = body["method"].as_str() {
            return Some(Self::Call(Rpc {
                id,
                method: method.to_owned(),
                params: body["params"].take(),
            }));
        }
        let id = id?.as_str()?.to_owned();
        Some(Self::Answer { id, body })
    }
}

impl Rpc {
    pub fn is_operation(&self) -> bool {
        OPERATIONS.contains(&self.method.as_str())
    }

    /// It speaks of its version itself: the stateless protocol.
    pub fn is_modern(&self) -> bool {
        self.meta(META_VERSION).is_some()
    }

    pub fn meta(&self, key: &str) -> Option<&Value> {
        self.params.get("_meta")?.get(key)
    }

    /// The tool, prompt or resource it is about.
    pub fn name(&self) -> Option<&str> {
        let key = match self.method.as_str() {
            "tools/call" | "prompts/get" => "name",
            "resources/read" => "uri",
            _ => return None,
        };
        self.params[key].as_str()
    }

    pub fn ok(&self, result: &Value) -> Value {
        json!({"jsonrpc": "2.0", "id": self.id, "result": result})
    }

    pub fn error(&self, code: i64, message: &str) -> Value {
        let error = json!({"code": code, "message": message});
        json!({"jsonrpc": "2.0", "id": self.id, "error": error})
    }
}

/// An error that answers nobody.
pub(crate) fn stray_error(code: i64, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "error": {"code": code, "message": message}})
}
