//! How patient a client is. Every number that has to do with time is here, so that tests can shrink them.

use std::time::Duration;

use hermes_home::Env;
use hermes_home::config::Settings;
use hermes_net::backoff::Backoff;
use serde_json::Value;

use crate::providers::tidy;

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[derive(Clone, Debug)]
pub struct Timing {
    pub connect: Duration,
    /// A call as a whole, with all its attempts. `None`: as long as the caller waits.
    pub call: Option<Duration>,
    /// One attempt as a whole.
    pub total: Duration,
    /// Without a single byte. `None`: by where the model runs.
    pub read: Option<Duration>,
    /// Streaming, without an event; keep-alive comments don't count. `None`: by size and place.
    pub stale: Option<Duration>,
    /// Not streaming, without an answer. `None`: by size and place.
    pub whole_stale: Option<Duration>,
    /// Attempts per request, the first included.
    pub attempts: u32,
    /// How many of them may be spent on connections that broke.
    pub drop_retries: u32,
    pub backoff: Backoff,
    /// After an answer that was none: such servers need longer.
    pub malformed_backoff: Backoff,
    /// A server that asks for more gets this.
    pub longest_retry_after: Duration,
    /// Text that comes faster is shown in portions, one per this time.
    pub frame: Duration,
    /// For questions about models, which nobody should wait for.
    pub probe: Duration,
    /// How long a route that had enough of us is left alone, if there is another.
    pub cooldown: Duration,
}

/// What holds for one attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    pub total: Duration,
    pub read: Duration,
    pub stale: Duration,
}

/// What is sent, and to where.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load<'a> {
    pub model: &'a str,
    pub tokens: u64,
    pub is_local: bool,
    pub is_streaming: bool,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            connect: seconds(30),
            call: None,
            total: seconds(1800),
            read: None,
            stale: None,
            whole_stale: None,
            attempts: 3,
            drop_retries: 2,
            backoff: Backoff {
                first: seconds(2),
                longest: seconds(60),
            },
            malformed_backoff: Backoff {
                first: seconds(5),
                longest: seconds(120),
            },
            longest_retry_after: seconds(120),
            frame: Duration::from_millis(10),
            probe: seconds(5),
            cooldown: seconds(60),
        }
    }
}

impl Timing {
    /// The owner's wishes: per model, then per provider, then the environment.
    pub fn new(settings: &Settings, env: &Env, provider: &str, model: &str) -> Self {
        let mut timing = Self::default();
        let variable = |name| {
            env.filled(name)
                .and_then(|text| text.parse().ok())
                .and_then(positive)
        };
        let own = provider.strip_prefix("custom:").unwrap_or(provider);
        let mut sections = settings.value()["providers"]
            .as_object()
            .into_iter()
            .flatten();
        let section = sections.find(|(name, _)| tidy(name) == own);
        let provider = section.map_or(&Value::Null, |(_, section)| section);
        let model = provider["models"].get(model).unwrap_or(&Value::Null);
        let number = |value: &Value| value.as_f64().and_then(positive);

        let total = number(&model["timeout_seconds"])
            .or_else(|| number(&provider["request_timeout_seconds"]))
            .or_else(|| variable("HERMES_API_TIMEOUT"));
        timing.total = total.unwrap_or(timing.total);
        timing.read = variable("HERMES_STREAM_READ_TIMEOUT");
        let stale = number(&model["stale_timeout_seconds"])
            .or_else(|| number(&provider["stale_timeout_seconds"]));
        timing.stale = stale.or_else(|| variable("HERMES_STREAM_STALE_TIMEOUT"));
        timing.whole_stale = stale.or_else(|| variable("HERMES_API_CALL_STALE_TIMEOUT"));

        let attempts = settings
            .get("agent.api_max_retries")
            .and_then(Value::as_u64);
        let attempts = attempts.and_then(|attempts| u32::try_from(attempts).ok());
        timing.attempts = attempts.unwrap_or(timing.attempts).max(1);
        let retries = env
            .filled("HERMES_STREAM_RETRIES")
            .and_then(|text| text.parse().ok());
        timing.drop_retries = retries.unwrap_or(timing.drop_retries);
        timing
    }

    pub(crate) fn limits(&self, load: Load<'_>) -> Limits {
        let (set, steps) = match load.is_streaming {
            true => (self.stale, [180, 240, 300]),
            false => (self.whole_stale, [300, 450, 600]),
        };
        let [small, medium, large] = steps.map(seconds);
        let by_size = match load.tokens {
            ..50_000 => small,
            50_000..100_000 => medium,
            _ => large,
        };
        let usual = match load.is_local {
            // A local model may read a long prompt for many minutes; nobody else is waiting for it.
            true => Duration::MAX,
            false => by_size.max(thinking_floor(load.model)),
        };
        let stale = set.unwrap_or(usual);
        let read = match load.is_local || !load.is_streaming {
            true => self.total,
            false if stale <= small => seconds(120),
            // Who may be silent for longer may also send nothing for longer.
            false => stale.min(self.total),
        };
        Limits {
            total: self.total,
            read: self.read.unwrap_or(read),
            stale,
        }
    }
}

fn positive(number: f64) -> Option<Duration> {
    let duration = Duration::try_from_secs_f64(number).ok()?;
    (!duration.is_zero()).then_some(duration)
}

/// Models that think for minutes before they say anything.
fn thinking_floor(model: &str) -> Duration {
    const FLOORS: [(&str, u64); 16] = [
        ("o3-mini", 300),
        ("o4-mini", 300),
        ("o1", 600),
        ("o3", 600),
        ("deepseek-r1", 600),
        ("deepseek-reasoner", 600),
        ("deepseek-v4", 600),
        ("nemotron-3-super", 600),
        ("nemotron-3-ultra", 600),
        ("qwq", 300),
        ("grok-4-fast-reasoning", 300),
        ("grok-4-1-fast-reasoning", 300),
        ("claude-opus-4", 240),
        ("claude-sonnet-4-5", 180),
        ("claude-sonnet-4.5", 180),
        ("qwen3", 180),
    ];
    let name = model.rsplit('/').next().unwrap_or(model).to_lowercase();
    let floor = FLOORS.iter().find(|(family, _)| name.starts_with(family));
    floor.map_or(Duration::ZERO, |(_, floor)| seconds(*floor))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use hermes_home::config::Document;

    use super::*;

    const LOAD: Load<'_> = Load {
        model: "m",
        tokens: 0,
        is_local: false,
        is_streaming: true,
    };

    #[test]
    fn patience_depends_on_size_place_and_model() {
        let check = |load, stale, read| {
            let limits = Timing::default().limits(load);
            assert_eq!((limits.stale, limits.read), (stale, read), "{load:?}");
        };
        check(LOAD, seconds(180), seconds(120));
        check(
            Load {
                tokens: 60_000,
                ..LOAD
            },
            seconds(240),
            seconds(240),
        );
        check(
            Load {
                tokens: 200_000,
                ..LOAD
            },
            seconds(300),
            seconds(300),
        );
        check(
            Load {
                model: "openai/o3",
                ..LOAD
            },
            seconds(600),
            seconds(600),
        );
        check(
            Load {
                model: "openai/o3-mini",
                ..LOAD
            },
            seconds(300),
            seconds(300),
        );
        check(
            Load {
                is_local: true,
                ..LOAD
            },
            Duration::MAX,
            seconds(1800),
        );
        check(
            Load {
                is_streaming: false,
                ..LOAD
            },
            seconds(300),
            seconds(1800),
        );
    }

    #[test]
    fn the_owner_decides() {
        let settings = |text: &str| {
            let document = Document::parse(Path::new("/h/config.yaml"), text.to_owned());
            Settings::from_document(&document, &Env::default())
        };
        let mine = "providers: {Mine: {request_timeout_seconds: 9, stale_timeout_seconds: 5, \
                    models: {m: {stale_timeout_seconds: 7}}}}\nagent: {api_max_retries: 1}";
        let env = Env::from([
            ("HERMES_API_TIMEOUT", "100"),
            ("HERMES_STREAM_STALE_TIMEOUT", "0"),
        ]);
        let own = Timing::new(&settings(mine), &env, "custom:mine", "m");
        assert_eq!(
            (own.total, own.stale, own.attempts),
            (seconds(9), Some(seconds(7)), 1)
        );
        let other = Timing::new(&settings(mine), &env, "openrouter", "m");
        assert_eq!((other.total, other.stale), (seconds(100), None));
        let local = Load {
            is_local: true,
            ..LOAD
        };
        assert_eq!(own.limits(local).stale, seconds(7));
    }
}
