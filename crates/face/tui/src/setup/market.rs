//! Who sells answers: what the questions about models need to know of providers, and nothing of how.

/// Everything about providers, as settings and keys are at the moment of the call.
pub trait Market {
    /// Everybody there is, the owner's own last.
    fn providers(&self) -> Vec<Provider>;

    /// The models of one of them.
    fn models(&self, provider: &str) -> Offered;

    /// The models of a server that is not saved yet.
    fn probe(&self, endpoint: &Endpoint) -> Offered;

    /// The whole way of a login; an error says why there is none.
    fn log_in(&self, provider: &str) -> Result<(), String>;

    /// The model that would answer now; `None` if nothing is set up.
    fn main(&self) -> Option<Main>;
}

#[derive(Clone, Debug)]
pub struct Provider {
    pub id: String,
    pub name: String,
    pub address: String,
    /// The variable its key is kept in; empty if it takes none.
    pub key: String,
    pub login: Login,
    /// It could be used right now.
    pub is_ready: bool,
}

impl Provider {
    /// Written down by the owner.
    pub fn is_own(&self) -> bool {
        self.id.starts_with("custom:")
    }

    /// The host alone.
    pub fn host(&self) -> &str {
        host(&self.address)
    }
}

/// The host of an address, with its port.
pub(super) fn host(address: &str) -> &str {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    rest.split('/').next().unwrap_or(rest)
}

/// The model that answers.
#[derive(Clone, Copy, Debug)]
pub struct Main {
    /// It can be told how hard to think.
    pub takes_effort: bool,
}

/// Whether one can use an account instead of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Login {
    None,
    Account,
    /// There is such a thing, but not for us.
    Forbidden(String),
}

/// A server of one's own.
#[derive(Clone, Debug, Default)]
pub struct Endpoint {
    pub address: String,
    /// Empty: it wants none.
    pub key: String,
    /// The language it speaks; empty: told from the address.
    pub mode: String,
}

/// Models to choose from.
#[derive(Clone, Debug, Default)]
pub struct Offered {
    pub models: Vec<Model>,
    /// Where the list comes from, or why there is none.
    pub origin: String,
}

#[derive(Clone, Debug, Default)]
pub struct Model {
    pub name: String,
    /// The window, and dollars for a million tokens in and out, as far as they are known.
    pub cells: [String; 3],
}
