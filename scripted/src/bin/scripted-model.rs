//! `scripted-model SCRIPT.json [--port N]`: prints its base URL, then serves until killed.

use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;

use hermes_scripted::{Script, ScriptedModel};

const USAGE: &str = "usage: scripted-model SCRIPT.json [--port N]";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody is left to tell when stderr is closed.
            let _ = writeln!(io::stderr(), "scripted-model: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let args: Vec<_> = std::env::args().skip(1).collect();
    let args: Vec<_> = args.iter().map(String::as_str).collect();
    let (path, port) = match args[..] {
        [path] => (path, 0),
        [path, "--port", port] | ["--port", port, path] => (path, port.parse()?),
        _ => return Err(USAGE.into()),
    };
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let script = Script::from_json(&text).map_err(|error| format!("{path}: {error}"))?;
    let model = ScriptedModel::start_at(script, port)?;
    writeln!(io::stdout(), "{}", model.url())?;
    loop {
        std::thread::park();
    }
}
