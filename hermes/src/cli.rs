//! The command line, as data. Help texts are the documentation; completions come from here too.

mod audit;
mod auth;
mod checkpoints;
mod curator;
mod learning;
mod mcp;
mod skills;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub use self::audit::{Audit, AuditShow};
pub use self::auth::{Auth, AuthAdd, AuthKind, AuthLogin, LoginArgs};
pub use self::checkpoints::{Checkpoints, PruneCheckpoints};
pub use self::curator::{Curator, CuratorRun};
pub use self::learning::{Journey, JourneyAction, Memory};
pub use self::mcp::{Mcp, McpAdd, McpAuth, McpCall, McpOp};
pub use self::skills::{SkillSource, Skills};

/// A personal AI agent that lives in your terminal and your chats.
#[derive(Debug, Parser)]
#[command(
    name = "hermes",
    version,
    disable_help_subcommand = true,
    max_term_width = 100
)]
pub struct Cli {
    /// Work in this profile (see `hermes profile`)
    // Taken out of the command line before parsing; declared so that help and completions know it.
    #[arg(short, long, global = true, value_name = "NAME")]
    pub profile: Option<String>,
    /// Answer one prompt and exit; only the answer is printed (- reads the prompt from standard input)
    #[arg(short = 'z', long, value_name = "PROMPT", allow_hyphen_values = true)]
    pub oneshot: Option<String>,
    /// With -z: write tokens and cost as JSON
    #[arg(long, value_name = "PATH", requires = "oneshot")]
    pub usage_file: Option<PathBuf>,
    #[command(flatten)]
    pub talk: Talk,
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// How to talk; accepted before and after `chat`.
#[derive(Clone, Debug, Default, Args)]
pub struct Talk {
    /// Another model for this run
    #[arg(short, long)]
    pub model: Option<String>,
    /// Another provider for this run
    #[arg(long)]
    pub provider: Option<String>,
    /// Only these toolsets (all: every one)
    #[arg(short, long, value_name = "A,B", value_delimiter = ',')]
    pub toolsets: Vec<String>,
    /// Skills to follow from the start
    #[arg(short, long, value_name = "A,B", value_delimiter = ',')]
    pub skills: Vec<String>,
    /// Go on with this conversation
    #[arg(short, long, value_name = "ID|TITLE")]
    pub resume: Option<String>,
    /// Go on with the latest conversation, or the one with this title
    #[arg(short, long = "continue", value_name = "TITLE", num_args = 0..=1, default_missing_value = "")]
    pub continue_: Option<String>,
    /// How many replies with tool calls a turn may have
    #[arg(long, value_name = "N")]
    pub max_turns: Option<u32>,
    /// Work in a git worktree of its own; it goes when the session ends, unless it holds work
    #[arg(short, long)]
    pub worktree: bool,
    /// Keep how files were before they are changed, for /rollback
    #[arg(long)]
    pub checkpoints: bool,
    /// Run commands without asking; what is never allowed stays forbidden
    #[arg(long)]
    pub yolo: bool,
    /// Talk line by line: for screen readers and plain terminals (also HERMES_TUI=0)
    #[arg(long)]
    pub cli: bool,
}

impl Talk {
    /// What was said before and after `chat`, together.
    pub fn with(&self, more: &Self) -> Self {
        Self {
            model: more.model.clone().or_else(|| self.model.clone()),
            provider: more.provider.clone().or_else(|| self.provider.clone()),
            toolsets: if more.toolsets.is_empty() {
                self.toolsets.clone()
            } else {
                more.toolsets.clone()
            },
            skills: [self.skills.clone(), more.skills.clone()].concat(),
            resume: more.resume.clone().or_else(|| self.resume.clone()),
            continue_: more.continue_.clone().or_else(|| self.continue_.clone()),
            max_turns: more.max_turns.or(self.max_turns),
            worktree: self.worktree || more.worktree,
            checkpoints: self.checkpoints || more.checkpoints,
            yolo: self.yolo || more.yolo,
            cli: self.cli || more.cli,
        }
    }
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Talk (also what plain `hermes` does)
    Chat {
        #[command(flatten)]
        talk: Talk,
        /// Ask one question and exit (- reads it from standard input)
        #[arg(short, long, allow_hyphen_values = true)]
        query: Option<String>,
        /// With -q: print the answer only
        #[arg(short = 'Q', long, requires = "query")]
        quiet: bool,
        /// What the conversation is filed under
        #[arg(long, value_name = "TAG", default_value = "cli")]
        source: String,
    },
    /// Watch a whole conversation: no key, no network, in a directory of its own
    Demo,
    /// Which model, which there are, another one
    #[command(after_help = "Without a subcommand: choose from lists.")]
    Model {
        #[command(flatten)]
        login: LoginArgs,
        #[command(subcommand)]
        action: Option<Model>,
    },
    /// Everything a new home needs, question by question
    Setup(Setup),
    /// Who is asked when the main model can't answer
    #[command(after_help = "Without a subcommand: list.")]
    Fallback {
        #[command(subcommand)]
        action: Option<Fallback>,
    },
    /// Which toolsets are on
    #[command(after_help = "Without a subcommand: choose from a list.")]
    Tools {
        /// What is on, for every platform
        #[arg(long)]
        summary: bool,
        #[command(subcommand)]
        action: Option<Tools>,
    },
    /// How many bytes every request begins with
    PromptSize {
        #[command(flatten)]
        json: Json,
    },
    /// Talk to tool servers, and be one
    #[command(after_help = "Without a subcommand: list.")]
    Mcp {
        #[command(subcommand)]
        action: Option<Mcp>,
    },
    /// What Hermes has learned: list, read, check and switch skills
    #[command(after_help = "Without a subcommand: list.")]
    Skills {
        #[command(subcommand)]
        action: Option<Skills>,
    },
    /// Keys and logins: add several for one provider, see how they are doing
    #[command(after_help = "Without a subcommand: list.")]
    Auth {
        #[command(subcommand)]
        action: Option<Auth>,
    },
    /// Log in with an account instead of a key (hermes auth login)
    Login(AuthLogin),
    /// Forget a login (hermes auth logout)
    Logout {
        /// The one logged in with last unless given
        provider: Option<String>,
    },
    /// Show and change settings
    #[command(after_help = "Without a subcommand: show.")]
    Config {
        #[command(subcommand)]
        action: Option<Config>,
    },
    /// Find, read, rename and remove conversations
    #[command(arg_required_else_help = true)]
    Sessions {
        #[command(subcommand)]
        action: Sessions,
    },
    /// How files were before they were changed: what is kept, and making room
    #[command(after_help = "Without a subcommand: status.")]
    Checkpoints {
        #[command(subcommand)]
        action: Option<Checkpoints>,
    },
    /// Keep several separate homes: settings, memory and conversations of their own
    #[command(arg_required_else_help = true)]
    Profile {
        #[command(subcommand)]
        action: Profile,
    },
    /// What is set up, and where it lives
    Status {
        /// Also list what is not configured
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        json: Json,
    },
    /// What the last days were spent on: conversations, models, tools, money
    Insights(Insights),
    /// Find what is wrong and how to mend it; exits 1 if something is
    Doctor {
        /// Carry out the repairs that cannot lose anything
        #[arg(long)]
        fix: bool,
        #[command(flatten)]
        json: Json,
    },
    /// What every session begins with: notes about you and your world
    Memory {
        #[command(subcommand)]
        action: Option<Memory>,
    },
    /// What was learned, when and from which conversation; with diffs and undo
    Journey(Journey),
    /// Tidy up skills the agent made on its own: archive what is not used, merge, bring back
    Curator {
        #[command(subcommand)]
        action: Option<Curator>,
    },
    /// Read the logs
    Logs(Logs),
    /// What the tools did, and whether that is all of it
    #[command(arg_required_else_help = true)]
    Audit {
        #[command(subcommand)]
        action: Audit,
    },
    /// Save everything to a zip file, or take a quick snapshot
    Backup(Backup),
    /// Bring back a backup or a snapshot
    Import {
        /// A zip made by `hermes backup`, or the name of a snapshot
        source: String,
        /// Overwrite existing settings without asking
        #[arg(short, long)]
        force: bool,
    },
    /// Print a completion script for your shell
    Completion {
        #[arg(value_enum, default_value = "bash")]
        shell: Shell,
    },
    /// Print the version
    Version {
        #[command(flatten)]
        json: Json,
    },
}

#[derive(Debug, Args)]
pub struct Setup {
    /// Only this part
    #[arg(value_parser = ["model", "terminal", "agent", "tools"])]
    pub section: Option<String>,
    /// Ask nothing: say which commands do the same
    #[arg(long)]
    pub non_interactive: bool,
    /// Forget what is set first; a copy is kept
    #[arg(long)]
    pub reset: bool,
    /// Everything again, with what is set now as defaults
    #[arg(long, conflicts_with = "quick")]
    pub reconfigure: bool,
    /// Only what is missing
    #[arg(long)]
    pub quick: bool,
}

#[derive(Debug, Args)]
pub struct Insights {
    /// How many days to look back
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub days: u16,
    /// Only conversations from here: cli, telegram, …
    #[arg(long, value_name = "S")]
    pub source: Option<String>,
    /// Where the money went
    #[arg(long)]
    pub cost: bool,
    #[command(flatten)]
    pub json: Json,
}

#[derive(Debug, Subcommand)]
pub enum Model {
    /// The model in use
    Show {
        #[command(flatten)]
        json: Json,
    },
    /// Providers, and which can be used now; or the models of one, with windows and prices
    #[command(alias = "ls")]
    List {
        /// Show the models of this one
        provider: Option<String>,
        #[command(flatten)]
        json: Json,
    },
    /// Models whose names have all these words in them, at all providers
    Search {
        #[arg(required = true)]
        words: Vec<String>,
        #[command(flatten)]
        json: Json,
    },
    /// Fetch lists of models, windows and prices again
    Refresh {
        #[command(flatten)]
        json: Json,
    },
    /// Use this model from now on
    Set {
        /// A model, or provider:model
        name: String,
    },
}

#[derive(Debug, Subcommand)]
pub enum Fallback {
    /// In the order they are tried, and which can be used now
    #[command(alias = "ls")]
    List {
        #[command(flatten)]
        json: Json,
    },
    /// One more, tried after the others
    Add(FallbackAdd),
    /// One less
    #[command(alias = "rm")]
    Remove {
        /// Its number in the list, or provider:model
        which: String,
    },
    /// None any more
    Clear,
}

#[derive(Debug, Args)]
pub struct FallbackAdd {
    /// provider:model, or an alias
    #[arg(value_name = "PROVIDER:MODEL")]
    pub name: String,
    /// Another address
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,
    /// The variable that holds its key
    #[arg(long, value_name = "VARIABLE")]
    pub key_env: Option<String>,
    /// The language its server speaks, if it can't be told from the address
    #[arg(long, value_name = "MODE")]
    pub api_mode: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum Tools {
    /// All toolsets with their tools
    #[command(alias = "ls")]
    List {
        #[arg(long, default_value = "cli")]
        platform: String,
        #[command(flatten)]
        json: Json,
    },
    Enable {
        #[arg(required = true)]
        names: Vec<String>,
        #[arg(long, default_value = "cli")]
        platform: String,
    },
    Disable {
        #[arg(required = true)]
        names: Vec<String>,
        #[arg(long, default_value = "cli")]
        platform: String,
    },
}

#[derive(Debug, Subcommand)]
pub enum Config {
    /// The settings in force, secrets masked
    Show {
        #[command(flatten)]
        json: Json,
    },
    /// One setting in force
    Get {
        /// A dotted key such as agent.max_turns, or a variable name
        key: String,
        /// Print a secret instead of masking it
        #[arg(long)]
        reveal: bool,
        #[command(flatten)]
        json: Json,
    },
    /// Change one setting; keys and tokens go to .env
    Set {
        key: Option<String>,
        #[arg(allow_hyphen_values = true)]
        value: Option<String>,
        /// Say nothing about keys Hermes doesn't know
        #[arg(long)]
        force: bool,
        /// Print nothing
        #[arg(short, long)]
        quiet: bool,
    },
    /// Remove one setting, so that its default holds again
    Unset { key: String },
    /// Open config.yaml in your editor and check it afterwards
    Edit,
    /// Print where config.yaml is
    Path,
    /// Print where .env is
    EnvPath,
    /// What is missing or outdated; changes nothing
    Check,
    /// Bring an older config.yaml up to date
    Migrate,
}

#[derive(Debug, Subcommand)]
pub enum Sessions {
    /// Conversations, newest first
    #[command(alias = "ls")]
    List {
        /// Only those of this source (cli, telegram, …)
        #[arg(long)]
        source: Option<String>,
        #[arg(long, default_value_t = 20)]
        limit: usize,
        #[command(flatten)]
        json: Json,
    },
    /// Choose one from a list to go on with; also renames and deletes
    Browse {
        #[arg(long, default_value_t = 500)]
        limit: usize,
    },
    /// One conversation with its messages
    Show {
        /// An id, the beginning of one, or a title
        session: String,
        #[command(flatten)]
        json: Json,
    },
    /// Find messages by their words
    Search {
        #[arg(required = true)]
        query: Vec<String>,
        #[arg(long)]
        source: Option<String>,
        #[arg(long, default_value_t = 20)]
        limit: usize,
        #[command(flatten)]
        json: Json,
    },
    /// Give a conversation a title
    Rename {
        session: String,
        #[arg(required = true)]
        title: Vec<String>,
    },
    /// Write conversations as JSON lines
    Export {
        /// A file, or - for standard output
        out: PathBuf,
        #[arg(long)]
        source: Option<String>,
        #[arg(long, value_name = "ID")]
        session_id: Option<String>,
    },
    /// Remove a conversation for good
    #[command(alias = "rm")]
    Delete {
        session: String,
        /// Don't ask
        #[arg(short, long)]
        yes: bool,
    },
    /// Remove ended conversations older than some days
    Prune {
        #[arg(long, value_name = "DAYS", default_value_t = 90)]
        older_than: u32,
        #[arg(long)]
        source: Option<String>,
        /// Don't ask
        #[arg(short, long)]
        yes: bool,
    },
    /// How many there are, and how much room they take
    Stats {
        #[command(flatten)]
        json: Json,
    },
    /// Mend the indexes of a damaged state.db; conversations are not touched
    Repair,
    /// Build a new state.db from what can be read of a damaged one; the old file is kept
    Recover {
        /// Don't ask
        #[arg(short, long)]
        yes: bool,
    },
}

#[derive(Debug, Subcommand)]
pub enum Profile {
    /// All profiles; ◆ marks the active one
    #[command(alias = "ls")]
    List {
        #[command(flatten)]
        json: Json,
    },
    /// Make a profile the one used when none is named
    Use {
        name: String,
    },
    /// Make a new profile
    Create(CreateProfile),
    /// One profile in detail
    Show {
        name: Option<String>,
    },
    /// Make (or remove) a command of the profile's own name
    Alias {
        name: String,
        #[arg(long)]
        remove: bool,
    },
    Rename {
        old: String,
        new: String,
    },
    /// Remove a profile with everything in it
    #[command(alias = "rm")]
    Delete {
        name: String,
        /// Don't ask
        #[arg(short, long)]
        yes: bool,
    },
    /// Pack a profile into a .tar.gz, without its credentials
    Export {
        name: String,
        /// Where to write it; NAME.tar.gz here unless given
        #[arg(short, long)]
        output: Option<PathBuf>,
    },
    /// Unpack an exported profile
    Import {
        archive: PathBuf,
        /// Under another name
        #[arg(long)]
        name: Option<String>,
    },
}

#[derive(Debug, Args)]
pub struct CreateProfile {
    pub name: String,
    /// Start with the settings, keys, persona, skills and memories of the current profile
    #[arg(long)]
    pub clone: bool,
    /// Start with a whole copy of the current profile
    #[arg(long, conflicts_with = "clone")]
    pub clone_all: bool,
    /// Take this profile instead of the current one
    #[arg(long, value_name = "PROFILE")]
    pub clone_from: Option<String>,
    /// No bundled skills
    #[arg(long, conflicts_with_all = ["clone", "clone_all", "clone_from"])]
    pub no_skills: bool,
    /// Don't make a command of the profile's name
    #[arg(long)]
    pub no_alias: bool,
}

#[derive(Debug, Args)]
pub struct Logs {
    /// Which log, or `list` for their sizes
    #[arg(value_parser = ["agent", "errors", "gateway", "list"], default_value = "agent")]
    pub log: String,
    /// How many lines
    #[arg(short = 'n', long, default_value_t = 50)]
    pub lines: usize,
    /// Go on printing new lines
    #[arg(short, long)]
    pub follow: bool,
    /// At least this level: DEBUG, INFO, WARNING, ERROR
    #[arg(long)]
    pub level: Option<String>,
    /// Only lines of this session (part of its id is enough)
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// Only the last 45s, 30m, 2h or 1d
    #[arg(long)]
    pub since: Option<String>,
    /// Only one part: gateway, agent, tools, cli, cron
    #[arg(long)]
    pub component: Option<String>,
}

#[derive(Debug, Args)]
pub struct Backup {
    /// A file or a directory; a dated zip in your home directory unless given
    #[arg(short, long, value_name = "PATH")]
    pub output: Option<PathBuf>,
    /// Only a snapshot of the most important files, kept inside the home
    #[arg(short, long, conflicts_with = "output")]
    pub quick: bool,
    /// A word to find the snapshot by
    #[arg(short, long, requires = "quick")]
    pub label: Option<String>,
    /// List the snapshots there are
    #[arg(long, conflicts_with_all = ["output", "quick"])]
    pub list: bool,
}

/// For scripts.
#[derive(Clone, Copy, Debug, Args)]
pub struct Json {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// How to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Text,
    Json,
}

impl From<Json> for Format {
    fn from(json: Json) -> Self {
        if json.json { Self::Json } else { Self::Text }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Shell {
    Bash,
    Zsh,
    Fish,
}
