//! Requests of servers against a model that says what it was told to.

use std::time::Duration;

use hermes_mcp::Secret;
use hermes_testkit::doubles::{Canned, CannedModel};
use hermes_types::{Finish, Message, ModelErrorKind};
use pretty_assertions::assert_eq;
use serde_json::json;

use super::*;

fn sampler(policy: SamplingPolicy, model: &Arc<CannedModel>) -> ModelSampler {
    let model = Arc::clone(model);
    let choose = move |wish: ModelWish<'_>| match wish {
        ModelWish::Configured("missing") => Err(ModelError::new(
            ModelErrorKind::ModelNotFound,
            "no such model",
        )),
        _ => Ok(Arc::clone(&model) as Arc<dyn ModelClient>),
    };
    let secrets = Secrets::new([Secret::new("hunter2-hunter2")]);
    ModelSampler::new(policy, secrets, Arc::new(choose))
}

fn hello() -> Value {
    json!({"messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}], "maxTokens": 100_000})
}

async fn ask(policy: SamplingPolicy, canned: Canned) -> Result<Value, String> {
    sampler(policy, &CannedModel::new([canned]))
        .sample("srv", hello())
        .await
}

#[tokio::test]
async fn answers_are_mapped_capped_counted_and_redacted() {
    let model = CannedModel::new([Canned::text("key hunter2-hunter2, see https://h/?a=b")]);
    let sampler = sampler(SamplingPolicy::default(), &model);
    assert_eq!(
        sampler.sample("srv", hello()).await,
        Ok(
            json!({"role": "assistant", "content": {"type": "text", "text": "key [REDACTED], see https://h/?a=b"},
            "model": "canned-1", "stopReason": "endTurn"})
        )
    );
    assert_eq!(model.requests()[0].max_output, Some(4096));
    assert!(sampler.sample("srv", json!({})).await.is_err());
    let expected = Counters {
        requests: 2,
        errors: 1,
        tokens: 15,
        tool_uses: 0,
    };
    assert_eq!(sampler.counters(), expected);
}

#[tokio::test]
async fn a_cut_answer_says_so() {
    let cut = Canned::reply(Message::assistant("and then"), Finish::Length);
    assert_eq!(
        ask(SamplingPolicy::default(), cut).await.unwrap()["stopReason"],
        "maxTokens"
    );
}

#[tokio::test]
async fn tool_calls_are_handed_over() {
    let canned = Canned::calls(&[("f", r#"{"a": 1}"#), ("g", "{broken"), ("h", "")]);
    let result = ask(SamplingPolicy::default(), canned).await.unwrap();
    assert_eq!(result["stopReason"], "toolUse");
    assert_eq!(
        result["content"],
        json!([
            {"type": "tool_use", "id": "call_0", "name": "f", "input": {"a": 1}},
            {"type": "tool_use", "id": "call_1", "name": "g", "input": {"_raw": "{broken"}},
            {"type": "tool_use", "id": "call_2", "name": "h", "input": {}},
        ])
    );
}

#[tokio::test]
async fn refusals_say_why() {
    let check = async |policy: SamplingPolicy, canned: Canned, expected: &str| {
        let refusal = ask(policy, canned).await.unwrap_err();
        assert!(refusal.contains(expected), "{refusal}");
    };
    let policy = SamplingPolicy::default;
    let off = SamplingPolicy {
        enabled: false,
        ..policy()
    };
    check(off, Canned::text("x"), "disabled for server 'srv'").await;
    let none = SamplingPolicy {
        max_rpm: 0,
        ..policy()
    };
    check(none, Canned::text("x"), "rate limit: 0 requests").await;
    let other = SamplingPolicy {
        allowed_models: vec!["other".to_owned()],
        ..policy()
    };
    check(
        other,
        Canned::text("x"),
        "'canned-1' is not allowed; allowed are: other",
    )
    .await;
    let missing = SamplingPolicy {
        model: Some("missing".to_owned()),
        ..policy()
    };
    check(missing, Canned::text("x"), "no such model").await;
    let no_tools = SamplingPolicy {
        max_tool_rounds: 0,
        ..policy()
    };
    check(no_tools, Canned::calls(&[("f", "{}")]), "forbidden").await;
    check(
        policy(),
        Canned::error(ModelErrorKind::Billing),
        "did not answer: Billing",
    )
    .await;
    let hasty = SamplingPolicy {
        timeout: Duration::from_millis(5),
        ..policy()
    };
    check(hasty, Canned::Hang, "longer than 0.005 s").await;
}

#[tokio::test]
async fn the_owner_chooses_the_model_before_the_server_does() {
    let check = async |model: Option<&str>, params: Value, expected: &'static str| {
        let seen = Arc::new(Mutex::new(String::new()));
        let (canned, told) = (CannedModel::new([Canned::text("x")]), Arc::clone(&seen));
        let choose = move |wish: ModelWish<'_>| {
            *told.lock().unwrap() = format!("{wish:?}");
            Ok(Arc::clone(&canned) as Arc<dyn ModelClient>)
        };
        let policy = SamplingPolicy {
            model: model.map(str::to_owned),
            ..SamplingPolicy::default()
        };
        let sampler = ModelSampler::new(policy, Secrets::default(), Arc::new(choose));
        sampler.sample("srv", params).await.unwrap();
        assert_eq!(*seen.lock().unwrap(), expected);
    };
    let mut hinted = hello();
    hinted["modelPreferences"] = json!({"hints": [{"name": "sonnet"}]});
    check(Some("mine"), hinted.clone(), r#"Configured("mine")"#).await;
    check(None, hinted, r#"Hinted("sonnet")"#).await;
    check(None, hello(), "Default").await;
}
