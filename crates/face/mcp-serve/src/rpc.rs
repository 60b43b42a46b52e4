//! JSON-RPC: what comes in, and the answers that go out.

use serde_json::{Value, json};

pub(crate) const PARSE_ERROR: i64 = -32700;
pub(crate) const INVALID_REQUEST: i64 = -32600;
pub(crate) const NO_METHOD: i64 = -32601;
pub(crate) const INVALID_PARAMS: i64 = -32602;
pub(crate) const INTERNAL: i64 = -32603;
pub(crate) const BUSY: i64 = -32000;

/// What a client can send.
#[derive(Debug, PartialEq)]
pub(crate) enum Incoming {
    Request(Request),
    Notification {
        method: String,
        params: Value,
    },
    /// To a request, and we make none.
    Answer,
}

#[derive(Debug, PartialEq)]
pub(crate) struct Request {
    pub id: Value,
    pub method: String,
    pub params: Value,
}

/// Why a request has no result.
#[derive(Debug, PartialEq)]
pub(crate) struct Fault {
    pub code: i64,
    pub message: String,
    pub data: Option<Value>,
}

impl Fault {
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }
}

impl Incoming {
    pub fn read(line: &[u8]) -> Result<Self, Fault> {
        let mut body: Value = serde_json::from_slice(line)
            .map_err(|error| Fault::new(PARSE_ERROR, format!("Parse error: {error}")))?;
        let invalid = |why: &str| {
            Err(Fault::new(
                INVALID_REQUEST,
                format!("Invalid request: {why}"),
            ))
        };
        let Some(fields) = body.as_object_mut() else {
            return invalid("one object is expected");
        };
        let params = fields.remove("params").unwrap_or_default();
        let id = fields.remove("id");
        match (fields.remove("method"), id) {
            (Some(Value::String(method)), None) => Ok(Self::Notification { method, params }),
            (Some(Value::String(method)), Some(id @ (Value::String(_) | Value::Number(_)))) => {
                Ok(Self::Request(Request { id, method, params }))
            }
            (Some(Value::String(_)), Some(_)) => invalid("id must be a string or a number"),
            (None, Some(_)) if fields.contains_key("result") || fields.contains_key("error") => {
                Ok(Self::Answer)
            }
            _ => invalid("method is missing"),
        }
    }
}

/// The line that answers the request `id`.
pub(crate) fn answer(id: &Value, result: Result<Value, Fault>) -> String {
    let body = match result {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err(Fault {
            code,
            message,
            data,
        }) => {
            let mut error = json!({"code": code, "message": message});
            if let Some(data) = data {
                error["data"] = data;
            }
            json!({"jsonrpc": "2.0", "id": id, "error": error})
        }
    };
    format!("{body}\n")
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn lines_are_requests_notifications_or_wrong() {
        let request = |id: Value, params: Value| {
            Ok(Incoming::Request(Request {
                id,
                method: "m".into(),
                params,
            }))
        };
        let check = |line: &str, expected: Result<Incoming, i64>| {
            let read = Incoming::read(line.as_bytes()).map_err(|fault| fault.code);
            assert_eq!(read, expected, "{line}");
        };
        check(
            r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#,
            request(json!(1), Value::Null),
        );
        check(
            r#"{"id":"a","method":"m","params":{"x":1}}"#,
            request(json!("a"), json!({"x": 1})),
        );
        let note = Incoming::Notification {
            method: "n".into(),
            params: json!([]),
        };
        check(r#"{"method":"n","params":[]}"#, Ok(note));
        check(r#"{"id":1,"result":{}}"#, Ok(Incoming::Answer));
        check(r#"{"id":1,"error":{}}"#, Ok(Incoming::Answer));
        check(r#"{"id":null,"method":"m"}"#, Err(INVALID_REQUEST));
        check(r#"{"id":1}"#, Err(INVALID_REQUEST));
        check(r#"{"id":1,"method":7}"#, Err(INVALID_REQUEST));
        check(r#"[{"id":1,"method":"m"}]"#, Err(INVALID_REQUEST));
        check("{", Err(PARSE_ERROR));
        check("\u{0}", Err(PARSE_ERROR));
    }
}
