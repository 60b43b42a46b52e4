//! Servers, what they offer, and what the model gets to see.

use futures::FutureExt;
use futures::future::BoxFuture;
use hermes_home::{Env, Home, Resolved};
use hermes_mcp::{CallContext, CallError, Cause, Operation, Reply};
use hermes_testkit::TempHome;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::*;
use crate::config::Surroundings;

struct Down(String);

impl Caller for Down {
    fn name(&self) -> &str {
        &self.0
    }

    fn call(&self, _: Operation, _: CallContext) -> BoxFuture<'_, Result<Reply, CallError>> {
        let cause = Cause::NotConnected {
            reason: String::new(),
        };
        async {
            Err(CallError {
                cause,
                retries: 0,
                generation: 0,
            })
        }
        .boxed()
    }
}

struct Desk {
    _temp: TempHome,
    home: Home,
    env: Env,
    servers: Vec<(Entry, Catalog, Arc<dyn Caller>)>,
}

impl Desk {
    fn new() -> Self {
        let temp = TempHome::new();
        let hermes = temp.hermes().display().to_string();
        let env = Env::from([("HERMES_HOME", hermes.as_str())]);
        let home = Resolved::from(None, &env).unwrap().home(&env);
        Self {
            _temp: temp,
            home,
            env,
            servers: Vec::new(),
        }
    }

    /// A server with tools of these names.
    fn with(mut self, name: &str, config: Value, tools: &[&str]) -> Self {
        let mut config = config;
        config["url"] = "http://127.0.0.1:1/mcp".into();
        let around = Surroundings {
            env: &self.env,
            home: &self.home,
            dir: self.home.dir(),
        };
        let entry = Entry::read(name, &config, around).unwrap();
        self.servers
            .push((entry, catalog(tools), Arc::new(Down(name.to_owned()))));
        self
    }

    fn offering(mut self, change: impl FnOnce(&mut Catalog)) -> Self {
        change(&mut self.servers.last_mut().unwrap().1);
        self
    }

    fn build(&self, before: &Toolset) -> Toolset {
        let listings: Vec<Listing<'_>> = self
            .servers
            .iter()
            .map(|(entry, catalog, caller)| Listing {
                entry,
                catalog,
                caller: Arc::clone(caller),
            })
            .collect();
        let built_in = |name: &str| name == "mcp__s__taken";
        Toolset::build(&listings, &Caches::of(&self.home), &built_in, before)
    }

    fn names(&self) -> Vec<String> {
        self.build(&Toolset::default())
            .tools()
            .map(|tool| tool.spec().name.clone())
            .collect()
    }
}

fn catalog(tools: &[&str]) -> Catalog {
    let tool = |name: &&str| {
        Arc::new(hermes_mcp::Tool {
            name: (*name).to_owned(),
            title: None,
            description: format!("does {name}"),
            input_schema: Value::Null,
            reads_only: false,
            is_idempotent: false,
        })
    };
    Catalog {
        tools: tools.iter().map(tool).collect(),
        has_tools: true,
        ..Catalog::default()
    }
}

// spec: mcp §15.19 (what is registered)
#[test]
fn only_what_a_server_can_do_is_offered() {
    let server = |config| Desk::new().with("s", config, &["a"]);
    assert_eq!(server(json!({})).names(), ["mcp__s__a"]);
    let prompts = server(json!({})).offering(|catalog| {
        catalog.has_tools = false;
        catalog.has_prompts = true;
    });
    assert_eq!(
        prompts.names(),
        ["mcp__s__get_prompt", "mcp__s__list_prompts"]
    );
    let resources = |config| {
        server(config)
            .offering(|catalog| catalog.has_resources = true)
            .names()
    };
    assert_eq!(
        resources(json!({})),
        [
            "mcp__s__a",
            "mcp__s__list_resources",
            "mcp__s__read_resource"
        ]
    );
    assert_eq!(
        resources(json!({"tools": {"resources": "off"}})),
        ["mcp__s__a"]
    );
}

// spec: mcp §15.21
#[test]
fn include_wins_and_names_stay_distinct() {
    let chosen = json!({"tools": {"include": ["a"], "exclude": ["a"]}});
    assert_eq!(
        Desk::new().with("s", chosen, &["a", "b"]).names(),
        ["mcp__s__a"]
    );
    let without = json!({"tools": {"exclude": "a"}});
    assert_eq!(
        Desk::new().with("s", without, &["a", "b"]).names(),
        ["mcp__s__b"]
    );

    let desk = Desk::new().with("s", json!({}), &["x_y", "x-y"]);
    let toolset = desk.build(&Toolset::default());
    let raw = |name: &str| toolset.find("s", name).unwrap().spec().name.clone();
    assert_eq!(raw("x-y"), "mcp__s__x_y");
    assert!(raw("x_y").starts_with("mcp__s__x_y_") && raw("x_y").len() == "mcp__s__x_y_".len() + 8);
    assert_eq!(toolset.tools().count(), 2);
    assert_eq!(toolset.warnings.len(), 1);
    let swapped = Desk::new().with("s", json!({}), &["x-y", "x_y"]);
    assert_eq!(
        swapped.names(),
        desk.names(),
        "the server's order means nothing"
    );
}

#[test]
fn built_in_tools_and_other_servers_keep_their_names() {
    let desk = Desk::new().with("s", json!({}), &["taken", "free"]);
    let toolset = desk.build(&Toolset::default());
    assert_eq!(desk.names(), ["mcp__s__free"]);
    assert!(
        toolset.warnings[0].contains("'taken' has the name of a built-in tool"),
        "{:?}",
        toolset.warnings
    );
    let twins = Desk::new()
        .with("a_b", json!({}), &["t"])
        .with("a-b", json!({}), &["t"]);
    let toolset = twins.build(&Toolset::default());
    assert_eq!(toolset.server_of("mcp__a_b__t"), Some("a-b"));
    assert_eq!(
        toolset.find("a_b", "t").map(|tool| tool.spec().name.len()),
        Some("mcp__a_b__t_12345678".len())
    );
    let own = Desk::new()
        .with("s", json!({}), &["list_prompts"])
        .offering(|catalog| catalog.has_prompts = true);
    assert_eq!(
        own.names().len(),
        3,
        "a server's own tool and the one of everybody"
    );
}

#[test]
fn tools_are_found_by_every_spelling() {
    let toolset = Desk::new()
        .with("my-s", json!({}), &["get.it"])
        .build(&Toolset::default());
    let name = "mcp__my_s__get_it";
    for spelling in [
        name,
        "mcp_my_s_get_it",
        "mcp__my-s__get.it",
        "mcp_my_s_get.it",
    ] {
        assert_eq!(toolset.resolve(spelling), Some(name), "{spelling}");
        assert_eq!(toolset.server_of(spelling), Some("my-s"));
        assert!(toolset.find("my-s", spelling).is_some());
    }
    assert_eq!(toolset.resolve("get.it"), None);
    assert!(toolset.find("my-s", "get.it").is_some() && toolset.find("other", name).is_none());
    assert!(
        toolset
            .aliases()
            .all(|(alias, to)| alias != name && to == name)
    );
    assert_eq!(
        toolset.toolsets(),
        BTreeMap::from([("mcp-my-s".to_owned(), vec![name])])
    );
}

// Tools stay listed while the server is down: what is listed depends on the last catalog alone.
#[test]
fn a_new_listing_changes_only_what_changed() {
    let mut desk = Desk::new().with("s", json!({}), &["a", "b", "c"]);
    let before = desk.build(&Toolset::default());
    desk.servers[0].1 = catalog(&["d", "b", "a"]);
    let b = Arc::make_mut(&mut desk.servers[0].1.tools[1]);
    b.description = "does it better".to_owned();
    let after = desk.build(&before);
    let is_same = |name: &str| Arc::ptr_eq(&before.tools[name], &after.tools[name]);
    assert!(is_same("mcp__s__a") && !is_same("mcp__s__b"));
    let expected = Changes {
        added: vec!["mcp__s__d".to_owned()],
        removed: vec!["mcp__s__c".to_owned()],
    };
    assert_eq!(after.changes(&before), expected);
    assert_eq!(after.changes(&after), Changes::default());
}

#[test]
fn calls_run_side_by_side_only_where_the_owner_says_so() {
    let parallel = |config| {
        let toolset = Desk::new()
            .with("s", config, &["a"])
            .build(&Toolset::default());
        toolset.find("s", "a").map(|tool| tool.spec().parallel)
    };
    assert_eq!(parallel(json!({})), Some(Parallel::Never));
    assert_eq!(
        parallel(json!({"supports_parallel_tool_calls": "yes"})),
        Some(Parallel::Always)
    );
}
