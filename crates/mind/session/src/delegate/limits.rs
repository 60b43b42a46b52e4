//! What the owner allows children: `delegation.` in the settings.

use std::time::Duration;

use hermes_agent::Limits;
use hermes_home::Env;
use hermes_home::config::{Settings, defaults};
use hermes_types::Effort;

/// The deepest that agents may stand, whatever the settings say.
const DEEPEST: u32 = 3;
/// What a child gets at least, unless it may take any time.
const SHORTEST: Duration = Duration::from_secs(30);
const MOST_CHILDREN: usize = 64;

#[derive(Clone, Debug)]
pub struct Delegation {
    /// `max_concurrent_children`: children of one agent at the same time.
    pub children: usize,
    /// `max_spawn_depth`: how many agents may stand below each other.
    pub depth: u32,
    /// `orchestrator_enabled`: whether a child can get children.
    pub orchestrators: bool,
    /// `inherit_mcp_toolsets`: whether children keep their parent's MCP tools when they are to have certain
    /// toolsets only.
    pub inherit_servers: bool,
    /// A child's turn; its steps and its effort are those of `delegation.`.
    pub limits: Limits,
    pub timing: Timing,
}

/// Every time a child is measured by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// `child_timeout_seconds`; `None`: any time.
    pub timeout: Option<Duration>,
    /// How often a running call gives a sign of life.
    pub beat: Duration,
    /// After so many beats without progress a child that runs no tool gives none any more.
    pub idle_beats: u32,
    /// The same for a child in a tool.
    pub tool_beats: u32,
    /// How long a child that was stopped may take to put its things in order.
    pub grace: Duration,
    /// An interrupted call is answered after this, with what is known by then.
    pub answer: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            timeout: Some(Duration::from_secs(600)),
            beat: Duration::from_secs(30),
            idle_beats: 15,
            tool_beats: 40,
            grace: Duration::from_secs(2),
            answer: Duration::from_millis(100),
        }
    }
}

/// `child_timeout_seconds`: nothing is no limit, and a limit has a floor.
fn timeout(seconds: f64) -> Option<Duration> {
    let given = Duration::try_from_secs_f64(seconds).unwrap_or_default();
    (!given.is_zero()).then(|| given.max(SHORTEST))
}

/// A number of `delegation.`; the environment counts as long as the settings hold the default.
fn number(settings: &Settings, env: &Env, name: &str) -> f64 {
    let set = settings.number(&format!("delegation.{name}"));
    let default = defaults()["delegation"][name].as_f64();
    let variable = format!("DELEGATION_{}", name.to_uppercase());
    let given = env.filled(&variable).filter(|_| Some(set) == default);
    match given.map(|text| text.trim().parse::<f64>()) {
        Some(Ok(number)) => number,
        Some(Err(_)) => {
            tracing::warn!("{variable} is no number; {set} holds");
            set
        }
        None => set,
    }
}

impl Default for Delegation {
    fn default() -> Self {
        Self {
            children: 3,
            depth: 1,
            orchestrators: true,
            inherit_servers: true,
            limits: Limits {
                iterations: 50,
                ..Limits::default()
            },
            timing: Timing::default(),
        }
    }
}

impl Delegation {
    /// As the owner set it; what is not about delegation is as for the `usual` turn.
    pub fn read(settings: &Settings, env: &Env, usual: Limits) -> Self {
        let effort = match settings.text("delegation.reasoning_effort") {
            "" => usual.effort,
            effort => Effort::from(effort),
        };
        let number = |name: &str| number(settings, env, name);
        Self {
            orchestrators: settings.is_on("delegation.orchestrator_enabled"),
            inherit_servers: settings.is_on("delegation.inherit_mcp_toolsets"),
            limits: Limits {
                iterations: (settings.number("delegation.max_iterations") as u32).max(1),
                effort,
                ..usual
            },
            timing: Timing {
                timeout: timeout(number("child_timeout_seconds")),
                ..Timing::default()
            },
            ..Self::default()
        }
        .allowing(
            number("max_concurrent_children"),
            settings.number("delegation.max_spawn_depth"),
        )
    }

    /// Numbers as they were written, brought to what is possible.
    fn allowing(self, children: f64, depth: f64) -> Self {
        Self {
            children: (children as usize).clamp(1, MOST_CHILDREN),
            depth: (depth as u32).clamp(1, DEEPEST),
            ..self
        }
    }

    /// Whether children of an agent at this depth can have children themselves.
    pub(super) fn may_orchestrate(&self, depth: u32) -> bool {
        self.orchestrators && depth + 1 < self.depth
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use hermes_home::config::Document;

    use super::*;

    #[test]
    fn numbers_are_brought_to_what_is_possible() {
        let check = |children: f64, depth: f64, expected: (usize, u32)| {
            let read = Delegation::default().allowing(children, depth);
            assert_eq!((read.children, read.depth), expected);
        };
        check(3.0, 1.0, (3, 1));
        check(0.0, 0.0, (1, 1));
        check(-4.0, 9.0, (1, 3));
        check(1e9, 2.0, (64, 2));
        let seconds = |given: f64| timeout(given).map(|time| time.as_secs());
        assert_eq!(seconds(600.0), Some(600));
        assert_eq!(seconds(5.0), Some(30));
        assert_eq!((seconds(0.0), seconds(-1.0)), (None, None));
    }

    #[test]
    fn settings_count_before_the_environment() {
        let check = |yaml: &str, env: &[(&str, &str)], expected: (usize, Option<u64>)| {
            let document = Document::parse(Path::new("config.yaml"), yaml.to_owned());
            let mut around = Env::default();
            for (name, value) in env {
                around.set(*name, *value);
            }
            let settings = Settings::from_document(&document, &around);
            let read = Delegation::read(&settings, &around, Limits::default());
            let timeout = read.timing.timeout.map(|time| time.as_secs());
            assert_eq!((read.children, timeout), expected, "{yaml} {env:?}");
            assert_eq!(read.limits.iterations, 50);
        };
        let many = [("DELEGATION_MAX_CONCURRENT_CHILDREN", "7")];
        let long = [("DELEGATION_CHILD_TIMEOUT_SECONDS", "0")];
        let odd = [("DELEGATION_CHILD_TIMEOUT_SECONDS", "soon")];
        let set = "delegation: {max_concurrent_children: 2, child_timeout_seconds: 5}\n";
        check("", &[], (3, Some(600)));
        check("", &many, (7, Some(600)));
        check("", &long, (3, None));
        check("", &odd, (3, Some(600)));
        check(set, &many, (2, Some(30)));
        check(set, &long, (2, Some(30)));
    }
}
