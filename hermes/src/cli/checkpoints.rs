//! `hermes checkpoints` on the command line.

use clap::{Args, Subcommand};

use super::Json;

#[derive(Debug, Subcommand)]
pub enum Checkpoints {
    /// How much room they take, and of which projects they are
    Status {
        #[command(flatten)]
        json: Json,
    },
    /// The checkpoints of the project here, newest first
    #[command(alias = "ls")]
    List {
        /// Of every project
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        json: Json,
    },
    /// Forget projects that are gone or were left, and what is too much
    Prune(PruneCheckpoints),
    /// Remove all checkpoints of all projects
    Clear {
        /// Don't ask
        #[arg(short, long, short_alias = 'f', alias = "force")]
        yes: bool,
    },
    /// Remove what an older Hermes left: a repository for every project
    ClearLegacy {
        /// Don't ask
        #[arg(short, long, short_alias = 'f', alias = "force")]
        yes: bool,
    },
}

#[derive(Debug, Args)]
pub struct PruneCheckpoints {
    /// Projects untouched for longer are forgotten (0: none)
    #[arg(long, value_name = "N")]
    pub retention_days: Option<u32>,
    /// The oldest go until all take no more room than this (0: any)
    #[arg(long, value_name = "N")]
    pub max_size_mb: Option<u32>,
    /// Keep those of directories that are gone
    #[arg(long)]
    pub keep_orphans: bool,
    #[command(flatten)]
    pub json: Json,
}
