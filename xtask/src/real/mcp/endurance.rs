//! Real servers, killed and restarted between the calls of one handle. The calls are made by `examples/mcp_endurance`.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::{each, node};
use crate::real::Checks;
use crate::{cache, command, workspace};

const EVERYTHING: &str = "@modelcontextprotocol/server-everything";
const EVERYTHING_VERSION: &str = "2026.8.31";
const GATEWAY: &str = "supergateway";
const GATEWAY_VERSION: &str = "4.0.0";

/// Calls after a fault, in every trial.
const ROUNDS: usize = 3;

pub fn run(checks: &mut Checks) -> Result<()> {
    let probe = command::build_example("dev", "mcp_endurance")?;
    let trials = Servers::install()?.trials();
    let results = each(trials, |(name, trial)| {
        let mut run = Command::new(&probe);
        run.arg(trial.to_string()).env("RUST_BACKTRACE", "0");
        (name, told(&mut run))
    });
    for (name, told) in results {
        match told {
            Ok(figures) => checks.note(&format!("{name}: {}", figures.trim()), Ok(())),
            Err(error) => checks.note(name, Err(error)),
        }
    }
    Ok(())
}

/// The figures, or what went wrong without the whole description of the trial.
fn told(run: &mut Command) -> Result<String> {
    let ended = command::finish(run)?;
    ensure!(ended.code == Some(0), "{}", ended.err.trim());
    Ok(ended.out)
}

/// Where the servers are.
struct Servers {
    node: PathBuf,
    everything: PathBuf,
    gateway: PathBuf,
    /// The interpreters with the vendor's package of each era.
    python1: PathBuf,
    python2: PathBuf,
}

impl Servers {
    fn install() -> Result<Self> {
        let everything = format!("{EVERYTHING}@{EVERYTHING_VERSION}");
        let gateway = format!("{GATEWAY}@{GATEWAY_VERSION}");
        let modules = cache::npm("mcp-servers", &[&everything, &gateway])?;
        Ok(Self {
            node: node::program()?,
            everything: modules.join(EVERYTHING).join("dist/index.js"),
            gateway: modules.join(GATEWAY).join("dist/index.js"),
            python1: cache::venv("mcp1", "mcp==1.30.0\n")?.join("python"),
            python2: cache::venv("mcp2", "mcp==2.3.0\n")?.join("python"),
        })
    }

    fn trials(&self) -> Vec<(&'static str, Value)> {
        let stdio = self.everything("stdio", json!("stdio"));
        let sse = self.everything("sse", json!({"sse": "/sse"}));
        let streamable = self.everything("streamableHttp", json!({"streamable": "/mcp"}));
        let session_era = |idle| forgetful(&self.python1, "server1.py", idle);
        let both_eras = |idle| forgetful(&self.python2, "server2.py", idle);
        let sessionless = with(
            both_eras(60),
            json!({"era": "auto", "costs_connection": false}),
        );
        vec![
            (
                "everything, stdio, child killed",
                with(stdio, killed("child_killed")),
            ),
            ("everything, SSE, replaced", with(sse, replaced())),
            (
                "everything, Streamable HTTP, replaced",
                with(streamable.clone(), replaced()),
            ),
            (
                "everything, Streamable HTTP, called while it is down",
                with(streamable, restarted()),
            ),
            (
                "mcp 1.30, session forgotten",
                with(session_era(1), forgotten()),
            ),
            ("mcp 1.30, replaced", with(session_era(60), replaced())),
            (
                "mcp 2.3, session forgotten",
                with(both_eras(1), forgotten()),
            ),
            ("mcp 2.3, replaced", with(both_eras(60), replaced())),
            (
                "mcp 2.3 without sessions, replaced",
                with(sessionless, replaced()),
            ),
            (
                "supergateway --stateful, replaced",
                with(self.gateway(), replaced()),
            ),
            (
                "supergateway --stateful, its server killed",
                with(self.gateway(), killed("inner_killed")),
            ),
        ]
    }

    fn everything(&self, transport: &str, reached: Value) -> Value {
        let mut server = server(json!([self.node, self.everything, transport]), reached);
        server["env"]["PORT"] = json!("{port}");
        server
    }

    fn gateway(&self) -> Value {
        let behind = format!(
            "{} {} stdio",
            self.node.display(),
            self.everything.display()
        );
        let mut command = vec![json!(self.node), json!(self.gateway)];
        let options = [
            "--stdio",
            &behind,
            "--outputTransport",
            "streamableHttp",
            "--stateful",
        ];
        command.extend(options.map(Value::from));
        command.extend(["--port", "{port}"].map(Value::from));
        server(json!(command), json!({"streamable": "/mcp"}))
    }
}

/// A small server that forgets a session nobody uses for `idle` seconds.
fn forgetful(python: &Path, script: &str, idle: u32) -> Value {
    let script = workspace::root().join("xtask/python/mcp").join(script);
    let command = json!([python, script, "{port}", idle.to_string()]);
    server(command, json!({"streamable": "/mcp"}))
}

fn server(command: Value, reached: Value) -> Value {
    json!({
        "command": command,
        "env": {"PATH": std::env::var("PATH").unwrap_or_default()},
        "reached": reached,
        "era": "legacy",
        "tool": "echo",
        "arguments": {"message": "still there?"},
        "costs_connection": true,
        "rounds": ROUNDS,
    })
}

/// A trial: a server, and what happens to it. The bounds are those of the fault matrix.
fn with(mut server: Value, more: Value) -> Value {
    if let (Some(fields), Value::Object(more)) = (server.as_object_mut(), more) {
        fields.extend(more);
    }
    server
}

/// Rows F01 and F02.
fn forgotten() -> Value {
    json!({"fault": {"forgotten_after_ms": 2500}, "bound_ms": 2000})
}

/// Row F05: 8 s, of which the port is closed for the first 3.
fn restarted() -> Value {
    json!({"fault": "restarted", "bound_ms": 5000})
}

/// Row F06.
fn replaced() -> Value {
    json!({"fault": "replaced", "bound_ms": 3000})
}

/// Row F29.
fn killed(which: &str) -> Value {
    json!({"fault": which, "bound_ms": 3000})
}
