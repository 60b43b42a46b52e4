//! OAuth: where tokens are kept, how they are renewed without anybody noticing, and how a user logs in.

mod address;
mod assertion;
mod authorizer;
mod client;
mod config;
mod cross_app;
mod discovery;
mod endpoint;
mod files;
mod flow;
mod login;
mod redirect;
mod renewal;
mod store;
#[cfg(test)]
mod tests;
mod tokens;
mod trip;
mod web;

pub use assertion::{SigningKey, SigningKeyError};
pub(crate) use authorizer::OAuth;
pub use authorizer::refresh;
pub use config::{Access, Grant, OAuthConfig};
pub use cross_app::IdentityProvider;
pub use files::FileTokens;
pub use login::{LoginError, LoginOptions, LoginPrompt, LoginUi, Registration, login};
pub use store::{Document, Fields, StoreError, StoreGuard, Stored, TokenStore};
