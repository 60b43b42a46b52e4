//! The life of a connection as a table: what state follows on what event. Pure.

use std::time::Duration;

use tokio::time::Instant;

use crate::failure::Class;
use crate::server::State;
use crate::timing::Timing;

/// Where a connection is in its life, with what is needed to leave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Opening: attempt number `attempt`, counted from 0.
    Opening {
        attempt: usize,
        budget: Budget,
    },
    Ready,
    /// Waiting before the next attempt.
    Backoff {
        attempt: usize,
        budget: Budget,
        until: Instant,
    },
    /// `probe` attempts were made since the budget was used up.
    Parked {
        probe: usize,
        since: Instant,
        until: Instant,
    },
    NeedsAuth,
    Recycled,
    Failed,
    Stopped,
}

/// Which series of waits applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Budget {
    /// The server never worked in this process.
    First,
    Again,
    /// One attempt, then back to sleep.
    Probe {
        probe: usize,
        since: Instant,
    },
}

/// What happens to a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Happening {
    Opened,
    /// An attempt to open failed so.
    Failed(Class),
    /// A working connection is lost, or must be replaced.
    Lost,
    /// The wait is over, a call wants the server, or the network is back.
    Due,
    /// A login happened.
    NewCredentials,
    /// The credentials turned out to be dead.
    Refused,
    /// Nobody needs the child for now.
    Unused,
    Stop,
}

/// The world a transition looks at.
pub(crate) struct Circumstances<'a> {
    pub now: Instant,
    /// Uniform in 0..1.
    pub chance: f64,
    pub timing: &'a Timing,
}

impl Phase {
    pub(crate) const START: Self = Self::Opening {
        attempt: 0,
        budget: Budget::First,
    };
    const REOPEN: Self = Self::Opening {
        attempt: 0,
        budget: Budget::Again,
    };

    /// The next phase. An event that means nothing here changes nothing.
    pub(crate) fn after(self, happening: &Happening, around: &Circumstances<'_>) -> Self {
        match (self, happening) {
            (_, Happening::Stop) | (Self::Stopped, _) => Self::Stopped,
            (_, Happening::Refused) => Self::NeedsAuth,
            (Self::Opening { .. }, Happening::Opened) => Self::Ready,
            (Self::Opening { .. }, Happening::Failed(Class::Auth | Class::Scope(_))) => {
                Self::NeedsAuth
            }
            (Self::Opening { .. }, Happening::Failed(Class::Setup)) => Self::Failed,
            (Self::Opening { attempt, budget }, Happening::Failed(_)) => {
                failed(attempt, budget, around)
            }
            (Self::Ready, Happening::Lost) => Self::REOPEN,
            (Self::Ready, Happening::Unused) => Self::Recycled,
            (
                Self::Backoff {
                    attempt, budget, ..
                },
                Happening::Due,
            ) => Self::Opening { attempt, budget },
            (Self::Parked { probe, since, .. }, Happening::Due) => Self::Opening {
                attempt: 0,
                budget: Budget::Probe { probe, since },
            },
            (Self::Recycled, Happening::Due) | (Self::NeedsAuth, Happening::NewCredentials) => {
                Self::REOPEN
            }
            (unchanged, _) => unchanged,
        }
    }

    pub(crate) fn state(self) -> State {
        match self {
            Self::Opening {
                budget: Budget::First,
                ..
            } => State::Connecting,
            Self::Opening { .. } => State::Reconnecting,
            Self::Ready => State::Ready,
            Self::Backoff { .. } => State::Backoff,
            Self::Parked { .. } => State::Parked,
            Self::NeedsAuth => State::NeedsAuth,
            Self::Recycled => State::Recycled,
            Self::Failed => State::Failed,
            Self::Stopped => State::Stopped,
        }
    }

    /// When the next attempt comes by itself.
    pub(crate) fn until(self) -> Option<Instant> {
        match self {
            Self::Backoff { until, .. } | Self::Parked { until, .. } => Some(until),
            _ => None,
        }
    }
}

fn failed(attempt: usize, budget: Budget, around: &Circumstances<'_>) -> Phase {
    let (waits, parked) = match budget {
        Budget::First => (&around.timing.initial_retries, (0, around.now)),
        Budget::Again => (&around.timing.reconnect_delays, (0, around.now)),
        Budget::Probe { probe, since } => return park(probe + 1, since, around),
    };
    match waits.get(attempt) {
        Some(wait) => Phase::Backoff {
            attempt: attempt + 1,
            budget,
            until: around.now + varied(*wait, around),
        },
        None => park(parked.0, parked.1, around),
    }
}

fn park(probe: usize, since: Instant, around: &Circumstances<'_>) -> Phase {
    let probes = &around.timing.parked_probes;
    let wait = probes.get(probe).or(probes.last()).copied();
    Phase::Parked {
        probe,
        since,
        until: around.now + varied(wait.unwrap_or(Duration::from_secs(300)), around),
    }
}

fn varied(wait: Duration, around: &Circumstances<'_>) -> Duration {
    wait.mul_f64(1.0 + around.timing.jitter * (2.0 * around.chance - 1.0))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn run(start: Phase, happenings: &[Happening]) -> (Vec<State>, Vec<u64>) {
        let timing = Timing::default();
        let now = Instant::now();
        let mut phase = start;
        let (mut states, mut waits) = (Vec::new(), Vec::new());
        for happening in happenings {
            let around = Circumstances {
                now,
                chance: 0.5,
                timing: &timing,
            };
            phase = phase.after(happening, &around);
            states.push(phase.state());
            waits.extend(phase.until().map(|until| (until - now).as_secs()));
        }
        (states, waits)
    }

    fn failing(times: usize) -> Vec<Happening> {
        let one = [Happening::Failed(Class::NotSent), Happening::Due];
        one.into_iter().cycle().take(2 * times - 1).collect()
    }

    #[test]
    fn a_first_connect_is_tried_four_times_then_parked() {
        let (states, waits) = run(Phase::START, &failing(9));
        assert_eq!(waits, [1, 2, 4, 30, 60, 120, 300, 300, 300]);
        assert_eq!(states[1], State::Connecting);
        assert_eq!(states.last(), Some(&State::Parked));
    }

    #[test]
    fn a_lost_connection_is_tried_six_times_then_parked() {
        let mut happenings = vec![Happening::Opened, Happening::Lost];
        happenings.extend(failing(7));
        let (states, waits) = run(Phase::START, &happenings);
        assert_eq!(waits, [1, 2, 4, 8, 16, 30, 60]);
        assert_eq!(states[1], State::Reconnecting);
    }

    #[test]
    fn success_resets_the_budget() {
        let mut happenings = failing(3);
        happenings.extend([Happening::Due, Happening::Opened, Happening::Lost]);
        happenings.extend(failing(1));
        assert_eq!(run(Phase::START, &happenings).1, [1, 2, 4, 1]);
    }

    #[test]
    fn what_leaves_which_state() {
        use Happening as H;
        let check = |happenings: &[H], end: State| {
            assert_eq!(
                run(Phase::START, happenings).0.last(),
                Some(&end),
                "{happenings:?}"
            );
        };
        check(&[H::Failed(Class::Auth)], State::NeedsAuth);
        check(&[H::Failed(Class::Scope(None))], State::NeedsAuth);
        check(&[H::Failed(Class::Auth), H::Due], State::NeedsAuth);
        check(
            &[H::Failed(Class::Auth), H::NewCredentials],
            State::Reconnecting,
        );
        check(&[H::Failed(Class::Setup)], State::Failed);
        check(&[H::Failed(Class::Setup), H::Due], State::Failed);
        check(&[H::Opened, H::Unused], State::Recycled);
        check(&[H::Opened, H::Unused, H::Due], State::Reconnecting);
        check(&[H::Opened, H::Due], State::Ready);
        check(&[H::Opened, H::Refused], State::NeedsAuth);
        check(&[H::Lost], State::Connecting);
        check(&[H::Opened, H::Stop, H::Opened], State::Stopped);
    }

    #[test]
    fn waits_vary_by_a_fifth() {
        let timing = Timing::default();
        let now = Instant::now();
        for (chance, millis) in [(0.0, 800), (0.5, 1000), (1.0, 1200)] {
            let around = Circumstances {
                now,
                chance,
                timing: &timing,
            };
            let phase = Phase::START.after(&Happening::Failed(Class::Cut), &around);
            assert_eq!(phase.until(), Some(now + Duration::from_millis(millis)));
        }
    }
}
