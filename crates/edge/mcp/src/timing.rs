//! Every duration and count the life of a connection depends on, and the clocks it is measured with.

use std::time::{Duration, SystemTime};

use nix::time::{ClockId, clock_gettime};
use tokio::time::Instant;

/// All timing constants. Tests and the fault matrix scale them; nobody else changes them.
#[derive(Clone, Debug, PartialEq)]
pub struct Timing {
    /// Waits before the second, third, … attempt of the first connect; then the server is parked.
    pub initial_retries: Vec<Duration>,
    /// Waits before each attempt to get a lost connection back; then the server is parked.
    pub reconnect_delays: Vec<Duration>,
    /// Waits are varied by this share, so that clients that failed together don't return together.
    pub jitter: f64,
    /// Waits between the probes of a parked server; the last one repeats.
    pub parked_probes: Vec<Duration>,
    /// A parked server whose tools nobody may count on any more.
    pub parked_tools_limit: Duration,
    /// Callers wake a waiting server at most this often.
    pub wake_gap: Duration,
    /// How long a caller waits for a new generation.
    pub renewal_wait: Duration,

    pub breaker_failures: u32,
    pub breaker_cooldown: Duration,

    /// Bound of one keepalive probe.
    pub keepalive_probe: Duration,
    /// The shortest keepalive interval anybody may ask for.
    pub keepalive_min: Duration,
    /// Bound of the probe that decides whether a connection survived a failed call.
    pub liveness_probe: Duration,
    /// A call silent for so long gets a side probe on a connection of its own, and again after as long.
    pub silence: Duration,

    /// Longest `Retry-After` we sit out inside a call.
    pub throttle_patience: Duration,
    /// Session recoveries without a success between them that a server gets per `storm_window`.
    pub storm_limit: usize,
    pub storm_window: Duration,

    /// Bound of the question whether the server speaks the modern protocol.
    pub discover: Duration,
    pub preflight: Duration,
    /// Bound of opening one TCP and TLS connection of a reconnect.
    pub tcp_connect: Duration,
    /// A body may be silent for so long when nothing else bounds it.
    pub body_silence: Duration,
    /// Bound of reading what a server wrote beside an error status.
    pub error_body: Duration,
    /// A request that was accepted without an answer gets it on the standing stream within this, or never.
    pub late_answer: Duration,
    /// A call waits so long for the standing stream of a new session: what the server asks before is lost.
    pub standing_wait: Duration,
    pub resume_tries: u32,
    /// Bound of telling the server that a call was given up, and of ending a session.
    pub farewell: Duration,

    /// Pause between two listings after change notices, and what it grows to when nothing changes.
    pub relist_pause: Duration,
    pub relist_pause_max: Duration,

    /// How long one server may take to stop, and all together.
    pub stop: Duration,
    pub stop_all: Duration,

    /// How often a token file is looked at while credentials are missing.
    pub token_poll: Duration,
    /// A jump of the boot clock against the monotonic one of more than this means the machine slept.
    pub suspend_jump: Duration,
    /// Servers that reconnect at a time after a mass event, and the spread of their starts.
    pub mass_limit: usize,
    pub mass_spread: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        let s = Duration::from_secs;
        Self {
            initial_retries: vec![s(1), s(2), s(4)],
            reconnect_delays: vec![s(1), s(2), s(4), s(8), s(16)],
            jitter: 0.2,
            parked_probes: vec![s(30), s(60), s(120), s(300)],
            parked_tools_limit: s(24 * 3600),
            wake_gap: s(5),
            renewal_wait: s(15),
            breaker_failures: 3,
            breaker_cooldown: s(60),
            keepalive_probe: s(10),
            keepalive_min: s(5),
            liveness_probe: s(2),
            silence: s(20),
            throttle_patience: s(30),
            storm_limit: 5,
            storm_window: s(60),
            discover: s(3),
            preflight: s(5),
            tcp_connect: s(10),
            body_silence: s(300),
            error_body: s(2),
            late_answer: s(2),
            standing_wait: s(1),
            resume_tries: 3,
            farewell: s(2),
            relist_pause: s(1),
            relist_pause_max: s(30),
            stop: s(10),
            stop_all: s(15),
            token_poll: s(2),
            suspend_jump: s(30),
            mass_limit: 4,
            mass_spread: s(3),
        }
    }
}

impl Timing {
    /// The same behaviour, `factor` times as fast. Counts and shares stay.
    #[must_use]
    pub fn faster(mut self, factor: f64) -> Self {
        for list in [
            &mut self.initial_retries,
            &mut self.reconnect_delays,
            &mut self.parked_probes,
        ] {
            for wait in list {
                *wait = wait.div_f64(factor);
            }
        }
        for wait in self.durations() {
            *wait = wait.div_f64(factor);
        }
        self
    }

    fn durations(&mut self) -> [&mut Duration; 25] {
        [
            &mut self.parked_tools_limit,
            &mut self.wake_gap,
            &mut self.renewal_wait,
            &mut self.breaker_cooldown,
            &mut self.keepalive_probe,
            &mut self.keepalive_min,
            &mut self.liveness_probe,
            &mut self.silence,
            &mut self.throttle_patience,
            &mut self.storm_window,
            &mut self.discover,
            &mut self.preflight,
            &mut self.tcp_connect,
            &mut self.body_silence,
            &mut self.error_body,
            &mut self.late_answer,
            &mut self.standing_wait,
            &mut self.farewell,
            &mut self.relist_pause,
            &mut self.relist_pause_max,
            &mut self.stop,
            &mut self.stop_all,
            &mut self.token_poll,
            &mut self.suspend_jump,
            &mut self.mass_spread,
        ]
    }
}

/// The clocks: intervals, intervals that go on while the machine sleeps, and the calendar.
pub trait Clock: Send + Sync {
    fn mono(&self) -> Instant;
    fn boot(&self) -> Duration;
    fn wall(&self) -> SystemTime;
}

/// The clocks of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn mono(&self) -> Instant {
        Instant::now()
    }

    fn boot(&self) -> Duration {
        // Without such a clock nobody can tell that the machine slept; everything else goes on.
        #[cfg(target_os = "linux")]
        let id = ClockId::CLOCK_BOOTTIME;
        #[cfg(not(target_os = "linux"))]
        let id = ClockId::CLOCK_MONOTONIC;
        clock_gettime(id).map(Duration::from).unwrap_or_default()
    }

    fn wall(&self) -> SystemTime {
        SystemTime::now()
    }
}
