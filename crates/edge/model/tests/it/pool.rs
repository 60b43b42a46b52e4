//! Several keys for one provider: which one is used, what happens when one fails, and what others see of it.

use std::sync::Arc;
use std::time::Duration;

use hermes_model::Overrides;
use hermes_scripted::{Script, ScriptedModel};
use hermes_testkit::LoginServer;
use hermes_types::{ModelClient, ModelErrorKind, Models, Purpose, Scope};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::support::{Outcome, Owner, collect, hi};

/// A server, an owner whose provider `mock` is there, and a pool.
struct Bench {
    server: ScriptedModel,
    owner: Owner,
}

impl Bench {
    fn new(script: Value, keys: &[&str]) -> Self {
        Self::with(script, keys, "", &[])
    }

    fn with(script: Value, keys: &[&str], settings: &str, env: &[(&str, &str)]) -> Self {
        let server = ScriptedModel::start(Script::from_value(script).unwrap()).unwrap();
        let url = server.url();
        let settings = format!(
            "model: {{default: mock-1, provider: mock, context_length: 131072}}\n\
             providers: {{mock: {{base_url: '{url}/v1'}}}}\n{settings}"
        );
        let bench = Self {
            server,
            owner: Owner::new(&settings, env),
        };
        let entries = keys.iter().enumerate();
        let entries = entries.map(|(place, key)| json!({"id": format!("{place:06}"), "label": format!("label-{key}"),
            "source": "manual", "auth_type": "api_key", "priority": place, "access_token": key, "own": 7}));
        bench.write(
            &json!({"version": 1, "credential_pool": {"custom:mock": entries.collect::<Vec<_>>()}}),
        );
        bench
    }

    fn write(&self, document: &Value) {
        std::fs::write(
            self.owner.dir.path().join("auth.json"),
            document.to_string(),
        )
        .unwrap();
    }

    fn file(&self) -> Value {
        let text = std::fs::read_to_string(self.owner.dir.path().join("auth.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    fn entry(&self, place: usize) -> Value {
        self.file()["credential_pool"]["custom:mock"][place].clone()
    }

    fn client(&self) -> Arc<dyn ModelClient> {
        let models = self.owner.models(&Overrides::default()).unwrap();
        models.client(&Purpose::Main).unwrap()
    }

    async fn hi(&self) -> Outcome {
        ask(&self.client()).await
    }

    /// The keys the server has seen, in order.
    fn keys(&self) -> Vec<String> {
        keys(&self.server)
    }
}

fn keys(server: &ScriptedModel) -> Vec<String> {
    let calls = server.calls();
    let key = |headers: &std::collections::BTreeMap<String, String>| {
        headers["authorization"]
            .trim_start_matches("Bearer ")
            .to_owned()
    };
    calls.iter().map(|call| key(&call.headers)).collect()
}

async fn ask(client: &Arc<dyn ModelClient>) -> Outcome {
    collect(client.as_ref(), hi(), Scope::new("test".into())).await
}

fn refuse(key: &str, status: u16) -> Value {
    json!({"when": {"key": key}, "status": status, "repeat": true})
}

// spec: agent-loop §26.10
#[tokio::test]
async fn a_wrong_key_among_good_ones_is_marked_and_passed_over() {
    let script = json!({"steps": [refuse("key-one", 401)], "otherwise": {"text": "ok"}});
    let bench = Bench::new(script, &["key-one", "key-two"]);
    let outcome = bench.hi().await;
    assert_eq!(outcome.content(), "ok");
    assert_eq!(bench.keys(), ["key-one", "key-two"]);
    let retries = outcome.retries();
    assert_eq!((retries.len(), retries[0].wait), (1, Duration::ZERO));
    let reason = &retries[0].reason;
    assert!(
        reason.contains("label-key-one") && reason.contains("label-key-two"),
        "{reason}"
    );
    let entry = bench.entry(0);
    assert_eq!(
        (&entry["last_status"], &entry["last_error_code"]),
        (&json!("exhausted"), &json!(401))
    );
    assert_eq!(entry["own"], 7);
    assert!(entry["last_status_at"].as_f64().unwrap() > 1.7e9);
    // Another process knows.
    assert_eq!(bench.hi().await.content(), "ok");
    assert_eq!(bench.keys()[2..], ["key-two"]);
}

#[tokio::test]
async fn an_empty_account_is_left_at_once() {
    let script = json!({"steps": [refuse("key-one", 402)], "otherwise": {"text": "ok"}});
    let bench = Bench::new(script, &["key-one", "key-two"]);
    assert_eq!(bench.hi().await.content(), "ok");
    assert_eq!(bench.keys(), ["key-one", "key-two"]);
    assert_eq!(bench.entry(0)["last_error_reason"], "billing");
}

#[tokio::test]
async fn a_fallback_is_asked_when_all_keys_rest() {
    let other = json!({"steps": [], "otherwise": {"text": "from the fallback"}});
    let other = ScriptedModel::start(Script::from_value(other).unwrap()).unwrap();
    let fallback = format!(
        "fallback_providers: [{{provider: custom, model: mock-2, base_url: '{}/v1'}}]\n",
        other.url()
    );
    let body = json!({"error": {"message": "slow down", "resets_in_seconds": 600}});
    let limit = json!({"status": 429, "headers": {"retry-after": "0"}, "body": body});
    let script = json!({"steps": [limit, limit, {"text": "ok"}], "otherwise": limit});
    let bench = Bench::with(script, &["key-one", "key-two"], &fallback, &[]);
    let client = bench.client();
    let outcome = ask(&client).await;
    assert_eq!(outcome.content(), "ok");
    assert_eq!(bench.keys(), ["key-one", "key-one", "key-two"]);
    assert_eq!(other.calls().len(), 0);

    // The last key is not worth a wait while somebody stands by, but others should know that it rests.
    let outcome = ask(&client).await;
    assert_eq!(outcome.content(), "from the fallback");
    assert_eq!(bench.keys()[3..], ["key-two"]);
    assert_eq!(other.calls().len(), 1);
    for place in [0, 1] {
        assert_eq!(bench.entry(place)["last_status"], "exhausted");
    }

    // Somebody new finds both keys resting, and doesn't try them.
    assert_eq!(bench.hi().await.content(), "from the fallback");
    assert_eq!((bench.keys().len(), other.calls().len()), (4, 2));
}

#[tokio::test]
async fn keys_that_are_good_again_at_once_are_not_tried_forever() {
    let limit = json!({"status": 429, "headers": {"retry-after": "0"}});
    let script = json!({"steps": [], "otherwise": limit});
    let bench = Bench::new(script, &["key-one", "key-two"]);
    let outcome = bench.hi().await;
    outcome.check_error(ModelErrorKind::RateLimit, &["All 2 keys", "again"]);
    assert_eq!(bench.keys(), ["key-one", "key-one", "key-two"]);
}

#[tokio::test]
async fn a_chatgpt_login_names_its_account() {
    let script = json!({"steps": [], "otherwise": {"text": "ok"}});
    let server = ScriptedModel::start(Script::from_value(script).unwrap()).unwrap();
    let url = format!("{}/v1", server.url());
    let owner = Owner::new(
        "model: {default: gpt-5.4, provider: openai-codex, context_length: 131072}\n",
        &[("HERMES_CODEX_BASE_URL", &url)],
    );
    // {"https://api.openai.com/auth":{"chatgpt_account_id":"acc-1"}}
    let token = "e30.eyJodHRwczovL2FwaS5vcGVuYWkuY29tL2F1dGgiOnsiY2hhdGdwdF9hY2NvdW50X2lkIjoiYWNjLTEifX0.c2ln";
    let store = json!({"version": 1, "active_provider": "openai-codex", "credential_pool": {"openai-codex": [
        {"id": "c1", "label": "me", "source": "device_code", "auth_type": "oauth", "access_token": token,
         "refresh_token": "rt-0", "base_url": url}]}});
    std::fs::write(owner.dir.path().join("auth.json"), store.to_string()).unwrap();
    let models = owner.models(&Overrides::default()).unwrap();
    let outcome = ask(&models.client(&Purpose::Main).unwrap()).await;
    assert_eq!(outcome.content(), "ok");
    let call = &server.calls()[0];
    assert_eq!(call.headers["chatgpt-account-id"], "acc-1");
    assert_eq!(call.headers["authorization"], format!("Bearer {token}"));
}

#[test]
fn a_key_that_says_where_it_belongs_is_used_there() {
    let settings = "model: {default: kimi-k2, provider: kimi-coding}\n";
    let check = |key: &str, expected: &str| {
        let owner = Owner::new(settings, &[]);
        let entry =
            json!({"id": "k1", "source": "manual", "auth_type": "api_key", "access_token": key});
        let store = json!({"version": 1, "credential_pool": {"kimi-coding": [entry]}});
        std::fs::write(owner.dir.path().join("auth.json"), store.to_string()).unwrap();
        let models = owner.models(&Overrides::default()).unwrap();
        assert_eq!(models.route().base_url.as_str(), expected, "{key}");
        assert_eq!(models.route().key.expose(), key);
    };
    check("sk-kimi-1", "https://api.kimi.com/coding");
    check("sk-plain", "https://api.moonshot.ai/v1");
}

#[tokio::test]
async fn a_storm_over_ten_keys_ends_with_the_time_to_come_back() {
    let body = json!({"error": {"message": "slow down", "resets_in_seconds": 600}});
    let script = json!({"steps": [], "otherwise": {"status": 429, "headers": {"retry-after": "0"}, "body": body}});
    let names: Vec<String> = (0..10).map(|place| format!("key-{place}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let bench = Bench::new(script, &names);
    let outcome = bench.hi().await;
    // The first gets a second try, then it is everybody's turn once.
    assert_eq!(bench.keys().len(), 11);
    outcome.check_error(
        ModelErrorKind::RateLimit,
        &[
            "All 10 keys of custom:mock",
            "in 10 min",
            "hermes auth reset",
        ],
    );
    let wait = outcome.error().retry_after.unwrap().as_secs();
    assert!((590..=600).contains(&wait), "{wait}");
    // Nobody is asked again before that time.
    bench
        .hi()
        .await
        .check_error(ModelErrorKind::RateLimit, &["All 10 keys"]);
    assert_eq!(bench.keys().len(), 11);
    for place in 0..10 {
        assert!(bench.entry(place)["last_error_reset_at"].is_number());
    }
}

#[tokio::test]
async fn a_long_pause_is_no_reason_to_wait_if_there_is_another_key() {
    let limit =
        json!({"when": {"key": "key-one"}, "status": 429, "headers": {"retry-after": "60"}});
    let bench = Bench::new(
        json!({"steps": [limit], "otherwise": {"text": "ok"}}),
        &["key-one", "key-two"],
    );
    assert_eq!(bench.hi().await.content(), "ok");
    assert_eq!(bench.keys(), ["key-one", "key-two"]);
}

#[tokio::test]
async fn a_rest_that_is_over_is_forgotten() {
    let bench = Bench::new(
        json!({"steps": [], "otherwise": {"text": "ok"}}),
        &["key-one", "key-two"],
    );
    let mut document = bench.file();
    let entry = &mut document["credential_pool"]["custom:mock"][0];
    entry["last_status"] = json!("exhausted");
    entry["last_status_at"] = json!(1_700_000_000);
    entry["last_error_code"] = json!(429);
    bench.write(&document);
    bench.hi().await;
    assert_eq!(bench.keys(), ["key-one"]);
    assert_eq!(bench.entry(0)["last_status"], Value::Null);
}

#[tokio::test]
async fn marks_of_other_processes_count_at_once() {
    let bench = Bench::new(
        json!({"steps": [], "otherwise": {"text": "ok"}}),
        &["key-one", "key-two"],
    );
    let client = bench.client();
    ask(&client).await;
    let mut document = bench.file();
    let entry = &mut document["credential_pool"]["custom:mock"][0];
    entry["last_status"] = json!("exhausted");
    entry["last_error_reset_at"] = json!("2099-01-01T00:00:00Z");
    bench.write(&document);
    ask(&client).await;
    assert_eq!(bench.keys(), ["key-one", "key-two"]);
}

#[tokio::test]
async fn one_after_the_other_also_from_process_to_process() {
    let settings = "credential_pool_strategies: {'custom:mock': round_robin}";
    let script = json!({"steps": [], "otherwise": {"text": "ok"}});
    let bench = Bench::with(script, &["key-one", "key-two", "key-three"], settings, &[]);
    for _ in 0..4 {
        bench.hi().await;
    }
    assert_eq!(bench.keys(), ["key-one", "key-two", "key-three", "key-one"]);
}

#[tokio::test]
async fn the_least_used_key_is_next() {
    let settings = "credential_pool_strategies: {'custom:mock': least_used}";
    let script = json!({"steps": [], "otherwise": {"text": "ok"}});
    let bench = Bench::with(script, &["key-one", "key-two"], settings, &[]);
    for _ in 0..4 {
        bench.hi().await;
    }
    assert_eq!(bench.keys(), ["key-one", "key-two", "key-one", "key-two"]);
    assert_eq!(bench.entry(0)["request_count"], 2);
}

#[tokio::test]
async fn calls_at_the_same_time_spread_and_nobody_waits() {
    let script = json!({"steps": [], "otherwise": {"text": "ok", "delay_ms": 200}});
    let bench = Bench::new(script, &["key-one", "key-two"]);
    let client = bench.client();
    let (a, b, c) = tokio::join!(ask(&client), ask(&client), ask(&client));
    for outcome in [a, b, c] {
        assert_eq!(outcome.content(), "ok");
    }
    let mut used = bench.keys();
    used.sort();
    used.dedup();
    assert_eq!(used, ["key-one", "key-two"]);
}

#[tokio::test]
async fn a_key_from_a_variable_is_marked_but_never_written_down() {
    let settings = "";
    let script = json!({"steps": [refuse("sk-from-variable", 401)], "otherwise": {"text": "ok"}});
    let bench = Bench::with(script, &[], settings, &[("MOCK_KEY", "sk-from-variable")]);
    let url = bench.server.url();
    let settings = format!(
        "model: {{default: mock-1, provider: mock, context_length: 131072}}\n\
         providers: {{mock: {{base_url: '{url}/v1', key_env: MOCK_KEY}}}}"
    );
    let owner = Owner::new(&settings, &[("MOCK_KEY", "sk-from-variable")]);
    let pool = json!([{"id": "aaaaaa", "label": "mine", "source": "manual", "access_token": "key-mine", "priority": 5}]);
    let path = owner.dir.path().join("auth.json");
    let env = json!({"id": "bbbbbb", "label": "MOCK_KEY", "source": "env:MOCK_KEY", "priority": 0, "access_token": "sk-from-variable"});
    let pool = json!([env, pool[0]]);
    std::fs::write(
        &path,
        json!({"credential_pool": {"custom:mock": pool}}).to_string(),
    )
    .unwrap();
    let models = owner.models(&Overrides::default()).unwrap();
    let client = models.client(&Purpose::Main).unwrap();
    assert_eq!(ask(&client).await.content(), "ok");
    assert_eq!(bench.keys(), ["sk-from-variable", "key-mine"]);
    let written = std::fs::read_to_string(&path).unwrap();
    assert!(!written.contains("sk-from-variable"), "{written}");
    assert!(
        written.contains("exhausted") && written.contains("bbbbbb"),
        "{written}"
    );
}

#[tokio::test]
async fn without_a_pool_nothing_is_written() {
    let server = ScriptedModel::start(
        Script::from_value(
            json!({"steps": [refuse("sk-only-one", 401)], "otherwise": {"text": "ok"}}),
        )
        .unwrap(),
    );
    let server = server.unwrap();
    let url = server.url();
    let settings = format!(
        "model: {{default: mock-1, provider: custom, base_url: '{url}/v1', api_key: sk-only-one, context_length: 131072}}"
    );
    let owner = Owner::new(&settings, &[]);
    let models = owner.models(&Overrides::default()).unwrap();
    let client = models.client(&Purpose::Main).unwrap();
    ask(&client)
        .await
        .check_error(ModelErrorKind::Auth, &["401", "model.api_key"]);
    assert_eq!(server.calls().len(), 1);
    assert_eq!(std::fs::read_dir(owner.dir.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn the_settings_key_comes_first_and_no_key_goes_to_another_server() {
    let other = ScriptedModel::start(
        Script::from_value(json!({"steps": [], "otherwise": {"text": "evil"}})).unwrap(),
    )
    .unwrap();
    let script = json!({"steps": [refuse("sk-of-settings", 401)], "otherwise": {"text": "ok"}});
    let server = ScriptedModel::start(Script::from_value(script).unwrap()).unwrap();
    let url = server.url();
    let settings = format!(
        "model: {{default: mock-1, provider: custom, base_url: '{url}/v1', api_key: sk-of-settings, context_length: 131072}}"
    );
    let owner = Owner::new(&settings, &[("OPENAI_API_KEY", "sk-proj-of-openai")]);
    let entry = |id: &str, key: &str, url: &str| json!({"id": id, "label": id, "source": "manual", "access_token": key, "base_url": url});
    let elsewhere = format!("{}/v1", other.url());
    let pool = json!([
        entry("other", "key-elsewhere", &elsewhere),
        entry("here", "key-here", "")
    ]);
    let path = owner.dir.path().join("auth.json");
    std::fs::write(
        &path,
        json!({"credential_pool": {"custom": pool}}).to_string(),
    )
    .unwrap();
    let models = owner.models(&Overrides::default()).unwrap();
    let client = models.client(&Purpose::Main).unwrap();
    assert_eq!(ask(&client).await.content(), "ok");
    assert_eq!(keys(&server), ["sk-of-settings", "key-here"]);
    assert_eq!(other.calls().len(), 0);
}

/// A login with Nous whose models are at `server`.
fn nous(server: &ScriptedModel, portal: &LoginServer, key: Value) -> Owner {
    let owner = Owner::new(
        "model: {default: hermes-4, provider: nous, context_length: 131072}",
        &[],
    );
    let login = json!({"access_token": "at-0", "refresh_token": "rt-0", "expires_at": "2020-01-01T00:00:00Z",
        "portal_base_url": portal.url(), "inference_base_url": format!("{}/v1", server.url()),
        "agent_key": key, "agent_key_expires_at": "2099-01-01T00:00:00Z", "client_id": "hermes-cli", "odd": 1});
    let path = owner.dir.path().join("auth.json");
    std::fs::write(path, json!({"providers": {"nous": login}}).to_string()).unwrap();
    owner
}

fn stored(owner: &Owner) -> Value {
    let text = std::fs::read_to_string(owner.dir.path().join("auth.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[tokio::test]
async fn a_revoked_login_is_renewed_once() {
    let portal = LoginServer::start();
    let script = json!({"steps": [refuse("ak-old", 401)], "otherwise": {"text": "ok"}});
    let server = ScriptedModel::start(Script::from_value(script).unwrap()).unwrap();
    let owner = nous(&server, &portal, json!("ak-old"));
    let models = owner.models(&Overrides::default()).unwrap();
    let client = models.client(&Purpose::Main).unwrap();
    let outcome = ask(&client).await;
    assert_eq!(outcome.content(), "ok");
    assert_eq!(keys(&server), ["ak-old", "ak-1"]);
    assert_eq!(portal.refreshes(), 1);
    assert!(outcome.retries()[0].reason.contains("renewed"));
    let document = stored(&owner);
    for place in [
        &document["providers"]["nous"],
        &document["credential_pool"]["nous"][0],
    ] {
        let tokens = ["access_token", "refresh_token", "agent_key"].map(|name| place[name].clone());
        assert_eq!(tokens, [json!("at-1"), json!("rt-1"), json!("ak-1")]);
    }
    assert_eq!(document["providers"]["nous"]["odd"], 1);
}

#[tokio::test]
async fn a_key_that_will_not_last_is_renewed_before_it_is_used() {
    let portal = LoginServer::start();
    let script = json!({"steps": [], "otherwise": {"text": "ok"}});
    let server = ScriptedModel::start(Script::from_value(script).unwrap()).unwrap();
    let owner = nous(&server, &portal, json!("ak-old"));
    let mut document = stored(&owner);
    document["providers"]["nous"]["agent_key_expires_at"] = json!("2020-01-01T00:00:00Z");
    std::fs::write(owner.dir.path().join("auth.json"), document.to_string()).unwrap();
    let models = owner.models(&Overrides::default()).unwrap();
    let client = models.client(&Purpose::Main).unwrap();
    let outcome = ask(&client).await;
    assert_eq!(
        (outcome.content(), outcome.retries().len()),
        ("ok".to_owned(), 0)
    );
    assert_eq!(keys(&server), ["ak-1"]);
}

#[tokio::test]
async fn a_login_that_is_gone_says_how_to_get_it_back() {
    let portal = LoginServer::start();
    portal.revoke();
    let script = json!({"steps": [], "otherwise": {"status": 401}});
    let server = ScriptedModel::start(Script::from_value(script).unwrap()).unwrap();
    let owner = nous(&server, &portal, json!("ak-old"));
    let models = owner.models(&Overrides::default()).unwrap();
    let client = models.client(&Purpose::Main).unwrap();
    ask(&client).await.check_error(
        ModelErrorKind::Auth,
        &["invalid_grant", "hermes auth login nous"],
    );
    assert_eq!(server.calls().len(), 1);
    // Without a key in hand nothing is sent at all.
    let owner = nous(&server, &portal, Value::Null);
    let models = owner.models(&Overrides::default()).unwrap();
    let client = models.client(&Purpose::Main).unwrap();
    ask(&client)
        .await
        .check_error(ModelErrorKind::Auth, &["hermes auth login nous"]);
    assert_eq!(server.calls().len(), 1);
}

#[tokio::test]
async fn two_at_once_renew_once() {
    let portal = LoginServer::start();
    portal.delay(Duration::from_millis(100));
    let script = json!({"steps": [refuse("ak-old", 401)], "otherwise": {"text": "ok"}});
    let server = ScriptedModel::start(Script::from_value(script).unwrap()).unwrap();
    let owner = nous(&server, &portal, json!("ak-old"));
    // Two sets of clients know nothing of each other but the file, as two processes do.
    let one = owner.models(&Overrides::default()).unwrap();
    let other = owner.models(&Overrides::default()).unwrap();
    let (one, other) = (
        one.client(&Purpose::Main).unwrap(),
        other.client(&Purpose::Main).unwrap(),
    );
    let (a, b, c) = tokio::join!(ask(&one), ask(&other), ask(&other));
    for outcome in [a, b, c] {
        assert_eq!(outcome.content(), "ok");
    }
    assert_eq!(portal.refreshes(), 1, "{:?}", portal.visits());
}

/// Leaves a file that can be read but not replaced, also not by root: its directory is gone.
#[cfg(target_os = "linux")]
fn make_unwritable(path: &std::path::Path) -> std::fs::File {
    use std::os::fd::AsRawFd;
    let gone = tempfile::tempdir().unwrap();
    let moved = gone.path().join("auth.json");
    std::fs::copy(path, &moved).unwrap();
    std::fs::remove_file(path).unwrap();
    let open = std::fs::File::open(&moved).unwrap();
    std::os::unix::fs::symlink(format!("/proc/self/fd/{}", open.as_raw_fd()), path).unwrap();
    open
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_renewed_login_that_cannot_be_saved_still_works_and_says_so() {
    let portal = LoginServer::start();
    let script = json!({"steps": [refuse("ak-old", 401)], "otherwise": {"text": "ok"}});
    let server = ScriptedModel::start(Script::from_value(script).unwrap()).unwrap();
    let owner = nous(&server, &portal, json!("ak-old"));
    let models = owner.models(&Overrides::default()).unwrap();
    let client = models.client(&Purpose::Main).unwrap();
    let _open = make_unwritable(&owner.dir.path().join("auth.json"));
    let outcome = ask(&client).await;
    assert_eq!(outcome.content(), "ok", "{outcome:?}");
    let reasons: Vec<_> = outcome
        .retries()
        .iter()
        .map(|retry| retry.reason.clone())
        .collect();
    assert!(
        reasons
            .iter()
            .any(|reason| reason.contains("could not be saved")),
        "{reasons:?}"
    );
    assert_eq!(ask(&client).await.content(), "ok");
    assert_eq!(portal.refreshes(), 1);
}
