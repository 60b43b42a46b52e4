//! What is hard to get right: narrow screens, wide characters, long lines, links.

use pretty_assertions::assert_eq;

use super::*;
use crate::look::Links;

#[test]
fn a_list_in_a_quote_on_a_narrow_screen() {
    let source = "> A quote that introduces something:\n> - an item that is longer than its row\n>   - 漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字\n>     1. deep\n>\n>        ```a_language_with_a_very_long_name_that_nobody_has_heard_of\n>        x = 1\n>        ```\n> > and one more\n";
    let shown = rendered(source, 40);
    let shown: Vec<_> = shown.lines().map(str::trim_end).collect();
    insta::assert_snapshot!(shown.join("\n"), @r"
    │ A quote that introduces something:
    │ • an item that is longer than its row
    │   • 漢字漢字漢字漢字漢字漢字漢字漢字漢
    │     字漢字
    │     1. deep
    │
    │        a_language_with_a_very_long_na…
    │        x = 1
    │ │ and one more
    ");
    rendered(source, 20);
    rendered(source, 7);
}

#[test]
fn tabs_end_at_the_same_columns_behind_wide_characters() {
    let shown = rendered("```\nab\tx\n漢\tx\n```\n", 40);
    assert_eq!(shown, "ab  x\n漢  x");
}

#[test]
fn a_line_without_a_blank_is_all_there() {
    for sign in [
        "x",
        "漢",
        "é",
        "👩\u{200d}👩\u{200d}👧",
        "(",
        "*a",
        "[",
        "`",
        "http://",
        "![](",
    ] {
        let line = sign.repeat(100_000 / sign.len());
        let shown = rendered(&line, 80);
        let plain: String = shown.split('\n').collect();
        match sign {
            // These are signs of markdown: some of them go.
            "*a" | "![](" | "`" => {}
            _ => assert_eq!(plain.len(), line.len(), "{sign}"),
        }
    }
}

#[test]
fn a_line_that_never_ends_is_shown_at_its_end() {
    let look = Look::plain();
    let mut stream = Stream::new(Style::Render);
    for _ in 0..1000 {
        stream.push(&"x".repeat(100));
        assert!(stream.settle(80, &look).is_empty());
    }
    let tail = stream.tail(80, &look);
    assert!(tail.len() > 24 && tail.len() < 1000, "{} rows", tail.len());
    let all = stream.finish(80, &look);
    assert_eq!(all.len(), 100_000 / 80);
}

#[test]
fn an_address_that_is_data_is_not_said_in_full() {
    let image = format!("![a dot](data:image/png;base64,{})", "A".repeat(100_000));
    let shown = rendered(&image, 80);
    assert!(shown.starts_with("a dot"), "{shown}");
    assert!(shown.ends_with("…)"), "{shown}");
    assert!(shown.len() < 600, "{} bytes", shown.len());
}

/// The texts that lead somewhere, with where.
fn links(source: &str, columns: u16) -> Vec<(String, String)> {
    let known = Links::default();
    let look = Look::new(Skin::default(), Depth::True).linked(known.clone());
    let rows = rows(source, Style::Render, columns, &look);
    let spans = rows.iter().flat_map(|row| &row.spans);
    let links = spans.filter_map(|span| {
        let link = known.of(span.style)?;
        Some((span.content.to_string(), link.address.to_string()))
    });
    links.collect()
}

#[test]
fn links_know_where_they_lead_in_every_row() {
    let check = |source: &str, columns, expected: &[(&str, &str)]| {
        let found = links(source, columns);
        let found: Vec<_> = found
            .iter()
            .map(|(text, to)| (text.as_str(), to.as_str()))
            .collect();
        assert_eq!(found, expected, "{source:?}");
    };
    let to = "https://a.example/b_c";
    check(
        "[text](https://a.example/b_c)",
        80,
        &[("text", to), (" (https://a.example/b_c)", to)],
    );
    check("see https://a.example/b_c.", 80, &[(to, to)]);
    check("<https://a.example/b_c>", 80, &[(to, to)]);
    check("| a |\n|---|\n| https://a.example/b_c |\n", 80, &[(to, to)]);
    check(
        "see https://a.example/b_c",
        12,
        &[("https://a.ex", to), ("ample/b_c", to)],
    );
    check("`https://a.example/b_c` [x](javascript:y) [y](#z)", 80, &[]);
    check(
        "[early]\n\n[early]: https://a.example/b_c\n",
        80,
        &[("early", to), (" (https://a.example/b_c)", to)],
    );
    check(
        "[**a** `b`](mailto:x@a.example)",
        80,
        &[
            ("a", "mailto:x@a.example"),
            (" ", "mailto:x@a.example"),
            ("b", "mailto:x@a.example"),
            (" (mailto:x@a.example)", "mailto:x@a.example"),
        ],
    );
}

#[test]
fn a_link_cannot_smuggle_anything_out() {
    for bad in [
        "\x1b]0;EVIL\x07",
        "\u{9c}\u{9d}0;EVIL",
        "\x1b\\\x1b[2J",
        "\x07",
        "\u{202e}",
        "%1b",
    ] {
        let source = format!(
            "[a](https://x.example/{bad}) <https://x.example/{bad}> https://x.example/{bad}"
        );
        for (text, to) in links(&source, 40) {
            let clean = |text: &str| !text.contains(char::is_control);
            assert!(
                clean(&text) && to.bytes().all(|b| b.is_ascii_graphic()),
                "{to:?}"
            );
        }
    }
}

#[test]
fn without_links_a_text_looks_the_same() {
    let with = Look::plain().linked(Links::default());
    let source = format!("{EVERYTHING}\nsee https://example.com/{}", "x".repeat(300));
    for columns in [10, 40, 80] {
        let one = rows(&source, Style::Render, columns, &Look::plain());
        let other = rows(&source, Style::Render, columns, &with);
        assert_eq!(text(&one), text(&other));
    }
}
