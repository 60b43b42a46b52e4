//! Process groups: signalled as one, gone when the last member is.

use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// The processes a command started, named by the one that leads them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group(Pid);

impl Group {
    /// The group that the process `leader` leads. `None` for numbers that mean "everybody" to the kernel.
    pub fn led_by(leader: u32) -> Option<Self> {
        let pid = i32::try_from(leader).ok().filter(|pid| *pid > 1)?;
        Some(Self(Pid::from_raw(pid)))
    }

    pub fn leader(self) -> u32 {
        self.0.as_raw().unsigned_abs()
    }

    /// Asks all members to end; those that are stopped are woken to hear it.
    pub fn terminate(self) {
        self.send(Signal::SIGTERM);
        self.send(Signal::SIGCONT);
    }

    pub fn kill(self) {
        self.send(Signal::SIGKILL);
    }

    /// Whether nobody is left who could still do anything.
    pub fn is_gone(self) -> bool {
        killpg(self.0, None) == Err(Errno::ESRCH) || self.all_ended()
    }

    /// Whether all members have ended but were not waited for: who takes over orphans may take its time.
    /// Where there is no `/proc`, nobody knows.
    fn all_ended(self) -> bool {
        let Ok(entries) = std::fs::read_dir("/proc") else {
            return false;
        };
        let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        let member = self.0.to_string();
        !pids.filter_map(stat).any(|fields| {
            let mut fields = fields.split(' ');
            let state = fields.next();
            fields.nth(1) == Some(&member) && !matches!(state, Some("Z" | "X"))
        })
    }

    fn send(self, signal: Signal) {
        // A group that is gone needs no signal, and one that became another user's cannot get ours.
        let _ = killpg(self.0, signal);
    }
}

/// When the kernel started this process, in its own units: with the number, it names a process for good.
///
/// `None` if there is no such process, or the system doesn't tell.
pub fn start_time(pid: u32) -> Option<u64> {
    stat(pid)?.split(' ').nth(19)?.parse().ok()
}

/// What the kernel says about a process: state, parent, group, session, …
fn stat(pid: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Before these stands the program's name in parentheses, which may hold anything.
    Some(stat.rsplit_once(") ")?.1.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dangerous_numbers_are_no_group() {
        for number in [0, 1, u32::MAX] {
            assert_eq!(Group::led_by(number), None, "{number}");
        }
    }

    #[test]
    fn a_process_has_one_start_time() {
        let own = start_time(std::process::id());
        assert!(own.is_some());
        assert_eq!(own, start_time(std::process::id()));
        assert_eq!(start_time(u32::MAX), None);
    }
}
