//! `hermes audit …`

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::Json;

#[derive(Debug, Subcommand)]
pub enum Audit {
    /// The latest actions, oldest first
    Show(AuditShow),
    /// Follow the chain from its beginning to its end; exits 1 and names the place where it is broken
    Verify {
        #[command(flatten)]
        json: Json,
    },
    /// Write all of it for other programs
    Export {
        /// JSON objects, one for each entry, or rows for spreadsheets
        #[arg(long, value_parser = ["jsonl", "csv"], default_value = "jsonl")]
        format: String,
        /// A file; standard output unless given
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
pub struct AuditShow {
    /// Only of this session (part of its id is enough)
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// Only by this tool
    #[arg(long, value_name = "NAME")]
    pub tool: Option<String>,
    /// Only the last 45s, 30m, 2h or 90d
    #[arg(long, value_name = "SPAN")]
    pub since: Option<String>,
    /// Only what ended like this
    #[arg(long, value_parser = ["done", "failed", "denied", "cancelled"])]
    pub outcome: Option<String>,
    /// How many, at most
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
    pub lines: usize,
    #[command(flatten)]
    pub json: Json,
}
