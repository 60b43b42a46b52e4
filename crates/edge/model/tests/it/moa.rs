//! Several models and one answer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_model::{MixtureOfAgents, Overrides};
use hermes_scripted::{Script, ScriptedModel};
use hermes_testkit::doubles::{FixedAsker, cx_with};
use hermes_types::{Answer, Availability, CallCx, Models, Outcome, Tool};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::support::Owner;

/// Two models that answer, and one that makes the best of it, each at a server of its own.
struct Council {
    servers: [ScriptedModel; 3],
    tool: MixtureOfAgents,
    cx: CallCx,
    _owner: Owner,
}

impl Council {
    fn new(scripts: [Value; 3]) -> Self {
        let start = |script| ScriptedModel::start(Script::from_value(script).unwrap()).unwrap();
        let servers = scripts.map(start);
        let [a, b, c] = servers.each_ref().map(ScriptedModel::url);
        let settings = format!(
            "model: {{default: m, provider: a}}\n\
             providers:\n  a: {{base_url: '{a}/v1'}}\n  b: {{base_url: '{b}/v1'}}\n  c: {{base_url: '{c}/v1'}}\n\
             moa:\n  presets:\n    default: {{reference_models: ['a:one', 'b:two'], aggregator: 'c:three', max_tokens: 777}}\n"
        );
        let owner = Owner::new(&settings, &[]);
        let models: Arc<dyn Models> = Arc::new(owner.models(&Overrides::default()).unwrap());
        let cx = CallCx {
            models: models.clone(),
            ..cx_with(FixedAsker::new(Answer::Nobody))
        };
        Self {
            tool: MixtureOfAgents::new(&owner.settings(), models),
            servers,
            cx,
            _owner: owner,
        }
    }

    async fn ask(&self) -> (Value, Outcome) {
        let args = json!({"user_prompt": "Why?"});
        let args = args.as_object().unwrap().clone();
        let output = self.tool.call(args, &self.cx).await;
        (serde_json::from_str(&output.text).unwrap(), output.outcome)
    }
}

fn says(text: &str) -> Value {
    json!([{"text": text, "repeat": true}])
}

fn refuses() -> Value {
    json!([{"status": 401, "repeat": true}])
}

#[tokio::test]
async fn all_answer_and_one_sums_up() {
    let council = Council::new([says("because A"), says("because B"), says("Because.")]);
    assert_eq!(council.tool.available(), Availability::Yes);
    let (result, outcome) = council.ask().await;
    assert_eq!(outcome, Outcome::Done);
    let used = json!({"reference_models": ["a:one", "b:two"], "aggregator_model": "c:three"});
    assert_eq!(
        result,
        json!({"success": true, "response": "Because.", "models_used": used})
    );
    let bodies = council
        .servers
        .each_ref()
        .map(|server| server.calls().remove(0).body);
    let fields = |body: &Value| (body["temperature"].clone(), body["max_tokens"].clone());
    assert_eq!(fields(&bodies[0]), (json!(0.6), json!(777)));
    assert_eq!(fields(&bodies[2]), (json!(0.4), json!(777)));
    let system = bodies[2]["messages"][0]["content"].as_str().unwrap();
    assert!(
        system.contains("1. because A") && system.contains("2. because B"),
        "{system}"
    );
    assert_eq!(bodies[2]["messages"][1]["content"], "Why?");
}

#[tokio::test]
async fn one_answer_is_enough() {
    let council = Council::new([refuses(), says("because B"), says("Because.")]);
    let (result, outcome) = council.ask().await;
    assert_eq!((outcome, &result["success"]), (Outcome::Done, &json!(true)));
    assert_eq!(result["models_used"]["reference_models"], json!(["b:two"]));
    assert_eq!(result["failed_models"][0]["model"], "a:one");
}

#[tokio::test]
async fn without_any_answer_nobody_sums_up() {
    let council = Council::new([refuses(), refuses(), says("never")]);
    let (result, outcome) = council.ask().await;
    assert_eq!(
        (outcome, &result["success"]),
        (Outcome::Failed, &json!(false))
    );
    let errors = result["failed_models"].to_string();
    assert!(
        errors.contains("401") && errors.contains("b:two"),
        "{errors}"
    );
    assert_eq!(council.servers[2].calls().len(), 0);
}

#[tokio::test]
async fn an_interrupt_ends_it_at_once() {
    let hangs = json!([{"text": "late", "delay_ms": 60_000}]);
    let council = Council::new([hangs, says("because B"), says("never")]);
    let began = Instant::now();
    let stop = async {
        while council.servers[0].calls().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        council.cx.scope.cancel.cancel();
    };
    let ((result, outcome), ()) = tokio::join!(council.ask(), stop);
    assert_eq!(
        (outcome, &result["error"]),
        (Outcome::Cancelled, &json!("interrupted"))
    );
    assert!(began.elapsed() < Duration::from_secs(5));
    assert_eq!(council.servers[2].calls().len(), 0);
}

#[test]
fn as_it_comes_it_needs_openrouter() {
    let check = |env: &[(&str, &str)], there: bool| {
        let owner = Owner::new(
            "model: {default: m, base_url: 'http://127.0.0.1:9/v1'}\n",
            env,
        );
        let models = Arc::new(owner.models(&Overrides::default()).unwrap());
        let tool = MixtureOfAgents::new(&owner.settings(), models);
        match tool.available() {
            Availability::Yes => assert!(there),
            Availability::No(why) => assert!(!there && why.contains("OPENROUTER_API_KEY"), "{why}"),
        }
    };
    check(&[], false);
    check(&[("OPENROUTER_API_KEY", "sk-or-1234")], true);
}
