//! The way in for drivers in other processes, and for stdio children. It never fails on demand.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};

use super::child;
use super::fault::{Fault, Times};
use super::http::{Conn, Request, Response};
use super::options::Options;
use super::state::Shared;

/// What `POST /control` can ask for; done in this order.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Wish {
    heal: bool,
    /// All of them anew.
    options: Option<Options>,
    /// Added to those there are; `null` takes one away.
    answers: BTreeMap<String, Value>,
    /// `F01` to `F46`, with a parameter behind a colon.
    arm: Option<String>,
    /// A number or `"always"`; once if not given.
    times: Option<Value>,
    /// `tools`, `prompts` or `resources`: their list has changed.
    changed: Option<String>,
}

/// Serves one connection to its end.
pub(crate) async fn serve(shared: Arc<Shared>, mut conn: Conn) {
    while let Some(request) = conn.request().await {
        let response = match (request.method.as_str(), request.path()) {
            ("POST", "/child") => return child::serve(shared, conn, &request).await,
            ("POST", "/grandchild") => {
                shared.with(|inner| inner.counters.grandchildren_now += 1);
                conn.closed().await;
                shared.with(|inner| inner.counters.grandchildren_now -= 1);
                return;
            }
            ("GET", "/counters") => Response::json(200, &counters(&shared)),
            ("GET", "/requests") => {
                let seen = shared.with(|inner| inner.seen());
                Response::json(200, &json!(seen))
            }
            ("POST", "/control") => control(&shared, &request).await,
            _ => Response::empty(404),
        };
        if conn.send(&response).await.is_err() || request.wants_close() {
            return;
        }
    }
}

fn counters(shared: &Shared) -> Value {
    json!(shared.with(|inner| inner.counters.clone()))
}

async fn control(shared: &Shared, request: &Request) -> Response {
    match wish(&request.body).and_then(|wish| fulfil(shared, wish)) {
        Err(message) => Response::json(400, &json!({"error": message})),
        Ok(()) => {
            settled(shared).await;
            Response::json(200, &counters(shared))
        }
    }
}

fn wish(body: &[u8]) -> Result<Wish, String> {
    serde_json::from_slice(body).map_err(|error| error.to_string())
}

fn fulfil(shared: &Shared, wish: Wish) -> Result<(), String> {
    let times = match wish.times {
        None => Times::Once,
        Some(Value::String(word)) if word == "always" => Times::Always,
        Some(times) => {
            let count = times.as_u64().and_then(|times| u32::try_from(times).ok());
            Times::Count(count.ok_or("times is a number or \"always\"")?)
        }
    };
    let fault = wish.arm.map(|text| Fault::parse(&text)).transpose();
    let fault = fault.map_err(|error| error.to_string())?;
    if wish.heal {
        shared.heal();
    }
    shared.with(|inner| {
        if let Some(options) = wish.options {
            inner.options = options;
        }
        for (key, answer) in wish.answers {
            if answer.is_null() {
                inner.options.answers.remove(&key);
            } else {
                inner.options.answers.insert(key, answer);
            }
        }
    });
    if let Some(fault) = fault {
        shared.arm(fault, times);
    }
    if let Some(list) = wish.changed {
        let method = format!("notifications/{list}/list_changed");
        shared.with(|inner| inner.lines.notify(&method));
    }
    Ok(())
}

/// Waits until the port is open or closed as it should be.
async fn settled(shared: &Shared) {
    let mut open = shared.open.subscribe();
    let wanted = shared.net.borrow().down.is_none();
    // Fails only when the server is about to end.
    let _ = open.wait_for(|open| *open == wanted).await;
}
