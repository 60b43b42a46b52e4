//! The owner's fallbacks, as the settings have them.

use hermes_model::{Overrides, list_fallbacks};
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

fn main(url: &str) -> String {
    format!(
        "model: {{default: mock-1, provider: custom, base_url: '{url}/v1', api_key: sk-1234}}\n"
    )
}

async fn ask(owner: &Owner, purpose: Purpose) -> Outcome {
    let models = owner.models(&Overrides::default()).unwrap();
    let client = models.client(&purpose).unwrap();
    collect(&*client, hi(), Scope::new("test".into())).await
}

#[tokio::test]
async fn what_cannot_be_used_is_skipped() {
    let limited = server(json!([{"status": 429, "repeat": true}]));
    let second = answers();
    let (one, two) = (limited.url(), second.url());
    let list = format!(
        "{}fallback_providers:\n\
         - nonsense\n\
         - {{provider: openrouter}}\n\
         - {{provider: openrouter, model: gpt-4o}}\n\
         - {{provider: nowhere, model: x}}\n\
         - {{provider: custom, model: mock-1, base_url: '{one}/v1'}}\n\
         - {{provider: custom, model: mock-2, base_url: '{two}/v1', key_env: SECOND_KEY}}\n",
        main(&one)
    );
    let owner = Owner::new(&list, &[("SECOND_KEY", "sk-second")]);
    let outcome = ask(&owner, Purpose::Main).await;
    assert_eq!(outcome.content(), "Hi");
    assert_eq!(limited.calls().len(), 1);
    let call = second.calls().remove(0);
    assert_eq!(call.body["model"], "mock-2");
    assert_eq!(call.headers["authorization"], "Bearer sk-second");
    // A child has the chain too.
    assert_eq!(ask(&owner, Purpose::Child).await.content(), "Hi");

    let shown = list_fallbacks(&owner.home(), &owner.settings(), owner.env());
    let usable: Vec<_> = shown.iter().map(|known| known.means.is_ok()).collect();
    assert_eq!(usable, [false, false, false, false, true, true]);
}

#[tokio::test]
async fn the_older_setting_counts_too() {
    let limited = server(json!([{"status": 402, "repeat": true}]));
    let second = answers();
    let entry = format!(
        "{{provider: custom, model: old, base_url: '{}/v1'}}",
        second.url()
    );
    for older in [entry.clone(), format!("[{entry}]")] {
        let settings = format!("{}fallback_model: {older}\n", main(&limited.url()));
        let owner = Owner::new(&settings, &[]);
        assert_eq!(ask(&owner, Purpose::Main).await.content(), "Hi");
    }
    assert_eq!(second.calls()[1].body["model"], "old");
}

#[tokio::test]
async fn an_error_says_which_fallbacks_could_not_be_tried() {
    let limited = server(json!([{"status": 402, "repeat": true}]));
    let settings = format!(
        "{}fallback_providers: [{{provider: openrouter, model: gpt-4o}}]\n",
        main(&limited.url())
    );
    let outcome = ask(&Owner::new(&settings, &[]), Purpose::Main).await;
    outcome.check_error(
        Kind::Billing,
        &["402", "not tried", "gpt-4o", "OPENROUTER_API_KEY"],
    );
}

#[tokio::test]
async fn without_a_key_for_the_main_model_the_first_usable_fallback_takes_its_place() {
    let second = answers();
    let settings = format!(
        "model: {{default: gpt-4o, provider: openrouter}}\nfallback_providers:\n\
         - {{provider: anthropic, model: claude-sonnet-4-5}}\n\
         - {{provider: custom, model: mock-2, base_url: '{}/v1'}}\n",
        second.url()
    );
    let owner = Owner::new(&settings, &[]);
    let models = owner.models(&Overrides::default()).unwrap();
    let notice = models.notice().unwrap();
    for part in ["OPENROUTER_API_KEY", "mock-2 (custom) answers instead"] {
        assert!(notice.contains(part), "{notice}");
    }
    assert_eq!(
        models.client(&Purpose::Main).unwrap().info().model,
        "mock-2"
    );
    assert_eq!(ask(&owner, Purpose::Main).await.content(), "Hi");

    // Whoever names a model means it.
    let named = Overrides {
        model: Some("openrouter:gpt-4o".to_owned()),
        provider: None,
    };
    let error = owner.models(&named).unwrap_err();
    assert!(error.message.contains("OPENROUTER_API_KEY"), "{error}");
    // With a key there is nothing to say.
    let paid = Owner::new(&settings, &[("OPENROUTER_API_KEY", "sk-or-1234")]);
    assert_eq!(paid.models(&Overrides::default()).unwrap().notice(), None);
}

#[tokio::test]
async fn a_window_is_kept_once_a_request_has_fitted() {
    let told = json!({"error": {"message": "maximum context length is 70000 tokens"}});
    let server = server(json!([{"status": 400, "body": told}, {"text": "Hi", "repeat": true}]));
    let owner = Owner::new(&main(&server.url()), &[]);
    let models = owner.models(&Overrides::default()).unwrap();
    let client = models.client(&Purpose::Main).unwrap();
    let cache = owner.dir.path().join("context_length_cache.yaml");
    let scope = || Scope::new("test".into());
    let outcome = collect(&*client, hi(), scope()).await;
    outcome.check_error(
        Kind::ContextOverflow {
            limit: Some(70_000),
        },
        &[],
    );
    assert!(!cache.exists(), "nothing has confirmed it yet");
    collect(&*client, hi(), scope()).await.reply();
    let text = std::fs::read_to_string(cache).unwrap();
    let line = format!("mock-1@{}/v1: 70000", server.url());
    assert!(text.contains(&line), "{text}");
    let again = owner.models(&Overrides::default()).unwrap();
    assert_eq!(again.route().context.tokens, 70_000);
}

/// The Nous account's limit is shared by all processes of a home.
#[tokio::test]
async fn an_exhausted_nous_account_is_left_alone() {
    let empty = json!({"x-ratelimit-limit-tokens-1h": "1000", "x-ratelimit-remaining-tokens-1h": "0",
        "x-ratelimit-reset-tokens-1h": "1800"});
    let limited = server(json!([{"status": 429, "headers": empty, "repeat": true}]));
    let second = answers();
    let settings = format!(
        "model: {{default: hermes-4, provider: nous, base_url: '{}/v1', api_key: sk-1234}}\n\
         fallback_providers: [{{provider: custom, model: mock-2, base_url: '{}/v1'}}]\n",
        limited.url(),
        second.url()
    );
    let owner = Owner::new(&settings, &[]);
    assert_eq!(ask(&owner, Purpose::Main).await.content(), "Hi");
    let file = owner.dir.path().join("rate_limits/nous.json");
    let record: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    assert_eq!(record["reset_seconds"], 1800.0);
    // Another process doesn't even ask.
    assert_eq!(ask(&owner, Purpose::Main).await.content(), "Hi");
    assert_eq!((limited.calls().len(), second.calls().len()), (1, 2));
}
