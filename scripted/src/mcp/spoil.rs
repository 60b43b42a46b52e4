//! What faults make of a call: a response instead of an answer, another answer, or its bytes ill-treated.

use serde_json::{Value, json};

use super::call;
use super::fault::{Fault, LostEvent, Page, Wrong};
use super::http::Response;
use super::rpc::{Rpc, stray_error};
use super::session::{Order, Out};
use super::state::Lost;
use super::text::{HOLE, Text};

const BAD_GATEWAY: &str = "<html><head><title>Bad Gateway</title></head><body>nginx</body></html>";
const LOGIN: &str = "<!doctype html><html><body><form>Please log in</form></body></html>";
const SERVER_ERROR: &str = "<html><body><h1>Internal Server Error</h1></body></html>";

/// The HTTP response that comes instead; the call isn't made.
pub(crate) fn instead(fault: &Fault, rpc: &Rpc, elsewhere: &str) -> Option<Response> {
    Some(match fault {
        Fault::ServerError(Page::Json) => {
            Response::json(500, &rpc.error(-32603, "Internal server error"))
        }
        Fault::ServerError(Page::Html) => Response::html(500, SERVER_ERROR),
        Fault::Unavailable(seconds) => Response::empty(503).with("retry-after", seconds),
        Fault::Throttled(seconds) | Fault::ThrottledLong(seconds) => {
            Response::empty(429).with("retry-after", seconds)
        }
        Fault::LoginPage => Response::html(200, LOGIN),
        Fault::KeyRefused => Response::json(401, &json!({"error": "unauthorized"})),
        Fault::InsufficientScope(scope) => {
            let challenge = format!("Bearer error=\"insufficient_scope\", scope=\"{scope}\"");
            Response::json(403, &json!({"error": "insufficient_scope"}))
                .with("www-authenticate", challenge)
        }
        Fault::Redirect => Response::empty(307).with("location", format!("{elsewhere}/mcp")),
        _ => return None,
    })
}

/// How a lost session is told.
pub(crate) fn lost(lost: Lost, rpc: &Rpc) -> Response {
    match lost {
        Lost::NotFound => Response::json(404, &rpc.error(-32001, "Session not found")),
        Lost::BadRequest => {
            let message = "Bad Request: No valid session ID provided";
            Response::json(400, &stray_error(-32000, message))
        }
        Lost::RpcError => {
            let message = "Invalid params: Invalid or expired session";
            Response::json(200, &rpc.error(-32602, message))
        }
        Lost::Event(how) => {
            let event = match how {
                LostEvent::Bare => json!({"error": "Session not found"}),
                LostEvent::NullId => json!({
                    "jsonrpc": "2.0", "id": null,
                    "error": {"code": -32600, "message": "Session not found"},
                }),
            };
            Response::new(200, "text/event-stream", Text::json(&event).event())
        }
    }
}

/// The answer of a call that isn't made.
pub(crate) fn other_answer(fault: &Fault, rpc: &Rpc) -> Option<Value> {
    match fault {
        Fault::ToolError => Some(rpc.ok(&call::failed("it failed this time"))),
        Fault::NoPing => Some(rpc.error(-32601, "Method not found")),
        _ => None,
    }
}

/// The answer as it leaves, where a fault changes what it says; the call was made.
pub(crate) fn spoiled(fault: Option<&Fault>, rpc: &Rpc, mut answer: Value) -> Text {
    match fault {
        Some(Fault::Garbage) => Text::plain("{\"jsonrpc\": \"2.0\", \"id\": <<<not json"),
        Some(Fault::WrongAnswer(Wrong::ForeignId)) => {
            answer["id"] = "somebody-else".into();
            Text::json(&answer)
        }
        Some(Fault::TooLarge(size, _) | Fault::Large(size)) => {
            Text::padded(&padded(rpc, answer), *size)
        }
        _ => Text::json(&answer),
    }
}

/// The answer with a hole where its text was.
fn padded(rpc: &Rpc, mut answer: Value) -> Value {
    let place = match rpc.method.as_str() {
        "tools/call" => "/result/content/0/text",
        "resources/read" => "/result/contents/0/text",
        _ => "/result/messages/0/content/text",
    };
    if let Some(text) = answer.pointer_mut(place) {
        *text = HOLE.into();
    }
    answer
}

/// The page of a gateway that lost the answer.
pub(crate) fn gateway(status: u16) -> Response {
    Response::html(status, BAD_GATEWAY)
}

/// What a line (a stream, a pipe) carries of an answer.
pub(crate) fn on_line(fault: Option<&Fault>, text: Text) -> Vec<Out> {
    let Some(fault) = fault else {
        return vec![Out::Say(text)];
    };
    match fault {
        Fault::ResetBefore => vec![Out::Reset],
        Fault::ResetWithin => vec![Out::Half(text), Out::Reset],
        Fault::Cut => vec![Out::Half(text), Out::Close],
        // The answer to the request's own POST told the client otherwise.
        Fault::Gateway(_) | Fault::WrongAnswer(Wrong::Accepted) => vec![],
        Fault::SlowLoris(pause) => vec![Out::Trickle(text, *pause)],
        Fault::ChildKilledBusy => vec![Out::Order(Order::Kill)],
        Fault::ChildStopped(_) => vec![Out::Order(Order::Stop)],
        Fault::ChildJunk(lines) => {
            let junk = (0..*lines).fold(String::new(), |junk, line| {
                junk + &format!("junk {line}: this is not for you\n")
            });
            // Its last newline is the line's own.
            vec![
                Out::Say(Text::plain(junk.trim_end().to_owned())),
                Out::Say(text),
            ]
        }
        Fault::ChildMute(grandchildren) => {
            let count = u8::try_from(*grandchildren).unwrap_or(u8::MAX);
            vec![
                Out::Order(Order::Spawn(count)),
                Out::Order(Order::CloseStdout),
            ]
        }
        _ => vec![Out::Say(text)],
    }
}
