//! Where a list of models comes from, and how old it is, in words.

use std::fmt;
use std::time::Duration;

use serde::{Serialize, Serializer};

/// Where a list comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "source")]
pub enum Origin {
    /// From the provider, just now.
    #[serde(rename = "live")]
    Live,
    /// From the provider, some time ago.
    #[serde(rename = "cache")]
    Kept {
        #[serde(rename = "age_seconds", serialize_with = "seconds")]
        age: Duration,
    },
    /// From models.dev, some time ago.
    #[serde(rename = "models.dev")]
    Registry {
        #[serde(rename = "age_seconds", serialize_with = "seconds")]
        age: Duration,
    },
    /// There is none, and this is why.
    #[serde(rename = "none")]
    Nowhere { why: String },
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Live => f.write_str("as it lists them now"),
            Self::Kept { age } => write!(f, "as it listed them {}", ago(*age)),
            Self::Registry { age } => write!(f, "as models.dev listed them {}", ago(*age)),
            Self::Nowhere { why } => f.write_str(why),
        }
    }
}

fn ago(age: Duration) -> String {
    let minutes = age.as_secs() / 60;
    match minutes {
        0 => "just now".to_owned(),
        1..120 => format!("{minutes} min ago"),
        120..2880 => format!("{} hours ago", minutes / 60),
        _ => format!("{} days ago", minutes / 1440),
    }
}

fn seconds<S: Serializer>(age: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u64(age.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_for_people() {
        let minutes = |minutes: u64| ago(Duration::from_secs(minutes * 60));
        let found = [0, 5, 180, 2880].map(minutes);
        assert_eq!(
            found,
            ["just now", "5 min ago", "3 hours ago", "2 days ago"]
        );
    }
}
