//! Waiting for the outside world, but not for ever.

use std::time::Duration;

use hermes_types::Scope;

/// Why a wait was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Somebody no longer wants the result.
    Cancelled,
    /// The work as a whole has no time left.
    OutOfTime,
    /// This one wait took longer than it may.
    TooSlow,
}

/// Waits for `work`, at most `limit` and never longer than `scope` lasts. `Duration::MAX` means no limit.
///
/// What was given up is dropped, so a request ends and its connection closes.
pub async fn within<T>(
    scope: &Scope,
    limit: Duration,
    work: impl Future<Output = T>,
) -> Result<T, Ended> {
    let remaining = scope.remaining().unwrap_or(Duration::MAX);
    let timed = tokio::time::timeout(limit.min(remaining), work);
    tokio::select! {
        biased;
        () = scope.cancel.cancelled() => Err(Ended::Cancelled),
        done = timed => match done {
            Ok(value) => Ok(value),
            Err(_) if remaining <= limit => Err(Ended::OutOfTime),
            Err(_) => Err(Ended::TooSlow),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    fn scope() -> Scope {
        Scope::new("s".into())
    }

    #[tokio::test]
    async fn a_wait_ends_for_one_of_three_reasons() {
        let short = Duration::from_millis(5);
        assert_eq!(within(&scope(), Duration::MAX, ready(7)).await, Ok(7));
        let slow = within(&scope(), short, pending::<()>()).await;
        assert_eq!(slow, Err(Ended::TooSlow));
        let late = within(&scope().within(short), Duration::MAX, pending::<()>()).await;
        assert_eq!(late, Err(Ended::OutOfTime));
        let cancelled = scope();
        cancelled.cancel.cancel();
        assert_eq!(
            within(&cancelled, Duration::MAX, ready(7)).await,
            Err(Ended::Cancelled)
        );
    }

    #[tokio::test]
    async fn cancelling_interrupts_a_wait() {
        let scope = scope();
        let cancel = async {
            tokio::task::yield_now().await;
            scope.cancel.cancel();
        };
        let wait = within(&scope, Duration::MAX, pending::<()>());
        assert_eq!(
            futures::future::join(wait, cancel).await.0,
            Err(Ended::Cancelled)
        );
    }
}
