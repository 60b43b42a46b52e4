use pretty_assertions::assert_eq;
use ratatui::style::Stylize;

use super::*;

const SIZE: Size = Size {
    width: 70,
    height: 5,
};

fn numbered(count: usize) -> Vec<Row> {
    (1..=count).map(|n| Row::raw(format!("row {n}"))).collect()
}

fn press(pager: &mut Pager, keys: &str) {
    for c in keys.chars() {
        let code = match c {
            '\n' => KeyCode::Enter,
            '\x08' => KeyCode::Backspace,
            c => KeyCode::Char(c),
        };
        assert_eq!(pager.key(code.into()), Pressed::Handled, "{c:?}");
    }
}

/// First row and last line of what is shown.
fn shown(pager: &mut Pager) -> (String, String) {
    let rows = pager.rows(SIZE);
    assert_eq!(rows.len(), 5);
    (rows[0].to_string(), rows[4].to_string())
}

#[test]
fn keys_move_and_never_beyond_the_ends() {
    let mut pager = Pager::new(numbered(20));
    pager.rows(SIZE);
    let mut check = |code: KeyCode, expected: &str| {
        assert_eq!(pager.key(code.into()), Pressed::Handled);
        assert_eq!(shown(&mut pager).0, expected, "{code:?}");
    };
    check(KeyCode::Up, "row 1");
    check(KeyCode::Down, "row 2");
    check(KeyCode::Char('j'), "row 3");
    check(KeyCode::PageDown, "row 7");
    check(KeyCode::Char(' '), "row 11");
    check(KeyCode::PageUp, "row 7");
    check(KeyCode::End, "row 17");
    check(KeyCode::PageDown, "row 17");
    check(KeyCode::Char('k'), "row 16");
    check(KeyCode::Home, "row 1");
    check(KeyCode::Char('G'), "row 17");
    check(KeyCode::Char('b'), "row 13");
    check(KeyCode::Char('g'), "row 1");
}

#[test]
fn the_last_line_tells_where_one_is() {
    let help = "q close · / find · n N next, previous";
    let foot = |pager: &mut Pager| shown(pager).1;
    let mut pager = Pager::from_end(numbered(20));
    assert_eq!(foot(&mut pager), format!(" 17–20 of 20 · {help}"));
    // More rows are followed from the end, and from elsewhere not.
    pager.replace(numbered(30));
    assert_eq!(foot(&mut pager), format!(" 27–30 of 30 · {help}"));
    press(&mut pager, "k");
    pager.replace(numbered(40));
    assert_eq!(foot(&mut pager), format!(" 26–29 of 40 · {help}"));
    // Twice as many for the same text: still the same part of it.
    pager.rewrap(numbered(80));
    assert_eq!(foot(&mut pager), format!(" 51–54 of 80 · {help}"));
    press(&mut pager, "G");
    pager.rewrap(numbered(40));
    assert_eq!(foot(&mut pager), format!(" 37–40 of 40 · {help}"));
    assert_eq!(
        foot(&mut Pager::new(numbered(2))),
        format!(" 1–2 of 2 · {help}")
    );
    assert_eq!(
        foot(&mut Pager::default()),
        format!(" nothing to show · {help}")
    );
}

#[test]
fn words_are_found_around_the_end() {
    let mut pager = Pager::new(numbered(20));
    pager.rows(SIZE);
    let mut check = |keys: &str, found: Option<usize>, top: &str| {
        press(&mut pager, keys);
        assert_eq!(pager.found, found, "{keys:?}");
        assert_eq!(shown(&mut pager).0, top, "{keys:?}");
    };
    check("/ROX\x08W 1", None, "row 1");
    check("\n", None, "row 1");
    check("/row 1\n", Some(0), "row 1");
    check("n", Some(9), "row 10");
    check("n", Some(10), "row 10");
    check("N", Some(9), "row 10");
    check("N", Some(0), "row 1");
    check("N", Some(18), "row 17");
    check("n", Some(0), "row 1");
    check("/zebra\n", None, "row 1");
    let foot = shown(&mut pager).1;
    assert!(foot.contains("zebra is not here"), "{foot}");
    press(&mut pager, "/\n");
    assert!(!shown(&mut pager).1.contains("zebra"));
}

#[test]
fn what_was_found_stands_out_across_spans() {
    let row = Row::from(vec!["An ap".red(), "ple, apple".into()]);
    let mut pager = Pager::new(vec![row]);
    pager.rows(SIZE);
    press(&mut pager, "/apple\n");
    let expected = Row::from(vec![
        "An ".red(),
        "ap".red().reversed(),
        "ple".reversed(),
        ", ".into(),
        "apple".reversed(),
    ]);
    assert_eq!(pager.rows(SIZE)[0], expected);
}

#[test]
fn typing_a_search_is_shown_and_can_be_left() {
    let mut pager = Pager::new(numbered(3));
    press(&mut pager, "/qq");
    assert_eq!(shown(&mut pager).1, "/qq ");
    let narrow = Size::new(3, 2);
    assert_eq!(pager.rows(narrow)[1].to_string(), "/q ");
    assert_eq!(pager.key(KeyCode::Esc.into()), Pressed::Handled);
    assert_eq!(pager.key(KeyCode::F(5).into()), Pressed::Ignored);
    let ctrl = |c| KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL);
    assert_eq!(pager.key(ctrl('t')), Pressed::Ignored);
    assert_eq!(pager.key(ctrl('c')), Pressed::Closed);
    assert_eq!(pager.key(KeyCode::Esc.into()), Pressed::Closed);
    assert_eq!(pager.key(KeyCode::Char('q').into()), Pressed::Closed);
}
