//! `hermes curator …`

use clap::{Args, Subcommand};
use hermes_skills::curator::{Extent, Sure, Wish};

#[derive(Debug, Subcommand)]
pub enum Curator {
    /// When it last ran, what came of it, and what is next
    Status,
    /// Tidy up now
    Run(CuratorRun),
    /// Don't run by itself any more
    Pause,
    /// Run by itself again
    Resume,
    /// Keep a skill from being moved
    Pin {
        name: String,
    },
    Unpin {
        name: String,
    },
    /// Move a skill to the archive
    Archive {
        name: String,
    },
    /// Bring a skill back from the archive
    Restore {
        name: String,
    },
    /// What is in the archive
    ListArchived,
    /// Move all of the agent's own skills to the archive that nobody uses
    Prune {
        /// Idle for so long
        #[arg(long, value_name = "N", default_value_t = 90)]
        days: u32,
        /// Don't ask
        #[arg(short, long)]
        yes: bool,
        /// Only say which
        #[arg(long)]
        dry_run: bool,
    },
    /// Pack all skills as they are
    Backup,
    /// Make all skills what they were in a backup; what is there now is backed up first
    Rollback {
        /// Only list the backups
        #[arg(long)]
        list: bool,
        /// To this one instead of the newest
        #[arg(long)]
        id: Option<String>,
        /// Don't ask
        #[arg(short, long)]
        yes: bool,
    },
}

#[derive(Clone, Debug, Args)]
pub struct CuratorRun {
    /// Change nothing; say what would change
    #[arg(long)]
    pub dry_run: bool,
    /// Return at once and go on alone
    #[arg(long)]
    pub background: bool,
    /// Have a model merge skills that belong together
    #[arg(long)]
    pub consolidate: bool,
}

impl From<&Curator> for Wish {
    fn from(asked: &Curator) -> Self {
        let extent = |dry: bool| if dry { Extent::Proposal } else { Extent::Real };
        let sure = |yes: bool| if yes { Sure::Yes } else { Sure::NotAsked };
        match asked {
            Curator::Status => Self::Status,
            Curator::Run(run) => Self::Run {
                extent: extent(run.dry_run),
                merges: run.consolidate,
            },
            Curator::Pause => Self::Pause,
            Curator::Resume => Self::Resume,
            Curator::Pin { name } => Self::Pin(name.clone()),
            Curator::Unpin { name } => Self::Unpin(name.clone()),
            Curator::Archive { name } => Self::Archive(name.clone()),
            Curator::Restore { name } => Self::Restore(name.clone()),
            Curator::ListArchived => Self::ListArchived,
            Curator::Prune { days, yes, dry_run } => Self::Prune {
                days: *days,
                extent: extent(*dry_run),
                sure: sure(*yes),
            },
            Curator::Backup => Self::Backup,
            Curator::Rollback { list: true, .. } => Self::ListBackups,
            Curator::Rollback { id, yes, .. } => Self::RollBack {
                id: id.clone(),
                sure: sure(*yes),
            },
        }
    }
}
