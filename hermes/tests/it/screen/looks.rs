//! Whole screens, narrow and wide.

use insta::{assert_snapshot, with_settings};
use serde_json::json;

use super::{Chat, WAIT, bench, terminal};
use crate::bench::Bench;

const WIDTHS: [u16; 3] = [40, 80, 120];

/// Times, versions and temporary places have fixed names of the same width.
#[track_caller]
fn looks_like(name: &str, width: u16, screen: &str) {
    with_settings!({
        filters => [
            (r"\d+\.\d+\.\d+", "1.2.3"),
            (r"\b\d+\.\ds", "0.0s"),
            (r"⏱ \d+s", "⏱ 0s"),
            (r"⏲ \d+s", "⏲ 0s"),
            (r"\(\d+s\)", "(60s)"),
            (r"│ \d+s", "│ 0s"),
            (r"· \d+s", "· 0s"),
            (r"\w{6}/work", "XXXXXX/work"),
            // How much a request holds is no matter of looks.
            (r"\d+\.\dK/", "4.2K/"),
            (r"(?m)^.*…  \( *[0-9.]+s\)$", "(a face that changes)"),
        ],
        omit_expression => true,
        prepend_module_to_snapshot => false,
    }, {
        assert_snapshot!(format!("{name}_{width}"), screen);
    });
}

/// The same at every width.
#[track_caller]
fn at_all_widths(name: &str, bench: impl Fn() -> Bench, act: impl Fn(&mut Chat) -> String) {
    for width in WIDTHS {
        let bench = bench();
        let mut chat = Chat::sized(&bench, 30, width);
        let screen = act(&mut chat);
        looks_like(name, width, &screen);
    }
}

#[test]
fn the_first_start() {
    at_all_widths("first", || bench(json!([])), |chat| chat.screen());
}

#[test]
fn an_answer() {
    let text = "# Weather\n\nIt is **sunny** in `Bern`:\n\n\
        ```rust\nfn main() {\n    println!(\"sun\");\n}\n```\n\n\
        | day | sky |\n|---|---|\n| 月 | sun |\n| Tuesday | rain, and a good deal of it |\n\n\
        1. one\n   - nested\n2. two\n\n> a quote\n";
    let bench = || bench(json!([{"text": text}]));
    at_all_widths("answer", bench, |chat| {
        chat.say("the weather?");
        chat.wait_idle("a quote")
    });
}

#[test]
fn a_question() {
    let bench = || bench(json!([terminal("rm -rf victim")]));
    at_all_widths("question", bench, |chat| {
        chat.say("clean up");
        chat.wait_for("4 Deny", WAIT)
    });
}

#[test]
fn a_menu() {
    at_all_widths(
        "menu",
        || bench(json!([])),
        |chat| {
            chat.type_in("/resu");
            chat.wait_for("go back to an", WAIT)
        },
    );
}

#[test]
fn messages_that_wait() {
    let bench = || {
        let bench = bench(json!([{"text": "Never", "delay_ms": 60000}]));
        let config = bench.home.read("config.yaml");
        let display = "display:\n  busy_input_mode: queue\n";
        bench
            .home
            .write("config.yaml", format!("{config}{display}"));
        bench
    };
    at_all_widths("queue", bench, |chat| {
        chat.say("first");
        chat.wait_for("⚕ ❯", WAIT);
        for word in ["second", "third", "fourth", "fifth"] {
            chat.say(word);
        }
        chat.wait_for("(+1 more", WAIT)
    });
}
