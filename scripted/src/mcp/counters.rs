//! What happened to the server, in numbers and in detail.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

/// Names come from the client: they must not fill the memory.
const MAX_NAMES: usize = 4096;

/// All numbers are since the start, except those that say `now`.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Counters {
    pub connections: u64,
    pub open_connections_now: u64,
    pub initialize: u64,
    pub discover: u64,
    pub tools_list: u64,
    /// JSON-RPC requests and notifications by method.
    pub requests: BTreeMap<String, u64>,
    pub sessions_created: u64,
    pub sessions_deleted: u64,
    /// Requests with a session that wasn't there.
    pub sessions_missed: u64,
    /// By tool.
    pub executions: BTreeMap<String, u64>,
    /// `notifications/cancelled`
    pub cancelled: u64,
    /// Calls whose client went away before the answer.
    pub abandoned: u64,
    /// Streams opened again with `Last-Event-ID`.
    pub resumed: u64,
    /// Streams for what the server has to say by itself.
    pub streams_now: u64,
    pub token_requests: u64,
    /// Of these, those that were granted for a refresh token.
    pub refreshes: u64,
    pub registrations: u64,
    pub authorize: u64,
    /// Requests answered with 401.
    pub unauthorized: u64,
    /// Requests with an `Authorization` header, by where they came: `here` and `elsewhere`.
    pub authorized: BTreeMap<String, u64>,
    /// Requests to the other origin.
    pub elsewhere: u64,
    /// stdio children started, and those alive.
    pub children: u64,
    pub children_now: u64,
    pub grandchildren_now: u64,
    pub child_pid: Option<u32>,
    /// How often each fault hit a request, by code.
    pub hits: BTreeMap<String, u64>,
}

/// One HTTP request, or one line of a child, as it came.
#[derive(Clone, Debug, Serialize)]
pub struct Seen {
    /// `here`, `elsewhere` or `child`.
    pub place: &'static str,
    /// Of HTTP; empty for a child.
    pub method: String,
    pub path: String,
    /// Names in lower case.
    pub headers: BTreeMap<String, String>,
    /// A text if it wasn't JSON, `null` if there was none.
    pub body: Value,
}

impl Seen {
    /// The method of JSON-RPC.
    pub fn rpc(&self) -> &str {
        self.body["method"].as_str().unwrap_or_default()
    }
}

/// One more of `name`.
pub(crate) fn count(numbers: &mut BTreeMap<String, u64>, name: &str) {
    if let Some(number) = numbers.get_mut(name) {
        *number += 1;
    } else {
        let name = if numbers.len() < MAX_NAMES {
            name
        } else {
            "…"
        };
        *numbers.entry(name.to_owned()).or_default() += 1;
    }
}
