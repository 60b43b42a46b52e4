//! JSON-RPC as it comes in. Pure.

use serde_json::Value;

use crate::link::InboundBody;

/// A message of the server.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Message {
    Answer {
        id: Option<Value>,
        body: Result<Value, RpcError>,
    },
    Own(InboundBody),
    /// An object that is no JSON-RPC, but says `error`: some servers report a lost session so.
    LooseError(String),
}

/// An error answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RpcError {
    pub code: i64,
    pub message: String,
    pub data: Option<Value>,
}

/// Reads one message; `None` if it is none.
pub(crate) fn read(mut value: Value) -> Option<Message> {
    let object = value.as_object_mut()?;
    let id = object.remove("id").filter(|id| !id.is_null());
    let params = object.remove("params").unwrap_or(Value::Null);
    if let Some(Value::String(method)) = object.remove("method") {
        let body = match id {
            Some(id) => InboundBody::Request { id, method, params },
            None => InboundBody::Notification { method, params },
        };
        return Some(Message::Own(body));
    }
    if let Some(error) = object.remove("error") {
        return read_error(error, id);
    }
    let result = object.remove("result")?;
    Some(Message::Answer {
        id,
        body: Ok(result),
    })
}

fn read_error(error: Value, id: Option<Value>) -> Option<Message> {
    match error {
        Value::String(text) => Some(Message::LooseError(text)),
        Value::Object(mut fields) => {
            let error = RpcError {
                code: fields
                    .get("code")
                    .and_then(Value::as_i64)
                    .unwrap_or_default(),
                message: fields
                    .get("message")
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned(),
                data: fields.remove("data"),
            };
            Some(Message::Answer {
                id,
                body: Err(error),
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn messages_are_told_apart() {
        let answer = |id: Option<Value>, body| Some(Message::Answer { id, body });
        let error = |code, message: &str| {
            Err(RpcError {
                code,
                message: message.to_owned(),
                data: None,
            })
        };
        assert_eq!(
            read(json!({"jsonrpc": "2.0", "id": 1, "result": {}})),
            answer(Some(json!(1)), Ok(json!({})))
        );
        assert_eq!(
            read(json!({"id": null, "error": {"code": -32000, "message": "no"}})),
            answer(None, error(-32000, "no"))
        );
        assert_eq!(read(json!({"error": {}})), answer(None, error(0, "")));
        assert_eq!(
            read(json!({"error": "Session not found"})),
            Some(Message::LooseError("Session not found".to_owned()))
        );
        assert_eq!(
            read(json!({"method": "ping", "id": "x"})),
            Some(Message::Own(InboundBody::Request {
                id: json!("x"),
                method: "ping".to_owned(),
                params: Value::Null
            }))
        );
        assert_eq!(
            read(json!({"method": "a/b", "params": {"c": 1}})),
            Some(Message::Own(InboundBody::Notification {
                method: "a/b".to_owned(),
                params: json!({"c": 1})
            }))
        );
        for none in [
            json!({}),
            json!([]),
            json!("x"),
            json!({"id": 1}),
            json!({"error": 5}),
        ] {
            assert_eq!(read(none.clone()), None, "{none}");
        }
    }
}
