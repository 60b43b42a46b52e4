//! Identifiers that end up on disk.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Names one stored conversation, for example `20261115_093000_a1b2c3`.
///
/// Other faces use other shapes (`cron_<job>_<stamp>`, eight hex digits), so any text is accepted.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionId(String);

impl SessionId {
    /// Takes an id as it was stored or typed.
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    /// Builds the id of a terminal session from a local `YYYYMMDD_HHMMSS` stamp and 24 random bits.
    pub fn from_stamp(stamp: &str, random: u32) -> Self {
        Self(format!("{stamp}_{:06x}", random & 0x00ff_ffff))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for SessionId {
    fn from(id: &str) -> Self {
        Self::new(id)
    }
}

impl From<String> for SessionId {
    fn from(id: String) -> Self {
        Self(id)
    }
}

#[cfg(test)]
mod tests {
    use super::SessionId;

    #[test]
    fn an_id_is_a_stamp_and_six_hex_digits() {
        let id = SessionId::from_stamp("20261115_093000", 0xff00_00ab);
        assert_eq!(id.as_str(), "20261115_093000_0000ab");
    }
}
