//! Which part of a conversation goes. One walk from each end, whatever the length.

use std::ops::Range;

use hermes_types::{Message, Role};

use super::assemble::is_asked;
use super::numbers::Numbers;
use super::settings::Compaction;
use super::tokens;

/// The least that must be between the beginning and the end.
const WORTHWHILE: usize = 4;
const SHORTEST_TAIL: usize = 3;

/// A conversation in three parts: the beginning and the end stay, the middle goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub middle: Range<usize>,
    /// The latest request, if it is in the middle: it stays too, word for word.
    pub asked: Option<usize>,
}

impl Plan {
    /// How many messages go.
    pub fn gone(&self) -> usize {
        self.middle.len() - usize::from(self.asked.is_some())
    }
}

/// `None`: there is too little between the beginning and the end.
pub fn plan(messages: &[Message], numbers: &Numbers, settings: &Compaction) -> Option<Plan> {
    plan_by(messages, numbers, settings, tokens::message)
}

fn plan_by(
    messages: &[Message],
    numbers: &Numbers,
    settings: &Compaction,
    weight: impl FnMut(&Message) -> u64,
) -> Option<Plan> {
    let head = head(messages, settings.protect_first);
    if messages.len() <= head + WORTHWHILE {
        return None;
    }
    let budget = numbers.tail + numbers.tail / 2;
    let tail = whole(messages, tail(messages, budget, SHORTEST_TAIL, weight)).max(head);
    let asked = messages
        .iter()
        .rposition(is_asked)
        .filter(|asked| (head..tail).contains(asked));
    let plan = Plan {
        middle: head..tail,
        asked,
    };
    (plan.gone() > 0).then_some(plan)
}

/// Where the end begins whose tool results stay as they are.
pub fn untouched(messages: &[Message], numbers: &Numbers, least: usize) -> usize {
    tail(messages, numbers.tail, least, tokens::message)
}

/// The first messages, and the results that belong to them. A summary is never one of them.
fn head(messages: &[Message], wanted: usize) -> usize {
    let first = messages.iter().take(wanted);
    let summary = first.clone().position(super::assemble::is_summary);
    let wanted = summary.unwrap_or(wanted.min(messages.len()));
    let results = messages[wanted..]
        .iter()
        .take_while(|message| message.role == Role::Tool);
    wanted + results.count()
}

/// The last messages that fit into `budget`, but at least `least`.
fn tail(
    messages: &[Message],
    budget: u64,
    least: usize,
    mut weight: impl FnMut(&Message) -> u64,
) -> usize {
    let mut used = 0;
    for (kept, message) in messages.iter().rev().enumerate() {
        used += weight(message);
        if used > budget && kept >= least {
            return messages.len() - kept;
        }
    }
    0
}

/// Results stay with the calls they answer.
fn whole(messages: &[Message], mut start: usize) -> usize {
    while start > 0
        && messages
            .get(start)
            .is_some_and(|message| message.role == Role::Tool)
    {
        start -= 1;
    }
    start
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::compact::assemble::summary_message;

    fn numbers(tail: u64) -> Numbers {
        Numbers {
            context: 100_000,
            window: 100_000,
            threshold: 64_000,
            tail,
        }
    }

    /// One letter a message: u, a, c (calls), t, s (summary); each weighs ten tokens.
    fn talk(sketch: &str) -> Vec<Message> {
        let one = |(at, letter): (usize, char)| match letter {
            'u' => Message::user(format!("question {at}")),
            't' => Message::tool("1", "f", "result"),
            's' => summary_message(Role::User, "what was"),
            _ => Message::assistant("answer"),
        };
        sketch.chars().enumerate().map(one).collect()
    }

    fn check(sketch: &str, tail: u64, expected: Option<(Range<usize>, Option<usize>)>) {
        let plan = plan_by(
            &talk(sketch),
            &numbers(tail),
            &Compaction::default(),
            |_| 10,
        );
        assert_eq!(
            plan.map(|plan| (plan.middle, plan.asked)),
            expected,
            "{sketch}"
        );
    }

    #[test]
    fn beginning_and_end_stay() {
        check("uauauauaua", 20, Some((3..7, None)));
        check("uauauauaua", 40, Some((3..4, None)));
        check("uaua", 1, None);
        check("uauauau", 1, None);
        check("uauauaua", 1, Some((3..5, None)));
        check("uauauauaua", 1_000, None);
    }

    #[test]
    fn calls_and_results_stay_together() {
        check("ucttttuauaua", 20, Some((6..9, None)));
        check("uauaucttttttt", 20, Some((3..5, Some(4))));
        check("uauacttttuctttua", 20, Some((3..10, None)));
    }

    #[test]
    fn the_latest_request_stays_even_from_far_back() {
        check("uauaucacacacaca", 20, Some((3..12, Some(4))));
        check("uacacacacacacaca", 20, Some((3..13, None)));
        let todo = [
            talk("uauauaca"),
            vec![Message::user(format!("{} x", crate::todo::KEPT))],
            talk("aaa"),
        ]
        .concat();
        let plan = plan_by(&todo, &numbers(1), &Compaction::default(), |_| 10);
        assert_eq!(
            plan.and_then(|plan| plan.asked),
            Some(4),
            "a reminder of ours is no request"
        );
    }

    #[test]
    fn an_earlier_summary_is_never_part_of_the_beginning() {
        check("uasuauauaua", 20, Some((2..8, None)));
    }

    #[test]
    fn planning_takes_one_step_a_message() {
        let steps = |count: usize| {
            let (messages, mut steps) = (talk(&"ua".repeat(count)), 0_usize);
            plan_by(
                &messages,
                &numbers(u64::MAX / 4),
                &Compaction::default(),
                |_| {
                    steps += 1;
                    10
                },
            );
            steps
        };
        assert_eq!(steps(100), 200);
        assert_eq!(steps(10_000), 20_000);
    }
}
