//! Where the messages of a server land that are no answers: its questions are answered, its news passed on.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::calls::{Activity, Calls};
use crate::link::{Inbound, InboundBody, Link};
use crate::server::{Progress, Sampler};
use crate::timing::Timing;

const METHOD_NOT_FOUND: i64 = -32601;
const REFUSED: i64 = -1;
const BUSY: i64 = -32000;
/// Questions of one server that are answered at a time.
const QUESTIONS: usize = 16;
/// How much of a server's log line is worth keeping.
const LOG_LINE: usize = 2000;

/// One connection's desk.
pub(crate) struct Desk {
    pub server: String,
    pub link: Arc<dyn Link>,
    pub calls: Arc<Calls>,
    pub sampler: Option<Arc<dyn Sampler>>,
    pub elicits: bool,
    /// Told when the server says that its tools changed. Many tellings before anybody looks count once.
    pub changed: Arc<Notify>,
    pub timing: Timing,
}

impl Desk {
    /// Works until the connection is gone.
    pub(crate) async fn run(self: Arc<Self>, mut inbox: mpsc::Receiver<Inbound>) {
        let desk = self;
        let mut questions = JoinSet::new();
        loop {
            tokio::select! {
                message = inbox.recv() => match message {
                    Some(message) => desk.receive(message, &mut questions),
                    None => break,
                },
                Some(_) = questions.join_next() => {}
            }
        }
    }

    fn receive(self: &Arc<Self>, message: Inbound, questions: &mut JoinSet<()>) {
        match message.body {
            InboundBody::Notification { method, params } => self.hear(&method, &params),
            InboundBody::Request { id, method, params } => {
                let desk = Arc::clone(self);
                let call = self.call_of(message.origin);
                let is_busy = questions.len() >= QUESTIONS;
                questions.spawn(async move {
                    let answer = match is_busy {
                        true => Err((BUSY, "too many questions at a time".to_owned())),
                        false => desk.answer(&method, params, call).await,
                    };
                    desk.reply(id, answer).await;
                });
            }
        }
    }

    /// The call a message is about: the one on whose stream it came, or the only one there is.
    fn call_of(&self, origin: Option<u64>) -> Option<Arc<Activity>> {
        match origin {
            Some(id) => self.calls.find(id),
            None => self.calls.only(),
        }
    }

    /// Answers a question of the server, asked while it works on `call`.
    pub(crate) async fn answer(
        &self,
        method: &str,
        params: Value,
        call: Option<Arc<Activity>>,
    ) -> Result<Value, (i64, String)> {
        match method {
            "ping" => Ok(json!({})),
            "sampling/createMessage" => self.sample(params, call).await,
            "elicitation/create" => self.elicit(params, call).await,
            _ => Err((METHOD_NOT_FOUND, format!("method not found: {method}"))),
        }
    }

    /// Thinks for the server. The call's time does not run meanwhile.
    async fn sample(
        &self,
        params: Value,
        call: Option<Arc<Activity>>,
    ) -> Result<Value, (i64, String)> {
        let Some(sampler) = &self.sampler else {
            return Err((METHOD_NOT_FOUND, "sampling is switched off".to_owned()));
        };
        let _ours = call.as_ref().map(Activity::waits_for_us);
        let answer = sampler.sample(&self.server, params).await;
        answer.map_err(|refusal| (REFUSED, refusal))
    }

    /// Asks the user of the call. Nobody to ask means no.
    async fn elicit(
        &self,
        params: Value,
        call: Option<Arc<Activity>>,
    ) -> Result<Value, (i64, String)> {
        if !self.elicits {
            return Err((METHOD_NOT_FOUND, "elicitation is switched off".to_owned()));
        }
        let wants_form = params["mode"].as_str().is_none_or(|mode| mode == "form");
        let elicitor = call.as_ref().and_then(|call| call.context.elicitor.clone());
        match elicitor {
            Some(elicitor) if wants_form => {
                let _ours = call.as_ref().map(Activity::waits_for_us);
                Ok(elicitor.elicit(&self.server, params).await)
            }
            _ => Ok(json!({"action": "decline"})),
        }
    }

    async fn reply(&self, id: Value, answer: Result<Value, (i64, String)>) {
        let message = match answer {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err((code, message)) => {
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
            }
        };
        // A server that cannot take our answer finds out by itself.
        let _ = timeout(self.timing.keepalive_probe, self.link.send(message)).await;
    }

    fn hear(&self, method: &str, params: &Value) {
        match method {
            "notifications/tools/list_changed" => self.changed.notify_one(),
            "notifications/progress" => self.progress(params),
            "notifications/message" => self.log(params),
            _ => tracing::debug!(server = self.server, method, "notification ignored"),
        }
    }

    fn progress(&self, params: &Value) {
        let token = params["progressToken"].as_u64();
        if let Some(call) = token.and_then(|id| self.calls.find(id)) {
            call.progressed(Progress {
                done: params["progress"].as_f64().unwrap_or_default(),
                total: params["total"].as_f64(),
                message: params["message"].as_str().map(str::to_owned),
            });
        }
    }

    fn log(&self, params: &Value) {
        let text = match &params["data"] {
            Value::String(text) => text.clone(),
            data => data.to_string(),
        };
        let line: String = text
            .chars()
            .filter(|c| !c.is_control())
            .take(LOG_LINE)
            .collect();
        let logger = params["logger"].as_str().unwrap_or_default();
        let source = format!("{}/{logger}", self.server);
        match params["level"].as_str().unwrap_or_default() {
            "debug" => tracing::debug!(source, "{line}"),
            "info" | "notice" => tracing::info!(source, "{line}"),
            "warning" => tracing::warn!(source, "{line}"),
            _ => tracing::error!(source, "{line}"),
        }
    }
}
