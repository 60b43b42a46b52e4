//! What a script says once it has been read: which reply for which request, and how it travels.

use std::collections::BTreeMap;

use axum::http::{HeaderMap, StatusCode};
use serde_json::Value;

use crate::answer::Say;
use crate::prompt::{Prompt, When};
use crate::wire::Wire;

/// A whole conversation's worth of replies. Made with [`Script::from_json`] or [`Script::from_value`].
#[derive(Clone, Debug)]
pub struct Script {
    /// What `GET /v1/models` lists, each with at least an `id`.
    pub(crate) models: Vec<Value>,
    /// What `POST /api/show` says about a model, as Ollama would.
    pub(crate) ollama: BTreeMap<String, Value>,
    /// What a GET of other paths gives.
    pub(crate) get: BTreeMap<String, Value>,
    pub(crate) steps: Vec<Step>,
    /// The reply when no step is left.
    pub(crate) otherwise: Option<Step>,
}

#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub when: When,
    pub repeat: Repeat,
    pub reply: Reply,
    pub headers: HeaderMap,
    pub wire: Wire,
}

#[derive(Clone, Debug)]
pub(crate) enum Reply {
    /// Something a model says, in the dialect of the request.
    Say(Say),
    /// A stream of exactly these pieces.
    Raw(Vec<String>),
    /// A plain HTTP response; without a body it gets the vendor's error for that status.
    Status {
        status: StatusCode,
        body: Option<Value>,
    },
}

/// How many requests a step answers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Repeat {
    Times(u32),
    Forever,
}

impl Script {
    /// The step for a request: the first one that isn't used up and whose condition holds. `used` counts
    /// the requests each step has answered.
    pub(crate) fn choose(&self, used: &mut [u32], prompt: &Prompt) -> Option<&Step> {
        let free = |(step, used): &(&Step, &mut u32)| match step.repeat {
            Repeat::Times(times) => **used < times,
            Repeat::Forever => true,
        };
        let chosen = self
            .steps
            .iter()
            .zip(used)
            .find(|pair| free(pair) && pair.0.when.holds(prompt));
        match chosen {
            Some((step, used)) => {
                *used = used.saturating_add(1);
                Some(step)
            }
            None => self.otherwise.as_ref(),
        }
    }
}
