//! `hermes memory …` and `hermes journey …`

use clap::{Args, Subcommand};

use super::Json;

#[derive(Debug, Subcommand)]
pub enum Memory {
    /// What is remembered, and how much room is left
    Status {
        #[command(flatten)]
        json: Json,
    },
    /// Choose a memory outside, besides the files
    Setup {
        /// mcp:SERVER for a configured MCP server, or none; without one you are asked
        name: Option<String>,
        /// The server's tool that looks things up
        #[arg(long, value_name = "TOOL")]
        recall: Option<String>,
        /// The server's tool that takes things in
        #[arg(long, value_name = "TOOL")]
        keep: Option<String>,
    },
    /// Only the files again
    Off,
    /// Forget what is remembered; `hermes journey undo` brings it back
    Reset {
        #[arg(long, value_parser = ["all", "memory", "user"], default_value = "all")]
        target: String,
        /// Don't ask
        #[arg(short, long)]
        yes: bool,
    },
}

#[derive(Debug, Args)]
pub struct Journey {
    #[command(subcommand)]
    pub action: Option<JourneyAction>,
    /// How many, at most
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    pub lines: usize,
    /// Also what was there when the journal first saw it
    #[arg(long)]
    pub all: bool,
    #[command(flatten)]
    pub json: Json,
}

#[derive(Debug, Subcommand)]
pub enum JourneyAction {
    /// What one entry changed
    Show { number: u64 },
    /// Make it what it was before one entry
    Undo { number: u64 },
}
