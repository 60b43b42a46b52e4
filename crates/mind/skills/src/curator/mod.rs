//! The curator: tidies up what the agent wrote down on its own. Skills nobody uses become stale and then go to the
//! archive; on request a model merges those that say nearly the same. Nothing is deleted, people's own skills are
//! left alone, and there is a way back from everything.

mod archive;
mod backup;
mod classify;
mod command;
mod decide;
mod merge;
mod report;
mod rollback;
mod run;
mod state;
mod status;

use std::collections::BTreeMap;
use std::sync::Arc;

use hermes_home::config::Settings;
use hermes_home::{Env, FileLock, Home};
use jiff::{SignedDuration, Timestamp};

use crate::find::{Place, Skill};
use crate::journal::Journal;
use crate::provenance::Source;
use crate::service::Skills;
use crate::usage::Record;
use crate::{Error, Result};

pub use archive::Archived;
pub use backup::Backup;
pub use command::{Answer, Sure, Wish};
pub use decide::{Patience, Step, decide};
pub use merge::{Call, Extent, Merging, Thought};
pub(crate) use rollback::{is_cut_off, recover};
pub use run::{Finished, Run, Trigger};
pub use state::{Due, State};

const HOUR: i64 = 3600;

/// The curator of one home.
pub struct Curator {
    home: Home,
    /// Its own view of them: what it has read is not what a conversation has read.
    skills: Arc<Skills>,
    journal: Arc<Journal>,
    config: Config,
}

/// `curator.*`
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    pub enabled: bool,
    pub interval: SignedDuration,
    /// How long nobody may have talked with Hermes.
    pub min_idle: SignedDuration,
    pub patience: Patience,
    /// How many backups are kept; `None`: none are made.
    pub keep: Option<usize>,
    /// Whether a model merges skills in every run.
    pub merges: bool,
}

/// One of the home's own skills, with what is known of it.
#[derive(Clone, Debug)]
struct Standing {
    skill: Skill,
    record: Record,
    source: Source,
}

impl Curator {
    pub fn new(home: &Home, settings: &Settings, env: &Env) -> Self {
        Self {
            home: home.clone(),
            skills: Arc::new(Skills::new(home, settings, env, "cli")),
            journal: Arc::new(Journal::new(home)),
            config: Config::read(settings),
        }
    }

    pub fn config(&self) -> &Config {
        &self.config
    }

    /// What the owner should hear of the last run, once.
    pub fn news(home: &Home) -> Option<String> {
        let state = State::load(home);
        let summary = state.untold()?;
        Some(format!(
            "🧹 The curator tidied up: {summary} (hermes curator status)"
        ))
    }

    /// Whether to run now; `used`: when somebody last talked with Hermes. From here on the owner has heard of the
    /// last run, and the time until the first one counts.
    pub fn check(&self, used: Option<Timestamp>) -> Result<Due> {
        let state = State::load(&self.home);
        if state.untold().is_some() {
            State::edit(&self.home, |state| {
                // Not before the run itself, also if the clock has gone back since: it would be news for ever.
                let run = state.at("last_run_at").unwrap_or(Timestamp::MIN);
                let told = run::stamp(run.max(Timestamp::now()));
                state.set("last_run_summary_shown_at", told);
            })?;
        }
        let due = state.due(&self.config, Timestamp::now(), used);
        if due == Due::First {
            State::edit(&self.home, |state| {
                state.set("last_run_at", crate::usage::now())
            })?;
        }
        Ok(due)
    }

    /// Nobody else tidies up until this is dropped.
    fn claim(&self) -> Result<FileLock> {
        let own = self.home.skills_dir();
        std::fs::create_dir_all(&own).map_err(|error| Error::io("create", &own, &error))?;
        FileLock::try_acquire(&own.join(".curator.lock"))?.ok_or(Error::Busy)
    }

    /// The home's own skills.
    fn standing(&self) -> Vec<Standing> {
        let records: BTreeMap<String, Record> = self.skills.usage.all().into_iter().collect();
        let own = self.skills.library.skills().into_iter();
        let own = own.filter(|skill| skill.place == Place::Own);
        let standing = |skill: Skill| Standing {
            record: records.get(skill.name()).cloned().unwrap_or_default(),
            source: self.skills.source(&skill),
            skill,
        };
        own.map(standing).collect()
    }

    /// Those the agent made on its own, by name.
    fn managed(&self) -> Vec<Standing> {
        let mut all = self.standing();
        all.retain(Standing::is_managed);
        all.sort_by(|a, b| a.skill.name().cmp(b.skill.name()));
        all
    }
}

impl Standing {
    fn is_managed(&self) -> bool {
        decide::is_managed(&self.record, self.source)
    }

    fn state(&self) -> &str {
        self.record.text("state").unwrap_or("active")
    }

    /// Whole days without a sign of life.
    fn idle_days(&self, now: Timestamp) -> Option<i64> {
        let last = decide::anchor(&self.record)?;
        Some(now.duration_since(last).as_hours() / 24)
    }
}

impl Config {
    fn read(settings: &Settings) -> Self {
        let number = |key: &str| settings.number(&format!("curator.{key}"));
        let hours = |key: &str| seconds(number(key) * HOUR as f64);
        let days = |key: &str| Some(seconds(number(key) * 24.0 * HOUR as f64));
        let days = |key: &str| days(key).filter(|limit| limit.is_positive());
        let keep = number("backup.keep").clamp(1.0, 1000.0) as usize;
        Self {
            enabled: settings.is_on("curator.enabled"),
            interval: hours("interval_hours"),
            min_idle: hours("min_idle_hours"),
            patience: Patience {
                stale_after: days("stale_after_days"),
                archive_after: days("archive_after_days"),
            },
            keep: settings.is_on("curator.backup.enabled").then_some(keep),
            merges: settings.is_on("curator.consolidate"),
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        let days = |days: i64| Some(SignedDuration::from_hours(24 * days));
        Self {
            enabled: true,
            interval: SignedDuration::from_hours(168),
            min_idle: SignedDuration::from_hours(2),
            patience: Patience {
                stale_after: days(30),
                archive_after: days(90),
            },
            keep: Some(5),
            merges: false,
        }
    }
}

impl std::fmt::Debug for Curator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Curator")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

/// At most a century: nobody means more, and clocks stay in their range.
fn seconds(amount: f64) -> SignedDuration {
    SignedDuration::from_secs(amount.clamp(0.0, 3.2e9) as i64)
}
