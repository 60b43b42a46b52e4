//! What a conversation is made of, and what would become of it.

use hermes_types::{Message, Role, Usage};

use super::assemble::is_summary;
use super::drive::Squeeze;
use super::numbers::Numbers;
use super::tokens;
use crate::conversation::Conversation;
use crate::turn::Turn;

/// What a pass would do now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    /// Messages before and after it.
    pub messages: (usize, usize),
    /// Messages at the beginning and at the end that stay.
    pub stay: (usize, usize),
    /// Tokens of a request before and after it, the summary at its longest.
    pub tokens: (u64, u64),
    /// Tokens of the summary at most.
    pub summary: u64,
}

/// Where the tokens of the next request are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// What was added to the instructions, by name; part of `system`.
    pub parts: Vec<(&'static str, u64)>,
    pub system: u64,
    pub tools: (usize, u64),
    /// History by kind: how many messages, how many tokens.
    pub history: Vec<(&'static str, usize, u64)>,
    pub numbers: Numbers,
    /// What the provider counted last.
    pub last: Option<Usage>,
    pub passes: u32,
}

impl Sizes {
    pub fn total(&self) -> u64 {
        self.system
            + self.tools.1
            + self
                .history
                .iter()
                .map(|(_, _, tokens)| tokens)
                .sum::<u64>()
    }
}

impl Turn {
    /// What `compact` would do; `None`: nothing.
    pub fn preview(&self, conversation: &Conversation) -> Option<Preview> {
        let draft = self.draft(conversation, Squeeze::Asked);
        let plan = draft.plan?;
        let count = conversation.messages().len();
        let gone = plan.middle.clone().filter(|at| Some(*at) != plan.asked);
        let gone: u64 = gone.map(|at| tokens::message(&draft.messages[at])).sum();
        let summary = draft.numbers.summary(gone);
        let before = self.request_tokens(conversation);
        let pruned = tokens::messages(conversation.messages())
            .saturating_sub(tokens::messages(&draft.messages));
        Some(Preview {
            messages: (count, count - plan.gone() + 1),
            stay: (plan.middle.start, count - plan.gone() - plan.middle.start),
            tokens: (before, (before + summary).saturating_sub(pruned + gone)),
            summary,
        })
    }

    pub fn sizes(&self, conversation: &Conversation) -> Sizes {
        let tools = self.toolbox.definitions();
        let system = conversation.instructions();
        Sizes {
            parts: parts(&system),
            system: tokens::text(&system),
            tools: (tools.len(), tokens::tools(&tools)),
            history: by_kind(conversation.messages()),
            numbers: self.numbers(conversation),
            last: conversation.load().last(),
            passes: conversation.load().passes(),
        }
    }
}

fn by_kind(messages: &[Message]) -> Vec<(&'static str, usize, u64)> {
    const KINDS: [&str; 5] = [
        "your messages",
        "answers",
        "tool calls",
        "tool results",
        "summary",
    ];
    let mut found = KINDS.map(|kind| (kind, 0, 0));
    let mut add = |kind: usize, tokens: u64| {
        found[kind].1 += 1;
        found[kind].2 += tokens;
    };
    for message in messages {
        let all = tokens::message(message);
        match message.role {
            _ if is_summary(message) => add(4, all),
            Role::Tool => add(3, all),
            Role::Assistant if !message.tool_calls.is_empty() => add(2, all),
            Role::Assistant => add(1, all),
            _ => add(0, all),
        }
    }
    found
        .into_iter()
        .filter(|(_, count, _)| *count > 0)
        .collect()
}

/// The parts of the instructions that others fill.
fn parts(system: &str) -> Vec<(&'static str, u64)> {
    let between = |from: &str, to: &str| {
        let start = system.find(from)?;
        let rest = &system[start..];
        Some(tokens::text(rest.find(to).map_or(rest, |end| &rest[..end])))
    };
    let found = [
        (
            "skills",
            between("<available_skills>", "</available_skills>"),
        ),
        (
            "project rules",
            between("# Project Context", "\n\nConversation started:"),
        ),
        (
            "memory",
            between("MEMORY (your personal notes)", "\n\nConversation started:"),
        ),
    ];
    found
        .into_iter()
        .filter_map(|(name, tokens)| Some((name, tokens?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_the_instructions_are_found() {
        let system = "You.\n\n<available_skills>\nabcd\n</available_skills>\n\n# Project Context\n\nrules\n\nConversation started: today";
        let names: Vec<_> = parts(system).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["skills", "project rules"]);
        assert_eq!(parts("You."), []);
    }
}
