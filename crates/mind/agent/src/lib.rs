//! The agent: runs turns, builds requests, runs tools. Knows no provider, no platform and no tool by name.

mod batch;
mod calls;
mod coerce;
mod compact;
mod conversation;
mod guard;
mod hints;
mod json;
mod ladder;
mod names;
mod pipeline;
mod recalled;
mod recover;
mod request;
mod spend;
mod spill;
mod steer;
mod think;
mod todo;
mod toolbox;
mod turn;
mod verifier;

pub use compact::{
    Besides, Compaction, Continuation, Feasibility, Focus, Load, Numbers, OnFailure, Passed,
    Preview, Prompt, Redact, Sizes,
};
pub use conversation::Conversation;
pub use guard::{Counts, GuardLimits};
pub use hints::Hints;
pub use recalled::with_recalled;
pub use steer::Steer;
pub use todo::Todo;
pub use toolbox::Toolbox;
pub use turn::{Events, Limits, Turn};
