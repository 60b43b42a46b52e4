//! Input that no keyboard makes, and sizes that no window has.

use pretty_assertions::assert_eq;
use serde_json::json;

use super::{Chat, WAIT, bars, bench, said, turns};

#[test]
fn bytes_that_are_no_text_are_dropped() {
    let bench = bench(json!([{"text": "An answer."}]));
    let mut chat = Chat::open(&bench);
    for bytes in [
        &b"\0"[..],
        b"\xff\xfe",
        b"\xc3(",
        b"\xe4\xbd",
        b"\xf0\x9f\x91",
        b"\x80\x80\x80\x80",
        b"\xed\xa0\x80",
    ] {
        chat.send_bytes(bytes);
        // Each is followed by something that ends it.
        chat.send_bytes(b"x");
    }
    chat.wait_until(
        |screen| {
            screen
                .lines()
                .any(|line| line.starts_with('❯') && line.contains('x'))
        },
        WAIT,
    );
    chat.send("\u{15}");
    chat.wait_until(
        |screen| {
            screen
                .lines()
                .any(|line| line.trim_end() == "❯" || line.starts_with("❯ ") && !line.contains('x'))
        },
        WAIT,
    );
    chat.say("hello");
    chat.wait_idle("An answer.");
    assert_eq!(said(&turns(&bench)[0], "user"), ["hello"]);
}

#[test]
fn a_paste_with_bytes_that_are_no_text() {
    let bench = bench(json!([{"text": "An answer."}]));
    let mut chat = Chat::open(&bench);
    chat.send_bytes(b"\x1b[200~before \xff\xfe\0 after\x1b[201~");
    chat.wait_for("after", WAIT);
    chat.enter();
    chat.wait_idle("An answer.");
    let words = &said(&turns(&bench)[0], "user")[0];
    assert!(
        words.starts_with("before ") && words.ends_with(" after"),
        "{words:?}"
    );
    assert!(!words.contains('\0'), "{words:?}");
}

#[test]
fn a_storm_of_sizes_ends_with_everything_once() {
    let text: String = (0..60)
        .map(|at| format!("line-{at:03} 你好 👩‍👩‍👧 end\n\n"))
        .collect();
    let bench = bench(json!([{"text": text}, {"text": "Another one."}]));
    let mut chat = Chat::sized(&bench, 30, 90);
    chat.say("tell");
    chat.wait_idle("line-059");
    chat.type_in("a draft");
    for (rows, cols) in [
        (1, 1),
        (2, 2),
        (200, 500),
        (1, 500),
        (200, 1),
        (3, 7),
        (1, 1),
        (30, 90),
    ]
    .into_iter()
    .cycle()
    .take(64)
    {
        chat.resize(rows, cols);
    }
    chat.wait_until(
        |screen| bars(screen) == 1 && screen.contains("❯ a draft"),
        WAIT,
    );
    // Slowly enough that each is drawn.
    for (rows, cols) in [(1, 1), (2, 2), (200, 500), (30, 90)] {
        let before = chat.bytes_written();
        chat.resize(rows, cols);
        crate::bench::eventually(WAIT, "it is drawn", || chat.bytes_written() > before);
    }
    chat.wait_until(
        |screen| bars(screen) == 1 && screen.contains("❯ a draft"),
        WAIT,
    );
    chat.enter();
    chat.wait_idle("Another one.");
    let all = chat.scrollback().join("\n");
    for at in 0..60 {
        assert_eq!(
            all.matches(&format!("line-{at:03}")).count(),
            1,
            "{at}: {all}"
        );
    }
}

/// Whatever stands at the edge of a narrow screen, nothing is lost, doubled or cut in two.
#[test]
fn wide_characters_at_every_edge() {
    let wide = ["你好", "👩‍👩‍👧"];
    let text: String = (0..42)
        .flat_map(|at| wide.map(|wide| format!("{}{wide}{at:02}\n\n", "x".repeat(at))))
        .collect();
    let bench = bench(json!([{"text": text}, {"text": "Another one."}]));
    let mut chat = Chat::sized(&bench, 30, 40);
    chat.say("tell");
    chat.wait_idle("41");
    let all = chat.scrollback();
    let joined: String = all.iter().map(|line| line.trim()).collect();
    for at in 0..42 {
        for wide in wide {
            let expected = format!("{}{wide}{at:02}", "x".repeat(at));
            assert!(joined.contains(&expected), "{expected}: {all:#?}");
        }
    }
    assert_eq!(bars(&all.join("\n")), 1);
    // And in the input: typed, and deleted one by one.
    for at in 0..42 {
        // This terminal takes six columns for the family, and what does not fit is for it to cut off.
        let last = if at < 28 { wide[1] } else { "👩" };
        let typed = format!("{}你好{last}", "x".repeat(at));
        chat.paste(&typed);
        chat.wait_until(|screen| input(screen) == typed, WAIT);
        // The family is one character, and so is each of the others.
        for left in ["你好", "你", ""] {
            chat.send("\x7f");
            let left = format!("{}{left}", "x".repeat(at));
            chat.wait_until(|screen| input(screen) == left, WAIT);
        }
        chat.send("\u{15}");
        chat.wait_until(|screen| input(screen).is_empty(), WAIT);
    }
}

/// What stands in the input of a screen too narrow for anything below it.
fn input(screen: &str) -> String {
    let lines: Vec<&str> = screen.lines().collect();
    let first = lines.iter().rposition(|line| line.starts_with('❯'));
    let rest = lines[first.unwrap()..].iter();
    rest.map(|line| line.trim_start_matches('❯').trim())
        .collect()
}
