//! `hermes auth …`, `hermes login`, `hermes logout`

use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use super::Json;

#[derive(Debug, Subcommand)]
pub enum Auth {
    /// Add a key to a provider's pool; for nous and openai-codex without a key: log in
    Add(AuthAdd),
    /// Keys and logins in the order they are used, and how they are doing
    #[command(alias = "ls")]
    List {
        /// All providers that have some unless given
        provider: Option<String>,
        #[command(flatten)]
        json: Json,
    },
    /// Take a key or login out of a pool; its variable or setting is ignored from then on
    #[command(alias = "rm")]
    Remove {
        provider: String,
        /// A number, an id or a label from `hermes auth list`
        target: String,
    },
    /// Make keys that failed usable at once
    Reset {
        provider: String,
        /// Only this one: a number, an id or a label
        target: Option<String>,
    },
    /// Log in with an account instead of a key: nous, openai-codex, openrouter
    Login(AuthLogin),
    /// Forget a login; keys stay
    Logout {
        /// The one logged in with last unless given
        provider: Option<String>,
    },
    /// Whether a provider can be used; exits 1 if not
    Status {
        provider: String,
        #[command(flatten)]
        json: Json,
    },
}

#[derive(Debug, Args)]
pub struct AuthAdd {
    pub provider: String,
    /// The key, or - to read it from standard input; asked for if not given, which keeps it out of the history
    #[arg(
        long,
        value_name = "KEY",
        allow_hyphen_values = true,
        conflicts_with = "kind"
    )]
    pub api_key: Option<String>,
    /// A key, or a login
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<AuthKind>,
    /// Where the key is good; the provider's own address unless given
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,
    #[command(flatten)]
    pub login: LoginArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AuthKind {
    #[value(alias = "api_key")]
    ApiKey,
    Oauth,
}

#[derive(Debug, Args)]
pub struct AuthLogin {
    #[arg(default_value = "nous")]
    pub provider: String,
    #[command(flatten)]
    pub login: LoginArgs,
}

#[derive(Debug, Default, Args)]
pub struct LoginArgs {
    /// A name to find it by
    #[arg(long)]
    pub label: Option<String>,
    /// Only print the address, don't open it
    #[arg(long)]
    pub no_browser: bool,
    /// How many seconds one answer of the login server may take
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub timeout: Option<Duration>,
    /// Another Nous portal
    #[arg(long, value_name = "URL")]
    pub portal_url: Option<String>,
    /// Another address for the models of a Nous login
    #[arg(long, value_name = "URL")]
    pub inference_url: Option<String>,
    /// What a Nous login calls this program
    #[arg(long, value_name = "ID")]
    pub client_id: Option<String>,
    /// What a Nous login asks for
    #[arg(long)]
    pub scope: Option<String>,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let number = text.trim().parse::<f64>().ok();
    let number = number.filter(|number| (1.0..=600.0).contains(number));
    let number = number.ok_or_else(|| "expects a number of seconds from 1 to 600".to_owned())?;
    Ok(Duration::from_secs_f64(number))
}
