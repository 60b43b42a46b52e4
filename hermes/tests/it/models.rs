//! `hermes model`: what there is to choose from, and choosing.

use hermes_scripted::{Script, ScriptedModel};
use hermes_testkit::{Cmd, Exit, Output, TempHome};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::command;

/// A server with a list of models and a registry, and a home that knows both.
struct Bench {
    server: ScriptedModel,
    home: TempHome,
}

impl Bench {
    fn new(models: Value) -> Self {
        let registry = json!({"xai": {"models": {"grok-9": {"limit": {"context": 2_000_000},
            "cost": {"input": 3, "output": 15}}}}});
        let script = json!({"models": models, "steps": [], "get": {"/api.json": registry}});
        let server = ScriptedModel::start(Script::from_value(script).unwrap()).unwrap();
        let home = TempHome::new();
        let url = server.url();
        home.write(
            "config.yaml",
            format!(
                "# mine\nmodel: {{default: m, provider: custom, base_url: '{url}/v1', \
                 api_key: '${{MY_KEY}}', context_length: 99000}}\n"
            ),
        );
        home.write(".env", "MY_KEY=sk-mine-1234\n");
        Self { server, home }
    }

    fn command(&self, args: &[&str]) -> Cmd {
        let registry = format!("{}/api.json", self.server.url());
        command(&self.home, args).env("HERMES_MODELS_DEV_URL", &registry)
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).run()
    }

    #[track_caller]
    fn fails(&self, args: &[&str], code: i32) -> String {
        let output = self.run(args);
        assert_eq!(output.exit, Exit::Code(code), "{args:?}\n{output}");
        assert_eq!(output.stdout, "", "{args:?}");
        output.stderr
    }
}

fn priced() -> Value {
    json!([
        {"id": "big-1", "context_length": 1_000_000,
         "pricing": {"prompt": "0.000003", "completion": "0.000015"}},
        {"id": "small-1", "context_length": 131_072},
        {"id": "evil\u{1b}[31m"},
    ])
}

#[test]
fn a_providers_models_are_listed_live_then_from_what_was_kept() {
    let bench = Bench::new(priced());
    let live = bench.run(&["model", "list", "custom"]);
    assert_eq!(
        live.ok(),
        "model      context  in/M   out/M\n\
         big-1      1M       $3.00  $15.00\n\
         small-1    131K\n\
         evil\u{fffd}[31m\n\
         3 models of custom, as it lists them now\n"
    );
    let asked = bench.server.requests();
    assert_eq!(asked[0].headers["authorization"], "Bearer sk-mine-1234");

    let kept = bench.run(&["model", "list", "custom", "--json"]);
    let kept: Value = serde_json::from_str(kept.ok()).unwrap();
    assert_eq!(kept["source"], "cache");
    assert_eq!(
        kept["models"][0]["price"],
        json!({"input": 3.0, "output": 15.0})
    );
    assert_eq!(
        bench.server.requests().len(),
        asked.len(),
        "asked a moment ago"
    );

    // Two days later, and the server is away.
    let path = "cache/models/custom.json";
    let mut old: Value = serde_json::from_str(&bench.home.read(path)).unwrap();
    old["fetched_at"] = (old["fetched_at"].as_i64().unwrap() - 172_800).into();
    bench.home.write(path, old.to_string());
    let Bench { server, home } = bench;
    drop(server);
    let away = command(&home, &["model", "list", "custom"]);
    let away = away
        .env("HERMES_MODELS_DEV_URL", "http://127.0.0.1:9/")
        .run();
    assert!(
        away.ok()
            .ends_with("3 models of custom, as it listed them 2 days ago\n"),
        "{away}"
    );
}

#[test]
fn without_a_key_the_registry_lists_a_providers_models() {
    let bench = Bench::new(priced());
    let listed = bench.run(&["model", "list", "grok"]);
    assert!(
        listed.ok().contains("grok-9  2M       $3.00  $15.00\n"),
        "{listed}"
    );
    assert!(
        listed
            .stdout
            .ends_with("1 model of xai, as models.dev listed them just now\n")
    );

    let none = bench.fails(&["model", "list", "nvidia"], 1);
    assert!(none.contains("NVIDIA_API_KEY"), "{none}");
    let unknown = bench.fails(&["model", "list", "nonsense"], 1);
    assert!(
        unknown.contains("'nonsense'") && unknown.contains("openrouter"),
        "{unknown}"
    );
}

#[test]
fn models_are_found_by_words_at_all_providers() {
    let bench = Bench::new(priced());
    let found = bench.run(&["model", "search", "1", "BIG"]);
    assert!(
        found
            .ok()
            .contains("✓  custom:big-1  1M       $3.00  $15.00\n"),
        "{found}"
    );
    let found = bench.run(&["model", "search", "grok", "--json"]);
    let found: Value = serde_json::from_str(found.ok()).unwrap();
    assert_eq!(
        (&found[0]["provider"], &found[0]["configured"]),
        (&json!("xai"), &json!(false))
    );
    assert!(
        bench
            .fails(&["model", "search", "zzz"], 1)
            .contains("'zzz'")
    );
    bench.fails(&["model", "search"], 2);
}

#[test]
fn lists_are_fetched_again_on_demand() {
    let bench = Bench::new(priced());
    let fetched = bench.run(&["model", "refresh"]);
    let lines: Vec<_> = fetched.ok().lines().collect();
    assert_eq!(
        lines,
        [
            "✓ models.dev           1 model",
            "✓ custom               3 models"
        ]
    );
    assert!(bench.home.read("models_dev_cache.json").contains("grok-9"));

    let Bench { server, home } = bench;
    drop(server);
    let away = command(&home, &["model", "refresh", "--json"]);
    let away = away
        .env("HERMES_MODELS_DEV_URL", "http://127.0.0.1:9/")
        .run();
    assert_eq!(away.exit, Exit::Code(1));
    let rows: Value = serde_json::from_str(&away.stdout).unwrap();
    assert!(
        rows[0]["error"].as_str().unwrap().contains("127.0.0.1:9"),
        "{rows}"
    );
    assert!(
        home.read("models_dev_cache.json").contains("grok-9"),
        "the old one stays"
    );
}

#[test]
fn a_name_is_checked_against_the_list() {
    let bench = Bench::new(json!(["claude-sonnet-4.6", "gpt-5.4"]));
    let set = |name: &str| bench.run(&["model", "set", name]).ok().to_owned();
    assert_eq!(set("gpt-5.4"), "✓ gpt-5.4 (custom)\n");
    assert_eq!(
        set("claude-sonet-4.6"),
        "✓ claude-sonnet-4.6 (custom): 'claude-sonet-4.6' is not listed\n"
    );
    assert!(
        bench
            .home
            .read("config.yaml")
            .contains("default: claude-sonnet-4.6")
    );
    assert_eq!(
        set("gpt-5-max"),
        "✓ gpt-5-max (custom): the provider does not list it; did you mean gpt-5.4?\n"
    );
    assert_eq!(
        set("zzz"),
        "✓ zzz (custom): the provider does not list it\n"
    );
    for bad in ["two words", " ", "tab\there"] {
        let reason = bench.fails(&["model", "set", bad], 2);
        assert!(reason.contains("no spaces"), "{reason}");
    }
    let config = bench.home.read("config.yaml");
    assert!(
        config.starts_with("# mine\n") && config.contains("${MY_KEY}"),
        "{config}"
    );
    assert!(config.contains("default: zzz"), "{config}");
}

#[test]
fn another_provider_takes_nothing_of_the_old_one_along() {
    let bench = Bench::new(json!(["m"]));
    let env = "MY_KEY=sk-mine-1234\nXIAOMI_API_KEY=mi-key-1\nOPENAI_BASE_URL=http://old/v1\n";
    bench.home.write(".env", env);
    let shown = bench.run(&["model", "show"]);
    assert!(
        shown
            .stderr
            .contains("OPENAI_BASE_URL (http://old/v1) is ignored"),
        "{shown}"
    );
    let set = bench.run(&["model", "set", "mimo:MiMo-V2.5"]);
    assert_eq!(
        set.ok(),
        "✓ mimo-v2.5 (xiaomi)\nOPENAI_BASE_URL is removed from .env: it was left over\n"
    );
    let config = bench.home.read("config.yaml");
    assert!(config.contains("provider: xiaomi"), "{config}");
    assert!(
        !config.contains("base_url: 'http") && !config.contains("MY_KEY"),
        "{config}"
    );
    assert!(!bench.home.read(".env").contains("OPENAI_BASE_URL"));

    let plain = TempHome::new();
    plain.write("config.yaml", "model: old\n");
    plain.write(".env", "XIAOMI_API_KEY=mi-key-1\n");
    command(&plain, &["model", "set", "xiaomi:mimo-v2.5"])
        .run()
        .ok();
    let config = plain.read("config.yaml");
    assert!(
        config.contains("default: mimo-v2.5") && config.contains("provider: xiaomi"),
        "{config}"
    );
}

#[test]
fn a_narrow_screen_cuts_names_only() {
    let long = "a-very-long-name-of-a-model-that-does-not-fit";
    let bench = Bench::new(json!([{"id": long, "context_length": 131_072}, "x"]));
    let wait = std::time::Duration::from_secs(10);
    let screen = bench
        .command(&["model", "list", "custom"])
        .env("NO_COLOR", "1")
        .pty(24, 40);
    screen.wait_for("2 models of custom", wait);
    let text = screen.screen();
    assert!(
        text.contains("a-very-long-name-…") && text.contains("131K"),
        "{text}"
    );
    assert!(!text.contains(long), "{text}");
}
