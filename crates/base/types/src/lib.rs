//! The words every other crate speaks: messages, ids, findings, and the seams. No I/O, no runtime.

mod ask;
mod event;
mod finding;
mod ids;
mod journal;
mod memory;
mod message;
mod model;
mod purse;
mod rates;
mod scope;
mod tool;
mod witness;
mod workspace;

pub use ask::{Answer, Asker, Consent, Countdown, LONGEST_PAUSE, Question};
pub use event::{AgentEvent, Background, Child, Compacted, Opened, TurnEnd};
pub use finding::{Finding, Level, Repair};
pub use ids::SessionId;
pub use journal::{Journal, Shorter};
pub use memory::{
    Exchange, MemoryNews, MemoryProvider, MemorySession, MemoryWrite, SwitchedBy, WriteOrigin,
};
pub use message::{
    Content, FunctionCall, ImageUrl, KnownPart, Message, Part, Role, ToolCall, image_kind,
};
pub use model::{
    Cost, Effort, Finish, ModelClient, ModelError, ModelErrorKind, ModelEvent, ModelInfo,
    ModelReply, ModelRequest, Models, Payee, Purpose, Retrying, Speed, Switched, ToolDef, Usage,
    Whom,
};
pub use purse::{Pot, Purse, usd};
pub use rates::{Bucket, RateLimits};
pub use scope::{Round, Scope};
pub use tool::{
    Args, Availability, CallCx, FOR_SCRIPT, Outcome, Parallel, Progress, Shown, Step, StepStatus,
    Told, Tool, ToolCaller, ToolOutput, ToolSpec,
};
pub use witness::{Act, Witness};
pub use workspace::{FileError, Stat, Workspace};
