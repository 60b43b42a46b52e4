//! The MCP client: how fast it heals, what it costs when nothing is wrong, and whether anything piles up.
//!
//! All but the last figure come from `examples/mcp_probe`: the library on one thread, the server in a process of its own.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::start::wall;
use super::table::{Bar, Row};
use super::user::User;
use super::{Setup, percentile};
use crate::command;

/// Servers that never answer, beside one that does.
const DEAD: usize = 119;
/// What the program waits for servers before the first request, in milliseconds (`mcp_discovery_timeout`).
const DISCOVERY: f64 = 1500.0;

pub fn rows(setup: &Setup) -> Result<Vec<Row>> {
    let tools = Tools {
        probe: command::build_example("release", "mcp_probe")?,
        flaky: command::build_program("release", "flaky-mcp")?,
    };
    let mut rows = heal(setup, &tools)?;
    rows.extend(overhead(setup, &tools)?);
    rows.extend(cycles(
        &tools,
        "expire",
        "expired sessions",
        setup.rounds(10_000),
    )?);
    rows.extend(cycles(
        &tools,
        "kill",
        "killed children",
        setup.rounds(1000),
    )?);
    rows.extend(crowd(&tools)?);
    rows.extend(hung(setup, &tools)?);
    rows.push(prompt(setup, &tools)?);
    Ok(rows)
}

struct Tools {
    probe: PathBuf,
    flaky: PathBuf,
}

impl Tools {
    fn measure<T: DeserializeOwned>(&self, what: &str, count: usize) -> Result<T> {
        let mut command = Command::new(&self.probe);
        command.arg(what).arg(&self.flaky).arg(count.to_string());
        let said = command::stdout(&mut command)?;
        serde_json::from_str(&said).with_context(|| format!("not figures: {said}"))
    }
}

fn heal(setup: &Setup, tools: &Tools) -> Result<Vec<Row>> {
    let times: BTreeMap<String, Vec<f64>> = tools.measure("heal", setup.rounds(500))?;
    let row = |(code, times): (&String, &Vec<f64>)| {
        let what = format!("MCP {code}: a call that finds its session gone, p99");
        Row::new(what, percentile(times, 99), "ms", Bar::AtMost(50.0))
    };
    Ok(times.iter().map(row).collect())
}

fn overhead(setup: &Setup, tools: &Tools) -> Result<Vec<Row>> {
    #[derive(Deserialize)]
    struct Figures {
        ours: Vec<f64>,
        bare: Vec<f64>,
    }
    let Figures { ours, bare } = tools.measure("overhead", setup.rounds(5000))?;
    let row = |rank: usize, most: f64| {
        let what = format!("MCP call above the same request by hand, p{rank}");
        let above = percentile(&ours, rank) - percentile(&bare, rank);
        Row::new(what, above, "ms", Bar::AtMost(most))
    };
    Ok(vec![row(50, 1.0), row(99, 3.0)])
}

/// What the process holds.
#[derive(Deserialize)]
struct Vitals {
    descriptors: f64,
    tasks: f64,
    children: f64,
    rss_kb: f64,
}

fn cycles(tools: &Tools, what: &str, title: &str, count: usize) -> Result<Vec<Row>> {
    #[derive(Deserialize)]
    struct Figures {
        times: Vec<f64>,
        idle: Vitals,
        before: Vitals,
        after: Vitals,
        stopped: Vitals,
    }
    let Figures {
        times,
        idle,
        before,
        after,
        stopped,
    } = tools.measure(what, count)?;
    let title = |what: &str| format!("MCP, {count} {title}: {what}");
    let growth = |what: &str, before: f64, after: f64| {
        let share = 100.0 * (after - before) / before.max(1.0);
        Row::new(
            title(&format!("{what}, growth")),
            share,
            "%",
            Bar::AtMost(5.0),
        )
    };
    let left = |what: &str, idle: f64, stopped: f64| {
        let what = title(&format!("{what} left after the end"));
        Row::new(what, stopped - idle, "", Bar::AtMost(0.0))
    };
    Ok(vec![
        growth("descriptors", before.descriptors, after.descriptors),
        growth("tasks", before.tasks, after.tasks),
        growth("children", before.children, after.children),
        growth("memory", before.rss_kb, after.rss_kb),
        left("descriptors", idle.descriptors, stopped.descriptors),
        left("tasks", idle.tasks, stopped.tasks),
        left("children", idle.children, stopped.children),
        Row::new(
            title("the call after it, p99"),
            percentile(&times, 99),
            "ms",
            Bar::None,
        ),
    ])
}

fn crowd(tools: &Tools) -> Result<Vec<Row>> {
    #[derive(Deserialize)]
    struct Figures {
        ready: f64,
        calls: Vec<f64>,
        stopped: f64,
    }
    let figures: Figures = tools.measure("crowd", DEAD)?;
    let title = |what: &str| format!("MCP, {DEAD} dead servers and one live: {what}");
    let calls = percentile(&figures.calls, 99);
    Ok(vec![
        Row::new(
            title("its first answer"),
            figures.ready,
            "ms",
            Bar::AtMost(2000.0),
        ),
        Row::new(title("its next answers, p99"), calls, "ms", Bar::None),
        Row::new(title("all stopped"), figures.stopped, "ms", Bar::None),
    ])
}

fn hung(setup: &Setup, tools: &Tools) -> Result<Vec<Row>> {
    #[derive(Deserialize)]
    struct Figures {
        alone: Vec<f64>,
        beside: Vec<f64>,
    }
    let Figures { alone, beside } = tools.measure("hung", setup.rounds(200))?;
    let row = |rank: usize, bar: Bar| {
        let what = format!("MCP, 44 calls at once beside 20 hung ones, of the same alone, p{rank}");
        Row::new(
            what,
            percentile(&beside, rank) / percentile(&alone, rank),
            "×",
            bar,
        )
    };
    Ok(vec![row(50, Bar::AtMost(1.5)), row(99, Bar::AtMost(2.0))])
}

/// `hermes -z` in a home with all these servers: it calls a tool of the live one.
fn prompt(setup: &Setup, tools: &Tools) -> Result<Row> {
    let user = User::new(
        "mcp",
        &json!({"steps": [
            {"when": {"after_tool": true}, "text": "done", "repeat": true},
            {"when": {"tools": true}, "repeat": true, "tool_calls": [{"name": "mcp__live__read"}]},
        ]}),
    )?;
    let mut ask = user.command(&setup.hermes, &["-z", "read it"]);
    let holes = Background::start(
        Command::new(&tools.probe)
            .arg("holes")
            .arg(DEAD.to_string()),
    )?;
    let live = Background::start(Command::new(&tools.flaky).arg("serve"))?;
    let mut servers = format!("mcp_servers:\n  live:\n    url: {}\n", live.said["url"]);
    for (at, address) in holes.said.as_array().into_iter().flatten().enumerate() {
        let address = address.as_str().unwrap_or_default();
        writeln!(servers, "  dead{at}:\n    url: http://{address}/mcp")?;
    }
    let file = user.home.path().join(".hermes/config.yaml");
    fs::write(&file, fs::read_to_string(&file)? + &servers)?;
    let times: Vec<f64> = (0..3).map(|_| wall(&mut ask)).collect::<Result<_>>()?;
    let requests = user.server.calls()?;
    let bodies = requests.iter().map(|request| request.body.to_string());
    let answered = bodies.filter(|body| body.contains("read done")).count();
    ensure!(
        answered == times.len(),
        "the live server answered {answered} times"
    );
    let slowest = times.iter().copied().fold(0.0, f64::max);
    let what = format!("`-z` with {DEAD} dead MCP servers, a call to the live one, slowest of 3");
    // The rest is what a prompt takes without any server.
    Ok(Row::new(
        what,
        slowest,
        "ms",
        Bar::AtMost(DISCOVERY + 250.0),
    ))
}

/// A program that says something and then stays until it is dropped.
struct Background {
    process: Child,
    said: Value,
}

impl Background {
    fn start(command: &mut Command) -> Result<Self> {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn()?;
        let stdout = process.stdout.take().context("no stdout")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        let said = serde_json::from_str(&line).context("it said nothing")?;
        Ok(Self { process, said })
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        // Nothing to do if it is gone already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
