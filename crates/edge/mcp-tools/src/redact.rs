//! The secrets of one server, and texts without them.

use hermes_mcp::{Secret, redact, redact_values};

/// What must not appear in any text about a server: header values, variables, client secrets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Secrets(Vec<Secret>);

impl Secrets {
    pub fn new(values: impl IntoIterator<Item = Secret>) -> Self {
        Self(values.into_iter().collect())
    }

    /// With values that are known only while connected, such as access tokens.
    #[must_use]
    pub fn and(&self, more: impl IntoIterator<Item = Secret>) -> Self {
        Self::new(self.0.iter().cloned().chain(more))
    }

    /// For errors: also what addresses carry along is taken out.
    pub fn hide(&self, text: &str) -> String {
        redact(text, &self.values())
    }

    /// For text whose addresses must stay usable.
    pub fn hide_values(&self, text: &str) -> String {
        redact_values(text, &self.values())
    }

    fn values(&self) -> Vec<&str> {
        self.0.iter().map(Secret::expose).collect()
    }
}

/// Enough of a secret header to recognise it: its first and last four characters, if that leaves any out.
pub fn mask(value: &str) -> String {
    let length = value.chars().count();
    if length <= 8 {
        return "***".to_owned();
    }
    let first: String = value.chars().take(4).collect();
    let last: String = value.chars().skip(length - 4).collect();
    format!("{first}***{last}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn masks() {
        assert_eq!(mask("12345678"), "***");
        assert_eq!(mask("123456789"), "1234***6789");
        assert_eq!(mask("äöüßäöüßx"), "äöüß***öüßx");
    }

    proptest! {
        #[test]
        fn no_known_secret_survives(before in ".{0,30}", secret in "[A-Za-z0-9/+]{8,40}", after in ".{0,30}") {
            let secrets = Secrets::new([Secret::new(secret.as_str())]);
            let text = format!("{before}{secret}{after}");
            prop_assume!(!"[REDACTED]".contains(&secret));
            prop_assert!(!secrets.hide(&text).contains(&secret));
            prop_assert!(!secrets.hide_values(&text).contains(&secret));
        }
    }
}
