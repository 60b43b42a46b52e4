//! Finding the processes of a tree that have left its group: by a variable that only they were given.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Whoever forks while being looked for is found the next time.
const ROUNDS: usize = 10;

/// A variable with a value nobody else has; children hand it down. Dropping it kills whoever still carries it.
///
/// A process can lose it on purpose, and only Linux lets us look: this is for daemons, not against enemies.
#[derive(Debug)]
pub struct Mark {
    name: &'static str,
    value: String,
}

impl Mark {
    pub fn new(name: &'static str, value: String) -> Self {
        Self { name, value }
    }

    /// For the environment of the first of the tree.
    pub fn variable(&self) -> (String, String) {
        (self.name.to_owned(), self.value.clone())
    }

    /// Kills all that carry it.
    pub fn kill(&self) {
        for _ in 0..ROUNDS {
            let carriers = self.carriers();
            for pid in &carriers {
                // Gone in the meantime is as good.
                let _ = kill(*pid, Signal::SIGKILL);
            }
            if carriers.is_empty() {
                return;
            }
        }
    }

    fn carriers(&self) -> Vec<Pid> {
        let Ok(entries) = std::fs::read_dir("/proc") else {
            return Vec::new();
        };
        let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        let wanted = format!("{}={}", self.name, self.value).into_bytes();
        // What has ended has no environment any more, and that of other users is not ours to read.
        let carries = |pid: &i32| {
            let variables = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            variables.split(|byte| *byte == 0).any(|one| one == wanted)
        };
        pids.filter(carries).map(Pid::from_raw).collect()
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        self.kill();
    }
}
