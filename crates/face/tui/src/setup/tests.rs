//! The questions, answered by known keys, and what is in the home afterwards.

use std::cell::RefCell;
use std::fs;
use std::path::Path;

use hermes_home::{Env, Home, Resolved};
use pretty_assertions::assert_eq;
use tempfile::TempDir;

use super::*;

/// Providers without a network.
#[derive(Default)]
struct Stall {
    models: Vec<&'static str>,
    takes_effort: bool,
    is_ready: bool,
    own: Vec<(&'static str, &'static str)>,
    probed: RefCell<Vec<Endpoint>>,
}

impl Market for Stall {
    fn providers(&self) -> Vec<Provider> {
        let provider = |id: &str, name: &str, address: &str, key: &str, login| Provider {
            id: id.to_owned(),
            name: name.to_owned(),
            address: address.to_owned(),
            key: key.to_owned(),
            login,
            is_ready: id.starts_with("custom:"),
        };
        let mut all = vec![
            provider(
                "openrouter",
                "OpenRouter",
                "https://openrouter.ai/api/v1",
                "OPENROUTER_API_KEY",
                Login::Account,
            ),
            provider(
                "anthropic",
                "Anthropic",
                "https://api.anthropic.com",
                "ANTHROPIC_API_KEY",
                Login::Forbidden("no".to_owned()),
            ),
            provider("azure", "Azure", "", "AZURE_KEY", Login::None),
            provider(
                "custom",
                "Your own endpoint",
                "",
                "OPENAI_API_KEY",
                Login::None,
            ),
        ];
        all.extend(
            self.own
                .iter()
                .map(|(id, name)| provider(id, name, "http://h:1/v1", "", Login::None)),
        );
        all
    }

    fn models(&self, _: &str) -> Offered {
        let models = self.models.iter();
        Offered {
            models: models
                .map(|name| Model {
                    name: (*name).to_owned(),
                    ..Model::default()
                })
                .collect(),
            origin: "from a test".to_owned(),
        }
    }

    fn probe(&self, endpoint: &Endpoint) -> Offered {
        self.probed.borrow_mut().push(endpoint.clone());
        self.models("")
    }

    fn log_in(&self, _: &str) -> std::result::Result<(), String> {
        Err("not today".to_owned())
    }

    fn main(&self) -> Option<Main> {
        let takes_effort = self.takes_effort;
        self.is_ready.then_some(Main { takes_effort })
    }
}

struct Place {
    dir: TempDir,
    env: Env,
}

impl Place {
    fn new(config: &str, env_file: &str) -> Self {
        let dir = TempDir::new().unwrap();
        let mut env = Env::default();
        env.set("HOME", dir.path().display().to_string());
        env.set("HERMES_HOME", dir.path().display().to_string());
        let place = Self { dir, env };
        place.home().ensure().unwrap();
        for (name, text) in [("config.yaml", config), (".env", env_file)] {
            if !text.is_empty() {
                fs::write(place.path(name), text).unwrap();
            }
        }
        place
    }

    fn home(&self) -> Home {
        Resolved::from(None, &self.env).unwrap().home(&self.env)
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.dir.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Runs `work` with these keys, all of which must be wanted.
    #[track_caller]
    fn with<T>(&self, keys: &str, work: impl FnOnce(&Desk, &mut Pen<'_>) -> T) -> T {
        let (home, desk) = (self.home(), Desk::with_keys(keys));
        let result = work(&desk, &mut Pen::new(&home, &self.env).with_copy());
        assert!(desk.is_done(), "keys are left over");
        result
    }

    #[track_caller]
    fn choose(&self, keys: &str, stall: &Stall) -> Result<Chosen> {
        self.with(keys, |desk, pen| choose_model(desk, pen, stall))
    }

    #[track_caller]
    fn choose_tools(&self, keys: &str, stall: &Stall, here: &Inventory) -> Vec<String> {
        self.with(keys, |desk, pen| {
            choose_tools(desk, pen, stall, here).unwrap()
        })
    }

    fn copies(&self) -> Vec<String> {
        let names = fs::read_dir(self.dir.path()).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
        names
            .filter(|name| name.starts_with("config.yaml.bak."))
            .collect()
    }
}

fn chosen(provider: &str, model: &str) -> Chosen {
    Chosen::Model {
        provider: provider.to_owned(),
        model: model.to_owned(),
    }
}

const CONFIG: &str = "\
# mine
model:
  default: old   # the good one
  provider: anthropic
  base_url: ${WHERE}
agent: {max_turns: 33}
display:
  tool_progress: off
terminal: {backend: docker, cwd: /srv, sandbox: 'on'}
compression: {threshold: 0.3}
";

#[test]
fn a_provider_with_a_new_key() {
    let place = Place::new(
        "# mine\ntimezone: UTC\n",
        "OPENAI_BASE_URL=http://left.over\nA=b\n",
    );
    let stall = Stall {
        models: vec!["m/one", "m/two"],
        ..Stall::default()
    };
    // The provider, a key instead of a login, the key, the model.
    let result = place.choose("openr\n\t\nsk-or-1234\n\t\n", &stall);
    assert_eq!(result.unwrap(), chosen("openrouter", "m/two"));
    assert_eq!(
        place.read("config.yaml"),
        "# mine\ntimezone: UTC\nmodel:\n  provider: openrouter\n  default: m/two\n"
    );
    assert_eq!(place.read(".env"), "A=b\nOPENROUTER_API_KEY=sk-or-1234\n");
}

#[test]
fn leaving_or_going_back_changes_nothing() {
    let place = Place::new(CONFIG, "ANTHROPIC_API_KEY=sk-ant-123456789\n");
    let stall = Stall {
        models: vec!["old", "new"],
        ..Stall::default()
    };
    let before = (place.read("config.yaml"), place.read(".env"));
    for keys in [
        "\u{1b}",
        "leave\n",
        // The key, the models, a failed login, and back each time.
        "anth\n\u{1b}\u{1b}",
        "anth\n\n\u{1b}\u{1b}",
        "openr\n\n\u{1b}",
        "custom end\n\u{1b}\u{1b}",
        "custom end\nhttp://x\n\n\n\u{1b}\u{1b}",
        "auxil\n\u{1b}\u{1b}",
    ] {
        assert_eq!(
            place.choose(keys, &stall).unwrap(),
            Chosen::Unchanged,
            "{keys:?}"
        );
        assert_eq!(
            (place.read("config.yaml"), place.read(".env")),
            before,
            "{keys:?}"
        );
    }
    // Enter all the way keeps provider, key and model.
    assert_eq!(
        place.choose("\n\n\n", &stall).unwrap(),
        chosen("anthropic", "old")
    );
    assert_eq!((place.read("config.yaml"), place.read(".env")), before);
    assert!(place.copies().is_empty());
    assert!(matches!(
        place.choose("anth\n\u{3}", &stall),
        Err(Error::Interrupted)
    ));
}

#[test]
fn a_key_is_replaced_or_cleared() {
    let place = Place::new(CONFIG, "ANTHROPIC_API_KEY=sk-ant-123456789\n");
    let stall = Stall {
        models: vec!["old"],
        takes_effort: true,
        is_ready: true,
        ..Stall::default()
    };
    // Replace, first with something that is no key; then the model and how hard it thinks.
    let keys = "\nra b\n\u{15}sk-ant-new\n\n\t\t\t\n";
    assert_eq!(
        place.choose(keys, &stall).unwrap(),
        chosen("anthropic", "old")
    );
    assert_eq!(place.read(".env"), "ANTHROPIC_API_KEY=sk-ant-new\n");
    assert!(place.read("config.yaml").contains("reasoning_effort: low"));
    assert!(
        place.read("config.yaml").contains("base_url: ${WHERE}"),
        "still its own"
    );
    assert_eq!(
        place.choose("\nc\u{1b}", &stall).unwrap(),
        Chosen::Unchanged
    );
    assert_eq!(place.read(".env"), "");
}

#[test]
fn a_server_of_ones_own_and_its_end() {
    let place = Place::new(
        "model: {provider: anthropic, context_length: 9999, base_url: 'http://old'}\n",
        "",
    );
    let stall = Stall {
        models: vec!["llama"],
        ..Stall::default()
    };
    // No address, then one; a key; the API; the only model; a window; the name.
    let keys =
        "custom end\nnowhere\n\u{15}http://box.lan:8080/v1/\nsk-own-1\n\t\n\n65536\nMy Box\n";
    assert_eq!(
        place.choose(keys, &stall).unwrap(),
        chosen("custom:my-box", "llama")
    );
    let probed = stall.probed.borrow();
    assert_eq!(
        (probed[0].key.as_str(), probed[0].mode.as_str()),
        ("sk-own-1", "chat_completions")
    );
    let config = place.read("config.yaml");
    assert_eq!(
        config,
        "model: {provider: \"custom:my-box\", default: llama}\nproviders:\n  my-box:\n    name: My Box\n    \
         api: http://box.lan:8080/v1\n    key_env: CUSTOM_MY_BOX_API_KEY\n    transport: chat_completions\n    \
         default_model: llama\n    models:\n      llama:\n        context_length: 65536\n"
    );
    assert_eq!(place.read(".env"), "CUSTOM_MY_BOX_API_KEY=sk-own-1\n");
    assert_eq!(place.copies().len(), 1);

    let stall = Stall {
        own: vec![("custom:my-box", "My Box")],
        ..Stall::default()
    };
    place.choose("remove\n\ny\u{1b}", &stall).unwrap();
    assert!(!place.read("config.yaml").contains("box.lan"));
}

#[test]
fn small_work_for_other_models() {
    let place = Place::new("auxiliary: {approval: {timeout: 7}}\n", "");
    let stall = Stall {
        models: vec!["small", "large"],
        own: vec![("custom:box", "Box")],
        ..Stall::default()
    };
    let keys = "auxil\n\nbox\n\t\n\t\tmain\n\u{1b}\u{1b}";
    // The first task: a provider and its second model. The third: the main model.
    let result = place.choose(&keys.replace("\t\tmain", "\t\t\nmain"), &stall);
    assert_eq!(result.unwrap(), Chosen::Unchanged);
    assert_eq!(
        place.read("config.yaml"),
        "auxiliary: {approval: {timeout: 7}, compression: {provider: \"custom:box\", model: large}, \
         session_search: {provider: main}}\n"
    );
    place
        .choose("auxil\n\u{b}\u{b}\n\u{1b}\u{1b}", &stall)
        .unwrap();
    assert_eq!(
        place.read("config.yaml"),
        "auxiliary: {approval: {timeout: 7}}\n"
    );
}

fn tools() -> Inventory {
    let tools = ["terminal", "process", "todo", "memory", "clarify"];
    let sizes = tools.iter().map(|tool| ((*tool).to_owned(), 400));
    Inventory {
        sizes: sizes.collect(),
        ..Inventory::default()
    }
}

/// The same, and one that wants a key.
fn with_moa() -> Inventory {
    let why = "OPENROUTER_API_KEY is not set\nmore".to_owned();
    Inventory {
        unusable: [("mixture_of_agents".to_owned(), why)].into(),
        ..tools()
    }
}

fn wizard(place: &Place, keys: &str, plan: Plan, stall: &Stall) -> Result<Finish> {
    wizard_with(place, keys, plan, (stall, &tools()))
}

fn wizard_with(
    place: &Place,
    keys: &str,
    plan: Plan,
    (market, tools): (&Stall, &Inventory),
) -> Result<Finish> {
    place.with(keys, |desk, pen| {
        let mut wizard = Wizard {
            desk,
            pen,
            market,
            tools,
        };
        wizard.run(plan)
    })
}

#[test]
fn enter_all_the_way_changes_not_a_byte() {
    let place = Place::new(
        CONFIG,
        "ANTHROPIC_API_KEY=sk-ant-123456789\nSUDO_PASSWORD=x\n",
    );
    let before = (place.read("config.yaml"), place.read(".env"));
    let stall = Stall {
        models: vec!["old"],
        takes_effort: true,
        is_ready: true,
        ..Stall::default()
    };
    // Provider, key, model, effort; backend, sandbox, directory, sudo; turns, progress, share; tools; talk.
    let enters = "\n".repeat(4 + 4 + 3 + 1 + 1);
    assert_eq!(
        wizard(&place, &enters, Plan::Usual, &stall).unwrap(),
        Finish::Chat
    );
    assert_eq!((place.read("config.yaml"), place.read(".env")), before);
    assert!(place.copies().is_empty());
}

#[test]
fn what_was_answered_before_an_interruption_stays() {
    let place = Place::new(CONFIG, "");
    let stall = Stall {
        is_ready: true,
        ..Stall::default()
    };
    // No model; local, strict, and away.
    let result = wizard(&place, "\u{1b}\t\n\t\t\t\n\u{3}", Plan::Full, &stall);
    assert!(matches!(result, Err(Error::Interrupted)));
    let config = place.read("config.yaml");
    assert!(
        config.contains("backend: local") && config.contains("sandbox: strict"),
        "{config}"
    );
    let copies = place.copies();
    assert_eq!(copies.len(), 1);
    assert_eq!(place.read(&copies[0]), CONFIG);
}

#[test]
fn one_section_and_what_is_missing() {
    let place = Place::new(
        "_config_version: 22\nagent: {max_turns: 5}\n",
        "HERMES_MAX_ITERATIONS=7\n",
    );
    let stall = Stall {
        is_ready: true,
        ..Stall::default()
    };
    let only = Plan::Only(Section::Agent);
    // More turns, less to see, a share that is too small and one that is not.
    let keys = "0\n\u{15}120\nk\n0.2\n\u{15}0.7\n";
    assert_eq!(wizard(&place, keys, only, &stall).unwrap(), Finish::Done);
    let config = place.read("config.yaml");
    for part in ["max_turns: 120", "tool_progress: new", "threshold: 0.7"] {
        assert!(config.contains(part), "{config}");
    }
    assert_eq!(place.read(".env"), "");
    // Nothing is asked but whether to talk.
    assert_eq!(
        wizard(&place, "n", Plan::Quick, &stall).unwrap(),
        Finish::Done
    );
    assert!(place.read("config.yaml").contains("_config_version: 23"));
    // A new home is asked how much; leaving that leaves everything.
    let place = Place::new("", "");
    let stall = Stall::default();
    assert_eq!(
        wizard(&place, "\u{1b}", Plan::Usual, &stall).unwrap(),
        Finish::Done
    );
    assert!(!Path::new(&place.path("config.yaml")).exists());
}

#[test]
fn tools_of_platforms() {
    let config = "# mine\nplatform_toolsets:\n  telegram: [todo, my-plugin]\n";
    let place = Place::new(config, "");
    let choose = |keys: &str| place.choose_tools(keys, &Stall::default(), &tools());
    assert_eq!(choose("\n\n\u{1b}"), [""; 0]);
    assert_eq!(place.read("config.yaml"), config);
    // The second platform: terminal on, todo off.
    let changes = choose("\t\n j \n\u{b}\n");
    assert_eq!(changes, ["telegram: terminal"]);
    assert_eq!(
        place.read("config.yaml"),
        "# mine\nplatform_toolsets:\n  telegram:\n    - terminal\n    - my-plugin\n"
    );
    // Both get the same: the terminal's own without memory. What this program does not have stays on.
    choose("\t\t\njj \n\u{1b}");
    let settings = place.with("", |_, pen| pen.settings());
    let names = |platform: &str| hermes_session::toolsets::enabled(&settings, platform);
    assert!(names("cli").contains(&"web") && !names("cli").contains(&"memory"));
    assert_eq!(names("telegram"), ["terminal", "todo", "clarify"]);
}

#[test]
fn the_key_of_a_tool_is_given_replaced_and_cleared() {
    let place = Place::new("# mine\ntimezone: UTC\n", "A=b\n");
    // In the menu the second row, there the second tool; what is typed; and back twice.
    let choose = |typed: &str| {
        let keys = format!("\t\n\t\n{typed}\u{1b}\u{1b}");
        place.choose_tools(&keys, &Stall::default(), &with_moa())
    };
    let kept = ["OPENROUTER_API_KEY is kept in .env"];
    // Nothing typed, and what cannot be a key.
    assert_eq!(choose("\n\u{1b}"), [""; 0]);
    assert_eq!(choose("a b\n\u{15}sk-or-1234\n"), kept);
    assert_eq!(place.read(".env"), "A=b\nOPENROUTER_API_KEY=sk-or-1234\n");
    for nothing in ["\n", "\u{1b}", "r\u{1b}"] {
        assert_eq!(choose(nothing), [""; 0], "{nothing:?}");
    }
    assert_eq!(choose("rsk-or-5678\n"), kept);
    assert_eq!(place.read(".env"), "A=b\nOPENROUTER_API_KEY=sk-or-5678\n");
    assert_eq!(choose("c"), ["OPENROUTER_API_KEY is removed from .env"]);
    assert_eq!(place.read(".env"), "A=b\n");
    assert_eq!(place.read("config.yaml"), "# mine\ntimezone: UTC\n");
    assert!(place.copies().is_empty());
}

#[test]
fn a_tool_that_wants_a_key_asks_when_it_is_switched_on() {
    let place = Place::new("", "");
    let changes = place.choose_tools("\nj \nsk-or-1234\n\u{1b}", &Stall::default(), &with_moa());
    assert_eq!(
        changes,
        [
            "cli: terminal, moa, todo, memory, clarify",
            "OPENROUTER_API_KEY is kept in .env"
        ]
    );
    assert!(!place.read("config.yaml").contains("sk-or"));
    // It has one now: nothing is asked any more.
    let changes = place.choose_tools("\nj \n\nj \n\u{1b}", &Stall::default(), &with_moa());
    assert_eq!(changes.len(), 2);

    // `--quick` asks for what is on and has none.
    fs::remove_file(place.path(".env")).unwrap();
    let stall = Stall {
        is_ready: true,
        ..Stall::default()
    };
    let here = with_moa();
    wizard_with(&place, " \nsk-or-99\nn", Plan::Quick, (&stall, &here)).unwrap();
    assert_eq!(place.read(".env"), "OPENROUTER_API_KEY=sk-or-99\n");
}

#[test]
fn the_model_behind_a_tool() {
    let place = Place::new("", "");
    let stall = Stall {
        models: vec!["small", "large"],
        own: vec![("custom:box", "Box")],
        ..Stall::default()
    };
    let names = ["session_search", "delegate_task", "todo"];
    let here = Inventory {
        sizes: names.map(|name| (name.to_owned(), 9)).into(),
        ..Inventory::default()
    };
    // The first: a provider and its second model. The second: a server of one's own with a key.
    let keys = "\t\n\nbox\n\t\n\t\ncustom\nhttp://h:1/v1\nsk-child-1\nm\n\u{1b}\u{1b}";
    let changes = place.choose_tools(keys, &stall, &here);
    assert_eq!(
        changes,
        ["session_search: custom:box: large", "delegation: h:1: m"]
    );
    assert_eq!(
        place.read("config.yaml"),
        "_config_version: 23\nauxiliary:\n  session_search:\n    provider: custom:box\n    model: large\ndelegation:\n  \
         provider: custom\n  model: m\n  base_url: http://h:1/v1\n  api_key: ${DELEGATION_API_KEY}\n"
    );
    assert_eq!(place.read(".env"), "DELEGATION_API_KEY=sk-child-1\n");
    // Back to the main model: nothing is left of it, the key neither.
    let changes = place.choose_tools("\t\n\t\nmain\n\u{1b}\u{1b}", &stall, &here);
    assert_eq!(changes, ["delegation: the main model"]);
    assert!(!place.read("config.yaml").contains("delegation"));
    assert_eq!(place.read(".env"), "");
}

#[test]
fn a_server_given_again_keeps_what_was_not_asked_about() {
    let config = "\
# mine
model: {provider: anthropic, context_length: 9999}
providers:
  box:   # in the cellar
    name: box
    api: http://h:1/v1
    key_env: MY_KEY
    headers: {X-Team: a}
    models:
      v1.5: {context_length: 4096}
";
    let place = Place::new(config, "MY_KEY=sk-mine-1\n");
    let stall = Stall {
        models: vec!["llama"],
        ..Stall::default()
    };
    let result = place.choose("custom end\nhttp://h:1/v1\n\n\n\n8192\nbox\n", &stall);
    assert_eq!(result.unwrap(), chosen("custom:box", "llama"));
    let config = place.read("config.yaml");
    for kept in [
        "# mine",
        "# in the cellar",
        "key_env: MY_KEY",
        "X-Team: a",
        "4096",
        "8192",
    ] {
        assert!(config.contains(kept), "{kept} in\n{config}");
    }
    assert!(!config.contains("9999"), "{config}");
}

#[test]
fn another_provider_takes_nothing_of_the_old_one_along() {
    let config =
        "model: {provider: custom, default: m, base_url: 'http://h:1', context_length: 4096}\n";
    let place = Place::new(config, "ANTHROPIC_API_KEY=sk-ant-123456789\n");
    let stall = Stall {
        models: vec!["claude"],
        ..Stall::default()
    };
    place.choose("anth\n\n\n", &stall).unwrap();
    assert_eq!(
        place.read("config.yaml"),
        "model: {provider: anthropic, default: claude}\n"
    );
}

#[test]
fn a_provider_with_dots_in_its_name_goes_too() {
    let place = Place::new(
        "providers:\n  my.box: {api: 'http://h:1', name: Mine}\n",
        "",
    );
    let stall = Stall {
        own: vec![("custom:my.box", "my.box")],
        ..Stall::default()
    };
    place.choose("remove\nmine\ny\u{1b}", &stall).unwrap();
    assert!(!place.read("config.yaml").contains("my.box"));
}

#[test]
fn a_bare_model_name_becomes_a_section() {
    let place = Place::new(
        "# mine\nmodel: old  # name\n",
        "ANTHROPIC_API_KEY=sk-ant-123456789\n",
    );
    let stall = Stall {
        models: vec!["claude"],
        ..Stall::default()
    };
    let result = place.choose("anth\n\n\n", &stall);
    assert_eq!(result.unwrap(), chosen("anthropic", "claude"));
    let settings = place.with("", |_, pen| pen.settings());
    assert_eq!(settings.text("model.provider"), "anthropic");
    assert!(place.read("config.yaml").starts_with("# mine\n"));
}

#[test]
fn commands_begin_where_there_is_something() {
    let place = Place::new("", "");
    fs::create_dir(place.path("work")).unwrap();
    let only = Plan::Only(Section::Terminal);
    let stall = Stall::default();
    // Confined or not; no such directory, no full path, one that is there; no password.
    let keys = "\n/no/such\n\u{15}work\n\u{15}~/work\n\n";
    wizard(&place, keys, only, &stall).unwrap();
    assert!(place.read("config.yaml").contains("cwd: ~/work"));
    // Another machine's directories are not looked for here.
    let place = Place::new("terminal: {backend: docker}\n", "");
    wizard(&place, "\n\n/srv/there\n\n", only, &stall).unwrap();
    assert!(place.read("config.yaml").contains("/srv/there"));
}
