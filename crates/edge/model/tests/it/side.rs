//! Side tasks: whom they ask, and who helps out.

use hermes_model::{Overrides, RoutedModels};
use hermes_scripted::{Script, ScriptedModel};
use hermes_types::{ModelErrorKind as Kind, Models, Purpose, Scope};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::support::{Outcome, Owner, collect, hi};

fn server(script: Value) -> ScriptedModel {
    ScriptedModel::start(Script::from_value(script).unwrap()).unwrap()
}

fn answers() -> ScriptedModel {
    server(json!([{"text": "Hi", "repeat": true}]))
}

/// A main model, and what else is set.
fn owner(main: &ScriptedModel, rest: &str) -> Owner {
    let settings = format!(
        "model: {{default: mock-1, provider: custom, base_url: '{}/v1', context_length: 99000}}\n{rest}",
        main.url()
    );
    Owner::new(&settings, &[])
}

async fn ask(models: &RoutedModels, task: &'static str) -> Outcome {
    let client = models.client(&Purpose::Aux(task)).unwrap();
    collect(&*client, hi(), Scope::new("test".into())).await
}

/// A main model, and one that helps out: `custom`, the only one of the list that can be on this machine.
fn helped(main: &ScriptedModel, helper: &ScriptedModel, rest: &str) -> Owner {
    let settings = format!(
        "providers: {{box: {{base_url: '{}/v1', api_key: sk-1234}}}}\n\
         model: {{default: mock-1, provider: box, context_length: 99000}}\n{rest}",
        main.url()
    );
    let url = format!("{}/v1", helper.url());
    Owner::new(&settings, &[("CUSTOM_BASE_URL", url.as_str())])
}

#[tokio::test]
async fn the_next_helps_out_only_where_nobody_was_chosen() {
    for step in [json!({"status": 402}), json!({"status": 429})] {
        let mut always = step.clone();
        always["repeat"] = true.into();
        let main = server(json!([always.clone()]));
        let helper = answers();
        let models = helped(&main, &helper, "")
            .models(&Overrides::default())
            .unwrap();
        let outcome = ask(&models, "compression").await;
        assert_eq!(outcome.content(), "Hi", "{step}");
        assert_eq!(outcome.reply().cost.to.provider, "custom");
        assert_eq!(helper.calls()[0].body["model"], "mock-1");

        let main = server(json!([always]));
        let chosen = "auxiliary: {compression: {provider: main}}\n";
        let models = helped(&main, &helper, chosen);
        let models = models.models(&Overrides::default()).unwrap();
        assert!(ask(&models, "compression").await.result.is_err(), "{step}");
        assert_eq!(helper.calls().len(), 1);
    }
    // A server's own trouble is no reason to tell somebody else.
    let main = server(
        json!([{"status": 400, "body": {"error": {"message": "this is not how it is done at all"}}}]),
    );
    let helper = answers();
    let models = helped(&main, &helper, "")
        .models(&Overrides::default())
        .unwrap();
    let outcome = ask(&models, "compression").await;
    outcome.check_error(Kind::Format, &["not how it is done"]);
    assert_eq!(helper.calls().len(), 0);
}

#[tokio::test]
async fn who_wants_money_is_not_asked_again_for_a_while() {
    let main = server(json!([{"status": 402, "repeat": true}]));
    let helper = answers();
    let models = helped(&main, &helper, "")
        .models(&Overrides::default())
        .unwrap();
    ask(&models, "compression").await.reply();
    ask(&models, "title_generation").await.reply();
    assert_eq!((main.calls().len(), helper.calls().len()), (1, 2));
}

#[tokio::test]
async fn an_explicit_choice_without_a_key_is_an_error_and_nobody_else_is_asked() {
    let (main, helper) = (answers(), answers());
    let chosen = "auxiliary: {vision: {provider: openrouter}}\n";
    let models = helped(&main, &helper, chosen)
        .models(&Overrides::default())
        .unwrap();
    let error = models.client(&Purpose::Aux("vision")).err().unwrap();
    assert_eq!(error.kind, Kind::NotConfigured);
    assert!(error.message.contains("OPENROUTER_API_KEY"), "{error}");
    assert_eq!((main.calls().len(), helper.calls().len()), (0, 0));
}

#[tokio::test]
async fn a_task_has_its_own_fields() {
    let main = answers();
    let own = "auxiliary: {vision: {temperature: 0.125, extra_body: {top_k: 7}}}\n";
    let models = owner(&main, own).models(&Overrides::default()).unwrap();
    ask(&models, "vision").await.reply();
    ask(&models, "compression").await.reply();
    let bodies: Vec<_> = main.calls().into_iter().map(|call| call.body).collect();
    assert_eq!(
        (&bodies[0]["temperature"], &bodies[0]["top_k"]),
        (&json!(0.125), &json!(7))
    );
    assert_eq!(
        (&bodies[1]["temperature"], &bodies[1]["top_k"]),
        (&Value::Null, &Value::Null)
    );
}

#[tokio::test]
async fn a_named_provider_uses_its_own_or_its_cheap_model() {
    let main = answers();
    let own = "providers: {box: {base_url: 'http://box/v1', api_key: box-key, default_model: small}}\n\
               auxiliary: {compression: {provider: box}, vision: {provider: openrouter}}\n";
    let settings = format!(
        "model: {{default: mock-1, provider: custom, base_url: '{}/v1'}}\n{own}",
        main.url()
    );
    let owner = Owner::new(&settings, &[("OPENROUTER_API_KEY", "sk-or-1234")]);
    let models = owner.models(&Overrides::default()).unwrap();
    let model = |task| {
        models
            .client(&Purpose::Aux(task))
            .unwrap()
            .info()
            .model
            .clone()
    };
    assert_eq!(model("compression"), "small");
    assert_eq!(model("vision"), "google/gemini-3-flash-preview");
}

#[tokio::test]
async fn side_tasks_and_children_follow_the_live_model() {
    let (main, other) = (answers(), answers());
    let settings = format!(
        "model: {{default: mock-1, provider: custom, base_url: '{}/v1', context_length: 99000}}\n\
         providers: {{box: {{base_url: '{}/v1', api_key: box-key, models: {{m: {{context_length: 99000}}}}}}}}\n",
        main.url(),
        other.url()
    );
    let models = Owner::new(&settings, &[])
        .models(&Overrides::default())
        .unwrap();
    let scope = Scope::new("test".into());
    let switched = models.switch("box:m", &scope).await.unwrap();
    assert_eq!(switched.info().model, "m");
    for purpose in [Purpose::Main, Purpose::Aux("compression"), Purpose::Child] {
        let client = models.client(&purpose).unwrap();
        collect(&*client, hi(), scope.clone()).await.reply();
    }
    let calls = other.calls();
    assert_eq!((main.calls().len(), calls.len()), (0, 3));
    // Key and address have changed together.
    let keys = calls.iter().map(|call| &*call.headers["authorization"]);
    assert!(keys.into_iter().all(|key| key == "Bearer box-key"));
    // What can't be used changes nothing.
    models.switch("openrouter:x", &scope).await.err().unwrap();
    assert_eq!(models.route().model, "m");
}

#[tokio::test]
async fn children_may_have_a_model_of_their_own() {
    let (main, other) = (answers(), answers());
    let check = async |delegation: &str, expected: [&str; 2]| {
        let settings = format!(
            "model: {{default: mock-1, provider: custom, base_url: '{}/v1', api_key: sk-main, context_length: 99000}}\n\
             delegation: {delegation}\n",
            main.url()
        );
        let owner = Owner::new(&settings, &[]);
        let models = owner.models(&Overrides::default()).unwrap();
        let client = models.client(&Purpose::Child).unwrap();
        let info = client.info();
        assert_eq!([&*info.model, &*info.base_url], expected, "{delegation}");
    };
    let (here, there) = (format!("{}/v1", main.url()), format!("{}/v1", other.url()));
    check("{}", ["mock-1", &here]).await;
    check("{model: small}", ["small", &here]).await;
    let own = format!("{{base_url: '{there}', api_key: k-1234}}");
    check(&own, ["mock-1", &there]).await;
}

#[tokio::test]
async fn the_owners_fallbacks_help_out_too() {
    let limited = server(json!([{"status": 429, "repeat": true}]));
    let (second, helper) = (answers(), answers());
    let list = format!(
        "fallback_providers: [{{provider: custom, model: mock-2, base_url: '{}/v1'}}]\n",
        second.url()
    );
    let models = helped(&limited, &helper, &list)
        .models(&Overrides::default())
        .unwrap();
    let scope = Scope::new("test".into());
    let main = models.client(&Purpose::Main).unwrap();
    collect(&*main, hi(), scope).await.reply();
    // Who has just had enough of the main conversation is spared.
    assert_eq!(ask(&models, "title_generation").await.content(), "Hi");
    assert_eq!(
        (
            limited.calls().len(),
            second.calls().len(),
            helper.calls().len()
        ),
        (1, 2, 0)
    );
}
