//! What a model is asked when skills are to be merged, with what hands, and what it did with them.

use std::sync::{Arc, Mutex, PoisonError};

use futures::future::{BoxFuture, FutureExt};
use hermes_types::{Args, Availability, CallCx, Outcome, Tool, ToolOutput, ToolSpec};
use jiff::Timestamp;

use super::{Curator, Standing};
use crate::journal::{Author, By};
use crate::manage::Origin;
use crate::tools::skill_tools;

/// Characters of a description: a large library must fit into one prompt.
const ABOUT: usize = 240;

/// Whether skills are merged or only talked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    Real,
    /// A dry run: nothing can be changed.
    Proposal,
}

/// The work of a model.
#[derive(Clone)]
pub struct Merging {
    pub system: String,
    pub prompt: String,
    pub tools: Vec<Arc<dyn Tool>>,
    calls: Calls,
}

/// A call the model made.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    pub name: String,
    pub arguments: Args,
    pub done: bool,
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Thought {
    pub model: String,
    pub provider: String,
    /// The last thing it said.
    pub text: String,
    pub error: Option<String>,
    pub calls: Vec<Call>,
}

impl Curator {
    /// What to ask a model; `None`: with fewer than two skills there is nothing to merge.
    pub fn merging(&self, extent: Extent) -> Option<Merging> {
        let mut candidates = self.managed();
        candidates.retain(|one| !one.record.is_pinned());
        if candidates.len() < 2 {
            return None;
        }
        // What another run has read says nothing about what this one knows.
        self.skills.forget_session();
        let calls = Calls::default();
        let watched = |tool: Arc<dyn Tool>| -> Arc<dyn Tool> {
            let tool = match tool.spec().name == "skill_manage" {
                true => self.journal.watching(tool, Author::of(By::Curator)),
                false => tool,
            };
            let calls = calls.clone();
            Arc::new(Recorded { tool, calls })
        };
        let mut tools = skill_tools(&self.skills, Origin::Curator);
        tools.retain(|tool| extent == Extent::Real || tool.spec().name != "skill_manage");
        let task = include_str!("../prompts/curate.md").trim();
        let extra = match extent {
            Extent::Real => "",
            Extent::Proposal => include_str!("../prompts/curate_dry.md").trim(),
        };
        Some(Merging {
            system: include_str!("../prompts/curator.md").trim().to_owned(),
            prompt: task
                .replace("{extra}", extra)
                .replace("{skills}", &listed(&candidates)),
            tools: tools.into_iter().map(watched).collect(),
            calls,
        })
    }
}

impl Merging {
    /// The calls so far.
    pub fn calls(&self) -> Vec<Call> {
        let calls = self.calls.0.lock();
        calls.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl std::fmt::Debug for Merging {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Merging")
            .field("prompt", &self.prompt)
            .finish_non_exhaustive()
    }
}

/// One line for each.
fn listed(candidates: &[Standing]) -> String {
    let now = Timestamp::now();
    let line = |one: &Standing| {
        let idle = one.idle_days(now).unwrap_or_default().max(0);
        let about: String = one.skill.found.description.chars().take(ABOUT).collect();
        format!(
            "- {} ({}, used {} times, idle {idle} days): {about}",
            one.skill.name(),
            one.state(),
            one.record.count("use_count")
        )
    };
    candidates.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[derive(Clone, Debug, Default)]
struct Calls(Arc<Mutex<Vec<Call>>>);

/// A tool whose calls are written down.
struct Recorded {
    tool: Arc<dyn Tool>,
    calls: Calls,
}

impl Tool for Recorded {
    fn spec(&self) -> &ToolSpec {
        self.tool.spec()
    }

    fn call<'a>(&'a self, args: Args, cx: &'a CallCx) -> BoxFuture<'a, ToolOutput> {
        async move {
            let output = self.tool.call(args.clone(), cx).await;
            let call = Call {
                name: self.tool.spec().name.clone(),
                arguments: args,
                done: output.outcome == Outcome::Done,
            };
            let calls = self.calls.0.lock();
            calls.unwrap_or_else(PoisonError::into_inner).push(call);
            output
        }
        .boxed()
    }

    fn available(&self) -> Availability {
        self.tool.available()
    }
}
