//! Making a conversation shorter before it no longer fits. What goes and what stays is decided by pure functions;
//! only the summary of what goes asks a model.

mod assemble;
mod brief;
mod drive;
mod fallback;
mod load;
mod numbers;
mod plan;
mod prune;
mod settings;
mod summary;
mod tokens;
mod view;

#[cfg(test)]
mod tests;

pub use drive::{Focus, Passed};
pub(crate) use drive::{Relief, Strain};
pub use load::Load;
pub use numbers::{Feasibility, Numbers};
pub use settings::{Besides, Compaction, Continuation, OnFailure, Prompt, Redact};
pub use view::{Preview, Sizes};
