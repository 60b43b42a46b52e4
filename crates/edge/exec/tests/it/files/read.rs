use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use hermes_exec::files::Limits;
use hermes_types::{Outcome, Scope};
use serde_json::{Value, json};

use super::desk::Desk;

const PROGRAM: &str = "def f():\n    return 1\n";

// spec: tools §8.2
#[tokio::test]
async fn a_file_is_read_once_and_then_remembered() {
    let desk = Desk::new();
    desk.put("a.py", PROGRAM);
    let read = || desk.call("read_file", json!({"path": "a.py"}));
    let first = read().await;
    assert_eq!(first["content"], "1|def f():\n2|    return 1");
    assert_eq!(
        (&first["total_lines"], &first["file_size"]),
        (&json!(2), &json!(22))
    );
    assert_eq!(
        (&first["truncated"], &first["is_binary"]),
        (&json!(false), &json!(false))
    );
    let second = read().await;
    assert_eq!(
        (&second["status"], &second["dedup"]),
        (&json!("unchanged"), &json!(true))
    );
    assert_eq!(second["content_returned"], false);
    let third = read().await;
    assert!(
        third["error"].as_str().unwrap().starts_with("BLOCKED"),
        "{third}"
    );
    assert_eq!(third["already_read"], 3);
    desk.services.state.other_tool_called(&"me".into());
    assert_eq!(read().await["status"], "unchanged");
    desk.tool("read_file").compacted(&"me".into());
    assert_eq!(
        read().await["content"],
        first["content"],
        "what was read is gone from the conversation"
    );
}

/// What a script reads is no loop, and the model has seen nothing of it.
#[tokio::test]
async fn a_script_reads_as_often_as_it_wants() {
    let desk = Desk::new();
    desk.put("a.py", PROGRAM);
    let script = json!({"path": "a.py", "_for_script": true});
    for _ in 0..5 {
        let result = desk.call("read_file", script.clone()).await;
        assert_eq!(result["total_lines"], 2, "{result}");
    }
    let shown = desk.call("read_file", json!({"path": "a.py"})).await;
    assert_eq!(shown["total_lines"], 2, "{shown}");
    let result = desk.call("read_file", script).await;
    assert_eq!(result["content"], shown["content"]);
    for _ in 0..5 {
        let args = json!({"pattern": "return", "_for_script": true});
        let result = desk.call("search_files", args).await;
        assert_eq!(result["total_count"], 1, "{result}");
    }
}

// spec: tools §8.3
#[tokio::test]
async fn a_changed_file_is_shown_again_but_not_for_ever() {
    let desk = Desk::new();
    desk.put("a.py", PROGRAM);
    let read = || desk.call("read_file", json!({"path": "a.py"}));
    for times in 1..=4 {
        desk.touch("a.py", times);
        let result = read().await;
        match times {
            1 | 2 => assert!(result["content"].is_string() && result["_warning"].is_null()),
            3 => assert!(result["_warning"].is_string(), "{result}"),
            _ => assert!(result["error"].as_str().unwrap().starts_with("BLOCKED")),
        }
    }
    // A file that really changes, like a log, is no loop.
    for line in 0..6 {
        desk.put("log", format!("{line}\n"));
        desk.touch("log", 10 + line);
        let result = desk.call("read_file", json!({"path": "log"})).await;
        assert_eq!(result["content"], format!("1|{line}"));
    }
}

#[tokio::test]
async fn pages() {
    let desk = Desk::new();
    desk.put(
        "ten",
        (1..=10).map(|n| format!("line {n}\n")).collect::<String>(),
    );
    let check = async |args: Value, content: &str, next: Option<u64>| {
        let result = desk.call("read_file", args).await;
        assert_eq!(result["content"], content);
        assert_eq!(result["truncated"], next.is_some());
        assert_eq!(result["next_offset"].as_u64(), next);
        assert_eq!(result["total_lines"], 10);
        if let Some(next) = next {
            assert!(
                result["hint"]
                    .as_str()
                    .unwrap()
                    .contains(&format!("offset={next}"))
            );
        }
    };
    check(
        json!({"path": "ten", "limit": 2}),
        "1|line 1\n2|line 2",
        Some(3),
    )
    .await;
    check(
        json!({"path": "ten", "offset": 9, "limit": "5"}),
        "9|line 9\n10|line 10",
        None,
    )
    .await;
    check(
        json!({"path": "ten", "offset": -3, "limit": 1}),
        "1|line 1",
        Some(2),
    )
    .await;
    check(json!({"path": "ten", "offset": 99}), "", None).await;
    check(
        json!({"path": "./ten", "limit": "x", "offset": 10}),
        "10|line 10",
        None,
    )
    .await;
}

#[tokio::test]
async fn long_lines_and_long_files_are_cut() {
    let limits = Limits {
        max_lines: 4,
        max_line_length: 10,
        max_chars: 60,
    };
    let desk = Desk::with(limits, &[]);
    desk.put("long", "ä".repeat(50) + "\nb\n");
    let result = desk.call("read_file", json!({"path": "long"})).await;
    assert_eq!(
        result["content"],
        format!("1|{}... [truncated]\n2|b", "ä".repeat(10))
    );
    desk.put("many", "1234567\n".repeat(10));
    let result = desk
        .call("read_file", json!({"path": "many", "limit": 100}))
        .await;
    assert_eq!(
        (&result["next_offset"], &result["truncated"]),
        (&json!(5), &json!(true))
    );
    desk.put("wide", "123456789\n".repeat(10));
    let limits = Limits {
        max_lines: 9,
        ..limits
    };
    let wide = Desk::with(limits, &[]);
    wide.put("wide", "123456789\n".repeat(10));
    let result = wide.call("read_file", json!({"path": "wide"})).await;
    assert_eq!(result["next_offset"], 6);
    assert!(
        result["hint"]
            .as_str()
            .unwrap()
            .contains("limit was reached"),
        "{result}"
    );
}

#[tokio::test]
async fn what_a_file_may_hold() {
    let desk = Desk::new();
    let check = async |name: &str, bytes: &[u8], content: &str| {
        desk.put(name, bytes);
        let result = desk.call("read_file", json!({"path": name})).await;
        assert_eq!(result["content"], content, "{name}");
    };
    check("empty", b"", "").await;
    check("bom", b"\xef\xbb\xbfa\r\nb\r\n", "1|a\n2|b").await;
    check("latin", b"caf\xe9 au lait\n", "1|caf\u{fffd} au lait").await;
    check("open", b"a\nb", "1|a\n2|b").await;
    check(
        "key.py",
        b"k = 'ghp_abcdefghijklmnop1234'\nMAX_TOKENS=4096\n",
        "1|k = '«redacted:ghp_…»'\n2|MAX_TOKENS=4096",
    )
    .await;
}

// spec: tools §8.11
#[tokio::test]
async fn what_is_no_text_is_refused() {
    let desk = Desk::new();
    let start = Instant::now();
    for device in [
        "/dev/zero",
        "/dev/stdin",
        "/proc/self/fd/0",
        "/proc/self/environ",
        "/dev/../dev/tty",
    ] {
        desk.refuses("read_file", json!({"path": device}), "device")
            .await;
    }
    symlink("/dev/zero", desk.path("innocent.txt")).unwrap();
    desk.refuses("read_file", json!({"path": "innocent.txt"}), "device")
        .await;
    assert!(start.elapsed() < Duration::from_millis(600));
    desk.refuses("read_file", json!({"path": "x.png"}), "vision_analyze")
        .await;
    desk.refuses("read_file", json!({"path": "x.tar.gz"}), "binary")
        .await;
    desk.put("data", [0, 1, 2, 3, 0, 0, 7, 8, b'a']);
    desk.refuses("read_file", json!({"path": "data"}), "binary")
        .await;
    fs::create_dir(desk.path("dir")).unwrap();
    desk.refuses("read_file", json!({"path": "dir"}), "directory")
        .await;
    desk.refuses("read_file", json!({}), "'path' is missing")
        .await;
    desk.refuses("read_file", json!({"path": "a\0b"}), "").await;
}

#[tokio::test]
async fn secrets_are_left_alone() {
    let desk = Desk::new();
    desk.put(".env", "KEY=1");
    desk.refuses("read_file", json!({"path": ".env"}), ".env.example")
        .await;
    symlink(".env", desk.path("harmless")).unwrap();
    desk.refuses("read_file", json!({"path": "harmless"}), "secrets")
        .await;
    desk.refuses(
        "read_file",
        json!({"path": "~/.hermes/auth.json"}),
        "credential store",
    )
    .await;
    let output = desk
        .output("me", "read_file", json!({"path": ".env"}))
        .await;
    assert_eq!(output.outcome, Outcome::Denied);
    assert_eq!(output.decision, "protected file");
}

#[tokio::test]
async fn a_mistyped_name_gets_suggestions() {
    let desk = Desk::new();
    desk.put("config.yaml", "a: 1\n");
    let result = desk.call("read_file", json!({"path": "config.yml"})).await;
    assert_eq!(result["error"], "File not found: config.yml");
    assert_eq!(result["similar_files"], json!([desk.path("config.yaml")]));
}

#[tokio::test]
async fn relative_paths_follow_the_session() {
    let desk = Desk::new();
    desk.put("sub/a", "in sub\n");
    desk.cwd.set(desk.path("sub"));
    let result = desk.call("read_file", json!({"path": "a"})).await;
    assert_eq!(result["content"], "1|in sub");
    fs::write(desk.user_home().join("h"), "home\n").unwrap();
    let result = desk.call("read_file", json!({"path": "~/h"})).await;
    assert_eq!(result["content"], "1|home");
}

#[tokio::test]
async fn a_cancelled_read_ends_at_once() {
    let desk = Desk::new();
    desk.put("a", "x\n");
    let scope = Scope::new("me".into());
    scope.cancel.cancel();
    let output = desk
        .output_in(scope, "read_file", json!({"path": "a"}))
        .await;
    assert_eq!(output.outcome, Outcome::Cancelled);
}

#[tokio::test]
async fn a_huge_file_takes_little_memory() {
    if !hermes_testkit::is_alone() {
        return;
    }
    let desk = Desk::new();
    let mut file = fs::File::create(desk.path("huge.log")).unwrap();
    let block = "a line of forty-nine characters, counted by hand.\n".repeat(21_000);
    for _ in 0..100 {
        file.write_all(block.as_bytes()).unwrap();
    }
    let before = peak_memory();
    let args = json!({"path": "huge.log", "offset": 2_099_999});
    let result = desk.call("read_file", args).await;
    assert_eq!(result["total_lines"], 2_100_000);
    assert!(
        result["content"]
            .as_str()
            .unwrap()
            .starts_with("2099999|a line")
    );
    assert!(peak_memory() - before < 20_000, "kB");
    // One line without an end is no different.
    let mut file = fs::File::create(desk.path("huge.log")).unwrap();
    let block = "x".repeat(1 << 20);
    for _ in 0..60 {
        file.write_all(block.as_bytes()).unwrap();
    }
    let before = peak_memory();
    let result = desk.call("read_file", json!({"path": "huge.log"})).await;
    assert_eq!(result["total_lines"], 0);
    assert!(peak_memory() - before < 20_000, "kB");
}

/// In kilobytes, as far as Linux tells.
fn peak_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = peak.and_then(|peak| peak.trim().strip_suffix(" kB"));
    number.map_or(0, |number| number.trim().parse().unwrap())
}
