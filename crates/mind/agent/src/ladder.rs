//! What a reply means and what to do about one that means nothing: decided here, done by the turn.

use hermes_types::{Content, Finish, Message, ModelReply, Role, ToolCall};

use crate::batch::Call;
use crate::calls;
use crate::json::{Parsed, arguments};
use crate::request::{self, PREFILL};
use crate::think::{has_reasoning, visible};
use crate::toolbox::Toolbox;

/// What happens after a reply.
#[derive(Debug)]
pub enum Next {
    /// The turn is over: the message to keep, and the whole answer.
    Answer { message: Message, text: String },
    /// These calls run; the message that asked for them goes first.
    Run { message: Message, calls: Vec<Call> },
    /// These messages are part of the conversation now; ask again.
    Append(Vec<Message>),
    /// These messages go with the next request only.
    PropUp(Vec<Message>),
    /// Ask again as if nothing had come, perhaps with room for a longer reply.
    Again { max_output: Option<u64> },
    /// Nothing comes of asking this model: ask another, if there is one.
    Elsewhere,
    /// The turn failed; what had arrived, and why.
    Stop {
        text: String,
        error: String,
        reason: &'static str,
    },
}

/// What the turn has been through; counts attempts so that every ladder has an end.
#[derive(Debug, Default)]
pub struct Climb {
    unknown_tools: u32,
    bad_json: u32,
    cut_calls: u32,
    continuations: u32,
    unfinished: u32,
    nudged: bool,
    prefills: u32,
    empties: u32,
    /// Parts of an answer that came in several replies.
    parts: String,
    /// What was said beside housekeeping calls; the answer if nothing follows.
    aside: Option<String>,
}

const MAX_UNKNOWN: u32 = 3;
const MAX_BAD_JSON: u32 = 3;
const MAX_CUT_RESULTS: u32 = 2;
const MAX_CONTINUATIONS: u32 = 3;
const MAX_UNFINISHED: u32 = 3;
const MAX_PREFILLS: u32 = 2;
const MAX_EMPTIES: u32 = 3;
const MAX_OUTPUT: u64 = 32_768;
const DEFAULT_OUTPUT: u64 = 4_096;
/// How far back a tool result still explains an empty reply.
const RECENT: usize = 5;

/// Nobody has anything to say.
pub const NOTHING: &str =
    "the model returned nothing, several times; try again or choose another model";

pub(crate) const CONTINUE: &str = "[Your reply was cut off by the output limit. Continue exactly where you stopped; don't repeat anything.]";
const NUDGE: &str = "[Your last reply was empty. Look at the tool results above and go on with the task, or give your answer.]";
const CUT: &str = "The arguments of this call were cut off by the output limit, so it was not run. Write less at a time: several smaller calls.";
const SKIPPED: &str = "Skipped because another call in the same reply was wrong; send it again.";

impl Climb {
    /// Decides about one reply.
    pub fn next(&mut self, mut reply: ModelReply, history: &[Message], toolbox: &Toolbox) -> Next {
        if !reply.message.tool_calls.is_empty() {
            calls::set_apart(&mut reply.message.tool_calls, history);
            return self.calls(reply, toolbox);
        }
        let text = visible(&reply.message);
        // Only servers that keep steps apart can be sent one more of the same speaker.
        if reply.finish == Finish::Incomplete && request::has_items(&reply.message) {
            return self.unfinished(reply.message, &text, history);
        }
        if text.trim().is_empty() {
            return self.empty(reply, history);
        }
        match reply.finish {
            Finish::Length => self.cut_text(reply.message, &text),
            _ => self.answer(reply.message, &text),
        }
    }

    fn answer(&mut self, message: Message, last: &str) -> Next {
        let text = std::mem::take(&mut self.parts) + last;
        Next::Answer { message, text }
    }

    /// A batch of tools ran: whatever was counted about the road there is history.
    pub fn tools_ran(&mut self) {
        let parts = std::mem::take(&mut self.parts);
        let aside = self.aside.take();
        *self = Self {
            parts,
            aside,
            ..Self::default()
        };
    }

    fn calls(&mut self, mut reply: ModelReply, toolbox: &Toolbox) -> Next {
        for call in &mut reply.message.tool_calls {
            if let Some(name) = toolbox.meant(&call.function.name) {
                call.function.name = name.to_owned();
            }
        }
        if reply
            .message
            .tool_calls
            .iter()
            .any(|call| toolbox.get(&call.function.name).is_none())
        {
            return self.unknown(reply.message, toolbox);
        }
        calls::keep_to_limits(&mut reply.message.tool_calls, |name| {
            toolbox.get(name)?.most_per_reply()
        });
        let parsed: Vec<Parsed> = reply
            .message
            .tool_calls
            .iter()
            .map(|c| arguments(&c.function.arguments))
            .collect();
        if reply.finish == Finish::Length || parsed.contains(&Parsed::Truncated) {
            return self.cut_call(reply.message);
        }
        if parsed
            .iter()
            .any(|parsed| matches!(parsed, Parsed::Invalid(_)))
        {
            return self.bad_json(reply.message, &parsed);
        }
        self.unknown_tools = 0;
        self.bad_json = 0;
        let housekeeping = reply.message.tool_calls.iter().all(|call| {
            toolbox
                .get(&call.function.name)
                .is_some_and(|tool| tool.spec().housekeeping)
        });
        let text = visible(&reply.message);
        self.aside = (housekeeping && !text.trim().is_empty()).then_some(text);
        let calls = reply.message.tool_calls.iter_mut().zip(parsed);
        let calls = calls.filter_map(|(call, parsed)| match parsed {
            Parsed::Object(args) => {
                calls::settle(&mut call.function);
                Some(Call {
                    id: call.id.clone(),
                    name: call.function.name.clone(),
                    args,
                })
            }
            _ => None,
        });
        Next::Run {
            calls: calls.collect(),
            message: reply.message,
        }
    }

    fn unknown(&mut self, message: Message, toolbox: &Toolbox) -> Next {
        self.unknown_tools += 1;
        let is_unknown = |call: &&ToolCall| toolbox.get(&call.function.name).is_none();
        let names: Vec<_> = message
            .tool_calls
            .iter()
            .filter(is_unknown)
            .map(|c| c.function.name.clone())
            .collect();
        if self.unknown_tools >= MAX_UNKNOWN {
            let error = format!("Model generated invalid tool call: {}", names.join(", "));
            return Next::Stop {
                text: String::new(),
                error,
                reason: "invalid_tool_call",
            };
        }
        let available = toolbox.names().join(", ");
        Next::Append(answered(message, |call| {
            if toolbox.get(&call.function.name).is_none() {
                format!(
                    "Tool '{}' does not exist. Available tools: {available}",
                    call.function.name
                )
            } else {
                SKIPPED.to_owned()
            }
        }))
    }

    /// Never run: one silent try with more room, then the model is told, then it is over.
    fn cut_call(&mut self, message: Message) -> Next {
        self.cut_calls += 1;
        match self.cut_calls {
            1 => Next::Again { max_output: Some(MAX_OUTPUT) },
            tries if tries <= 1 + MAX_CUT_RESULTS => Next::Append(answered(message, |_| CUT.to_owned())),
            _ => Next::Stop {
                text: std::mem::take(&mut self.parts),
                error: "Response truncated due to output length limit: the model could not write a whole tool call".to_owned(),
                reason: "truncated_tool_call",
            },
        }
    }

    fn bad_json(&mut self, message: Message, parsed: &[Parsed]) -> Next {
        self.bad_json += 1;
        if self.bad_json < MAX_BAD_JSON {
            return Next::Again { max_output: None };
        }
        self.bad_json = 0;
        let reasons: Vec<Option<String>> = parsed
            .iter()
            .map(|parsed| match parsed {
                Parsed::Invalid(reason) => Some(format!(
                    "Invalid JSON in the arguments: {reason}. Send the call again."
                )),
                _ => None,
            })
            .collect();
        let mut reasons = reasons.into_iter();
        Next::Append(answered(message, |_| {
            reasons
                .next()
                .flatten()
                .unwrap_or_else(|| SKIPPED.to_owned())
        }))
    }

    fn cut_text(&mut self, message: Message, text: &str) -> Next {
        self.parts.push_str(text);
        self.continuations += 1;
        if self.continuations > MAX_CONTINUATIONS {
            return self.answer(message, "");
        }
        Next::Append(vec![message, Message::user(CONTINUE)])
    }

    /// The model has more to say without being asked: what it said so far stays, and it goes on.
    fn unfinished(&mut self, message: Message, text: &str, history: &[Message]) -> Next {
        self.unfinished += 1;
        if self.unfinished <= MAX_UNFINISHED {
            return match history.last() == Some(&message) {
                true => Next::Again { max_output: None },
                false => Next::Append(vec![message]),
            };
        }
        match text.trim() {
            "" => Next::Stop {
                text: String::new(),
                error: "the model kept thinking without giving an answer; try again or choose another model"
                    .to_owned(),
                reason: "incomplete_response_exhausted",
            },
            _ => self.answer(message, text),
        }
    }

    /// How much room a continuation gets.
    pub fn room(&self, max_output: Option<u64>) -> Option<u64> {
        let factor = u64::from(self.continuations) + 1;
        (self.continuations > 0)
            .then(|| MAX_OUTPUT.min(max_output.unwrap_or(DEFAULT_OUTPUT) * factor))
    }

    /// What is already an answer, should nothing more come.
    fn said_before(&mut self) -> Option<String> {
        let parts = std::mem::take(&mut self.parts);
        if parts.is_empty() {
            self.aside.take()
        } else {
            Some(parts)
        }
    }

    fn empty(&mut self, reply: ModelReply, history: &[Message]) -> Next {
        if let Some(said) = self.said_before() {
            return Next::Answer {
                message: Message::assistant(&said),
                text: said,
            };
        }
        let thought = has_reasoning(&reply.message);
        if reply.finish == Finish::Length && thought {
            return Next::Stop {
                text: String::new(),
                error: "the model used up its output on thinking and said nothing; lower agent.reasoning_effort or choose another model".to_owned(),
                reason: "thinking_budget_exhausted",
            };
        }
        let after_tools = history
            .iter()
            .rev()
            .take(RECENT)
            .any(|message| message.role == Role::Tool);
        if after_tools && !self.nudged {
            self.nudged = true;
            return Next::PropUp(vec![Message::assistant("(empty)"), Message::user(NUDGE)]);
        }
        if thought && self.prefills < MAX_PREFILLS {
            self.prefills += 1;
            let mut prefill = reply.message;
            prefill.extra.insert(PREFILL.to_owned(), true.into());
            return Next::PropUp(vec![prefill]);
        }
        self.empties += 1;
        if self.empties <= MAX_EMPTIES {
            return Next::Again { max_output: None };
        }
        self.empties = 0;
        Next::Elsewhere
    }
}

/// The message with a result for each of its calls. What could not be read of them is not kept: it would be
/// sent again with every request.
fn answered(mut message: Message, mut result: impl FnMut(&ToolCall) -> String) -> Vec<Message> {
    let mut results = Vec::with_capacity(message.tool_calls.len());
    for call in &mut message.tool_calls {
        let text = error_json(&result(call));
        calls::spell(&mut call.function.name);
        calls::settle(&mut call.function);
        results.push(Message::tool(&call.id, &call.function.name, text));
    }
    message.content.get_or_insert(Content::Text(String::new()));
    std::iter::once(message).chain(results).collect()
}

fn error_json(text: &str) -> String {
    serde_json::json!({ "error": text }).to_string()
}
