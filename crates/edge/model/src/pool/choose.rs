//! Which of several keys is next.

use hermes_home::config::Settings;

/// `credential_pool_strategies.<provider>`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Strategy {
    /// The first until it fails.
    #[default]
    FillFirst,
    /// One after the other.
    RoundRobin,
    Random,
    /// The one with the fewest requests so far.
    LeastUsed,
}

/// What counts about a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub priority: i64,
    pub uses: u64,
    /// Requests it is carrying right now.
    pub leases: u32,
}

impl Strategy {
    pub fn of(settings: &Settings, pool: &str) -> Self {
        let set = settings.value()["credential_pool_strategies"][pool].as_str();
        match set.unwrap_or_default().trim().to_lowercase().as_str() {
            "round_robin" => Self::RoundRobin,
            "random" => Self::Random,
            "least_used" => Self::LeastUsed,
            _ => Self::FillFirst,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::FillFirst => "fill_first",
            Self::RoundRobin => "round_robin",
            Self::Random => "random",
            Self::LeastUsed => "least_used",
        }
    }

    /// The place of the next key. Keys that carry nothing come first, whatever the strategy; if all are busy, the
    /// least busy are taken: nobody waits for a key.
    pub fn choose(self, candidates: &[Candidate], dice: usize) -> Option<usize> {
        let least = candidates.iter().map(|one| one.leases).min()?;
        let mut free: Vec<usize> = (0..candidates.len())
            .filter(|place| candidates[*place].leases == least)
            .collect();
        free.sort_by_key(|place| candidates[*place].priority);
        match self {
            Self::FillFirst | Self::RoundRobin => free.first().copied(),
            Self::Random => free.get(dice % free.len().max(1)).copied(),
            Self::LeastUsed => free.into_iter().min_by_key(|place| candidates[*place].uses),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strategies() {
        let one = |(priority, uses, leases)| Candidate {
            priority,
            uses,
            leases,
        };
        let check =
            |strategy: Strategy, keys: &[(i64, u64, u32)], dice, expected: Option<usize>| {
                let keys: Vec<_> = keys.iter().copied().map(one).collect();
                assert_eq!(
                    strategy.choose(&keys, dice),
                    expected,
                    "{strategy:?} {keys:?}"
                );
            };
        let idle = [(1, 5, 0), (0, 9, 0), (2, 5, 0)];
        check(Strategy::FillFirst, &idle, 0, Some(1));
        check(Strategy::RoundRobin, &idle, 0, Some(1));
        check(Strategy::LeastUsed, &idle, 0, Some(0));
        check(Strategy::Random, &idle, 0, Some(1));
        check(Strategy::Random, &idle, 2, Some(2));
        check(Strategy::Random, &idle, 4, Some(0));
        // Busy ones last.
        let busy = [(0, 0, 1), (1, 7, 0), (2, 3, 0)];
        check(Strategy::FillFirst, &busy, 0, Some(1));
        check(Strategy::LeastUsed, &busy, 0, Some(2));
        let all_busy = [(0, 0, 2), (1, 7, 1)];
        check(Strategy::FillFirst, &all_busy, 0, Some(1));
        for strategy in [Strategy::FillFirst, Strategy::Random, Strategy::LeastUsed] {
            check(strategy, &[], 3, None);
        }
    }
}
