//! What holds for every conversation that is made shorter.

use hermes_types::{FunctionCall, Message, Role, ToolCall};
use proptest::prelude::*;
use serde_json::{Map, json};

use super::assemble::{after_summary, assemble, is_asked, is_summary};
use super::numbers::Numbers;
use super::plan::{plan, untouched};
use super::prune::prune;
use super::{Compaction, tokens};
use crate::request;
use crate::toolbox::Toolbox;

/// What may follow in a conversation.
#[derive(Clone, Debug)]
enum Said {
    User(usize),
    Answer(usize),
    /// Calls and how long their results are.
    Tools(Vec<usize>),
}

fn talk() -> impl Strategy<Value = Vec<Message>> {
    let size = prop_oneof![3 => 0..50_usize, 1 => 100..3_000_usize];
    let said = prop_oneof![
        2 => size.clone().prop_map(Said::User),
        2 => size.clone().prop_map(Said::Answer),
        3 => prop::collection::vec(size, 1..4).prop_map(Said::Tools),
    ];
    prop::collection::vec(said, 0..40).prop_map(|all| {
        let mut messages = vec![Message::user("the first request")];
        for (at, said) in all.into_iter().enumerate() {
            match said {
                Said::User(size) => {
                    messages.push(Message::user(format!("u{at} {}", "x".repeat(size))))
                }
                Said::Answer(size) => {
                    messages.push(Message::assistant(format!("a{at} {}", "y".repeat(size))))
                }
                Said::Tools(sizes) => messages.extend(group(at, &sizes)),
            }
        }
        request::mend(&mut messages);
        messages
    })
}

fn group(at: usize, sizes: &[usize]) -> Vec<Message> {
    let call = |(index, size): (usize, &usize)| ToolCall {
        id: format!("{at}-{index}"),
        kind: "function".to_owned(),
        function: FunctionCall {
            name: "write_file".to_owned(),
            arguments: json!({"path": format!("/{at}"), "content": "z".repeat(*size)}).to_string(),
            extra: Map::new(),
        },
        extra: Map::new(),
    };
    let calls = Message {
        tool_calls: sizes.iter().enumerate().map(call).collect(),
        ..Message::assistant("")
    };
    let result = |(index, size): (usize, &usize)| {
        Message::tool(format!("{at}-{index}"), "write_file", "r".repeat(*size))
    };
    let results = sizes.iter().enumerate().map(result);
    std::iter::once(calls).chain(results).collect()
}

fn numbers(tail: u64) -> Numbers {
    Numbers {
        context: 100_000,
        window: 100_000,
        threshold: 64_000,
        tail,
    }
}

/// Every call is followed by exactly its results.
fn assert_whole(messages: &[Message]) {
    let mut open: Vec<&str> = Vec::new();
    for message in messages {
        if message.role == Role::Tool {
            let id = message.tool_call_id.as_deref().unwrap();
            let place = open
                .iter()
                .position(|call| *call == id)
                .expect("a result has its call");
            open.remove(place);
            continue;
        }
        assert!(open.is_empty(), "every call has its result: {open:?}");
        open = message
            .tool_calls
            .iter()
            .map(|call| call.id.as_str())
            .collect();
    }
    assert!(open.is_empty());
}

fn said(message: &Message) -> String {
    message.content.as_ref().unwrap().plain()
}

proptest! {
    #[test]
    fn what_becomes_of_any_conversation(messages in talk(), tail in 1..2_000_u64, first in 0..5_usize) {
        let settings = Compaction { protect_first: first, ..Compaction::default() };
        let numbers = numbers(tail);
        let mut pruned = messages.clone();
        let upto = untouched(&messages, &numbers, 3);
        prune(&mut pruned, upto, &Toolbox::default());
        prop_assert!(tokens::messages(&pruned) <= tokens::messages(&messages));
        prop_assert_eq!(&pruned[upto..], &messages[upto..]);
        let mut again = pruned.clone();
        prune(&mut again, upto, &Toolbox::default());
        prop_assert_eq!(&again, &pruned, "pruning twice changes nothing");

        let Some(plan) = plan(&pruned, &numbers, &settings) else { return Ok(()) };
        let shorter = assemble(&pruned, &plan, "what was");
        assert_whole(&shorter);
        prop_assert_eq!(&shorter[0].role, &Role::User);
        prop_assert_eq!(shorter.iter().filter(|message| is_summary(message)).count(), 1);
        let neighbours = shorter.windows(2).filter(|pair| pair[0].role == Role::User);
        prop_assert!(neighbours.clone().all(|pair| pair[1].role != Role::User));

        let asked = messages.iter().rfind(|message| is_asked(message)).map(said).unwrap();
        let kept = shorter.iter().rfind(|message| is_asked(message)).map(said).unwrap();
        let kept = if kept.contains("END OF CONTEXT SUMMARY") { after_summary(&kept).to_owned() } else { kept };
        prop_assert_eq!(kept.trim(), asked.trim(), "the latest request is there word for word");

        // Once more: the summary is brought up to date, never doubled.
        let longer: Vec<Message> = shorter.into_iter().chain(group(99, &[9; 8])).chain(group(98, &[9; 8])).collect();
        if let Some(plan) = super::plan::plan(&longer, &self::numbers(1), &settings) {
            let twice = assemble(&longer, &plan, "what was, again");
            assert_whole(&twice);
            prop_assert_eq!(twice.iter().filter(|message| is_summary(message)).count(), 1);
        }
    }
}
