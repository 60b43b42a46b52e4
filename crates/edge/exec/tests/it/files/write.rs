use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use hermes_exec::files::{Limits, LocalWorkspace};
use hermes_home::Env;
use hermes_types::{FileError, Outcome, Stat, Workspace};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::desk::{Desk, names};

/// Knows one mistake, and one way to be broken itself.
const FAKE_PYTHON: &str = r#"#!/bin/sh
case "$(/bin/cat)" in
*'def f(:'*) echo 'SyntaxError: invalid syntax (line 1, column 7)'; exit 65;;
*broken*) echo 'python3: no such version'; exit 127;;
esac
"#;

// spec: tools §8.1
#[tokio::test]
async fn a_file_is_written() {
    let desk = Desk::new();
    desk.install("python3", FAKE_PYTHON);
    let content = "def f():\n    return 1\n";
    let args = json!({"path": "new/dir/a.py", "content": content});
    let output = desk.output("me", "write_file", args).await;
    let result: Value = serde_json::from_str(&output.text).unwrap();
    assert_eq!(
        (&result["bytes_written"], &result["dirs_created"]),
        (&json!(22), &json!(true))
    );
    assert_eq!(result["lint"]["status"], "ok");
    assert_eq!(desk.text("new/dir/a.py"), content);
    assert_eq!(output.outcome, Outcome::Done);
    assert_eq!(output.changed, [desk.path("new/dir/a.py")]);
    assert_eq!(names(&desk.path("new/dir")), ["a.py"]);
    let again = desk
        .call("write_file", json!({"path": "new/dir/a.py", "content": ""}))
        .await;
    assert_eq!(
        (&again["bytes_written"], &again["dirs_created"]),
        (&json!(0), &json!(false))
    );
    assert_eq!(again["_warning"], Value::Null);
}

// spec: tools §8.10
#[tokio::test]
async fn broken_syntax_is_reported_not_refused() {
    let desk = Desk::new();
    let check = async |name: &str, content: &str, status: &str, says: &str| {
        let result = desk
            .call("write_file", json!({"path": name, "content": content}))
            .await;
        assert_eq!(result["lint"]["status"], status, "{result}");
        assert!(result["lint"].to_string().contains(says), "{result}");
        assert_eq!(desk.text(name), content);
    };
    check("b.json", "{\"a\":", "error", "line 1").await;
    check("b.json", "{\"b\":", "error", "already broken").await;
    check("b.json", "{\"b\": 1}\n", "ok", "").await;
    check("c.yaml", "a: [1\nb: 2\n", "error", "line").await;
}

#[tokio::test]
async fn python_is_checked_by_python() {
    let desk = Desk::new();
    let check = async |content: &str, status: &str, says: &str| {
        let write = json!({"path": "a.py", "content": content});
        let result = desk.call("write_file", write).await;
        assert_eq!(result["lint"]["status"], status, "{result}");
        assert!(result["lint"].to_string().contains(says), "{result}");
    };
    check("x", "skipped", "python3 is not installed").await;
    desk.install("python3", FAKE_PYTHON);
    check("x = 1\n", "ok", "").await;
    check("def f(:", "error", "line 1").await;
    check("def f(: # still", "error", "already broken").await;
    check("broken", "skipped", "no such version").await;
}

#[tokio::test]
#[ignore = "needs python3: cargo xtask real python"]
async fn real_python_finds_real_mistakes() {
    let desk = Desk::new();
    let real = Env::from_process().get("PATH").unwrap().to_owned();
    desk.install(
        "python3",
        &format!("#!/bin/sh\nPATH='{real}' exec python3 \"$@\"\n"),
    );
    let check = async |content: &str, expected: Value| {
        let write = json!({"path": "a.py", "content": content});
        assert_eq!(desk.call("write_file", write).await["lint"], expected);
    };
    check(
        "def f():\n    return 1\n",
        json!({"status": "ok", "output": ""}),
    )
    .await;
    let output = "IndentationError: expected an indented block after function definition on line 1 (line 2, column 1)";
    check(
        "def f():\nreturn 1\n",
        json!({"status": "error", "output": output}),
    )
    .await;
}

// spec: tools §8.12, terminal-and-safety §13.21
#[tokio::test]
async fn protected_places_stay_as_they_are() {
    let desk = Desk::new();
    let check = async |path: &str, says: &str| {
        let write = json!({"path": path, "content": "x"});
        desk.refuses("write_file", write, says).await;
    };
    check("/etc/hermes-test", "protected system path").await;
    assert!(!Path::new("/etc/hermes-test").exists());
    check("../../../../../../../../etc/hermes-test", "system").await;
    symlink("/etc", desk.path("innocent")).unwrap();
    check("innocent/hermes-test", "system").await;
    check("~/.ssh/authorized_keys", "credential").await;
    fs::create_dir(desk.user_home().join(".ssh")).unwrap();
    symlink(desk.user_home().join(".ssh"), desk.path("keys")).unwrap();
    check("keys/authorized_keys", "credential").await;
    symlink(desk.user_home().join(".ssh/config"), desk.path("dangling")).unwrap();
    check("dangling", "credential").await;
    assert_eq!(names(&desk.user_home().join(".ssh")), Vec::<String>::new());
    check("~/.hermes/.env", "Hermes itself").await;
}

// spec: terminal-and-safety §13.21
#[tokio::test]
async fn a_safe_root_bounds_writes() {
    let desk = Desk::with(Limits::default(), &["safe"]);
    fs::create_dir(desk.path("safe")).unwrap();
    symlink(desk.user_home(), desk.path("safe/out")).unwrap();
    let way_out = json!({"path": "safe/out/a", "content": ""});
    desk.refuses("write_file", way_out, "SAFE_ROOT").await;
    desk.refuses(
        "write_file",
        json!({"path": "a", "content": ""}),
        "SAFE_ROOT",
    )
    .await;
    let result = desk
        .call("write_file", json!({"path": "safe/a", "content": ""}))
        .await;
    assert_eq!(result["bytes_written"], 0);
}

#[tokio::test]
async fn mode_symlink_line_ends_and_mark_stay() {
    let desk = Desk::new();
    let script = desk.put("run.sh", "old\n");
    fs::set_permissions(&script, Permissions::from_mode(0o751)).unwrap();
    symlink("run.sh", desk.path("link")).unwrap();
    desk.call("write_file", json!({"path": "link", "content": "new\n"}))
        .await;
    assert!(
        fs::symlink_metadata(desk.path("link"))
            .unwrap()
            .is_symlink()
    );
    assert_eq!(desk.text("run.sh"), "new\n");
    let mode = fs::metadata(&script).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o751);

    desk.put("dos.txt", "\u{feff}a\r\nb\r\n");
    let result = desk
        .call(
            "write_file",
            json!({"path": "dos.txt", "content": "c\nd\n"}),
        )
        .await;
    assert_eq!(desk.text("dos.txt"), "\u{feff}c\r\nd\r\n");
    assert_eq!(result["bytes_written"], 9);
}

/// Says it has written, and hasn't.
struct Forgetful(LocalWorkspace);

impl Workspace for Forgetful {
    fn cwd(&self) -> PathBuf {
        self.0.cwd()
    }

    fn read<'a>(
        &'a self,
        path: &'a Path,
        offset: u64,
        max: usize,
    ) -> BoxFuture<'a, Result<Vec<u8>, FileError>> {
        self.0.read(path, offset, max)
    }

    fn write<'a>(&'a self, _: &'a Path, _: &'a [u8]) -> BoxFuture<'a, Result<(), FileError>> {
        async { Ok(()) }.boxed()
    }

    fn stat<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, Result<Stat, FileError>> {
        self.0.stat(path)
    }

    fn list<'a>(
        &'a self,
        path: &'a Path,
        max: usize,
    ) -> BoxFuture<'a, Result<Vec<String>, FileError>> {
        self.0.list(path, max)
    }
}

#[tokio::test]
async fn a_write_that_did_not_happen_is_noticed() {
    let desk = Desk::new();
    desk.put("f", "old\n");
    let files = Arc::new(Forgetful(LocalWorkspace::new(desk.cwd.clone())));
    for (tool, args) in [
        ("write_file", json!({"path": "f", "content": "new\n"})),
        (
            "patch",
            json!({"path": "f", "old_string": "old", "new_string": "new"}),
        ),
        (
            "patch",
            json!({"mode": "patch", "patch": "*** Update File: f\n-old\n+new\n"}),
        ),
    ] {
        let result = desk.call_on(files.clone(), tool, args).await;
        let error = result["error"].as_str().unwrap();
        assert!(error.contains("reads back differently"), "{error}");
    }
}

#[tokio::test]
async fn odd_calls() {
    let desk = Desk::new();
    let check = async |args: Value, says: &str| desk.refuses("write_file", args, says).await;
    check(json!({"content": "x"}), "'path' is missing").await;
    check(json!({"path": "a"}), "dropped").await;
    check(
        json!({"path": "a", "content": {"b": 1}}),
        "must be a string",
    )
    .await;
    check(json!({"path": ".", "content": "x"}), "is a directory").await;
    desk.put("file", "x");
    check(json!({"path": "file/below", "content": "x"}), "").await;
    assert_eq!(names(&desk.path(".")), ["file"]);
}

#[tokio::test]
async fn a_tools_own_words_are_not_written() {
    let desk = Desk::new();
    desk.put("a", "1\n2\n");
    desk.call("read_file", json!({"path": "a"})).await;
    let stub = desk.call("read_file", json!({"path": "a"})).await["message"].clone();
    desk.refuses(
        "write_file",
        json!({"path": "a", "content": stub}),
        "read_file",
    )
    .await;
    desk.refuses(
        "write_file",
        json!({"path": "a", "content": "1|a\n2|b"}),
        "line numbers",
    )
    .await;
    assert_eq!(desk.text("a"), "1\n2\n");
}

#[tokio::test]
async fn what_hides_a_secret_is_not_written_back() {
    let desk = Desk::new();
    let key = "token = ghp_abcdefghijklmnop1234\n";
    desk.put("a.ini", key);
    let shown = desk.call("read_file", json!({"path": "a.ini"})).await;
    let shown = shown["content"]
        .as_str()
        .unwrap()
        .strip_prefix("1|")
        .unwrap()
        .to_owned();
    let write = async |path: &str, content: &str| {
        desk.output(
            "me",
            "write_file",
            json!({"path": path, "content": content}),
        )
        .await
        .outcome
    };
    for mark in [
        shown.as_str(),
        "K=***",
        "ghp_ab...1234",
        "[REDACTED PRIVATE KEY]",
    ] {
        assert_eq!(write("a.ini", mark).await, Outcome::Failed, "{mark}");
        assert_eq!(write("new.ini", mark).await, Outcome::Failed, "{mark}");
    }
    assert_eq!(desk.text("a.ini"), key);
    // A file about redaction may keep its examples.
    desk.put("doc.md", "Keys are shown as ghp_ab...1234.\n");
    let more = "Keys are shown as ghp_ab...1234, always.\n";
    assert_eq!(write("doc.md", more).await, Outcome::Done);
    let patch =
        json!({"path": "a.ini", "old_string": "token", "new_string": "# «redacted-secret»\ntoken"});
    desk.refuses("patch", patch, "stands for a secret").await;
}

// spec: tools §8.22
#[tokio::test]
async fn agents_are_warned_of_each_other() {
    let desk = Desk::new();
    desk.put("f", "one\n");
    let warning = async |who: &str, name: &str, args: Value| {
        let result = desk.call_as(who, name, args).await;
        result["_warning"].as_str().unwrap_or_default().to_owned()
    };
    let write = |text: &str| json!({"path": "f", "content": text});
    assert_eq!(warning("a", "read_file", json!({"path": "f"})).await, "");
    assert_eq!(warning("b", "write_file", write("two\n")).await, "");
    let told = warning("a", "write_file", write("three\n")).await;
    assert!(
        told.contains("sibling agent 'b'") && told.contains("after you read"),
        "{told}"
    );
    assert_eq!(warning("a", "write_file", write("four\n")).await, "");
    let patch = json!({"path": "f", "old_string": "four", "new_string": "five"});
    assert!(warning("c", "patch", patch).await.contains("never read"));
    desk.put("g", "1\n2\n3\n");
    warning("a", "read_file", json!({"path": "g", "limit": 1})).await;
    let patch = json!({"path": "g", "old_string": "3", "new_string": "4"});
    assert!(warning("a", "patch", patch).await.contains("only a part"));
    desk.touch("g", 5);
    let patch = json!({"path": "g", "old_string": "4", "new_string": "5"});
    assert!(warning("a", "patch", patch).await.contains("somebody else"));
}

#[tokio::test(flavor = "multi_thread")]
async fn edits_of_one_file_at_the_same_time_do_not_lose_any() {
    let desk = Desk::new();
    desk.put(
        "f",
        (0..20).map(|n| format!("line <{n}>\n")).collect::<String>(),
    );
    let edits = (0..20).map(|n| {
        let patch =
            json!({"path": "f", "old_string": format!("<{n}>"), "new_string": format!("[{n}]")});
        desk.call("patch", patch)
    });
    futures::future::join_all(edits).await;
    assert!(!desk.text("f").contains('<'), "{}", desk.text("f"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn an_edit_keeps_mark_and_line_ends(
        bom in any::<bool>(),
        crlf in any::<bool>(),
        lines in prop::collection::vec("[a-c ]{0,6}", 1..6),
    ) {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let desk = Desk::new();
        let end = if crlf { "\r\n" } else { "\n" };
        let file = |middle: &str| {
            let mark = if bom { "\u{feff}" } else { "" };
            let lines: String = lines.iter().map(|line| format!("{line}{end}")).collect();
            format!("{mark}{lines}{middle}{end}{lines}")
        };
        desk.put("f", file("here"));
        let patch = json!({"path": "f", "old_string": "here", "new_string": "there\nand here"});
        let result = runtime.block_on(desk.call("patch", patch));
        prop_assert_eq!(&result["success"], &json!(true));
        prop_assert_eq!(desk.text("f"), file(&format!("there{end}and here")));
    }
}
