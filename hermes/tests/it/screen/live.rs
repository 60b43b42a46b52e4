//! Rows that change where they stand, and what the terminal is told and asked beside rows.

use std::fs;
use std::thread;
use std::time::Duration;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::{Chat, WAIT, bench, screen, terminal};

fn call(name: &str, arguments: Value) -> Value {
    json!({"tool_calls": [{"name": name, "arguments": arguments}]})
}

/// Everything one can see and scroll to.
fn all(chat: &Chat) -> String {
    chat.scrollback().join("\n")
}

#[test]
fn a_plan_and_what_was_looked_at_are_there_once() {
    let step =
        |id: &str, text: &str, status: &str| json!({"id": id, "content": text, "status": status});
    let first = json!([
        step("1", "look around", "in_progress"),
        step("2", "mend it", "pending")
    ]);
    let second = json!([
        step("1", "look around", "completed"),
        step("2", "mend it", "in_progress")
    ]);
    let bench = bench(json!([
        call("todo", json!({"todos": first})),
        call("read_file", json!({"path": "a.txt"})),
        call("read_file", json!({"path": "b.txt"})),
        call("search_files", json!({"pattern": "needle"})),
        terminal("until test -e go; do sleep 0.05; done"),
        call("todo", json!({"todos": second})),
        {"text": "All is well."},
    ]));
    fs::write(bench.home.work().join("a.txt"), "one\n").unwrap();
    fs::write(bench.home.work().join("b.txt"), "needle\n").unwrap();
    let mut chat = Chat::open(&bench);
    chat.say("mend it");
    let live = chat.wait_for("until test -e go", WAIT);
    assert!(live.contains("plan      0 of 2 done"), "{live}");
    assert!(live.contains("◐ look around"), "{live}");
    fs::write(bench.home.work().join("go"), "").unwrap();
    chat.wait_idle("All is well.");
    let all = all(&chat);
    assert_eq!(all.matches("of 2 done").count(), 1, "{all}");
    assert!(
        all.contains("☑ look around") && all.contains("◐ mend it"),
        "{all}"
    );
    assert_eq!(all.matches("explored").count(), 1, "{all}");
    assert!(all.contains("2 reads, 1 search"), "{all}");
    assert!(all.contains("read   a.txt, b.txt"), "{all}");
}

#[test]
fn links_lead_somewhere_and_nowhere_else() {
    let bad = "\x1b]0;EVIL\x07\u{9c}\x1b\\";
    let long = "x".repeat(100_000);
    let text = format!(
        "[good](https://example.com/a) and [bad](https://example.com/{bad}b) and [script](javascript:x)\n\n\
         [long](https://example.com/{long})\n\nThe end."
    );
    let answer = || bench(json!([{"text": text}]));
    let bench = answer();
    let cmd = screen(&bench.home, &[]).env("FORCE_HYPERLINK", "1");
    let mut chat = Chat::ready(cmd.pty(40, 110));
    chat.say("links");
    chat.wait_idle("The end.");
    let output = String::from_utf8(chat.output()).unwrap();
    let targets: Vec<&str> = output
        .split("\x1b]8;")
        .skip(1)
        .map(|part| part.split("\x1b\\").next().unwrap())
        .map(|link| link.split_once(';').unwrap().1)
        .filter(|target| !target.is_empty())
        .collect();
    assert!(targets.contains(&"https://example.com/a"), "{targets:?}");
    assert!(!output.contains("EVIL\x07") && !output.contains("]8;id=h1;javascript"));
    for target in &targets {
        assert!(target.starts_with("https://example.com/"), "{target:?}");
        assert!(
            target.len() < 2100 && !target.contains(char::is_control),
            "{target:?}"
        );
    }
    let shown = all(&chat);
    assert!(shown.contains("good (https://example.com/a)"), "{shown}");
    assert!(shown.len() < 20_000, "{} bytes are shown", shown.len());

    // Who is not known to understand it gets text.
    let bench = answer();
    let mut chat = Chat::open(&bench);
    chat.say("links");
    chat.wait_idle("The end.");
    let output = String::from_utf8(chat.output()).unwrap();
    assert!(!output.contains("\x1b]8;"));
    assert!(all(&chat).contains("good (https://example.com/a)"));
}

#[test]
fn the_background_is_asked_for_and_the_answer_is_nobodys_typing() {
    let bench = bench(json!([{"text": "An answer."}]));
    let mut chat = Chat::open(&bench);
    let output = String::from_utf8(chat.output()).unwrap();
    assert_eq!(output.matches("\x1b]11;?\x1b\\").count(), 1);
    // After the first frame.
    assert!(
        output.find("\x1b[?2026l") < output.find("\x1b]11;?"),
        "{output:?}"
    );
    chat.type_in("hel");
    let before = chat.bytes_written();
    chat.send("\x1b]11;rgb:ffff/ffff/eeee\x1b\\");
    chat.send("lo");
    let screen = chat.wait_for("❯ hello", WAIT);
    assert!(
        !screen.contains("rgb") && !screen.contains("11;"),
        "{screen}"
    );
    assert!(chat.bytes_written() > before);
    chat.enter();
    chat.wait_idle("An answer.");
    // The frame of the answer has the colour of the light palette.
    let output = String::from_utf8(chat.output()).unwrap();
    let light = ["38;2;139;105;20", "38;5;94"];
    assert!(light.iter().any(|colour| output.contains(colour)));
}

#[test]
fn nobody_is_asked_for_a_background_without_colours() {
    let bench = bench(json!([]));
    let cmd = screen(&bench.home, &[]).env("NO_COLOR", "1");
    let chat = Chat::ready(cmd.pty(40, 110));
    thread::sleep(Duration::from_millis(50));
    assert!(
        !String::from_utf8(chat.output())
            .unwrap()
            .contains("\x1b]11;?")
    );
}
