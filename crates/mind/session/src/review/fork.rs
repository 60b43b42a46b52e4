//! The reviewer: the same agent once more, with the conversation as it is and hands that can only write down.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::{BoxFuture, FutureExt};
use hermes_agent::{Conversation, Events, Hints, Limits, Steer, Turn};
use hermes_store::Store;
use hermes_types::{
    AgentEvent, Args, CallCx, Content, Message, ModelClient, Outcome, Role, SessionId, Tool,
    ToolOutput, ToolSpec,
};

use super::due::Due;
use super::{Review, Reviewer, TASK};
use crate::silent::{Account, Nobody, Nowhere};

/// Replies with tool calls: looking back is no work of its own.
const ITERATIONS: u32 = 16;
/// What another model gets to read in full; older messages become a line each.
const RECENT: usize = 24;
const STUB_CHARS: usize = 160;

pub(super) struct Fork {
    /// The next turn as the conversation itself would run it.
    pub parent: Turn,
    pub model: Arc<dyn ModelClient>,
    pub instructions: String,
    pub messages: Vec<Message>,
    pub store: Store,
    pub id: SessionId,
    pub review: Review,
}

impl Fork {
    /// Looks back; gives what was learned, in short phrases.
    pub async fn run(self, due: Due) -> Result<Vec<String>, String> {
        let learned = Learned::default();
        let messages = match self.review.reviewer {
            Reviewer::Same => self.messages.clone(),
            Reviewer::Other => digest(&self.messages),
        };
        let account = Some(Account {
            store: self.store.clone(),
            id: self.id.clone(),
            task: TASK,
        });
        let journal = Arc::new(Nowhere { account });
        let mut conversation = Conversation::resume(self.instructions.clone(), messages, journal);
        let end = self
            .turn(&learned)
            .run(&mut conversation, Message::user(prompt(due)))
            .await;
        match end.error {
            Some(error) if learned.phrases().is_empty() => Err(error),
            _ => Ok(learned.phrases()),
        }
    }

    fn turn(self, learned: &Learned) -> Turn {
        let own = (self.review.tools)().into_iter();
        let own = own.map(|tool| (tool.spec().name.clone(), tool));
        let own: BTreeMap<String, Arc<dyn Tool>> = own.collect();
        let toolbox = self.parent.toolbox.map(|tool| {
            Arc::new(Seen {
                spec: tool.spec().clone(),
                own: own.get(&tool.spec().name).cloned(),
            })
        });
        let heard = learned.clone();
        let mut limits = Limits {
            iterations: ITERATIONS,
            verify_files: false,
            ..self.parent.limits
        };
        limits.compaction.enabled = false;
        Turn {
            model: self.model,
            toolbox,
            asker: Arc::new(Nobody),
            events: Events::new(move |event| heard.hear(&event)),
            steer: Steer::default(),
            hints: Arc::new(Mutex::new(Hints::new(self.parent.workspace.cwd()))),
            limits,
            ..self.parent
        }
    }
}

/// What is asked of the reviewer.
fn prompt(due: Due) -> String {
    let memory = include_str!("../prompts/review_memory.md").trim();
    let skills = include_str!("../prompts/review_skills.md").trim();
    let both = format!("{memory}\n\n{skills}");
    let about = match due {
        Due::Memory => memory,
        Due::Skills => skills,
        Due::Both => &both,
    };
    let frame = include_str!("../prompts/review.md").trim();
    frame.replace("{about}", about)
}

/// The end of a conversation in full, the rest as a line each.
fn digest(messages: &[Message]) -> Vec<Message> {
    let recent = messages.len().saturating_sub(RECENT);
    // Results go with the calls they answer.
    let recent = (recent..messages.len()).find(|at| messages[*at].role == Role::User);
    let recent = recent.unwrap_or(messages.len());
    let stub = |message: &Message| {
        let text = message.content.as_ref().map(Content::plain);
        let text = text.unwrap_or_default();
        let line: Vec<&str> = text.split_whitespace().collect();
        let line: String = line.join(" ").chars().take(STUB_CHARS).collect();
        format!("{}: {line}", message.role.as_str())
    };
    let stubs: Vec<String> = messages[..recent].iter().map(stub).collect();
    let stubs = (!stubs.is_empty()).then(|| {
        let text = format!(
            "[Earlier in this conversation, in short]\n{}",
            stubs.join("\n")
        );
        Message::user(text)
    });
    stubs
        .into_iter()
        .chain(messages[recent..].iter().cloned())
        .collect()
}

/// A tool as the parent has it; it works if it is one of the reviewer's own.
struct Seen {
    spec: ToolSpec,
    own: Option<Arc<dyn Tool>>,
}

impl Tool for Seen {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, args: Args, cx: &'a CallCx) -> BoxFuture<'a, ToolOutput> {
        match &self.own {
            Some(tool) => tool.call(args, cx),
            None => {
                let told = format!(
                    "{} cannot be used in a review: only memory and skill tools work here.",
                    self.spec.name
                );
                let refused = ToolOutput::failed(told).with_outcome(Outcome::Denied);
                async move { refused }.boxed()
            }
        }
    }
}

/// What the reviewer wrote down, heard from its own calls only.
#[derive(Clone, Default)]
struct Learned(Arc<Mutex<Vec<String>>>);

impl Learned {
    fn hear(&self, event: &AgentEvent) {
        let AgentEvent::ToolFinished {
            name,
            outcome: Outcome::Done,
            about,
            ..
        } = event
        else {
            return;
        };
        let phrase = match name.as_str() {
            "memory" if about.ends_with("user") => "User profile updated".to_owned(),
            "memory" => "Memory updated".to_owned(),
            "skill_manage" => format!("Skill {about}"),
            _ => return,
        };
        let mut phrases = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !phrases.contains(&phrase) {
            phrases.push(phrase);
        }
    }

    fn phrases(&self) -> Vec<String> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}
