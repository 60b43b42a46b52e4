//! `hermes skills …`

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};
use hermes_skills::Source;

use super::Json;

#[derive(Debug, Subcommand)]
pub enum Skills {
    /// The skills there are
    #[command(alias = "ls")]
    List {
        /// Only those that came from here
        #[arg(long, value_enum, default_value = "all")]
        source: SkillSource,
        /// Without those that are switched off or made for another system
        #[arg(long)]
        enabled_only: bool,
        #[command(flatten)]
        json: Json,
    },
    /// Print a skill, or one of its files
    #[command(alias = "show")]
    View {
        /// A name, or category/name
        name: String,
        /// A file inside the skill, such as references/api.md
        file: Option<String>,
    },
    /// Check a skill's directory by the rules of agentskills.io; exits 1 if something is wrong
    Validate {
        dir: PathBuf,
        #[command(flatten)]
        json: Json,
    },
    /// Choose from a list which skills are on
    Config {
        /// Only where it is reached this way (cli, telegram, …)
        #[arg(long)]
        platform: Option<String>,
    },
    Enable {
        #[arg(required = true)]
        names: Vec<String>,
        #[arg(long)]
        platform: Option<String>,
    },
    Disable {
        #[arg(required = true)]
        names: Vec<String>,
        #[arg(long)]
        platform: Option<String>,
    },
    /// Bring back a bundled skill that was removed or changed
    Reset {
        name: String,
        /// Also if it was changed; the changed one goes to the archive
        #[arg(long)]
        restore: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SkillSource {
    All,
    /// Came with Hermes
    Builtin,
    /// Was installed
    Hub,
    /// Made here
    Local,
    /// In one of skills.external_dirs
    External,
}

impl SkillSource {
    pub fn includes(self, source: Source) -> bool {
        match self {
            Self::All => true,
            Self::Builtin => source == Source::Bundled,
            Self::Hub => source == Source::Hub,
            Self::Local => source == Source::Local,
            Self::External => source == Source::External,
        }
    }
}
