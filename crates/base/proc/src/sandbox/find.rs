//! Which mechanism works here: found out by running a command that does nothing within the bounds wanted.

use std::env::split_paths;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::timeout;

use super::policy::{Network, Policy};
use super::{Means, Mechanism, Mode};
use crate::{Event, Exit, Spawn, Stdin, Tty};

/// Making namespaces takes milliseconds.
const LIMIT: Duration = Duration::from_secs(5);
/// Of what a mechanism says about its failure.
const REASON: usize = 200;

/// What holds commands here, and to what.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub mechanism: Mechanism,
    /// What was wanted, or, if not all of it can be had, the rest.
    pub policy: Policy,
    wanted: Network,
}

/// Which mechanisms work on this machine, and why the others don't.
#[derive(Clone, Debug)]
pub struct Survey {
    pub bubblewrap: Result<(), String>,
    pub landlock: Result<(), String>,
    /// Whether Landlock can cut the network off; only asked if it works at all.
    pub landlock_network: Result<(), String>,
}

/// Tries both, whatever the settings say.
pub async fn survey(means: &Means) -> Survey {
    let plain = Policy::default();
    let offline = Policy {
        network: Network::Off,
        ..Policy::default()
    };
    let landlock = Mechanism::Landlock(means.confiner.clone());
    Survey {
        bubblewrap: match bwrap(means) {
            Ok(bwrap) => works(&bwrap, &plain).await,
            Err(missing) => Err(missing),
        },
        landlock: works(&landlock, &plain).await,
        landlock_network: works(&landlock, &offline).await,
    }
}

/// The first that works: bubblewrap, Landlock; where less will do, each without the network's bounds.
pub(super) async fn find(mode: Mode, policy: &Policy, means: &Means) -> Result<Found, String> {
    let mut wanted = vec![policy.clone()];
    if mode == Mode::Auto && policy.network == Network::Off {
        wanted.push(Policy {
            network: Network::On,
            ..policy.clone()
        });
    }
    let mut reasons = Vec::new();
    for attempt in wanted {
        let landlock = Ok(Mechanism::Landlock(means.confiner.clone()));
        for mechanism in [bwrap(means), landlock] {
            let tried = match mechanism {
                Ok(mechanism) => works(&mechanism, &attempt).await.map(|()| mechanism),
                Err(missing) => Err(missing),
            };
            match tried {
                Ok(mechanism) => {
                    return Ok(Found {
                        mechanism,
                        policy: attempt,
                        wanted: policy.network,
                    });
                }
                Err(why) if !reasons.contains(&why) => reasons.push(why),
                Err(_) => {}
            }
        }
    }
    Err(reasons.join("; "))
}

fn bwrap(means: &Means) -> Result<Mechanism, String> {
    split_paths(&means.search)
        .map(|dir| dir.join("bwrap"))
        .find(|program| program.is_absolute() && program.is_file())
        .map(Mechanism::Bubblewrap)
        .ok_or_else(|| "bwrap is not installed".to_owned())
}

async fn works(mechanism: &Mechanism, policy: &Policy) -> Result<(), String> {
    let nothing = Spawn {
        program: "/bin/sh".into(),
        args: vec!["-c".to_owned(), ":".to_owned()],
        env: Vec::new(),
        dir: "/".into(),
        stdin: Stdin::Null,
        tty: Tty::None,
    };
    let failed = |why: &str| {
        let why: String = why.trim().chars().take(REASON).collect();
        format!("{mechanism}: {why}")
    };
    let mut running = mechanism
        .wrap(policy, nothing)
        .start()
        .map_err(|error| failed(&error.to_string()))?;
    let mut said = String::new();
    let end = async {
        loop {
            match running.next().await {
                Event::Output(text) if said.len() < REASON => said += &text,
                Event::Output(_) => {}
                Event::Ended(exit) => return exit,
            }
        }
    };
    match timeout(LIMIT, end).await {
        Ok(Exit::Code(0)) => Ok(()),
        Ok(exit) if said.trim().is_empty() => Err(failed(&format!("ended with {exit}"))),
        Ok(_) => Err(failed(&said)),
        Err(_) => Err(failed("took too long")),
    }
}

impl Found {
    pub fn notice(&self) -> String {
        let Self {
            mechanism, policy, ..
        } = self;
        let dirs = policy.writable.iter().map(PathBuf::as_path);
        let dirs: Vec<_> = dirs.map(Path::to_string_lossy).collect();
        let network = match (self.wanted, policy.network) {
            (Network::On, _) => "",
            (Network::Off, Network::Off) => "; there is no network",
            (Network::Off, Network::On) => "; the network could not be cut off here",
        };
        format!(
            "Commands are confined by {mechanism}: only {} can be changed{network}",
            dirs.join(", ")
        )
    }
}
