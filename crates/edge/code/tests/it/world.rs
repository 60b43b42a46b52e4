//! A place for scripts: a directory to work in, one for throw-away files, and tools that answer as told.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_code::{CodeLimits, CodeServices, ExecuteCode, Mode};
use hermes_gate::{Allowlist, Gate, Policy, Surface, Unasked};
use hermes_home::Env;
use hermes_home::redact::Redactor;
use hermes_testkit::doubles::{CannedTools, FixedAsker, MemoryWorkspace, cx_with};
use hermes_types::{Answer, Args, CallCx, Tool, ToolOutput};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::task::TaskTracker;

/// All that scripts could ever call.
pub const ALL: [&str; 7] = [
    "web_search",
    "web_extract",
    "read_file",
    "write_file",
    "search_files",
    "patch",
    "terminal",
];

pub struct World {
    dir: TempDir,
    pub services: CodeServices,
    pub tools: Vec<&'static str>,
    pub policy: Policy,
    pub asker: Arc<FixedAsker>,
    pub caller: Arc<CannedTools>,
}

impl World {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in ["work", "temp", "hermes"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        let services = CodeServices {
            limits: CodeLimits {
                timeout: Duration::from_secs(30),
                ..CodeLimits::default()
            },
            mode: Mode::Project,
            env: Env::from_process(),
            passthrough: Vec::new(),
            hermes_home: dir.path().join("hermes"),
            temp_dir: dir.path().join("temp"),
            redactor: Redactor::default(),
            sandbox: None,
            dying: TaskTracker::new(),
        };
        Self {
            dir,
            services,
            tools: ALL.into(),
            policy: Policy {
                surface: Surface::Headless(Unasked::Allow),
                ..Policy::default()
            },
            asker: FixedAsker::new(Answer::Nobody),
            caller: CannedTools::echo(),
        }
    }

    /// With this much time for a script.
    pub fn within(mut self, time: Duration) -> Self {
        self.services.limits.timeout = time;
        self
    }

    pub fn answering(
        mut self,
        answer: impl Fn(&str, &Args) -> Option<ToolOutput> + Send + Sync + 'static,
    ) -> Self {
        self.caller = CannedTools::new(answer);
        self
    }

    pub fn work(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("work")
    }

    pub fn temp(&self) -> PathBuf {
        self.services.temp_dir.clone()
    }

    pub fn tool(&self) -> ExecuteCode {
        let gate = Gate::new(
            self.policy.clone(),
            Allowlist::new(Vec::new(), |_| {}),
            Redactor::default(),
        );
        let tools = self.tools.iter().copied();
        ExecuteCode::new(self.services.clone(), Arc::new(gate), tools)
    }

    pub fn cx(&self) -> CallCx {
        CallCx {
            workspace: MemoryWorkspace::at(self.work()),
            caller: self.caller.clone(),
            ..cx_with(self.asker.clone())
        }
    }

    pub async fn output(&self, code: &str) -> ToolOutput {
        self.tool().call(args(code), &self.cx()).await
    }

    /// What the model reads. Afterwards no file is left.
    pub async fn run(&self, code: &str) -> Value {
        let result = parsed(&self.output(code).await);
        self.assert_clean();
        result
    }

    /// Nothing lies where the scripts were.
    #[track_caller]
    pub fn assert_clean(&self) {
        assert_eq!(self.left(), Vec::<PathBuf>::new());
    }

    pub fn left(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.temp()).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    }
}

pub fn args(code: &str) -> Args {
    Args::from_iter([("code".to_owned(), json!(code))])
}

pub fn parsed(output: &ToolOutput) -> Value {
    serde_json::from_str(&output.text).unwrap()
}

/// Processes that do something and have `text` in their command line.
pub fn processes(text: &str) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let line = |entry: std::fs::DirEntry| {
        let line = std::fs::read(entry.path().join("cmdline")).ok()?;
        Some(String::from_utf8_lossy(&line).replace('\0', " "))
    };
    let lines = entries.filter_map(line);
    lines.filter(|line| line.contains(text)).collect()
}

/// Waits until `holds`, looking again and again.
pub async fn eventually(what: &str, limit: Duration, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < limit, "not in {limit:?}: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
