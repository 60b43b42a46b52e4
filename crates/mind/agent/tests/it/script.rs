//! Made-up conversations: what a model, its tools and its owner may do, in any order.

use hermes_types::{Finish, FunctionCall, Message, ModelErrorKind, ToolCall};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Map;

/// A conversation of several turns.
#[derive(Clone, Debug)]
pub struct Script {
    pub turns: Vec<Prompted>,
    /// The step limit.
    pub iterations: u32,
    /// Whether going round in circles ends a turn.
    pub guarded: bool,
}

#[derive(Clone, Debug)]
pub struct Prompted {
    pub prompt: String,
    pub picture: bool,
    /// How the model answers, request by request; after that it is done.
    pub steps: Vec<Step>,
    pub then: Between,
}

/// What happens between two turns.
#[derive(Clone, Debug)]
pub enum Between {
    Nothing,
    /// Another process takes the conversation up.
    Resumed,
    /// The same, after only this many messages had been stored.
    Killed(usize),
}

#[derive(Clone, Debug)]
pub struct Step {
    pub reply: Reply,
    /// What the owner does while the model thinks.
    pub meanwhile: Doing,
}

#[derive(Clone, Debug)]
pub enum Reply {
    Message(Message, Finish),
    Error(ModelErrorKind),
    /// Ends without an end.
    BreaksOff,
    /// Says nothing until it is interrupted.
    Hangs,
    /// Begins, and says no more until it is interrupted.
    Stalls,
}

#[derive(Clone, Debug)]
pub enum Doing {
    Nothing,
    Steer,
    Interrupt,
}

/// What there is to call.
pub const TOOLS: [&str; 10] = [
    "echo",
    "fail",
    "panic",
    "panic_at_once",
    "slow",
    "steered",
    "interrupted",
    "deaf",
    "todo",
    "read_it",
];

impl Step {
    pub fn done() -> Self {
        Self {
            reply: Reply::Message(Message::assistant("done"), Finish::Stop),
            meanwhile: Doing::Nothing,
        }
    }
}

pub fn script() -> impl Strategy<Value = Script> {
    let turns = prop::collection::vec(prompted(), 1..5);
    (turns, select(&[1, 2, 3, 90][..]), any::<bool>()).prop_map(|(turns, iterations, guarded)| {
        Script {
            turns,
            iterations,
            guarded,
        }
    })
}

fn prompted() -> impl Strategy<Value = Prompted> {
    let then = prop_oneof![
        4 => Just(Between::Nothing),
        2 => Just(Between::Resumed),
        1 => (0..12_usize).prop_map(Between::Killed),
    ];
    let picture = prop::bool::weighted(0.1);
    let steps = prop::collection::vec(step(), 0..9);
    ("[a-z]{1,5}", picture, steps, then).prop_map(|(prompt, picture, steps, then)| Prompted {
        prompt,
        picture,
        steps,
        then,
    })
}

fn step() -> impl Strategy<Value = Step> {
    let reply = prop_oneof![
        9 => message().prop_map(|(message, finish)| Reply::Message(message, finish)),
        1 => select(&ERRORS[..]).prop_map(Reply::Error),
        1 => prop_oneof![Just(Reply::BreaksOff), Just(Reply::Hangs), Just(Reply::Stalls)],
    ];
    let meanwhile = prop_oneof![
        12 => Just(Doing::Nothing),
        2 => Just(Doing::Steer),
        1 => Just(Doing::Interrupt),
    ];
    (reply, meanwhile).prop_map(|(reply, meanwhile)| Step { reply, meanwhile })
}

const ERRORS: [ModelErrorKind; 9] = [
    ModelErrorKind::RateLimit,
    ModelErrorKind::Server,
    ModelErrorKind::Transport,
    ModelErrorKind::Auth,
    ModelErrorKind::ContextOverflow { limit: None },
    ModelErrorKind::ImagesRejected,
    ModelErrorKind::ImageTooLarge,
    ModelErrorKind::OutputTooLarge { available: 9_000 },
    ModelErrorKind::Malformed,
];

fn message() -> impl Strategy<Value = (Message, Finish)> {
    let text = prop_oneof![3 => Just(""), 2 => Just("words"), 1 => Just(" \n")];
    let thought = prop::option::weighted(0.3, Just("hmm"));
    let calls = prop_oneof![
        2 => Just(Vec::new()),
        3 => prop::collection::vec(call(), 1..4),
    ];
    let finish = prop_oneof![
        6 => Just(Finish::Stop),
        3 => Just(Finish::Length),
        1 => select(&[Finish::ToolCalls, Finish::ContentFilter, Finish::Incomplete, Finish::Dropped][..]),
    ];
    (text, any::<bool>(), thought, calls, finish).prop_map(
        |(text, has_content, thought, calls, finish)| {
            let mut message = Message::assistant(text);
            if text.is_empty() && !has_content {
                message.content = None;
            }
            message.reasoning = thought.map(str::to_owned);
            message.tool_calls = calls;
            (message, finish)
        },
    )
}

fn call() -> impl Strategy<Value = ToolCall> {
    let name = prop_oneof![
        60 => select(&TOOLS[..7]),
        30 => select(&TOOLS[8..]),
        // Waited for a little, each time.
        1 => Just(TOOLS[7]),
        10 => Just("Echo_tool"),
        10 => select(&["frobnicate", "functions.do it:0", "", "<|channel|>", "a_name_that_goes_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on"][..]),
    ];
    let arguments = prop_oneof![
        6 => select(&["{}", "{\"n\": 1}", "{\"n\": 2, \"a\": [1]}"][..]),
        2 => select(&["", "null", "{\"n\": 1,}", "\"{\\\"n\\\": 1}\"", "{\"n\": 1}}"][..]),
        1 => select(&["{\"n\": nope}", "[1]", "{\"n\" 1}"][..]),
        1 => select(&["{\"cut\": 1, \"n\": \"abc", "{\"cut\": 1", "{\"cut\": 1, \"a\": [1}"][..]),
    ];
    let id = select(&["a", "b", "c", "a_2", ""][..]);
    (name, arguments, id).prop_map(|(name, arguments, id)| ToolCall {
        id: id.to_owned(),
        kind: "function".to_owned(),
        function: FunctionCall {
            name: name.to_owned(),
            arguments: arguments.to_owned(),
            extra: Map::new(),
        },
        extra: Map::new(),
    })
}
