//! `approvals.mode: smart`: a side model is asked before the owner is.

use std::time::Duration;

use futures::StreamExt;
use hermes_types::{CallCx, Content, Message, ModelError, ModelEvent, ModelRequest, Purpose};

const PROMPT: &str = include_str!("../prompts/approval.md");
/// A side model that thinks longer than this is no help.
const PATIENCE: Duration = Duration::from_secs(30);
/// One word.
const MAX_OUTPUT: u64 = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Advice {
    Approve,
    Deny,
    /// It said something else, or nothing.
    None,
}

/// What the side model says about a command.
pub(super) async fn advice(command: &str, warnings: &[String], cx: &CallCx) -> Advice {
    let said = tokio::time::timeout(PATIENCE, ask(command, warnings, cx));
    match said.await {
        Ok(Ok(said)) => Advice::from(said.as_str()),
        Ok(Err(error)) => {
            tracing::debug!("no advice about a command: {error}");
            Advice::None
        }
        Err(_) => Advice::None,
    }
}

async fn ask(command: &str, warnings: &[String], cx: &CallCx) -> Result<String, ModelError> {
    let client = cx.models.client(&Purpose::Aux("approval"))?;
    let about = format!(
        "Flagged as: {}\n<<<BEGIN\n{command}\nEND>>>",
        warnings.join("; ")
    );
    let request = ModelRequest {
        system: PROMPT.to_owned(),
        messages: vec![Message::user(about)],
        max_output: Some(MAX_OUTPUT),
        temperature: Some(0.0),
        ..ModelRequest::default()
    };
    let mut stream = client.stream(request, cx.scope.clone());
    while let Some(event) = stream.next().await {
        if let ModelEvent::Done(reply) = event? {
            let said = reply.message.content.as_ref().map(Content::plain);
            return Ok(said.unwrap_or_default());
        }
    }
    Ok(String::new())
}

impl From<&str> for Advice {
    /// Exactly these words; whoever argues has not decided.
    fn from(said: &str) -> Self {
        match said.trim() {
            "APPROVE" => Self::Approve,
            "DENY" => Self::Deny,
            _ => Self::None,
        }
    }
}
