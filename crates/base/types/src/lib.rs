//! The words every other crate speaks: messages, ids and findings. No I/O, no runtime.

mod finding;
mod ids;
mod message;

pub use finding::{Finding, Level, Repair};
pub use ids::SessionId;
pub use message::{Content, FunctionCall, ImageUrl, KnownPart, Message, Part, Role, ToolCall};
