//! Model APIs: dialects (pure) times routes (data), and the client that joins them.
//!
//! A request becomes a [`Wire`](dialect::Wire) by the route's dialect, travels once or several times, and comes
//! back as events and one message. Providers are rows of `data/catalogue.yaml`; what is odd about a host or a
//! model is a rule there, not code.

mod adjust;
mod attempt;
pub mod auth;
mod automatic;
mod aws;
mod call;
mod catalogue;
mod chain;
mod classify;
mod client;
pub mod context;
mod cost;
mod data;
pub mod dialect;
mod dump;
mod endpoints;
mod extras;
mod fallback;
mod family;
mod frames;
mod host;
mod http;
mod inquiry;
mod keys;
mod limits;
mod link;
mod listen;
mod listing;
mod maker;
mod moa;
mod models;
mod names;
mod nous;
mod offers;
mod origin;
mod pool;
mod providers;
mod rates;
mod registry;
mod reply;
mod resolve;
mod rotate;
mod route;
mod schema;
mod scrub;
mod server;
mod shelf;
mod side;
mod similar;
mod standby;
mod timing;
mod trouble;
mod usage;
mod wish;

pub use aws::KeyPair;
pub use chain::Chain;
pub use client::RouteClient;
pub use cost::{Price, PriceSource, Priced};
pub use dump::Dumps;
pub use fallback::{Fallback, check_fallback, edit_fallbacks, fallback_entry, list_fallbacks};
pub use http::Http;
pub use listing::ListedModel;
pub use moa::{MOA, MixtureOfAgents};
pub use models::RoutedModels;
pub use offers::{Checked, Found, Offer, Offers, Refreshed};
pub use origin::Origin;
pub use providers::{ProviderInfo, list_providers};
pub use route::{
    Auth, CacheLayout, CacheTtl, Concessions, EffortField, Key, Mode, OutputField, Quirks, Route,
    SchemaFlavour, SystemRole, ThinkingBlocks,
};
pub use timing::Timing;
pub use wish::Overrides;

/// A rough count of tokens, from a size in bytes.
fn tokens(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(4)
}
