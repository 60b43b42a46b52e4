//! One fault, one operation, one client of somebody else's.

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::flaky::Flaky;
use super::peer::{Answer, Connected, Peer};
use crate::cache::Scratch;

/// Only our own driver can arrange these.
const NOT_RUN: &[&str] = &["F37", "F38", "F40"];
const STDIO: &[&str] = &["F29", "F30", "F31", "F32", "F33"];
const OAUTH: &[&str] = &["F03", "F23", "F24", "F25", "F27", "F28"];
/// These last until they are healed.
const LASTING: &[&str] = &[
    "F07", "F09", "F21", "F25", "F26", "F27", "F28", "F35", "F36", "F39", "F41", "F43", "F44",
    "F46",
];
const KEY: &str = "matrix-key-0123456789";

/// What became of a cell, as it is written down.
pub fn run(peer: &Peer, flaky: &Path, code: &str, column: &str) -> Value {
    if NOT_RUN.contains(&code) {
        return json!({"outcome": "not run"});
    }
    match examine(peer, flaky, code, column) {
        Ok(found) => found,
        Err(error) => json!({"outcome": "not connected", "text": format!("{error:#}")}),
    }
}

fn examine(peer: &Peer, program: &Path, code: &str, column: &str) -> Result<Value> {
    let user = Scratch::new("peer")?;
    let flaky = Flaky::start(program, &options(code), user.path())?;
    if OAUTH.contains(&code) {
        log_in(&flaky, user.path())?;
    }
    let server = server(program, &flaky, code);
    let mut client = peer
        .connect(&server, user.path())?
        .context("the client could not connect")?;
    let cell = Cell {
        flaky: &flaky,
        code,
        column,
    };
    let before = flaky.counters()?;
    let answer = cell.fail(&mut client)?;
    let after = flaky.counters()?;
    flaky.wish(&json!({"heal": true}))?;
    cell.heal(user.path())?;
    let healed = flaky.counters()?;
    let next = client.ask(&json!({"call": column}))?;
    let next = next.first().context("no answer")?;
    let last = flaky.counters()?;
    Ok(json!({
        "outcome": cell.code_of(&answer, &before, &after),
        "ms": answer.ms,
        "executions": cell.executions(&before, &after),
        "next": cell.code_of(next, &healed, &last),
        "next_ms": next.ms,
        "text": answer.text.chars().take(160).collect::<String>(),
    }))
}

struct Cell<'a> {
    flaky: &'a Flaky,
    code: &'a str,
    column: &'a str,
}

impl Cell<'_> {
    /// Brings the fault about and makes the call.
    fn fail(&self, client: &mut Connected) -> Result<Answer> {
        let call = json!({"call": self.column});
        let is_tool = self.column.starts_with("CT");
        match self.code {
            "F08" => {
                sleep(Duration::from_secs(6));
                self.arm()?;
            }
            "F05" | "F06" | "F29" => {
                self.arm()?;
                sleep(Duration::from_millis(100));
            }
            "F24" => {
                self.arm()?;
                let answers = client.ask(&json!({"call": self.column, "at_once": 20}))?;
                return worst(answers);
            }
            "F34" => {
                self.arm()?;
                sleep(Duration::from_secs(3));
            }
            // All that fails within ten minutes fails in the first one.
            "F41" => {
                self.arm()?;
                for _ in 0..3 {
                    client.ask(&call)?;
                }
                sleep(Duration::from_secs(60));
            }
            "F42" => {
                self.arm()?;
                let answers = client.ask(&json!({"call": self.column, "cancel_ms": 500}))?;
                return worst(answers);
            }
            "F43" => {
                self.arm()?;
                sleep(Duration::from_secs(26));
            }
            "F45" if is_tool => {
                self.flaky.wish(&json!({"arm": self.code, "times": 3}))?;
                for _ in 0..2 {
                    client.ask(&call)?;
                }
            }
            "F35" | "F36" if matches!(self.column, "LR" | "LP") => {}
            "F45" => {}
            _ => self.arm()?,
        }
        worst(client.ask(&call)?)
    }

    fn arm(&self) -> Result<()> {
        let times = match LASTING.contains(&self.code) {
            true => json!("always"),
            false => json!(1),
        };
        self.flaky
            .wish(&json!({"arm": self.code, "times": times}))?;
        Ok(())
    }

    /// What the end of the fault takes besides.
    fn heal(&self, user: &Path) -> Result<()> {
        match self.code {
            "F25" => log_in(self.flaky, user)?,
            "F34" => sleep(Duration::from_secs(10)),
            "F41" => sleep(Duration::from_secs(61)),
            _ => {}
        }
        Ok(())
    }

    /// The code of the matrix; whether a success took more than one try is the server's word.
    fn code_of(&self, answer: &Answer, before: &Value, after: &Value) -> String {
        if answer.outcome != "ok" {
            return answer.outcome.clone();
        }
        let calls = match self.code {
            "F24" => 20,
            "F45" => 3,
            _ => 1,
        };
        let grown = |name: &str| number(&after[name]) - number(&before[name]);
        let more = ["initialize", "children", "resumed", "refreshes"];
        let again = self.requests(before, after) > calls || more.iter().any(|name| grown(name) > 0);
        if again { "R1" } else { "R0" }.to_owned()
    }

    fn executions(&self, before: &Value, after: &Value) -> i64 {
        let tool = match self.column {
            "CTw" => "write",
            "CTr" => "read",
            _ => return self.requests(before, after),
        };
        number(&after["executions"][tool]) - number(&before["executions"][tool])
    }

    fn requests(&self, before: &Value, after: &Value) -> i64 {
        let method = match self.column {
            "CTw" | "CTr" => "tools/call",
            "LR" => "resources/list",
            "RR" => "resources/read",
            "LP" => "prompts/list",
            _ => "prompts/get",
        };
        number(&after["requests"][method]) - number(&before["requests"][method])
    }
}

fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or_default()
}

/// Of several answers to the same call: the one that took longest, a failure if there is one.
fn worst(answers: Vec<Answer>) -> Result<Answer> {
    let key = |answer: &Answer| (answer.outcome != "ok", answer.ms);
    answers.into_iter().max_by_key(key).context("no answer")
}

fn options(code: &str) -> Value {
    let auth = match code {
        "F26" => json!({"key": {"header": "X-Api-Key", "value": KEY}}),
        _ if OAUTH.contains(&code) => json!({"oauth": {
            "expires_in_s": 3600, "rotate": code == "F24", "clients": ["matrix"],
        }}),
        _ => json!("open"),
    };
    json!({"era": "legacy", "stream_answers": matches!(code, "F18" | "F19"), "auth": auth})
}

/// An entry of `mcp_servers`.
fn server(program: &Path, flaky: &Flaky, code: &str) -> Value {
    let mut server = json!({"timeout": 10, "connect_timeout": 10});
    if STDIO.contains(&code) {
        server["command"] = json!(program);
        server["args"] = json!(["stdio", flaky.control]);
        return server;
    }
    server["url"] = json!(flaky.url);
    if code != "F08" {
        // Nobody notices before the call: the harder half of the row.
        server["keepalive_interval"] = json!(5);
    }
    if code == "F26" {
        server["headers"] = json!({"X-Api-Key": KEY});
    }
    if OAUTH.contains(&code) {
        server["auth"] = json!("oauth");
        server["oauth"] = json!({"client_id": "matrix"});
    }
    server
}

fn log_in(flaky: &Flaky, user: &Path) -> Result<()> {
    let mut tokens = flaky.tokens()?;
    let now = jiff::Timestamp::now().as_second();
    tokens["expires_at"] = json!(now + 3600);
    let folder = user.join(".hermes/mcp-tokens");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("faulty.json"), tokens.to_string()).context("writing tokens")
}
