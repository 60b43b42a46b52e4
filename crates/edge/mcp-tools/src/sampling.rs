//! Thinking for a server: its `sampling/createMessage` requests, within what its owner allows.

mod chat;
mod quota;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use hermes_mcp::Sampler;
use hermes_net::{Ended, within};
use hermes_types::{ModelClient, ModelError, ModelEvent, ModelReply, ModelRequest, Scope};
use serde_json::Value;

use crate::config::{Audit, SamplingPolicy};
use crate::redact::Secrets;
use quota::Quota;

/// Finds the model to think with.
pub type ChooseModel =
    dyn Fn(ModelWish<'_>) -> Result<Arc<dyn ModelClient>, ModelError> + Send + Sync;

/// Which model a request should go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelWish<'a> {
    /// The owner named it for this server.
    Configured(&'a str),
    /// The server would like it.
    Hinted(&'a str),
    /// Whatever `auxiliary.mcp` says.
    Default,
}

/// Thinks for one server.
pub struct ModelSampler {
    policy: SamplingPolicy,
    choose: Arc<ChooseModel>,
    secrets: Secrets,
    quota: Mutex<Quota>,
    requests: AtomicU64,
    errors: AtomicU64,
    tokens: AtomicU64,
    tool_uses: AtomicU64,
}

/// What a server has used so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    pub requests: u64,
    pub errors: u64,
    pub tokens: u64,
    pub tool_uses: u64,
}

impl ModelSampler {
    pub fn new(policy: SamplingPolicy, secrets: Secrets, choose: Arc<ChooseModel>) -> Self {
        Self {
            quota: Mutex::new(Quota::new(policy.max_rpm, policy.max_tool_rounds)),
            policy,
            choose,
            secrets,
            requests: AtomicU64::default(),
            errors: AtomicU64::default(),
            tokens: AtomicU64::default(),
            tool_uses: AtomicU64::default(),
        }
    }

    pub fn counters(&self) -> Counters {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counters {
            requests: read(&self.requests),
            errors: read(&self.errors),
            tokens: read(&self.tokens),
            tool_uses: read(&self.tool_uses),
        }
    }

    async fn answer(&self, server: &str, params: &Value) -> Result<Value, String> {
        if !self.policy.enabled {
            return Err(format!("Sampling is disabled for server '{server}'"));
        }
        self.quota().request(tokio::time::Instant::now())?;
        let mut request = chat::request(params)?;
        let cap = self.policy.max_tokens_cap;
        request.max_output = Some(request.max_output.map_or(cap, |asked| asked.min(cap)));
        let client = self.client(params)?;
        let model = client.info().model.clone();
        let scope = Scope::new(format!("mcp-{server}").as_str().into()).within(self.policy.timeout);
        self.audit(
            server,
            &model,
            &format!("{} messages", request.messages.len()),
        );
        let reply = self.think(&*client, request, &scope).await?;
        let tools = reply.message.tool_calls.len() as u64;
        self.quota().answered(tools > 0)?;
        self.tokens
            .fetch_add(reply.usage.total(), Ordering::Relaxed);
        self.tool_uses.fetch_add(tools, Ordering::Relaxed);
        let about = format!("{} tokens, {tools} tool uses", reply.usage.total());
        self.audit(server, &model, &about);
        Ok(chat::result(&reply, &model, |text| {
            self.secrets.hide_values(text)
        }))
    }

    fn client(&self, params: &Value) -> Result<Arc<dyn ModelClient>, String> {
        let wish = match (&self.policy.model, chat::hint(params)) {
            (Some(model), _) => ModelWish::Configured(model),
            (None, Some(hint)) => ModelWish::Hinted(hint),
            (None, None) => ModelWish::Default,
        };
        let client =
            (self.choose)(wish).map_err(|error| format!("No model to sample with: {error}"))?;
        let (model, allowed) = (&client.info().model, &self.policy.allowed_models);
        match allowed.is_empty() || allowed.contains(model) {
            true => Ok(client),
            false => Err(format!(
                "The model '{model}' is not allowed; allowed are: {}",
                allowed.join(", ")
            )),
        }
    }

    async fn think(
        &self,
        client: &dyn ModelClient,
        request: ModelRequest,
        scope: &Scope,
    ) -> Result<ModelReply, String> {
        let mut events = client.stream(request, scope.child());
        let last = async {
            while let Some(event) = events.next().await {
                match event {
                    Ok(ModelEvent::Done(reply)) => return Ok(reply),
                    Ok(_) => {}
                    Err(error) => return Err(format!("The model did not answer: {error}")),
                }
            }
            Err("The model's answer has no end".to_owned())
        };
        let done = within(scope, self.policy.timeout, last).await;
        done.unwrap_or_else(|ended| {
            Err(match ended {
                Ended::Cancelled => "Sampling was cancelled".to_owned(),
                Ended::OutOfTime | Ended::TooSlow => {
                    format!(
                        "Sampling took longer than {} s",
                        self.policy.timeout.as_secs_f64()
                    )
                }
            })
        })
    }

    /// One line without content.
    fn audit(&self, server: &str, model: &str, about: &str) {
        match self.policy.audit {
            Audit::Debug => tracing::debug!(server, model, "MCP sampling: {about}"),
            Audit::Info => tracing::info!(server, model, "MCP sampling: {about}"),
            Audit::Warning => tracing::warn!(server, model, "MCP sampling: {about}"),
        }
    }

    fn quota(&self) -> std::sync::MutexGuard<'_, Quota> {
        self.quota.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sampler for ModelSampler {
    fn sample<'a>(
        &'a self,
        server: &'a str,
        params: Value,
    ) -> BoxFuture<'a, Result<Value, String>> {
        async move {
            self.requests.fetch_add(1, Ordering::Relaxed);
            let answer = self.answer(server, &params).await;
            answer.map_err(|error| {
                self.errors.fetch_add(1, Ordering::Relaxed);
                self.secrets.hide(&error)
            })
        }
        .boxed()
    }
}

impl fmt::Debug for ModelSampler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelSampler")
            .field("policy", &self.policy)
            .field("counters", &self.counters())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
