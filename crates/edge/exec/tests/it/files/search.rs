use std::os::unix::fs::symlink;
use std::time::Duration;

use hermes_types::{Outcome, Scope};
use serde_json::{Value, json};

use super::desk::Desk;

fn sample() -> Desk {
    let desk = Desk::new();
    desk.put("a.py", "def f():\n    return 1\n");
    desk.put("sub/b.py", "import a\n\ndef g():\n    return a.f()\n");
    desk.put("sub/c.txt", "return nothing\n");
    desk.put(".hidden/d.py", "return hidden\n");
    desk.put("ignored/e.py", "return ignored\n");
    desk.put(".gitignore", "ignored/\n");
    desk.put("data.txt", b"return\0binary");
    desk
}

// spec: tools §8.13
#[tokio::test]
async fn lines_by_regular_expression() {
    let desk = sample();
    let check = async |args: Value, expected: Value| {
        let result = desk.call("search_files", args).await;
        assert_eq!(result["matches"], expected, "{result}");
    };
    let a = json!({"path": "a.py", "line": 2, "content": "    return 1"});
    let b = json!({"path": "sub/b.py", "line": 4, "content": "    return a.f()"});
    let c = json!({"path": "sub/c.txt", "line": 1, "content": "return nothing"});
    check(json!({"pattern": "return", "path": "."}), json!([a, b, c])).await;
    check(
        json!({"pattern": "return", "target": "grep", "file_glob": "*.py"}),
        json!([a, b]),
    )
    .await;
    check(json!({"pattern": "^return", "path": "sub"}), json!([c])).await;
    check(json!({"pattern": "return", "path": "a.py"}), json!([a])).await;
    check(
        json!({"pattern": "return", "limit": 1, "offset": 1}),
        json!([b]),
    )
    .await;
    check(
        json!({"pattern": "return", "path": ".hidden"}),
        json!([{"path": ".hidden/d.py", "line": 1, "content": "return hidden"}]),
    )
    .await;
    check(
        json!({"pattern": "return", "path": "ignored"}),
        json!([{"path": "ignored/e.py", "line": 1, "content": "return ignored"}]),
    )
    .await;
    check(
        json!({"pattern": "def g", "context": 1}),
        json!([
            {"path": "sub/b.py", "line": 2, "content": "", "context": true},
            {"path": "sub/b.py", "line": 3, "content": "def g():"},
            {"path": "sub/b.py", "line": 4, "content": "    return a.f()", "context": true},
        ]),
    )
    .await;
    desk.refuses(
        "search_files",
        json!({"pattern": "("}),
        "Invalid regular expression",
    )
    .await;
    desk.refuses(
        "search_files",
        json!({"pattern": "x", "file_glob": "["}),
        "Invalid glob",
    )
    .await;
    desk.refuses("search_files", json!({}), "'pattern' is missing")
        .await;
}

#[tokio::test]
async fn other_shapes_of_results() {
    let desk = sample();
    let search = async |args: Value| desk.call("search_files", args).await;
    let files = search(json!({"pattern": "return", "output_mode": "files_only"})).await;
    assert_eq!(files["files"], json!(["a.py", "sub/b.py", "sub/c.txt"]));
    assert_eq!(files["total_count"], 3);
    let counts =
        search(json!({"pattern": "a|f", "output_mode": "count", "file_glob": "*.py"})).await;
    assert_eq!(counts["counts"], json!({"a.py": 1, "sub/b.py": 3}));
    assert_eq!(counts["total_count"], 4);
    let none = search(json!({"pattern": "nowhere"})).await;
    assert_eq!(none, json!({"total_count": 0}));
    let newline = search(json!({"pattern": "import a\\n"})).await;
    assert!(
        newline["warning"]
            .as_str()
            .unwrap()
            .contains("line by line")
    );
}

#[tokio::test]
async fn more_results_than_asked_for() {
    let desk = Desk::new();
    desk.put("f", "x\n".repeat(120));
    let output = desk
        .output("me", "search_files", json!({"pattern": "x"}))
        .await;
    let (result, hint) = output.text.split_once("\n\n").unwrap();
    let result: Value = serde_json::from_str(result).unwrap();
    assert_eq!(result["matches"].as_array().unwrap().len(), 50);
    assert_eq!(
        (&result["total_count"], &result["next_offset"]),
        (&json!(120), &json!(50))
    );
    assert!(hint.contains("offset=50"), "{hint}");
    let last = desk
        .call("search_files", json!({"pattern": "x", "offset": 100}))
        .await;
    assert_eq!(last["matches"].as_array().unwrap().len(), 20);
    assert_eq!(last["truncated"], Value::Null);
}

#[tokio::test]
async fn files_by_name_newest_first() {
    let desk = sample();
    desk.touch("sub/b.py", 1);
    let check = async |args: Value, expected: Value| {
        let result = desk.call("search_files", args).await;
        assert_eq!(result["files"], expected, "{result}");
    };
    let by_name = |pattern: &str| json!({"pattern": pattern, "target": "files"});
    check(by_name("*.py"), json!(["sub/b.py", "a.py"])).await;
    check(by_name("b.py"), json!(["sub/b.py"])).await;
    check(by_name(".py"), json!(["sub/b.py", "a.py"])).await;
    check(by_name("sub/*.txt"), json!(["sub/c.txt"])).await;
    check(
        json!({"pattern": "*.py", "target": "find", "limit": 1}),
        json!(["sub/b.py"]),
    )
    .await;
    check(by_name("*.nothing"), Value::Null).await;
}

#[tokio::test]
async fn secrets_do_not_show() {
    let desk = Desk::new();
    desk.put("key.py", "key = 'ghp_abcdefghijklmnop1234'\n");
    desk.put(
        "pad.py",
        format!("{} key ghp_abcdefghijklmnop1234\n", "x".repeat(485)),
    );
    desk.put("vault/.env", "KEY=1\n");
    let result = desk
        .call("search_files", json!({"pattern": "key"}))
        .await
        .to_string();
    assert!(
        !result.contains("ghp_abcde") && result.contains("«redacted:ghp_…»"),
        "{result}"
    );
    let env = json!({"pattern": "KEY", "path": "vault/.env"});
    desk.refuses("search_files", env, "secrets").await;
    desk.put("long", format!("needle{}", "y".repeat(5000)));
    let long = desk
        .call("search_files", json!({"pattern": "needle"}))
        .await;
    assert_eq!(long["matches"][0]["content"].as_str().unwrap().len(), 500);
}

#[tokio::test]
async fn a_search_repeated_is_a_loop() {
    let desk = sample();
    let search = || desk.call("search_files", json!({"pattern": "return"}));
    for _ in 0..2 {
        assert!(search().await["_warning"].is_null());
    }
    assert!(search().await["_warning"].is_string());
    let blocked = search().await;
    assert!(blocked["error"].as_str().unwrap().starts_with("BLOCKED"));
    assert_eq!(blocked["already_searched"], 4);
    desk.services.state.other_tool_called(&"me".into());
    assert!(search().await["matches"].is_array());
}

#[tokio::test]
async fn searches_end_when_they_must() {
    let desk = sample();
    let scope = Scope::new("me".into());
    scope.cancel.cancel();
    let output = desk
        .output_in(scope, "search_files", json!({"pattern": "x"}))
        .await;
    assert_eq!(output.outcome, Outcome::Cancelled);
    let scope = Scope::new("me".into()).within(Duration::ZERO);
    let output = desk
        .output_in(scope, "search_files", json!({"pattern": "x"}))
        .await;
    assert_ne!(output.outcome, Outcome::Cancelled);
    // Links are not followed: a circle is no trap.
    symlink(".", desk.path("circle")).unwrap();
    let result = desk
        .call("search_files", json!({"pattern": "return"}))
        .await;
    assert_eq!(result["total_count"], 3);
}

#[tokio::test]
async fn a_missing_path_gets_suggestions() {
    let desk = sample();
    let search = json!({"pattern": "x", "path": "subs"});
    desk.refuses(
        "search_files",
        search,
        "Path not found: subs. Similar paths: ",
    )
    .await;
}
