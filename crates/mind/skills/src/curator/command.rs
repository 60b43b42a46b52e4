//! `hermes curator …` and `/curator …`: what can be wanted of the curator, and its answers in words.

use jiff::Timestamp;

use super::merge::{Extent, Thought};
use super::run::Trigger;
use super::state::State;
use super::{Archived, Curator, Standing};
use crate::find::Skill;
use crate::journal::By;
use crate::manage::Refused;
use crate::provenance::Source;
use crate::resolve::Missing;
use crate::usage::Record;

/// What `prune` takes for idle.
const IDLE_DAYS: u32 = 90;
const USAGE: &str = "/curator status | run [--dry-run] [--consolidate] | pause | resume | pin NAME | unpin NAME | \
    archive NAME | restore NAME | list-archived | prune [--days N] [--dry-run] [-y] | backup | \
    rollback [--list] [--id ID] [-y]";

/// What somebody wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    Status,
    /// `merges`: also if that is not set.
    Run {
        extent: Extent,
        merges: bool,
    },
    Pause,
    Resume,
    Pin(String),
    Unpin(String),
    Archive(String),
    Restore(String),
    ListArchived,
    Prune {
        days: u32,
        extent: Extent,
        sure: Sure,
    },
    Backup,
    ListBackups,
    /// `None`: to the newest.
    RollBack {
        id: Option<String>,
        sure: Sure,
    },
}

/// Whether somebody who was asked has said yes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sure {
    NotAsked,
    Yes,
}

/// What is said to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Told(String),
    /// Nothing has happened yet.
    Ask {
        text: String,
        question: String,
    },
}

type Answered = std::result::Result<Answer, Refused>;

impl Wish {
    /// Reads what follows `/curator`.
    pub fn read(words: &str) -> std::result::Result<Self, String> {
        let words: Vec<&str> = words.split_whitespace().collect();
        let (verb, rest) = words.split_first().unwrap_or((&"status", &[]));
        let has = |flag: &str| rest.contains(&flag);
        let value = |flag: &str| {
            let at = rest.iter().position(|word| *word == flag)?;
            rest.get(at + 1).copied()
        };
        let extent = match has("--dry-run") {
            true => Extent::Proposal,
            false => Extent::Real,
        };
        let sure = match has("-y") || has("--yes") {
            true => Sure::Yes,
            false => Sure::NotAsked,
        };
        let named = |wish: fn(String) -> Self| match rest {
            [name] => Ok(wish((*name).to_owned())),
            _ => Err(format!("/curator {verb} needs the name of a skill")),
        };
        match *verb {
            "status" => Ok(Self::Status),
            "run" => Ok(Self::Run {
                extent,
                merges: has("--consolidate"),
            }),
            "pause" => Ok(Self::Pause),
            "resume" => Ok(Self::Resume),
            "pin" => named(Self::Pin),
            "unpin" => named(Self::Unpin),
            "archive" => named(Self::Archive),
            "restore" => named(Self::Restore),
            "list-archived" => Ok(Self::ListArchived),
            "prune" => match value("--days").map(str::parse) {
                None => Ok(Self::prune(IDLE_DAYS, extent, sure)),
                Some(Ok(days)) => Ok(Self::prune(days, extent, sure)),
                Some(Err(_)) => Err("--days needs a number".to_owned()),
            },
            "backup" => Ok(Self::Backup),
            "rollback" if has("--list") => Ok(Self::ListBackups),
            "rollback" => Ok(Self::RollBack {
                id: value("--id").map(str::to_owned),
                sure,
            }),
            _ => Err(USAGE.to_owned()),
        }
    }

    fn prune(days: u32, extent: Extent, sure: Sure) -> Self {
        Self::Prune { days, extent, sure }
    }

    /// The same from somebody who has said yes.
    #[must_use]
    pub fn confirmed(self) -> Self {
        let sure = Sure::Yes;
        match self {
            Self::Prune { days, extent, .. } => Self::prune(days, extent, sure),
            Self::RollBack { id, .. } => Self::RollBack { id, sure },
            other => other,
        }
    }
}

impl Curator {
    /// Does what is wanted; runs do what needs no model. May wait for the disk and for others.
    pub fn answer(&self, wish: &Wish) -> Answered {
        let told = match wish {
            Wish::Status => self.status(),
            Wish::Run { extent, .. } => self.run_without_model(*extent)?,
            Wish::Pause => self.pause(true)?,
            Wish::Resume => self.pause(false)?,
            Wish::Pin(name) => self.pin(name, true)?,
            Wish::Unpin(name) => self.pin(name, false)?,
            Wish::Archive(name) => self.archive(name)?,
            Wish::Restore(name) => self.restore(name)?,
            Wish::ListArchived => self.archive_list(),
            Wish::Prune { days, extent, sure } => return self.prune(*days, *extent, *sure),
            Wish::Backup => self.back_up_now()?,
            Wish::ListBackups => self.backup_list(),
            Wish::RollBack { id, sure } => return self.back_to(id.as_deref(), *sure),
        };
        Ok(Answer::Told(told))
    }

    /// Whether a model has to help.
    pub fn wants_model(&self, wish: &Wish) -> bool {
        matches!(wish, Wish::Run { merges, .. } if *merges || self.config.merges)
    }

    /// Fails if the owner has switched it off.
    pub fn is_allowed(&self) -> std::result::Result<(), Refused> {
        match self.config.enabled {
            true => Ok(()),
            false => Err(Refused::new(
                "the curator is switched off; `hermes config set curator.enabled true` switches it on",
            )),
        }
    }

    fn run_without_model(&self, extent: Extent) -> std::result::Result<String, Refused> {
        self.is_allowed()?;
        if extent == Extent::Proposal {
            return Ok(self.rehearse());
        }
        let Some(run) = self.begin(Trigger::Owner)? else {
            return Ok("nothing is due".to_owned());
        };
        let finished = self.finish(run, Thought::default())?;
        Ok(finished.told())
    }

    fn pause(&self, paused: bool) -> std::result::Result<String, Refused> {
        State::edit(&self.home, |state| state.set("paused", paused))?;
        Ok(match paused {
            true => "paused: it does not run by itself until `hermes curator resume`",
            false => "resumed: it runs by itself when it is time",
        }
        .to_owned())
    }

    fn pin(&self, name: &str, pinned: bool) -> std::result::Result<String, Refused> {
        let skill = self.find(name)?;
        let name = skill.name();
        let change = |record: &mut Record| record.set("pinned", pinned.into());
        self.skills.usage.edit(name, change)?;
        Ok(match pinned {
            true => format!("pinned {name}: neither the curator nor the agent moves it"),
            false => format!("unpinned {name}"),
        })
    }

    fn archive(&self, name: &str) -> std::result::Result<String, Refused> {
        let skill = self.find(name)?;
        let name = skill.name();
        let elsewhere = match self.skills.source(&skill) {
            Source::Local => None,
            Source::Bundled => Some("came with Hermes"),
            Source::Hub => Some("was installed from the hub"),
            Source::External => Some("lies in an external directory"),
        };
        if let Some(why) = elsewhere {
            return Err(Refused::new(format!(
                "'{name}' {why} and stays; `hermes skills disable {name}` hides it"
            )));
        }
        let kept = self.put_away(&skill, By::Owner)?;
        Ok(format!(
            "archived {name} (now at {}); `hermes curator restore {name}` brings it back",
            kept.display()
        ))
    }

    fn restore(&self, name: &str) -> std::result::Result<String, Refused> {
        let all = self.archived();
        let named = |one: &&Archived| one.folder == name;
        // Its folder says exactly which; of several with the name the newest is meant.
        let found = all.iter().find(named);
        let found = found.or_else(|| all.iter().find(|one| one.name == name));
        let Some(archived) = found else {
            let names = all.iter().map(|one| one.name.as_str()).collect::<Vec<_>>();
            return Err(Refused::new(format!(
                "there is no skill '{name}' in the archive{}; `hermes curator list-archived` shows what is",
                nearest(name, &names)
            )));
        };
        let target = self.bring_back(archived)?;
        Ok(format!(
            "restored {} to {}",
            archived.name,
            target.display()
        ))
    }

    fn prune(&self, days: u32, extent: Extent, sure: Sure) -> Answered {
        if days == 0 {
            return Err(Refused::new("--days must be at least 1"));
        }
        self.mend()?;
        let now = Timestamp::now();
        let mut idle = self.managed();
        idle.retain(|one| {
            let is_idle = one
                .idle_days(now)
                .is_some_and(|idle| idle >= i64::from(days));
            is_idle && !one.record.is_pinned()
        });
        let count = idle.len();
        let told = |text: String| Ok(Answer::Told(text));
        if count == 0 {
            return told(format!("no skill of its own has been idle for {days} days"));
        }
        let line = |one: &Standing| {
            let days = one.idle_days(now).unwrap_or_default();
            format!("  {} (idle {days} days)", one.skill.name())
        };
        let list = idle.iter().map(line).collect::<Vec<_>>().join("\n");
        match (extent, sure) {
            (Extent::Proposal, _) => {
                return told(format!(
                    "{list}\n{count} would go to the archive; nothing was changed"
                ));
            }
            (Extent::Real, Sure::NotAsked) => {
                return Ok(Answer::Ask {
                    text: list,
                    question: format!("Move these {count} skills to the archive?"),
                });
            }
            (Extent::Real, Sure::Yes) => {}
        }
        let mut failed = Vec::new();
        for one in &idle {
            if let Err(refused) = self.put_away(&one.skill, By::Owner) {
                failed.push(format!("{}: {refused}", one.skill.name()));
            }
        }
        match failed.is_empty() {
            true => told(format!("{list}\n{count} skills are in the archive now")),
            false => Err(Refused::new(format!("some stayed: {}", failed.join("; ")))),
        }
    }

    fn back_up_now(&self) -> std::result::Result<String, Refused> {
        let keep = self.config.keep.unwrap_or(usize::MAX);
        let id = self.back_up("manual", keep, &[])?;
        Ok(format!(
            "backed up as {id}; `hermes curator rollback --id {id}` brings it back"
        ))
    }

    fn back_to(&self, id: Option<&str>, sure: Sure) -> Answered {
        let all = self.backups();
        let wanted = |id: &str| all.iter().find(|backup| backup.id == id);
        let Some(backup) = id.map_or(all.first(), wanted) else {
            let ids: Vec<&str> = all.iter().map(|backup| backup.id.as_str()).collect();
            return Err(Refused::new(match id {
                None => "there is no backup yet".to_owned(),
                Some(id) => format!(
                    "there is no backup '{id}'{}; `hermes curator rollback --list` shows them",
                    nearest(id, &ids)
                ),
            }));
        };
        if sure == Sure::NotAsked {
            return Ok(Answer::Ask {
                text: super::status::backup_line(backup),
                question:
                    "Make all skills what they were then? What is there now is backed up first."
                        .to_owned(),
            });
        }
        let done = self.roll_back(backup)?;
        let listed = |what: &str, names: &[String]| match names {
            [] => String::new(),
            names => format!("\n{what}: {}", names.join(", ")),
        };
        Ok(Answer::Told(format!(
            "all skills are what they were at {}{}{}\nwhat was there before is backup {}",
            backup.id,
            listed("back again", &done.came_back),
            listed("gone again", &done.went),
            done.safety
        )))
    }

    /// A skill by its name; if there is none, those it may have been.
    fn find(&self, name: &str) -> std::result::Result<Skill, Refused> {
        self.skills.resolve(name).map_err(|missing| match missing {
            Missing::Unknown { .. } => {
                let skills = self.skills.library.skills();
                let names: Vec<&str> = skills.iter().map(Skill::name).collect();
                Refused::new(format!(
                    "there is no skill '{name}'{}; `hermes skills list` shows those there are",
                    nearest(name, &names)
                ))
            }
            other => Refused::new(other.to_string()),
        })
    }
}

/// `, did you mean a or b?`
fn nearest(name: &str, known: &[&str]) -> String {
    match similar::get_close_matches(name, known, 3, 0.6).as_slice() {
        [] => String::new(),
        near => format!(" (did you mean {}?)", near.join(" or ")),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn words_after_the_command() {
        let check = |words: &str, expected: Wish| {
            assert_eq!(Wish::read(words), Ok(expected), "{words}");
        };
        check("", Wish::Status);
        check("status", Wish::Status);
        let run = |extent, merges| Wish::Run { extent, merges };
        check("run", run(Extent::Real, false));
        check("run --dry-run --consolidate", run(Extent::Proposal, true));
        check("pin  a-b", Wish::Pin("a-b".to_owned()));
        check("prune", Wish::prune(90, Extent::Real, Sure::NotAsked));
        check("prune --days 7 -y", Wish::prune(7, Extent::Real, Sure::Yes));
        check("rollback --list", Wish::ListBackups);
        let back = |id: Option<&str>, sure| Wish::RollBack {
            id: id.map(str::to_owned),
            sure,
        };
        check("rollback", back(None, Sure::NotAsked));
        check("rollback --id x -y", back(Some("x"), Sure::Yes));
        assert_eq!(
            back(Some("x"), Sure::NotAsked).confirmed(),
            back(Some("x"), Sure::Yes)
        );
        for wrong in ["pin", "archive a b", "prune --days many", "dance"] {
            assert!(Wish::read(wrong).is_err(), "{wrong}");
        }
    }
}
