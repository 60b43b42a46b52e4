//! Snapshots before calls of tools.

use std::path::PathBuf;
use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt};
use hermes_testkit::doubles::{FixedAsker, MemoryWorkspace, cx_with};
use hermes_types::{
    Answer, Args, Availability, CallCx, FileError, Parallel, Round, SessionId, Stat, Tool,
    ToolOutput, ToolSpec, Workspace,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::bench::Bench;

/// Writes what it is told into files, or nothing.
struct Scribe {
    spec: ToolSpec,
}

impl Scribe {
    fn named(name: &str) -> Arc<dyn Tool> {
        let spec = ToolSpec {
            name: name.to_owned(),
            toolset: "file",
            description: String::new(),
            parameters: json!({}),
            emoji: "",
            parallel: Parallel::ByPath,
            idempotent: false,
            housekeeping: false,
            refundable: false,
            paths: |args| {
                let names = args
                    .get("paths")
                    .and_then(Value::as_array)
                    .into_iter()
                    .flatten();
                names.filter_map(Value::as_str).map(PathBuf::from).collect()
            },
            digest: |_, _| String::new(),
            max_output: None,
        };
        Arc::new(Self { spec })
    }
}

impl Tool for Scribe {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, args: Args, cx: &'a CallCx) -> BoxFuture<'a, ToolOutput> {
        for path in (self.spec.paths)(&args) {
            std::fs::write(
                cx.workspace.cwd().join(path),
                args["content"].as_str().unwrap(),
            )
            .unwrap();
        }
        async { ToolOutput::done("ok") }.boxed()
    }

    fn available(&self) -> Availability {
        Availability::No("out of ink".to_owned())
    }

    fn most_per_reply(&self) -> Option<usize> {
        Some(7)
    }

    fn compacted(&self, session: &SessionId) -> Option<String> {
        Some(session.to_string())
    }
}

/// Only its place matters.
struct At(PathBuf, Arc<MemoryWorkspace>);

impl Workspace for At {
    fn cwd(&self) -> PathBuf {
        self.0.clone()
    }

    fn read<'a>(
        &'a self,
        path: &'a std::path::Path,
        offset: u64,
        max: usize,
    ) -> BoxFuture<'a, Result<Vec<u8>, FileError>> {
        self.1.read(path, offset, max)
    }

    fn write<'a>(
        &'a self,
        path: &'a std::path::Path,
        content: &'a [u8],
    ) -> BoxFuture<'a, Result<(), FileError>> {
        self.1.write(path, content)
    }

    fn stat<'a>(&'a self, path: &'a std::path::Path) -> BoxFuture<'a, Result<Stat, FileError>> {
        self.1.stat(path)
    }

    fn list<'a>(
        &'a self,
        path: &'a std::path::Path,
        max: usize,
    ) -> BoxFuture<'a, Result<Vec<String>, FileError>> {
        self.1.list(path, max)
    }
}

fn cx(bench: &Bench) -> CallCx {
    CallCx {
        workspace: Arc::new(At(bench.dir(), MemoryWorkspace::with(&[]))),
        ..cx_with(FixedAsker::new(Answer::Deny))
    }
}

fn args(value: Value) -> Args {
    value.as_object().unwrap().clone()
}

fn again(cx: &CallCx) -> CallCx {
    let mut next = cx.clone();
    next.scope.round = Round::begin();
    next
}

async fn reasons(bench: &Bench) -> Vec<String> {
    let list = bench.open().list(&bench.dir()).await.unwrap();
    list.into_iter().map(|one| one.reason).collect()
}

#[tokio::test]
async fn one_for_each_reply_and_project() {
    let bench = Bench::new();
    bench.write("a", "0");
    bench.write("other/package.json", "{}");
    let checkpoints = bench.open();
    let (write, patch) = (
        checkpoints.before(Scribe::named("write_file")),
        checkpoints.before(Scribe::named("patch")),
    );
    let cx = cx(&bench);
    let one = write.call(args(json!({"paths": ["a"], "content": "1"})), &cx);
    let two = patch.call(
        args(json!({"paths": ["a", "other/b"], "content": "2"})),
        &cx,
    );
    tokio::join!(one, two);
    // Whichever came first: it holds what was there before either.
    assert_eq!(reasons(&bench).await.len(), 1);
    let diff = checkpoints.diff(&bench.dir(), "1").await.unwrap();
    assert!(diff.text.contains("\n-0\n"), "{}", diff.text);
    let other = checkpoints.list(&bench.dir().join("other")).await.unwrap();
    assert_eq!(other.len(), 1);
    let cx = again(&cx);
    patch
        .call(args(json!({"paths": ["a"], "content": "3"})), &cx)
        .await;
    let list = reasons(&bench).await;
    assert_eq!((list.len(), list[0].as_str()), (2, "before patch"));
    // Another conversation has replies of its own.
    bench.write("a", "by hand");
    let mut child = cx.clone();
    child.scope.session = "child".into();
    write
        .call(args(json!({"paths": ["a"], "content": "4"})), &child)
        .await;
    assert_eq!(reasons(&bench).await.len(), 3);
}

#[tokio::test]
async fn only_before_commands_that_destroy() {
    let bench = Bench::new();
    bench.write("a", "0");
    std::fs::create_dir(bench.dir().join("sub")).unwrap();
    let checkpoints = bench.open();
    let terminal = checkpoints.before(Scribe::named("terminal"));
    let cx = cx(&bench);
    let run = async |command: &str, workdir: Value| {
        let args = args(json!({"command": command, "workdir": workdir}));
        terminal.call(args, &again(&cx)).await;
    };
    run("ls -la", Value::Null).await;
    assert_eq!(reasons(&bench).await, Vec::<String>::new());
    let long = format!("rm -rf\n {}", "x".repeat(100));
    run(&long, "sub".into()).await;
    let expected = format!("before terminal: rm -rf {}", "x".repeat(53));
    assert_eq!(reasons(&bench).await, [expected]);
}

#[tokio::test]
async fn a_tool_is_otherwise_the_same() {
    let mut bench = Bench::new();
    bench.path = "/nonexistent".to_owned();
    let checkpoints = bench.open();
    let scribe = Scribe::named("write_file");
    let tool = checkpoints.before(scribe.clone());
    assert_eq!(tool.available(), Availability::No("out of ink".to_owned()));
    assert_eq!(tool.most_per_reply(), Some(7));
    assert_eq!(tool.compacted(&"s".into()).as_deref(), Some("s"));
    // Without git it does its work all the same.
    let cx = cx(&bench);
    let output = tool.call(args(json!({"paths": ["a"], "content": "1"})), &cx);
    assert_eq!(
        (output.await.text.as_str(), bench.read("a").as_str()),
        ("ok", "1")
    );
    assert!(Arc::ptr_eq(
        &scribe,
        &checkpoints.guard(vec![scribe.clone()])[0]
    ));
    let other = Scribe::named("read_file");
    assert!(Arc::ptr_eq(&other, &checkpoints.before(other.clone())));
}
