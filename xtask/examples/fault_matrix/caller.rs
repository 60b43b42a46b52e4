//! `hermes mcp call` at work: a home of its own, a server that fails on demand, and its answers line by line.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use hermes_scripted::mcp::{Auth, Fault, Flaky, PROMPT, RESOURCE, Realm};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::{Instant, timeout};

use crate::program::{Programs, repeats};
use crate::rows::Row;
use crate::world::{Judged, KEY, options, write_tokens};

/// Between two calls: long enough to bring a fault about or to end it.
const INTERVAL: &str = "0.7";
/// No answer takes longer, and no program needs longer to end.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Caller {
    pub flaky: Flaky,
    process: Child,
    lines: Lines<BufReader<ChildStdout>>,
    home: tempfile::TempDir,
}

/// One line of `--json`.
#[derive(Deserialize)]
struct Answer {
    output: Value,
    elapsed_ms: f64,
    retries: u32,
}

impl Caller {
    pub fn start(row: &Row, column: usize, programs: &Programs) -> Result<Self> {
        let fault = Fault::parse(row.code)?;
        let flaky = Flaky::start(options(&fault))?;
        let home = tempfile::tempdir()?;
        let config =
            json!({"mcp_servers": {"faulty": section(row.code, &fault, &flaky, programs)}});
        fs::write(home.path().join("config.yaml"), config.to_string())?;
        if matches!(options(&fault).auth, Auth::Oauth { .. }) {
            write_tokens(&flaky, &home.path().join("mcp-tokens"))?;
        }
        let mut command = command(column, &repeats(row).to_string(), programs, home.path())?;
        if matches!(row.code, "F37" | "F38") {
            set_clocks(home.path(), Moved::default())?;
            command.env("LD_PRELOAD", &programs.clocks);
            command.env("MOVED_CLOCKS", home.path().join("clocks"));
        }
        let mut process = command.spawn().context("starting hermes")?;
        let out = process.stdout.take().context("hermes has no stdout")?;
        Ok(Self {
            flaky,
            process,
            lines: BufReader::new(out).lines(),
            home,
        })
    }

    /// What the program says next.
    pub async fn answer(&mut self) -> Result<Judged> {
        let line = timeout(PATIENCE, self.lines.next_line()).await;
        let line = line.context("hangs")??;
        let line = line.with_context(|| format!("ended early: {}", self.complaints()))?;
        let answer = serde_json::from_str(&line).with_context(|| line.clone())?;
        Ok(judge(&answer))
    }

    /// The first good answer that comes in this time.
    pub async fn recovered(&mut self, limit: Duration) -> Result<Judged> {
        let start = Instant::now();
        loop {
            let judged = self.answer().await?;
            let is_good = matches!(judged.outcome, "R0" | "R1");
            ensure!(
                start.elapsed() <= limit,
                "{} after {:?}: {}",
                judged.outcome,
                start.elapsed(),
                judged.text
            );
            if is_good {
                return Ok(judged);
            }
        }
    }

    pub fn signal(&self, signal: Signal) -> Result<()> {
        let id = self.process.id().context("hermes is gone")?;
        Ok(kill(Pid::from_raw(id.try_into()?), signal)?)
    }

    /// The exit code.
    pub async fn ended(&mut self) -> Result<Option<i32>> {
        let ended = timeout(PATIENCE, self.process.wait()).await;
        Ok(ended.context("does not end")??.code())
    }

    /// How often the tool with a side effect was executed.
    pub fn writes(&self) -> u64 {
        let executions = self.flaky.counters().executions;
        executions.get("write").copied().unwrap_or_default()
    }

    pub fn tokens(&self) -> PathBuf {
        self.home.path().join("mcp-tokens")
    }

    /// Moves the program's clocks, and nobody else's.
    pub fn move_clocks(&self, moved: Moved) -> Result<()> {
        set_clocks(self.home.path(), moved)
    }

    fn complaints(&self) -> String {
        fs::read_to_string(stderr(self.home.path())).unwrap_or_default()
    }
}

/// The server as `config.yaml` describes it (JSON is YAML, too).
fn section(code: &str, fault: &Fault, flaky: &Flaky, programs: &Programs) -> Value {
    let mut section = json!({"timeout": 30, "connect_timeout": 10, "keepalive_interval": 5});
    if fault.realms() == [Realm::Stdio] {
        section["command"] = json!(programs.child);
        section["args"] = json!(["stdio", flaky.control().to_string()]);
        return section;
    }
    section["url"] = match code {
        "F40" => format!("http://matrix.test:{}/mcp", flaky.addr().port()).into(),
        _ => flaky.url().into(),
    };
    match options(fault).auth {
        Auth::Open => {}
        Auth::Key { header, .. } => section["headers"] = json!({header: KEY}),
        Auth::Oauth { .. } => {
            section["auth"] = "oauth".into();
            section["oauth"] = json!({"client_id": "matrix"});
        }
    }
    section
}

fn command(column: usize, repeat: &str, programs: &Programs, home: &Path) -> Result<Command> {
    let (op, subject) = match column {
        0 => ("tool", "write"),
        1 => ("tool", "read"),
        2 => ("list_resources", "-"),
        3 => ("read_resource", RESOURCE),
        4 => ("list_prompts", "-"),
        _ => ("get_prompt", PROMPT),
    };
    let mut command = Command::new(&programs.hermes);
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home)
        .env("HERMES_HOME", home)
        .args(["mcp", "call", "faulty", subject, "--op", op, "--json"])
        .args(["--repeat", repeat, "--interval", INTERVAL])
        .current_dir(home)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(fs::File::create(stderr(home))?)
        .kill_on_drop(true);
    Ok(command)
}

/// How far the program's clocks are ahead, in seconds.
#[derive(Clone, Copy, Default)]
pub struct Moved {
    pub calendar: i64,
    /// How long the machine has slept.
    pub slept: i64,
}

/// A reader finds the old differences or the new ones.
fn set_clocks(home: &Path, moved: Moved) -> Result<()> {
    let draft = home.join("clocks.new");
    fs::write(&draft, format!("{} {}\n", moved.calendar, moved.slept))?;
    Ok(fs::rename(draft, home.join("clocks"))?)
}

fn stderr(home: &Path) -> PathBuf {
    home.join("stderr")
}

fn judge(answer: &Answer) -> Judged {
    let is = |name: &str| answer.output[name] == true;
    let error = answer.output.get("error").map(|error| match error {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    });
    let outcome = match &error {
        None if answer.retries == 0 => "R0",
        None => "R1",
        Some(_) if is("outcome_unknown") => "U",
        Some(_) if is("needs_reauth") => "A",
        Some(text) if text.contains("is unreachable:") => "S",
        Some(text) if text.contains("was interrupted") => "C",
        Some(_) => "E",
    };
    Judged {
        outcome,
        text: error.unwrap_or_default(),
        wall: Duration::from_secs_f64(answer.elapsed_ms / 1000.0),
    }
}
