//! A throw-away directory, and the file tools of any number of agents in it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures::FutureExt;
use futures::future::BoxFuture;
use hermes_exec::files::{
    Cwd, FileServices, FileState, Limits, LocalWorkspace, PathGuard, Territory, Watch, file_tools,
};
use hermes_home::redact::Redactor;
use hermes_testkit::TempHome;
use hermes_types::{
    Answer, Args, Asker, CallCx, ModelClient, ModelError, ModelErrorKind, Models, Outcome,
    Progress, Purpose, Question, Scope, Tool, ToolCaller, ToolOutput, Workspace,
};
use serde_json::Value;

pub struct Desk {
    home: TempHome,
    pub services: Arc<FileServices>,
    tools: Vec<Arc<dyn Tool>>,
    pub cwd: Cwd,
}

impl Desk {
    pub fn new() -> Self {
        Self::with(Limits::default(), &[])
    }

    pub fn with(limits: Limits, safe_roots: &[&str]) -> Self {
        let home = TempHome::new();
        let services = Arc::new(FileServices {
            limits,
            redactor: Redactor::default(),
            state: Arc::new(FileState::new(Watch::On)),
            guard: PathGuard::new(Territory {
                user_home: home.home(),
                hermes_home: home.hermes(),
                hermes_root: home.hermes(),
                safe_roots: safe_roots.iter().map(|dir| home.work().join(dir)).collect(),
            }),
            user_home: home.home(),
            checker_env: vec![(
                "PATH".to_owned(),
                home.home().join("bin").display().to_string(),
            )],
        });
        Self {
            tools: file_tools(&services),
            cwd: Cwd::new(home.work()),
            services,
            home,
        }
    }

    /// A program only this desk's tools can find.
    pub fn install(&self, name: &str, script: &str) {
        let program = self
            .home
            .write(self.user_home().join("bin").join(name), script);
        fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.home.work().join(name)
    }

    pub fn user_home(&self) -> PathBuf {
        self.home.home()
    }

    #[track_caller]
    pub fn put(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        self.home.write(self.path(name), content)
    }

    #[track_caller]
    pub fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    #[track_caller]
    pub fn text(&self, name: &str) -> String {
        String::from_utf8(self.bytes(name)).unwrap()
    }

    /// As if somebody had saved the file again, a minute later.
    pub fn touch(&self, name: &str, minutes: u64) {
        let file = fs::File::options().write(true).open(self.path(name));
        let time = SystemTime::now() + Duration::from_secs(60 * minutes);
        file.unwrap().set_modified(time).unwrap();
    }

    pub fn tool(&self, name: &str) -> &Arc<dyn Tool> {
        let tool = self.tools.iter().find(|tool| tool.spec().name == name);
        tool.unwrap_or_else(|| panic!("{name}"))
    }

    /// A call by the agent `me`, and its result as JSON.
    pub async fn call(&self, name: &str, args: Value) -> Value {
        self.call_as("me", name, args).await
    }

    pub async fn call_as(&self, who: &str, name: &str, args: Value) -> Value {
        first_json(&self.output(who, name, args).await.text)
    }

    pub async fn output(&self, who: &str, name: &str, args: Value) -> ToolOutput {
        self.output_in(Scope::new(who.into()), name, args).await
    }

    pub async fn output_in(&self, scope: Scope, name: &str, args: Value) -> ToolOutput {
        self.run(self.context(scope), name, args).await
    }

    /// With files that are not simply those of this machine.
    pub async fn call_on(&self, workspace: Arc<dyn Workspace>, name: &str, args: Value) -> Value {
        let context = self.context(Scope::new("me".into()));
        let context = CallCx {
            workspace,
            ..context
        };
        first_json(&self.run(context, name, args).await.text)
    }

    async fn run(&self, context: CallCx, name: &str, args: Value) -> ToolOutput {
        let Value::Object(args) = args else {
            panic!("{args}");
        };
        self.tool(name).call(args, &context).await
    }

    fn context(&self, scope: Scope) -> CallCx {
        CallCx {
            scope,
            call_id: "call_1".to_owned(),
            progress: Progress::silent(),
            workspace: Arc::new(LocalWorkspace::new(self.cwd.clone())),
            asker: Arc::new(Nobody),
            models: Arc::new(Nobody),
            caller: Arc::new(Nobody),
        }
    }

    /// The call fails, and its error says `part`.
    #[track_caller]
    pub fn refuses<'a>(
        &'a self,
        name: &'a str,
        args: Value,
        part: &'a str,
    ) -> impl Future<Output = ()> + 'a {
        let caller = std::panic::Location::caller();
        async move {
            let output = self.output("me", name, args).await;
            let error = first_json(&output.text)["error"].to_string();
            assert_ne!(output.outcome, Outcome::Done, "{caller}: {}", output.text);
            assert!(error.contains(part), "{caller}: {error}");
            assert_eq!(output.changed, Vec::<PathBuf>::new(), "{caller}");
        }
    }
}

/// The JSON at the beginning of a result; a hint may follow.
#[track_caller]
pub fn first_json(text: &str) -> Value {
    let mut values = serde_json::Deserializer::from_str(text).into_iter();
    values.next().unwrap().unwrap()
}

pub fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// File tools ask nobody and call nothing.
struct Nobody;

impl Asker for Nobody {
    fn ask<'a>(&'a self, _: Question, _: &'a Scope) -> BoxFuture<'a, Answer> {
        async { Answer::Nobody }.boxed()
    }
}

impl Models for Nobody {
    fn client(&self, _: &Purpose) -> Result<Arc<dyn ModelClient>, ModelError> {
        Err(ModelError::new(ModelErrorKind::NotConfigured, "none"))
    }
}

impl ToolCaller for Nobody {
    fn call<'a>(&'a self, name: &'a str, _: Args) -> BoxFuture<'a, ToolOutput> {
        async move { ToolOutput::failed(name) }.boxed()
    }
}
