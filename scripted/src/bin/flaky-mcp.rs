//! An MCP server that fails on demand, as a program. See the README for how to drive it.

use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;

use hermes_scripted::mcp::{self, Flaky, Options};
use serde_json::json;

const USAGE: &str = "usage:
  flaky-mcp serve [--port N] [OPTIONS.json]   over HTTP; the first line it prints says where
  flaky-mcp stdio [CONTROL]                   over stdio; CONTROL is the control address of a `serve`";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody is left to tell when stderr is closed.
            let _ = writeln!(io::stderr(), "flaky-mcp: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let args: Vec<_> = std::env::args().skip(1).collect();
    let args: Vec<_> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["serve"] => serve(0, None),
        ["serve", "--port", port] => serve(port.parse()?, None),
        ["serve", "--port", port, options] => serve(port.parse()?, Some(options)),
        ["serve", options] => serve(0, Some(options)),
        ["stdio"] => {
            let flaky = Flaky::start(Options::default())?;
            Ok(mcp::relay(flaky.control())?)
        }
        ["stdio", control] => Ok(mcp::relay(control.parse()?)?),
        // Only started by a child whose fault wants some.
        ["grandchild", control] => Ok(mcp::grandchild(control.parse()?)?),
        _ => Err(USAGE.into()),
    }
}

fn serve(port: u16, options: Option<&str>) -> Result<(), Box<dyn Error>> {
    let options = match options {
        None => Options::default(),
        Some(path) => {
            let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
            serde_json::from_str(&text).map_err(|error| format!("{path}: {error}"))?
        }
    };
    let flaky = Flaky::start_at(options, port)?;
    let places = json!({
        "url": flaky.url(),
        "sse": flaky.sse_url(),
        "elsewhere": flaky.elsewhere(),
        "control": format!("http://{}", flaky.control()),
    });
    writeln!(io::stdout(), "{places}")?;
    loop {
        std::thread::park();
    }
}
