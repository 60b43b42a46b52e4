//! Two chats with one home.

use hermes_testkit::Exit;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::{Chat, WAIT, bench, said, screen, turns};
use crate::bench::assert_valid;

#[test]
fn each_has_its_own_conversation_and_both_are_remembered() {
    let answers: Vec<Value> = (0..6)
        .map(|at| json!({"when": {"user": format!("say {at}")}, "text": format!("answer {at}")}))
        .collect();
    let bench = bench(json!(answers));
    let (mut one, mut two) = (Chat::open(&bench), Chat::open(&bench));
    for round in 0..3 {
        let (left, right) = (2 * round, 2 * round + 1);
        one.type_in(&format!("say {left}"));
        two.type_in(&format!("say {right}"));
        one.enter();
        two.enter();
        one.wait_idle(&format!("answer {left}"));
        two.wait_idle(&format!("answer {right}"));
    }
    for request in turns(&bench) {
        assert_valid(&request);
        let words = said(&request, "user");
        let sides: Vec<bool> = words
            .iter()
            .map(|word| word.ends_with(['0', '2', '4']))
            .collect();
        assert!(sides.iter().all(|side| *side == sides[0]), "{words:?}");
    }
    let sessions = bench.run(&["sessions", "export", "-"]);
    let sessions = sessions.ok().lines();
    let counts: Vec<usize> = sessions
        .map(|line| {
            serde_json::from_str::<Value>(line).unwrap()["messages"]
                .as_array()
                .unwrap()
                .len()
        })
        .collect();
    assert_eq!(counts, [6, 6]);
    let history = bench.home.read(".hermes_history");
    for at in 0..6 {
        assert_eq!(
            history.matches(&format!("\n+say {at}\n")).count(),
            1,
            "{history}"
        );
    }
}

#[test]
fn a_conversation_that_is_open_in_the_other_one() {
    let bench = bench(json!([
        {"when": {"user": "the first"}, "text": "answer one"},
        {"when": {"user": "the second"}, "text": "answer two"},
        {"when": {"user": "together"}, "text": "answer three"},
    ]));
    let (mut one, mut two) = (Chat::open(&bench), Chat::open(&bench));
    one.say("the first");
    one.wait_idle("answer one");
    let id = bench.session()["id"].as_str().unwrap().to_owned();
    two.say("the second");
    let seen = two.wait_idle("answer two");
    assert!(!seen.contains("another Hermes"), "{seen}");
    two.say(&format!("/resume {id}"));
    let told = format!("open in another Hermes too (process {})", one.id());
    let seen = two.wait_idle(&told);
    assert!(seen.contains("answer one"), "{seen}");
    // Nobody is kept from it.
    two.say("together");
    two.wait_idle("answer three");
    let request = turns(&bench).pop().unwrap();
    assert_eq!(said(&request, "user"), ["the first", "together"]);
    // What somebody has left is free again.
    let sessions = bench.run(&["sessions", "export", "-"]);
    let left = sessions
        .ok()
        .lines()
        .find(|line| line.contains("the second"));
    let left: Value = serde_json::from_str(left.unwrap()).unwrap();
    let left = left["id"].as_str().unwrap();
    let three = Chat::ready(screen(&bench.home, &["--resume", left]).pty(40, 110));
    let seen = three.wait_idle("answer two");
    assert!(!seen.contains("another Hermes"), "{seen}");
    for mut chat in [one, two] {
        chat.send("\u{4}");
        assert_eq!(chat.wait_exit(WAIT), Exit::Code(0));
    }
    let four = Chat::ready(screen(&bench.home, &["--resume", &id]).pty(40, 110));
    let seen = four.wait_idle("answer three");
    assert!(!seen.contains("another Hermes"), "{seen}");
}
