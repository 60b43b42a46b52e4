//! What MCP servers offer, as tools of Hermes: which servers there are, what their tools are called, what the
//! model sees of them and what it reads when they answer.

pub mod choice;
pub mod config;
mod describe;
pub mod draft;
mod elicit;
mod errors;
mod live;
mod memory;
mod names;
mod osv;
mod redact;
mod result;
mod sampling;
mod schema;
pub mod screen;
mod single;
mod tool;
mod toolset;

pub use config::{Entry, Problem, Servers, Surroundings};
pub use describe::{description, suspicions};
pub use elicit::OwnerElicitor;
pub use errors::{Asked, output as error_output};
pub use live::{LiveServers, Reload, Report, Starter, word};
pub use memory::{Remembering, ServerMemory};
pub use names::{canonical, toolset_name};
pub use osv::{Advisory, Ecosystem, Osv, Package, Verdict, package};
pub use redact::{Secrets, mask};
pub use result::{Caches, Shelf};
pub use sampling::{ChooseModel, Counters, ModelSampler, ModelWish};
pub use schema::normalise;
pub use single::{Answered, Kind, Look, NotConnected, Question, Single};
pub use tool::{Caller, ServerSide, ServerTool, Subject};
pub use toolset::{Changes, Listing, Toolset};
