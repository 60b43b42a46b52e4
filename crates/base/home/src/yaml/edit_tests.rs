//! Edits as before → after pairs, and the promise behind them: nothing but the path ever changes.

use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn check_set(before: &str, path: &str, value: Value, after: &str) {
    let path = Path::parse(path).unwrap();
    assert_eq!(
        set(before, &path, &value).unwrap(),
        after,
        "set {path} in:\n{before}"
    );
}

fn check_unset(before: &str, path: &str, after: &str) {
    let path = Path::parse(path).unwrap();
    assert_eq!(
        unset(before, &path).unwrap(),
        after,
        "unset {path} in:\n{before}"
    );
}

#[test]
fn replacing_a_value_keeps_the_rest_of_its_line() {
    check_set("a: 1 # why\nb: 2\n", "a", json!(5), "a: 5 # why\nb: 2\n");
    check_set("a: 'x'\n", "a", json!("y z"), "a: y z\n");
    check_set("a:   \"x\"   # c\n", "a", json!(true), "a:   true   # c\n");
    check_set(
        "a: {b: 1, c: 2}\n",
        "a.b",
        json!("x, y"),
        "a: {b: \"x, y\", c: 2}\n",
    );
    check_set(
        "a: [x] # why\nb: {c: 1} # too\n",
        "a",
        json!(["x", "y"]),
        "a:\n  - x\n  - y # why\nb: {c: 1} # too\n",
    );
    check_set("b: {c: 1} # too\n", "b.c", json!(2), "b: {c: 2} # too\n");
    check_set("a:\n- 1\n- 2\n", "a.1", json!(3), "a:\n- 1\n- 3\n");
    check_set(
        "a:\n  - b: 1\n    c: 2\n",
        "a.0.c",
        json!(3),
        "a:\n  - b: 1\n    c: 3\n",
    );
    check_set(
        "a: |\n  long\n  text\nb: 1\n",
        "a",
        json!("short"),
        "a: short\nb: 1\n",
    );
    check_set(
        "a:\n  b: 1\n  c: 2\nd: 3\n",
        "a",
        json!("x"),
        "a: x\nd: 3\n",
    );
    check_set(
        "a: old\nb: 1\n",
        "a",
        json!({"k": [1, {"x": "y"}]}),
        "a:\n  k:\n    - 1\n    - x: y\nb: 1\n",
    );
    check_set("a: 1\na: 2\n", "a", json!(3), "a: 1\na: 3\n");
    check_set(
        "标题: 你好 # 注释\nb: 1\n",
        "b",
        json!("世界"),
        "标题: 你好 # 注释\nb: 世界\n",
    );
}

#[test]
fn adding_a_key_touches_nothing_else() {
    check_set("", "a.b", json!(1), "a:\n  b: 1\n");
    check_set(
        "# only a comment\n",
        "a",
        json!(1),
        "# only a comment\na: 1\n",
    );
    check_set("a: 1", "b", json!(2), "a: 1\nb: 2\n");
    check_set(
        "a:\n    deep: 1\n# tail\n",
        "a.more",
        json!(2),
        "a:\n    deep: 1\n    more: 2\n# tail\n",
    );
    check_set("a:\nb: 1\n", "a.c", json!(2), "a:\n  c: 2\nb: 1\n");
    check_set(
        "a: # note\nb: 1\n",
        "a.c",
        json!(2),
        "a:\n  c: 2 # note\nb: 1\n",
    );
    check_set("a: {}\n", "a.c.d", json!(2), "a:\n  c:\n    d: 2\n");
    check_set("a: null\n", "a.c", json!(2), "a:\n  c: 2\n");
    check_set("a: {b: 1}\n", "a.c.d", json!(2), "a: {b: 1, c: {d: 2}}\n");
    check_set("a:\n- 1\n", "a.1", json!(2), "a:\n- 1\n- 2\n");
    check_set("a: [1]\n", "a.1", json!("x"), "a: [1, x]\n");
    check_set("a: []\n", "a.0", json!("x"), "a: [x]\n");
    check_set(
        "a:\n  - b: 1\n",
        "a.0.c",
        json!(2),
        "a:\n  - b: 1\n    c: 2\n",
    );
    check_set(
        "a: 1\r\nb: 2\r\n",
        "c",
        json!(3),
        "a: 1\r\nb: 2\r\nc: 3\r\n",
    );
    check_set(
        "base: &b {x: 1}\na:\n  <<: *b\n",
        "a.x",
        json!(2),
        "base: &b {x: 1}\na:\n  <<: *b\n  x: 2\n",
    );
}

#[test]
fn removing_takes_whole_lines_and_empty_sections() {
    check_unset("a: 1 # gone\nb: 2\n", "a", "b: 2\n");
    check_unset("a:\n  b: 1\n  c: 2\n", "a.b", "a:\n  c: 2\n");
    check_unset("a:\n  b: 1\nc: 2\n", "a.b", "c: 2\n");
    check_unset("# top\na:\n  b: 1\n", "a.b", "# top\n");
    check_unset("a: {b: 1, c: 2}\n", "a.b", "a: {c: 2}\n");
    check_unset("a: {b: 1, c: 2}\n", "a.c", "a: {b: 1}\n");
    check_unset("a:\n- 1\n- 2\n", "a.0", "a:\n- 2\n");
    check_unset("a: 1\nb: 2\na: 3\n", "a", "b: 2\n");
    check_unset("a:\n  - b: 1\n    c: 2\n", "a.0.b", "a:\n  - c: 2\n");
    check_unset("a: |\n  x\n  y\nb: 1\n", "a", "b: 1\n");
}

#[test]
fn what_cannot_be_done_safely_is_refused() {
    let check = |before: &str, path: &str, part: &str| {
        let error = set(before, &Path::parse(path).unwrap(), &json!(9))
            .unwrap_err()
            .to_string();
        assert!(error.contains(part), "{path} in {before:?}: {error}");
    };
    check("a: text\n", "a.b", "'a' is a single value");
    check("a: [1]\n", "a.5", "next index is 1");
    check("a: &x {b: 1}\nc: *x\n", "a.b", "cannot be changed");
    check("a: &x {b: 1}\nc: *x\n", "c.b", "cannot be changed");
    check("a: : b\n", "a", "1:");
    assert_eq!(
        unset("a: 1\n", &Path::parse("b").unwrap()),
        Err(EditError::Missing("b".into()))
    );
    assert!(Path::parse("a..b").is_err());
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{0,8}",
        "\\PC{0,12}",
        Just("off".to_owned()),
        Just("1:30".to_owned()),
        Just("0755".to_owned()),
        Just("- x: [".to_owned()),
        Just("a: b # c".to_owned()),
        Just(" lead\n\ttab\u{7f}\u{2028}".to_owned()),
        Just("2026-11-15".to_owned()),
    ]
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        (-1e30..1e30).prop_map(Value::from),
        any_text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(any_text(), inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn a_written_document_reads_back(value in any_value()) {
        let text = emit::document(&value);
        prop_assert_eq!(read(&text).map_err(|e| TestCaseError::fail(format!("{e}: {text}")))?, value, "{}", text);
    }

    /// `set` itself verifies, so the point here is that it succeeds on documents as people write them.
    #[test]
    fn any_value_can_be_set_anywhere(value in any_value(), place in 0usize..7) {
        let text = "# head\nmodel: a/b # main\nagent:\n  max_turns: 5\n  # inner\n  nested: {x: 1}\nlist:\n  - one\n  - k: v\nlast: |\n  block\n";
        let path = ["model", "agent.max_turns", "agent.nested.x", "agent.new", "list.0", "list.2", "fresh.deep.key"][place];
        let edited = set(text, &Path::parse(path).unwrap(), &value).unwrap();
        for comment in ["# head", "# inner"] {
            prop_assert!(edited.contains(comment));
        }
    }

    #[test]
    fn arbitrary_text_never_panics(text in "\\PC{0,80}", key in "[a-z]{1,3}") {
        let _ = set(&text, &Path::parse(&key).unwrap(), &json!(1));
        let _ = unset(&text, &Path::parse(&key).unwrap());
    }
}
