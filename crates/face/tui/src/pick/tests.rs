//! Widgets as they look and behave.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use insta::assert_snapshot;
use pretty_assertions::assert_eq;
use ratatui::layout::Size;

use super::*;
use crate::text::width;

/// Letters as they are, `\n` Enter, `\u{1b}` Esc, `\t` down, `\u{b}` up, control letters with Ctrl.
pub(crate) fn key(c: char) -> KeyEvent {
    match c {
        '\n' => KeyEvent::from(KeyCode::Enter),
        '\t' => KeyEvent::from(KeyCode::Down),
        '\u{b}' => KeyEvent::from(KeyCode::Up),
        '\u{1b}' => KeyEvent::from(KeyCode::Esc),
        '\u{7f}' => KeyEvent::from(KeyCode::Backspace),
        c if c.is_control() => {
            let letter = char::from(c as u8 + b'a' - 1);
            KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL)
        }
        c => KeyEvent::from(KeyCode::Char(c)),
    }
}

/// Types, and gives the outcome if there is one.
fn typed<W: Widget>(widget: &mut W, text: &str) -> Option<Outcome<W::Answer>> {
    for c in text.chars() {
        if let Step::Done(outcome) = widget.key(key(c)) {
            return Some(outcome);
        }
    }
    None
}

#[track_caller]
fn screen<W: Widget>(widget: &W, columns: u16, height: u16) -> String {
    let rows = widget.rows(Size::new(columns, height), &Look::plain());
    assert!(rows.len() <= usize::from(height), "{rows:#?}");
    let lines: Vec<String> = rows.iter().map(ToString::to_string).collect();
    for line in &lines {
        assert!(width(line) <= usize::from(columns), "{line:?}");
    }
    let lines: Vec<&str> = lines.iter().map(|line| line.trim_end()).collect();
    lines.join("\n")
}

fn providers() -> List<&'static str> {
    let items = vec![
        Item::new("or", "OpenRouter").about("openrouter.ai, everybody's models"),
        Item::new("an", "Anthropic")
            .about("api.anthropic.com")
            .current_if(true),
        Item::new("no", "Nobody").off("gone"),
        Item::new("my", "家のサーバー")
            .about("127.0.0.1")
            .group("Your own"),
    ];
    List::new("Who should answer?", items).search(Search::Letters)
}

#[test]
fn a_list_at_80_columns() {
    assert_snapshot!(screen(&providers(), 80, 24), @r"
    Who should answer?
    ↑↓ navigate  ENTER confirm  ESC cancel

    / type to search
        OpenRouter    openrouter.ai, everybody's models
    → ● Anthropic     api.anthropic.com
        Nobody        (gone)
    Your own
        家のサーバー  127.0.0.1
    2/4
    ");
}

#[test]
fn a_list_at_40_columns_and_10_rows() {
    assert_snapshot!(screen(&providers(), 40, 10), @r"
    Who should answer?
    ↑↓ navigate  ENTER confirm  ESC cancel
    / type to search
        OpenRouter    openrouter.ai, everyb…
    → ● Anthropic     api.anthropic.com
        Nobody        (gone)
    Your own
        家のサーバー  127.0.0.1
    2/4
    ");
}

#[test]
fn moving_goes_round_and_past_what_is_off() {
    let check = |keys: &str, expected: Option<Outcome<&'static str>>| {
        assert_eq!(typed(&mut providers(), keys), expected, "{keys:?}");
    };
    check("\n", Some(Outcome::Chosen("an")));
    check("\t\n", Some(Outcome::Chosen("my")));
    check("\t\t\n", Some(Outcome::Chosen("or")));
    check("\u{b}\u{b}\n", Some(Outcome::Chosen("my")));
    check("open\n", Some(Outcome::Chosen("or")));
    check("サーバ\n", Some(Outcome::Chosen("my")));
    check("nobody\n", None);
    check("open\u{1b}\n", Some(Outcome::Chosen("or")));
    check("x\u{1b}\u{1b}", Some(Outcome::Cancelled));
    check("op\u{3}", Some(Outcome::Interrupted));
    check("\u{3}", Some(Outcome::Interrupted));
}

#[test]
fn without_a_search_letters_move() {
    let items = || {
        vec![
            Item::new(1, "one"),
            Item::new(2, "two").current_if(true),
            Item::new(3, "three").letter('t'),
        ]
    };
    let check = |keys: &str, expected: Option<Outcome<i32>>| {
        assert_eq!(
            typed(&mut List::radio("?", items()), keys),
            expected,
            "{keys:?}"
        );
    };
    check("j\n", Some(Outcome::Chosen(3)));
    check("k\n", Some(Outcome::Chosen(1)));
    check("k ", Some(Outcome::Chosen(1)));
    check("q", Some(Outcome::Cancelled));
    check("T", Some(Outcome::Chosen(3)));
    check("x", None);
    assert_snapshot!(screen(&List::radio("How much?", items()), 40, 10), @r"
    How much?
    ↑↓ navigate  ENTER confirm  ESC cancel
      (○) one
    → (●) two
      (○) three
    2/3
    ");
}

#[test]
fn further_keys_and_columns_of_a_list() {
    let items = (1..30).map(|n| {
        let title = format!("Conversation number {n} with a rather long title");
        Item::new(n, title).cells([
            format!("{n}m ago"),
            "cli".to_owned(),
            format!("20261116_0900{n:02}_abcdef"),
        ])
    });
    let list = || {
        List::new("Conversations", items.clone().collect())
            .header(&["Title", "Active", "Src", "ID"])
            .search(Search::LettersButQ)
            .extra('r', "rename")
            .preview(|n| format!("preview of {n}\nsecond line"))
    };
    assert_eq!(
        typed(&mut list(), "number 7\u{12}"),
        Some(Outcome::Key('r', 7))
    );
    assert_eq!(typed(&mut list(), "\u{18}"), None);
    assert_eq!(typed(&mut list(), "q"), Some(Outcome::Cancelled));
    let mut narrow = list();
    typed(&mut narrow, "\t\t\t\t\t\t\t\t\t\t");
    assert_snapshot!(screen(&narrow, 40, 18), @r"
    Conversations
    ENTER confirm  ESC cancel  ^R rename
    / type to search
      Conversation number 7 w…  7m ago   cli
      Conversation number 8 w…  8m ago   cli
      Conversation number 9 w…  9m ago   cli
      Conversation number 10 …  10m ago  cli
    → Conversation number 11 …  11m ago  cli
      Conversation number 12 …  12m ago  cli
      Conversation number 13 …  13m ago  cli
      Conversation number 14 …  14m ago  cli
    11/29
    ────────────────────────────────────────
    preview of 11
    second line
    ");
    typed(&mut narrow, "number 2");
    assert_snapshot!(screen(&narrow, 100, 16), @r"
    Conversations
    ↑↓ navigate  ENTER confirm  ESC cancel  ^R rename
    / number 2
    → Conversation number 2 with a rather long title                2m ago   cli  20261116_090002_abcdef
      Conversation number 20 with a rather long title               20m ago  cli  20261116_090020_abcdef
      Conversation number 21 with a rather long title               21m ago  cli  20261116_090021_abcdef
      Conversation number 22 with a rather long title               22m ago  cli  20261116_090022_abcdef
      Conversation number 23 with a rather long title               23m ago  cli  20261116_090023_abcdef
      Conversation number 24 with a rather long title               24m ago  cli  20261116_090024_abcdef
      Conversation number 25 with a rather long title               25m ago  cli  20261116_090025_abcdef
    1/29 (filtered from 29)
    ────────────────────────────────────────────────────────────────────────────────────────────────────
    preview of 2
    second line
    ");
}

#[test]
fn every_size_has_the_row_under_the_cursor() {
    for columns in 10..=120 {
        for height in 3..=30 {
            let rows = screen(&providers(), columns, height);
            assert!(rows.contains("→ ●"), "{columns}x{height}:\n{rows}");
            assert!(screen(&toolsets(), columns, height).contains("→ ["));
            let line = Line::new("A question that is rather long").note("and a note about it");
            assert!(screen(&line, columns, height).contains("\n>"));
        }
    }
}

fn toolsets() -> Checklist {
    let items = vec![
        Item::new((), "terminal").about("terminal, process"),
        Item::new((), "file").about("read_file, write_file, patch, search_files"),
        Item::new((), "web").off("no API key"),
    ];
    Checklist::new("Tools for cli", items, &[0]).footer(|on| format!("~{} tokens", on.len() * 100))
}

#[test]
fn a_checklist() {
    let check = |keys: &str, expected: Option<Outcome<Vec<usize>>>| {
        assert_eq!(typed(&mut toolsets(), keys), expected, "{keys:?}");
    };
    check("\n", Some(Outcome::Chosen(vec![0])));
    check(" \n", Some(Outcome::Chosen(vec![])));
    check("j \n", Some(Outcome::Chosen(vec![0, 1])));
    check("a\n", Some(Outcome::Chosen(vec![0, 1])));
    check("aa\n", Some(Outcome::Chosen(vec![])));
    check(" \u{1b}", Some(Outcome::Cancelled));
    check(" q", Some(Outcome::Cancelled));
    // A space toggles what was searched for.
    let mut searched = toolsets().search(Search::Letters);
    let outcome = typed(&mut searched, "file \u{1b} \n");
    assert_eq!(outcome, Some(Outcome::Chosen(vec![0])));
    assert_snapshot!(screen(&toolsets(), 40, 10), @r"
    Tools for cli
    SPACE toggle  ENTER confirm  ESC cancel
    → [✓] terminal  terminal, process
      [ ] file      read_file, write_file, …
      [ ] web       (no API key)
    1/3  1 on  ~100 tokens
    ");
}

#[test]
fn a_line_keeps_its_default_and_edits_what_is_typed() {
    let check = |keys: &str, expected: Option<Outcome<String>>| {
        let mut line = Line::new("How many?").default("90").check(|text| {
            text.parse::<u32>()
                .map(drop)
                .map_err(|_| "not a number".to_owned())
        });
        assert_eq!(typed(&mut line, keys), expected, "{keys:?}");
    };
    let chosen = |text: &str| Some(Outcome::Chosen(text.to_owned()));
    check("\n", chosen("90"));
    check("12\n", chosen("12"));
    check("12\u{7f}3\n", chosen("13"));
    check("99\u{15}7\n", chosen("7"));
    check("x\n", None);
    check("x\n\u{7f}8\n", chosen("8"));
    check("1\u{1b}", Some(Outcome::Cancelled));
    let mut line = Line::new("Where?").optional();
    line.paste("\u{1b}[200~ http://a b\r\n\u{1b}[201~");
    assert_eq!(typed(&mut line, "\n"), chosen("http://a b"));
}

#[test]
fn a_secret_is_not_shown() {
    let mut line = Line::new("Key for OpenRouter").masked();
    line.paste("sk-或者-secret");
    typed(&mut line, "\u{1}");
    assert_snapshot!(screen(&line, 40, 10), @r"
    Key for OpenRouter
    ENTER confirm  ESC cancel  ^U clear

    > ••••••••••••
    ");
    assert!(!format!("{line:?}").contains("secret"));
    assert_eq!(
        typed(&mut line, "\n"),
        Some(Outcome::Chosen("sk-或者-secret".to_owned()))
    );
}

#[test]
fn long_text_scrolls_with_the_cursor() {
    let mut line = Line::new("Where?").default("");
    typed(&mut line, &"漢字".repeat(30));
    let size = Size::new(40, 10);
    assert_snapshot!(screen(&line, 40, 10), @r"
    Where?
    ENTER confirm  ESC cancel  ^U clear

    > 漢字漢字漢字漢字漢字漢字漢字漢字漢字
    ");
    assert!(line.cursor(size).unwrap().x < 40);
}

#[test]
fn numbered_lines_for_terminals_without_a_screen() {
    assert_snapshot!(providers().lines().join("\n"), @r"
    Who should answer?
       1    OpenRouter  openrouter.ai, everybody's models
       2  ● Anthropic  api.anthropic.com
       3    Nobody  (gone)
       4    家のサーバー  127.0.0.1
    A number or a part of a name (Enter: 2, q: leave):
    ");
    let said = |line: &str| providers().said(line);
    assert_eq!(said(""), Ok(Outcome::Chosen("an")));
    assert_eq!(said("1"), Ok(Outcome::Chosen("or")));
    assert_eq!(said("router"), Ok(Outcome::Chosen("or")));
    assert_eq!(said("3"), Err("gone".to_owned()));
    assert!(said("o").unwrap_err().contains("3 rows"));
    assert!(said("9").is_err());
    assert_eq!(said("q"), Ok(Outcome::Cancelled));
    assert_snapshot!(toolsets().lines().join("\n"), @r"
    Tools for cli
       1 [x] terminal  terminal, process
       2 [ ] file  read_file, write_file, patch, search_files
       3 [ ] web  no API key
    Which should be on? (such as 1 3-5; a: all, n: none, Enter: as marked, q: leave)
    ");
    assert_eq!(toolsets().said("1-3"), Ok(Outcome::Chosen(vec![0, 1])));
    assert_eq!(toolsets().said("n"), Ok(Outcome::Chosen(vec![])));
}
