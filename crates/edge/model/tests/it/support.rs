//! A client for a scripted server, and what came of a call.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use hermes_home::config::{Document, Settings};
use hermes_home::{Env, Home, Resolved};
use hermes_model::context::{ContextLength, Source};
use hermes_model::{
    Auth, CacheLayout, Concessions, Http, Key, Mode, Overrides, Quirks, Route, RouteClient,
    RoutedModels, SchemaFlavour, ThinkingBlocks, Timing,
};
use hermes_net::backoff::Backoff;
use hermes_scripted::{Script, ScriptedModel};
use hermes_testkit::FaultProxy;
use hermes_types::{
    Message, ModelClient, ModelError, ModelErrorKind, ModelEvent, ModelReply, ModelRequest,
    Retrying, Scope, ToolDef,
};
use serde_json::{Value, json};
use tempfile::TempDir;

pub const KEY: &str = "sk-test-1234567";

/// A server with a script, and a client that talks to it.
pub struct Talk {
    pub server: ScriptedModel,
    pub client: RouteClient,
}

/// Everything a call gave.
#[derive(Debug)]
pub struct Outcome {
    pub events: Vec<ModelEvent>,
    pub result: Result<ModelReply, ModelError>,
}

impl Talk {
    pub fn chat(script: Value) -> Self {
        Self::new(script, |server| route(&server.url()), quick())
    }

    pub fn anthropic(script: Value) -> Self {
        Self::new(script, |server| anthropic_route(&server.url()), quick())
    }

    /// A server that speaks another dialect, and a model there.
    pub fn in_mode(mode: Mode, model: &str, script: Value) -> Self {
        let there = |server: &ScriptedModel| Route {
            mode,
            model: model.to_owned(),
            ..route(&server.url())
        };
        Self::new(script, there, quick())
    }

    pub fn new(script: Value, route: impl FnOnce(&ScriptedModel) -> Route, timing: Timing) -> Self {
        let server = ScriptedModel::start(Script::from_value(script).unwrap()).unwrap();
        let client = client(route(&server), timing);
        Self { server, client }
    }

    pub async fn ask(&self, request: ModelRequest) -> Outcome {
        collect(&self.client, request, Scope::new("test".into())).await
    }

    /// Asks something simple.
    pub async fn hi(&self) -> Outcome {
        self.ask(hi()).await
    }

    pub fn bodies(&self) -> Vec<Value> {
        self.server
            .calls()
            .into_iter()
            .map(|call| call.body)
            .collect()
    }
}

impl Outcome {
    #[track_caller]
    pub fn reply(&self) -> &ModelReply {
        self.result.as_ref().expect("a reply")
    }

    #[track_caller]
    pub fn error(&self) -> &ModelError {
        self.result.as_ref().expect_err("an error")
    }

    #[track_caller]
    pub fn content(&self) -> String {
        self.reply().message.content.as_ref().unwrap().plain()
    }

    /// The text somebody watching has seen.
    pub fn shown(&self) -> String {
        let text = |event: &ModelEvent| match event {
            ModelEvent::Text(text) => Some(text.clone()),
            _ => None,
        };
        self.events.iter().filter_map(text).collect()
    }

    pub fn retries<'a>(&'a self) -> Vec<&'a Retrying> {
        let retry = |event: &'a ModelEvent| match event {
            ModelEvent::Retrying(retrying) => Some(retrying),
            _ => None,
        };
        self.events.iter().filter_map(retry).collect()
    }

    /// The calls of the reply: name and arguments.
    #[track_caller]
    pub fn calls(&self) -> Vec<(&str, &str)> {
        let calls = self.reply().message.tool_calls.iter();
        calls
            .map(|call| (&*call.function.name, &*call.function.arguments))
            .collect()
    }

    #[track_caller]
    pub fn check_error(&self, kind: ModelErrorKind, parts: &[&str]) {
        let error = self.error();
        assert_eq!(error.kind, kind, "{error}");
        for part in parts {
            assert!(error.message.contains(part), "{part:?} in {error}");
        }
        assert!(!error.message.contains(KEY), "{error}");
    }
}

pub async fn collect(client: &dyn ModelClient, request: ModelRequest, scope: Scope) -> Outcome {
    let mut stream = client.stream(request, scope);
    let mut events = Vec::new();
    let result = loop {
        match stream
            .next()
            .await
            .expect("an end that is Done or an error")
        {
            Ok(ModelEvent::Done(reply)) => break Ok(reply),
            Ok(event) => events.push(event),
            Err(error) => break Err(error),
        }
    };
    assert!(stream.next().await.is_none(), "nothing comes after the end");
    Outcome { events, result }
}

pub fn client(route: Route, timing: Timing) -> RouteClient {
    let http = Http::new("HermesAgent/test", timing.connect);
    RouteClient::new(route, timing, Arc::new(http))
}

pub fn route(url: &str) -> Route {
    Route {
        provider: "custom".to_owned(),
        model: "mock-1".to_owned(),
        base_url: format!("{url}/v1").parse().unwrap(),
        key: Key::new(KEY),
        key_name: "model.api_key".to_owned(),
        mode: Mode::ChatCompletions,
        max_output: None,
        context: ContextLength {
            tokens: 131_072,
            source: Source::Server,
        },
        quirks: Quirks::default(),
        concessions: Concessions::default(),
    }
}

pub fn anthropic_route(url: &str) -> Route {
    Route {
        provider: "anthropic".to_owned(),
        model: "claude-sonnet-4-5".to_owned(),
        base_url: format!("{url}/anthropic").parse().unwrap(),
        mode: Mode::AnthropicMessages,
        quirks: Quirks {
            auth: Auth::ApiKeyHeader,
            cache: CacheLayout::Native,
            betas: vec!["some-beta".to_owned()],
            thinking_blocks: ThinkingBlocks::Signed,
            schema: SchemaFlavour::Anthropic,
            ..Quirks::default()
        },
        ..route(url)
    }
}

/// As always, only faster.
pub fn quick() -> Timing {
    let backoff = Backoff {
        first: Duration::from_millis(2),
        longest: Duration::from_millis(10),
    };
    Timing {
        backoff,
        malformed_backoff: backoff,
        ..Timing::default()
    }
}

/// Started on a thread of its own, because it starts a runtime.
pub fn proxy(talk: &Talk) -> FaultProxy {
    let addr = talk.server.addr();
    std::thread::spawn(move || FaultProxy::start(addr))
        .join()
        .unwrap()
}

pub fn hi() -> ModelRequest {
    ModelRequest {
        system: "You are Hermes.".to_owned(),
        messages: vec![Message::user("hi")],
        ..ModelRequest::default()
    }
}

pub fn with_tools(request: ModelRequest) -> ModelRequest {
    let parameters = json!({"type": "object", "properties": {
        "command": {"type": "string", "pattern": "^e", "format": "x"}}, "required": ["command"]});
    let tool = ToolDef {
        name: "terminal".to_owned(),
        description: "Runs a command.".to_owned(),
        parameters,
    };
    ModelRequest {
        tools: vec![tool],
        ..request
    }
}

/// An owner: a home directory, settings, variables.
pub struct Owner {
    pub dir: TempDir,
    settings: String,
    env: Env,
}

impl Owner {
    pub fn new(settings: &str, variables: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let mut env: Env = variables.iter().map(pair).collect();
        env.set("HERMES_HOME", dir.path().to_str().unwrap());
        let settings = settings.to_owned();
        Self { dir, settings, env }
    }

    pub fn home(&self) -> Home {
        Resolved::from(None, &self.env).unwrap().home(&self.env)
    }

    pub fn settings(&self) -> Settings {
        let document = Document::parse(Path::new("config.yaml"), self.settings.clone());
        let settings = Settings::from_document(&document, &self.env);
        assert_eq!(settings.warnings(), [""; 0]);
        settings
    }

    pub fn env(&self) -> &Env {
        &self.env
    }

    pub fn models(&self, overrides: &Overrides) -> Result<RoutedModels, ModelError> {
        RoutedModels::new(&self.home(), self.settings(), self.env.clone(), overrides)
    }
}
