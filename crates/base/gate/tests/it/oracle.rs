//! A second opinion: whatever tree-sitter-bash takes for a command, our reader must have seen.

use std::collections::BTreeSet;

use hermes_gate::look;
use proptest::prelude::*;
use tree_sitter::{Node, Parser};

use super::{policy, tables};

/// Rows whose programs the two see differently, and why ours is right.
const JUSTIFIED: [(&str, &str); 1] = [(
    "r\\\nm -rf /",
    "the oracle ends a word where a line is broken; a shell joins it",
)];

/// Programs at a command's place whose name is written out.
fn named(text: &str) -> Option<BTreeSet<String>> {
    let mut parser = Parser::new();
    parser
        .set_language(&tree_sitter_bash::LANGUAGE.into())
        .unwrap();
    let tree = parser.parse(text, None).unwrap();
    if tree.root_node().has_error() {
        return None;
    }
    let mut names = BTreeSet::new();
    let mut nodes = vec![tree.root_node()];
    while let Some(node) = nodes.pop() {
        if node.kind() == "command_name" {
            names.extend(plain(node, text));
        }
        let mut cursor = node.walk();
        nodes.extend(node.children(&mut cursor));
    }
    Some(names)
}

/// The name without its quotes; `None` if it is made of anything that has to be worked out.
fn plain(node: Node<'_>, text: &str) -> Option<String> {
    let name = &text[node.byte_range()];
    let written_out = !name.contains(['$', '`', '*', '?', '{', '<', '\n', '~', '[']);
    written_out.then(|| name.replace(['\'', '"', '\\'], ""))
}

/// What the oracle sees and we don't.
fn unseen(text: &str) -> Vec<String> {
    let Some(named) = named(text) else {
        return Vec::new();
    };
    let findings = look(text, &policy().places);
    let seen: BTreeSet<&str> = findings.programs().collect();
    let missing = |name: &String| !seen.contains(name.as_str()) && !name.is_empty();
    named.into_iter().filter(missing).collect()
}

#[test]
fn the_oracle_sees_nothing_we_do_not() {
    let table = ["never", "unblocked", "asks", "fine"];
    let table = table.iter().flat_map(|verdict| tables::rows(verdict));
    let table = table.map(|(_, command)| command);
    let everyday = tables::everyday().map(|(.., command)| command.to_owned());
    let mut different = Vec::new();
    let (mut read, mut unread) = (0, 0);
    for command in table.chain(everyday) {
        match named(&command) {
            Some(_) => read += 1,
            None => unread += 1,
        }
        let unseen = unseen(&command);
        let justified = JUSTIFIED.iter().any(|(known, _)| *known == command);
        if !unseen.is_empty() && !justified {
            different.push(format!("{unseen:?} in {command:?}"));
        }
    }
    println!("the oracle could read {read} of {} commands", read + unread);
    assert!(read > 10 * unread, "{read} read, {unread} not");
    assert!(different.is_empty(), "{}", different.join("\n"));
}

/// A command of no meaning but with a structure; programs are called `p0` to `p9`.
fn command() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        "[a-z]{1,4}",
        "'[a-z $`;|()]{0,6}'",
        "\"[a-z ;|()']{0,6}\"",
        Just("$x".to_owned()),
        Just("${x:-y}".to_owned()),
        Just("\\;".to_owned()),
    ];
    let words = prop::collection::vec(word, 0..3);
    let simple = (0..10_u8, words).prop_map(|(n, words)| format!("p{n} {}", words.join(" ")));
    simple.prop_recursive(4, 24, 3, |inner| {
        let two = (inner.clone(), inner.clone());
        prop_oneof![
            two.clone().prop_map(|(a, b)| format!("{a}; {b}")),
            two.clone().prop_map(|(a, b)| format!("{a} && {b}")),
            two.clone().prop_map(|(a, b)| format!("{a} | {b}")),
            two.clone().prop_map(|(a, b)| format!("{a}\n{b}")),
            two.clone().prop_map(|(a, b)| format!("{a} & {b}")),
            two.clone()
                .prop_map(|(a, b)| format!("if {a}; then {b}; fi")),
            two.clone()
                .prop_map(|(a, b)| format!("while {a}; do {b}; done")),
            two.prop_map(|(a, b)| format!("case $x in a|b) {a} ;; *) {b} ;; esac")),
            inner
                .clone()
                .prop_map(|a| format!("for x in a b; do {a}; done")),
            inner.clone().prop_map(|a| format!("( {a} )")),
            inner.clone().prop_map(|a| format!("{{ {a}; }}")),
            inner.clone().prop_map(|a| format!("f() {{ {a}; }}")),
            inner.clone().prop_map(|a| format!("p0 $( {a} )")),
            inner.clone().prop_map(|a| format!("p1 \"$( {a} )\"")),
            inner.clone().prop_map(|a| format!("p2 <( {a} )")),
            inner.clone().prop_map(|a| format!("x=$( {a} ) p3")),
            inner.clone().prop_map(|a| format!("{a} > out 2>&1")),
            inner.prop_map(|a| format!("p4 <<'END'\n$(not this) '\nEND\n{a}")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn the_oracle_sees_nothing_new_in_any_structure(text in command()) {
        let unseen = unseen(&text);
        prop_assert!(unseen.is_empty(), "{:?} in {:?}", unseen, text);
    }
}
