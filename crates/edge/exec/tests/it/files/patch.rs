use hermes_types::{Outcome, Scope};
use serde_json::{Value, json};

use super::desk::{Desk, names};

fn edit(old: &str, new: &str) -> Value {
    json!({"mode": "replace", "path": "f", "old_string": old, "new_string": new})
}

/// A file with `before` becomes one with `after`.
async fn check(before: &str, old: &str, new: &str, after: &str) {
    let desk = Desk::new();
    desk.put("f", before);
    let result = desk.call("patch", edit(old, new)).await;
    assert_eq!(result["success"], true, "{result}");
    assert_eq!(desk.text("f"), after, "{old:?}");
}

// spec: tools §8.4
#[tokio::test]
async fn an_edit_takes_the_files_indentation() {
    check(
        "def f():\n    return 1\n",
        "def f():\n  return 1",
        "def f():\n  return 2",
        "def f():\n    return 2\n",
    )
    .await;
}

// spec: tools §8.7
#[tokio::test]
async fn line_ends_stay() {
    check("a\r\nb\r\n", "b", "c", "a\r\nc\r\n").await;
    check("a\r\nb\r\n", "a\nb", "x\ny", "x\r\ny\r\n").await;
    check("a\nb\n", "a\r\nb", "x\r\ny", "x\ny\n").await;
    check("a\r\nb\nc\r\n", "b", "x", "a\r\nx\nc\r\n").await;
}

// spec: tools §8.5
#[tokio::test]
async fn a_text_that_is_not_there() {
    let desk = Desk::new();
    desk.put("f", "let total = 1;\n");
    let result = desk.call("patch", edit("nothere zzz", "x")).await;
    assert_eq!(result["success"], false);
    assert!(
        result["error"].as_str().unwrap().contains("Could not find"),
        "{result}"
    );
    assert!(result["_hint"].is_string(), "{result}");
    let result = desk
        .call("patch", edit("let subtotal = 99; // sum", "x"))
        .await;
    let error = result["error"].as_str().unwrap();
    assert!(
        error.contains("Did you mean") && error.contains("   1| let total = 1;"),
        "{error}"
    );
    assert!(result["_hint"].is_null());
    assert_eq!(desk.text("f"), "let total = 1;\n");
}

// spec: tools §8.6
#[tokio::test]
async fn several_places_need_a_decision() {
    let desk = Desk::new();
    desk.put("f", "x x x");
    desk.refuses("patch", edit("x", "y"), "3 matches").await;
    let mut all = edit("x", "y");
    all["replace_all"] = true.into();
    let result = desk.call("patch", all).await;
    assert_eq!(
        (&result["success"], desk.text("f").as_str()),
        (&json!(true), "y y y")
    );
}

#[tokio::test]
async fn a_diff_shows_the_change() {
    let desk = Desk::new();
    desk.put("src/a.py", "1\n2\n3\n");
    let args = json!({"path": "src/a.py", "old_string": "2", "new_string": "two"});
    let output = desk.output("me", "patch", args).await;
    let result: Value = serde_json::from_str(&output.text).unwrap();
    insta::assert_snapshot!(result["diff"].as_str().unwrap(), @r"
    --- a/src/a.py
    +++ b/src/a.py
    @@ -1,3 +1,3 @@
     1
    -2
    +two
     3
    ");
    assert_eq!(result["files_modified"], json!(["src/a.py"]));
    assert_eq!(output.changed, [desk.path("src/a.py")]);
}

#[tokio::test]
async fn odd_calls() {
    let desk = Desk::new();
    let check = async |args: Value, says: &str| desk.refuses("patch", args, says).await;
    check(json!({"mode": "replace"}), "needs 'path'").await;
    check(
        json!({"path": "f", "old_string": "a"}),
        "needs 'new_string'",
    )
    .await;
    check(json!({"mode": "patch"}), "needs 'patch'").await;
    check(json!({"mode": "sed"}), "Unknown mode").await;
    check(
        json!({"mode": "patch", "patch": "nonsense"}),
        "names no file",
    )
    .await;
    check(edit("a", "b"), "File not found").await;
    desk.put("f", b"caf\xe9");
    check(edit("caf", "b"), "not UTF-8").await;
    desk.put("f", "a");
    check(edit("", "b"), "empty").await;
    check(edit("a", "a"), "identical").await;
    check(
        json!({"path": "/etc/hosts", "old_string": "a", "new_string": "b"}),
        "system",
    )
    .await;
}

fn v4a(patch: &str) -> Value {
    json!({"mode": "patch", "patch": patch})
}

// spec: tools §8.8
#[tokio::test]
async fn a_patch_with_a_fault_changes_nothing() {
    let desk = Desk::new();
    desk.put("a", "one\n");
    desk.put("gone", "still here\n");
    let patch = "*** Begin Patch\n*** Delete File: gone\n*** Update File: a\n-something else\n+x\n*** End Patch";
    desk.refuses(
        "patch",
        v4a(patch),
        "Patch validation failed (no files were modified)",
    )
    .await;
    assert_eq!(
        (desk.text("gone"), desk.text("a")),
        ("still here\n".into(), "one\n".into())
    );
    let bad_move = "*** Add File: new\n+x\n*** Move File: a -> /etc/hermes-test\n";
    desk.refuses("patch", v4a(bad_move), "system path").await;
    let bad_source = "*** Add File: new\n+x\n*** Move File: /etc/hosts -> hosts\n";
    desk.refuses("patch", v4a(bad_source), "system path").await;
    let masked = "*** Add File: new\n+x\n*** Update File: a\n-one\n+K=***\n";
    desk.refuses("patch", v4a(masked), "stands for a secret")
        .await;
    assert_eq!(names(&desk.path(".")), ["a", "gone"]);
}

// spec: tools §8.9
#[tokio::test]
async fn a_patch_over_several_files() {
    let desk = Desk::new();
    desk.put("a.json", "{\r\n  \"a\": 1\r\n}\r\n");
    desk.put("old", "moved\n");
    desk.put("gone", "x\n");
    let patch = "*** Begin Patch\n*** Update File: a.json\n@@\n {\n-  \"a\": 1\n+  \"a\": 2\n }\n\
        *** Add File: new/b.txt\n+hello\n*** Move File: old -> deep/er/new\n*** Update File: ./deep/er/new\n-moved\n+edited\n\
        *** Delete File: gone\n*** End Patch";
    let output = desk.output("me", "patch", v4a(patch)).await;
    let result: Value = serde_json::from_str(&output.text).unwrap();
    assert_eq!(result["success"], true, "{result}");
    assert_eq!(
        result["files_modified"],
        json!(["a.json", "old -> deep/er/new", "deep/er/new"])
    );
    assert_eq!(result["files_created"], json!(["new/b.txt"]));
    assert_eq!(result["files_deleted"], json!(["gone"]));
    assert_eq!(result["lint"]["a.json"]["status"], "ok");
    assert_eq!(desk.text("a.json"), "{\r\n  \"a\": 2\r\n}\r\n");
    assert_eq!(desk.text("new/b.txt"), "hello\n");
    assert_eq!(desk.text("deep/er/new"), "edited\n");
    assert_eq!(names(&desk.path(".")), ["a.json", "deep", "new"]);
    let diff = result["diff"].as_str().unwrap();
    for part in [
        "--- a/a.json\n+++ b/a.json",
        "--- /dev/null\n+++ b/new/b.txt",
        "# Moved: old -> deep/er/new",
        "+++ /dev/null",
    ] {
        assert!(diff.contains(part), "{part} in {diff}");
    }
    assert_eq!(output.changed.len(), 5);
}

#[tokio::test]
async fn deleting_and_moving_a_symlink_spares_its_target() {
    let desk = Desk::new();
    desk.put("target", "x\n");
    for link in ["one", "two"] {
        std::os::unix::fs::symlink("target", desk.path(link)).unwrap();
    }
    let patch = "*** Delete File: one\n*** Add File: other\n+x\n";
    desk.call("patch", v4a(patch)).await;
    assert_eq!(names(&desk.path(".")), ["other", "target", "two"]);
}

#[tokio::test]
async fn a_patch_that_fails_half_way_says_so() {
    let desk = Desk::new();
    // Each of the two could be made, but not both.
    let patch = "*** Add File: x/y\n+1\n*** Add File: x\n+2\n*** Add File: never\n+3\n";
    let output = desk.output("me", "patch", v4a(patch)).await;
    let result: Value = serde_json::from_str(&output.text).unwrap();
    assert_eq!(
        (output.outcome, &result["success"]),
        (Outcome::Failed, &json!(false))
    );
    assert!(
        result["error"].as_str().unwrap().contains("git diff"),
        "{result}"
    );
    assert_eq!(result["files_created"], json!(["x/y"]));
    assert_eq!(output.changed, [desk.path("x/y")]);
    assert!(!desk.path("never").exists());
}

#[tokio::test]
async fn a_cancelled_patch_changes_nothing() {
    let desk = Desk::new();
    desk.put("f", "a\n");
    for args in [edit("a", "b"), v4a("*** Update File: f\n-a\n+b\n")] {
        let scope = Scope::new("me".into());
        scope.cancel.cancel();
        let output = desk.output_in(scope, "patch", args).await;
        assert_eq!(
            (output.outcome, desk.text("f").as_str()),
            (Outcome::Cancelled, "a\n")
        );
    }
}
