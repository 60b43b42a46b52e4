//! When to ask somebody else: what a route that is not alone gives up on, and how soon.

use hermes_types::{ModelError, ModelErrorKind as Kind};

/// Who stands by while a route is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standby {
    Nobody,
    /// The next of the owner's fallbacks.
    Fallback,
    /// The next provider that could do a side task.
    SideTask,
}

impl Standby {
    /// How many attempts one kind of trouble is worth while somebody else waits.
    pub fn attempts(self, kind: Kind) -> u32 {
        match (self, kind) {
            _ if !self.takes_over(kind) => u32::MAX,
            (Self::SideTask, Kind::RateLimit) => 2,
            // Waiting is what the other is there to save. Silence has cost minutes by now.
            (_, Kind::RateLimit | Kind::Billing | Kind::Malformed | Kind::Timeout) => 1,
            (_, Kind::Server | Kind::Overloaded) => 2,
            (_, Kind::Transport) => 3,
            _ => u32::MAX,
        }
    }

    /// Whether the other one is asked after this error.
    pub fn takes_over(self, kind: Kind) -> bool {
        match self {
            Self::Nobody => false,
            Self::SideTask => matches!(
                kind,
                Kind::Billing | Kind::RateLimit | Kind::Transport | Kind::Timeout
            ),
            Self::Fallback => !stays(kind),
        }
    }
}

/// Errors no other route would help against: the conversation must change, or the owner said no.
fn stays(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::ContextOverflow { .. }
            | Kind::PayloadTooLarge
            | Kind::OutputTooLarge { .. }
            | Kind::LongContextTier
            | Kind::ImagesRejected
            | Kind::ImageTooLarge
            | Kind::PolicyBlocked
            | Kind::Spent
            | Kind::Cancelled
            | Kind::NotConfigured
    )
}

/// Whether a route has had enough of us for a while.
pub(crate) fn is_tired(kind: Kind) -> bool {
    matches!(kind, Kind::RateLimit | Kind::Billing)
}

/// Why somebody else is asked, in a few words.
pub(crate) fn why(error: &ModelError) -> String {
    let words = match error.kind {
        Kind::RateLimit => "rate limit reached",
        Kind::Billing => "out of credit",
        Kind::Auth => "the key was not accepted",
        Kind::ModelNotFound => "no such model there",
        Kind::Overloaded => "overloaded",
        Kind::Server => "server error",
        Kind::Timeout => "no answer in time",
        Kind::Transport => "the connection failed",
        Kind::Malformed => "an answer that was none",
        _ => "the request failed",
    };
    match error.status {
        Some(status) => format!("{words} (HTTP {status})"),
        None => words.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_decides_how_soon_a_route_gives_up() {
        let check = |kind, attempts: [u32; 2], takes_over: [bool; 2]| {
            let both = [Standby::Fallback, Standby::SideTask];
            assert_eq!(both.map(|who| who.attempts(kind)), attempts, "{kind:?}");
            assert_eq!(both.map(|who| who.takes_over(kind)), takes_over, "{kind:?}");
            assert!(!Standby::Nobody.takes_over(kind));
            assert_eq!(Standby::Nobody.attempts(kind), u32::MAX);
        };
        const ALL: u32 = u32::MAX;
        check(Kind::RateLimit, [1, 2], [true, true]);
        check(Kind::Billing, [1, 1], [true, true]);
        check(Kind::Malformed, [1, ALL], [true, false]);
        check(Kind::Server, [2, ALL], [true, false]);
        check(Kind::Overloaded, [2, ALL], [true, false]);
        check(Kind::Transport, [3, 3], [true, true]);
        check(Kind::Timeout, [1, 1], [true, true]);
        check(Kind::Unknown, [ALL, ALL], [true, false]);
        check(Kind::Auth, [ALL, ALL], [true, false]);
        check(Kind::ModelNotFound, [ALL, ALL], [true, false]);
        check(Kind::Format, [ALL, ALL], [true, false]);
        for kind in [
            Kind::ContextOverflow { limit: None },
            Kind::PayloadTooLarge,
            Kind::ImagesRejected,
            Kind::PolicyBlocked,
            Kind::Spent,
            Kind::Cancelled,
        ] {
            check(kind, [ALL, ALL], [false, false]);
        }
    }
}
