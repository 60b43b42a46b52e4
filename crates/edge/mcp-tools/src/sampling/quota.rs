//! How often a server may ask, and how often in a row it may be told to use tools.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

const WINDOW: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(super) struct Quota {
    max_rpm: u64,
    max_tool_rounds: u64,
    /// The requests of the last window, oldest first.
    recent: VecDeque<Instant>,
    /// Answers in a row that asked for tools.
    rounds: u64,
}

impl Quota {
    pub fn new(max_rpm: u64, max_tool_rounds: u64) -> Self {
        Self {
            max_rpm,
            max_tool_rounds,
            recent: VecDeque::new(),
            rounds: 0,
        }
    }

    /// Counts a request, or says why it is one too many.
    pub fn request(&mut self, now: Instant) -> Result<(), String> {
        while self
            .recent
            .front()
            .is_some_and(|at| now.duration_since(*at) >= WINDOW)
        {
            self.recent.pop_front();
        }
        if self.recent.len() as u64 >= self.max_rpm {
            return Err(format!(
                "Sampling rate limit: {} requests per minute",
                self.max_rpm
            ));
        }
        self.recent.push_back(now);
        Ok(())
    }

    /// Counts an answer, or says why it must not be given.
    pub fn answered(&mut self, uses_tools: bool) -> Result<(), String> {
        if !uses_tools {
            self.rounds = 0;
            return Ok(());
        }
        if self.max_tool_rounds == 0 {
            return Err("Tool use in sampling is forbidden for this server".to_owned());
        }
        self.rounds += 1;
        if self.rounds > self.max_tool_rounds {
            self.rounds = 0;
            return Err(format!(
                "Sampling used tools {} times in a row, which is the limit",
                self.max_tool_rounds
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_has_room_for_so_many_requests() {
        let start = Instant::now();
        let mut quota = Quota::new(2, 5);
        let mut at = |seconds| quota.request(start + Duration::from_secs(seconds)).is_ok();
        assert!(at(0) && at(30) && !at(59));
        assert!(at(60), "the first one is out of the window");
        assert!(!at(61) && at(90));
    }

    #[test]
    fn tool_rounds_are_counted_in_a_row() {
        let mut quota = Quota::new(10, 2);
        let rounds: Vec<bool> = [true, true, false, true, true, true, true]
            .into_iter()
            .map(|uses_tools| quota.answered(uses_tools).is_ok())
            .collect();
        assert_eq!(rounds, [true, true, true, true, true, false, true]);
        let mut never = Quota::new(10, 0);
        assert!(never.answered(true).is_err() && never.answered(false).is_ok());
    }
}
