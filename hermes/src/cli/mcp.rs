//! `hermes mcp …`

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Map, Value};

use super::Json;

#[derive(Debug, Subcommand)]
pub enum Mcp {
    /// The servers there are
    #[command(alias = "ls")]
    List {
        #[command(flatten)]
        json: Json,
    },
    /// Connect to a new server, look at its tools and save it
    Add(McpAdd),
    /// Forget a server, its tokens included
    #[command(alias = "rm")]
    Remove {
        name: String,
        /// Don't ask
        #[arg(short, long)]
        yes: bool,
    },
    /// Connect to a server and show what it offers
    Test { name: String },
    /// Choose which of a server's tools the model sees
    #[command(alias = "config")]
    Configure {
        /// Asked for if there are several
        name: Option<String>,
    },
    /// Log in to a server that uses OAuth
    Login { name: String },
    /// Log in again, to one server or to all that use OAuth
    Reauth {
        #[arg(required_unless_present = "all")]
        name: Option<String>,
        #[arg(long, conflicts_with = "name")]
        all: bool,
    },
    /// Renew stored tokens without asking anybody
    Refresh {
        /// All that use OAuth unless given
        name: Option<String>,
    },
    /// How each server is doing
    Status {
        #[command(flatten)]
        json: Json,
    },
    /// Ask a server something, as the model would
    Call(McpCall),
    /// Let other programs read the chats and answer in them: an MCP server on standard input and output
    Serve {
        /// Say on stderr what is going on
        #[arg(short, long)]
        verbose: bool,
    },
}

#[derive(Debug, Args)]
pub struct McpAdd {
    pub name: String,
    /// Where the server is
    #[arg(long, conflicts_with_all = ["command", "preset"])]
    pub url: Option<String>,
    /// The program that is the server
    #[arg(long, conflicts_with = "preset", required_unless_present_any = ["url", "preset"])]
    pub command: Option<String>,
    /// How to be let in: log in with OAuth, or send a key
    #[arg(long, conflicts_with_all = ["command", "preset"])]
    pub auth: Option<McpAuth>,
    /// A server Hermes knows: codex
    #[arg(long)]
    pub preset: Option<String>,
    /// Variables for the program
    #[arg(long, value_name = "NAME=VALUE", num_args = 1.., conflicts_with = "url",
        value_parser = hermes_mcp_tools::draft::variable)]
    pub env: Vec<(String, String)>,
    /// How many seconds connecting may take
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub connect_timeout: Option<f64>,
    /// Don't ask: take all tools, replace what has the name, save what cannot be reached as disabled
    #[arg(short, long)]
    pub yes: bool,
    /// Arguments of the program: everything behind this
    #[arg(long, num_args = 0.., allow_hyphen_values = true, conflicts_with_all = ["url", "preset"])]
    pub args: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum McpAuth {
    Oauth,
    Header,
}

#[derive(Debug, Args)]
pub struct McpCall {
    pub server: String,
    /// A tool's name; with read_resource a URI, with get_prompt a prompt's name
    pub tool: Option<String>,
    /// The parameters, as a JSON object
    #[arg(long, value_name = "JSON", value_parser = object, default_value = "{}", allow_hyphen_values = true)]
    pub args: Map<String, Value>,
    #[arg(long, value_enum, default_value = "tool")]
    pub op: McpOp,
    /// How often, over one connection
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub repeat: u32,
    /// Seconds between two
    #[arg(long, value_name = "S", default_value = "0", value_parser = seconds)]
    pub interval: f64,
    /// One line of JSON for each answer
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum McpOp {
    Tool,
    ListResources,
    ReadResource,
    ListPrompts,
    GetPrompt,
}

fn object(text: &str) -> Result<Map<String, Value>, String> {
    match serde_json::from_str(text) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => Err("expects a JSON object such as {\"path\": \"x\"}".to_owned()),
        Err(error) => Err(format!("is no JSON: {error}")),
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    let number = text.trim().parse::<f64>().ok();
    let number = number.filter(|number| number.is_finite() && (0.0..=1e6).contains(number));
    number.ok_or_else(|| "expects a number of seconds".to_owned())
}
