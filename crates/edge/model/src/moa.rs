//! The `mixture_of_agents` tool: several models answer a hard question, one makes the best of their answers.

use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, join_all};
use futures::{FutureExt, StreamExt};
use hermes_home::config::Settings;
use hermes_net::within;
use hermes_types::{
    Args, Availability, CallCx, Effort, Message, ModelError, ModelErrorKind as Kind, ModelEvent,
    ModelRequest, Models, Outcome, Parallel, Purpose, Scope, Tool, ToolOutput, ToolSpec,
};
use serde::Deserialize;
use serde_json::{Value, json};

/// The name of the tool.
pub const MOA: &str = "mixture_of_agents";

const INSTRUCTIONS: &str = include_str!("../prompts/moa.md");

/// How often a model is asked before it is left out; its client retries too.
const ROUNDS: u32 = 2;
const PAUSE: Duration = Duration::from_secs(4);

pub struct MixtureOfAgents {
    spec: ToolSpec,
    preset: Preset,
    models: Arc<dyn Models>,
}

/// One entry of `moa.presets`; what it leaves out is as usual. Models are named as `hermes model set` takes them.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
struct Preset {
    reference_models: Vec<String>,
    aggregator: String,
    reference_temperature: f64,
    aggregator_temperature: f64,
    max_tokens: u64,
    reasoning_effort: String,
}

impl Default for Preset {
    fn default() -> Self {
        let models = [
            "openrouter:anthropic/claude-opus-4.6",
            "openrouter:google/gemini-2.5-pro",
            "openrouter:openai/gpt-5.4-pro",
            "openrouter:deepseek/deepseek-v3.2",
        ];
        Self {
            reference_models: models.map(str::to_owned).to_vec(),
            aggregator: models[0].to_owned(),
            reference_temperature: 0.6,
            aggregator_temperature: 0.4,
            max_tokens: 32_000,
            reasoning_effort: "xhigh".to_owned(),
        }
    }
}

impl Preset {
    /// The one `moa.preset` names, else `default`.
    fn new(settings: &Settings) -> Self {
        let name = settings.get("moa.preset").and_then(Value::as_str);
        let name = name.unwrap_or("default");
        let set = settings.value()["moa"]["presets"].get(name);
        let Some(set) = set.filter(|set| !set.is_null()) else {
            return Self::default();
        };
        Self::deserialize(set).unwrap_or_else(|error| {
            tracing::warn!("moa.presets.{name} is not used: {error}");
            Self::default()
        })
    }

    fn request(&self, prompt: &str, system: String, temperature: f64) -> ModelRequest {
        ModelRequest {
            system,
            messages: vec![Message::user(prompt)],
            max_output: Some(self.max_tokens),
            effort: Effort::from(self.reasoning_effort.as_str()),
            temperature: Some(temperature),
            ..ModelRequest::default()
        }
    }
}

impl MixtureOfAgents {
    /// `models` decides whether the tool can be used at all.
    pub fn new(settings: &Settings, models: Arc<dyn Models>) -> Self {
        let spec = ToolSpec {
            name: MOA.to_owned(),
            toolset: "moa",
            description: "Put one hard question to several strong models at once and get the best of their answers. \
                          Slow and expensive: for difficult mathematics, algorithms, proofs or decisions, after you \
                          tried yourself. The models see only user_prompt: put everything they need into it."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {"user_prompt": {"type": "string"}},
                "required": ["user_prompt"],
            }),
            emoji: "🧠",
            parallel: Parallel::Never,
            idempotent: false,
            housekeeping: false,
            refundable: false,
            paths: |_| Vec::new(),
            digest: |args, _| {
                let prompt = args.get("user_prompt").and_then(Value::as_str);
                prompt.unwrap_or_default().chars().take(80).collect()
            },
            max_output: None,
        };
        Self {
            spec,
            preset: Preset::new(settings),
            models,
        }
    }

    async fn answer(&self, prompt: &str, cx: &CallCx) -> ToolOutput {
        let preset = &self.preset;
        let request = preset.request(prompt, String::new(), preset.reference_temperature);
        let asked = preset.reference_models.iter().map(|model| {
            let request = request.clone();
            async move { (model, ask(&*cx.models, model, request, &cx.scope).await) }
        });
        let (mut answers, mut used, mut failed) = (Vec::new(), Vec::new(), Vec::new());
        for (model, answer) in join_all(asked).await {
            match answer {
                Ok(answer) => {
                    used.push(model.as_str());
                    answers.push(answer);
                }
                Err(error) => failed.push((model.as_str(), error.to_string())),
            }
        }
        if cx.scope.is_cancelled() {
            return self.interrupted();
        }
        if answers.is_empty() {
            return self.failed(&used, &failed, "none of the models answered");
        }
        let told = format!(
            "{} of {} models answered",
            used.len(),
            used.len() + failed.len()
        );
        cx.progress.tell(&told);
        let system = instructions(&answers);
        let request = preset.request(prompt, system, preset.aggregator_temperature);
        match ask(&*cx.models, &preset.aggregator, request, &cx.scope).await {
            Ok(response) => ToolOutput::json(&self.result(&used, &failed, &response)),
            Err(error) if error.kind == Kind::Cancelled => self.interrupted(),
            Err(error) => self.failed(&used, &failed, &error.to_string()),
        }
    }

    fn result(&self, used: &[&str], failed: &[(&str, String)], response: &str) -> Value {
        let mut result = json!({
            "success": true,
            "response": response,
            "models_used": {"reference_models": used, "aggregator_model": self.preset.aggregator},
        });
        if !failed.is_empty() {
            let failed = failed.iter();
            let failed = failed.map(|(model, error)| json!({"model": model, "error": error}));
            result["failed_models"] = failed.collect();
        }
        result
    }

    fn failed(&self, used: &[&str], failed: &[(&str, String)], error: &str) -> ToolOutput {
        let mut result = self.result(used, failed, "");
        result["success"] = false.into();
        result["error"] = error.into();
        ToolOutput::json(&result).with_outcome(Outcome::Failed)
    }

    fn interrupted(&self) -> ToolOutput {
        self.failed(&[], &[], "interrupted")
            .with_outcome(Outcome::Cancelled)
    }
}

impl Tool for MixtureOfAgents {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, args: Args, cx: &'a CallCx) -> BoxFuture<'a, ToolOutput> {
        async move {
            let prompt = args.get("user_prompt").and_then(Value::as_str);
            match prompt.map(str::trim).filter(|prompt| !prompt.is_empty()) {
                Some(prompt) => self.answer(prompt, cx).await,
                None => ToolOutput::failed("user_prompt is empty"),
            }
        }
        .boxed()
    }

    /// One reference model and the one that sums up are enough.
    fn available(&self) -> Availability {
        let find = |name: &String| self.models.client(&Purpose::Named(name.clone()));
        let sums_up = find(&self.preset.aggregator).map(drop);
        let mut others = self.preset.reference_models.iter().map(find);
        let answers = others.find(Result::is_ok);
        match (sums_up, answers) {
            (Err(error), _) => Availability::No(error.to_string()),
            (Ok(()), None) => {
                Availability::No("none of moa's reference models can be used".to_owned())
            }
            (Ok(()), Some(_)) => Availability::Yes,
        }
    }
}

impl std::fmt::Debug for MixtureOfAgents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MixtureOfAgents")
            .field("preset", &self.preset)
            .finish_non_exhaustive()
    }
}

fn instructions(answers: &[String]) -> String {
    let numbered = answers.iter().enumerate();
    let numbered = numbered.map(|(index, answer)| format!("\n{}. {answer}\n", index + 1));
    numbered.fold(INSTRUCTIONS.to_owned(), |text, answer| text + &answer)
}

/// One model's whole answer, asked again after a pause if that may help.
async fn ask(
    models: &dyn Models,
    name: &str,
    request: ModelRequest,
    scope: &Scope,
) -> Result<String, ModelError> {
    let client = models.client(&Purpose::Named(name.to_owned()))?;
    let mut round = 1;
    loop {
        let mut events = client.stream(request.clone(), scope.child());
        let mut answer = Err(ModelError::new(Kind::Malformed, "no reply"));
        while let Some(event) = events.next().await {
            match event {
                Ok(ModelEvent::Done(reply)) => {
                    let content = reply.message.content.as_ref();
                    answer = Ok(content
                        .map(hermes_types::Content::plain)
                        .unwrap_or_default());
                }
                Ok(_) => {}
                Err(error) => answer = Err(error),
            }
        }
        let error = match answer {
            Ok(text) if !text.trim().is_empty() => return Ok(text),
            Ok(_) => ModelError::new(Kind::Malformed, "the answer was empty"),
            Err(error) => error,
        };
        if round == ROUNDS || !may_pass(error.kind) {
            return Err(error);
        }
        round += 1;
        if within(scope, Duration::MAX, tokio::time::sleep(PAUSE))
            .await
            .is_err()
        {
            return Err(error);
        }
    }
}

/// Trouble that may be over in a moment.
fn may_pass(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::RateLimit
            | Kind::Overloaded
            | Kind::Server
            | Kind::Timeout
            | Kind::Transport
            | Kind::Malformed
    )
}
