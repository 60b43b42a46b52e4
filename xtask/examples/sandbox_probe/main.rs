//! What bounds cost a command, for `cargo xtask bench sandbox`: milliseconds from start to end of an `echo`, without
//! and with each mechanism that works here.

#![allow(clippy::print_stdout, reason = "its figures are read from stdout")]

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use hermes_exec::backend::Surroundings;
use hermes_proc::sandbox::{Means, Mode, Network, Sandbox};
use hermes_proc::{Event, Exit, Spawn, Stdin, Tty};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let hermes: PathBuf = args.next().context("HERMES ROUNDS")?.into();
    let rounds: usize = args.next().context("HERMES ROUNDS")?.parse()?;
    let user = tempfile::tempdir()?;
    let sandboxes = sandboxes(user.path().canonicalize()?, hermes)?;
    let mut figures: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    // Turn and turn about, so that what else the machine does hits all alike.
    for _ in 0..rounds {
        let plain = wall(echo()).await?;
        figures.entry("plain").or_default().push(plain);
        for (name, sandbox) in &sandboxes {
            // Looking for it is done by now, or it does not work here.
            if let Ok(wrapped) = sandbox.wrap(echo()).await {
                drop(wrapped);
                let start = Instant::now();
                let spawn = sandbox.wrap(echo()).await?;
                let wrapping = start.elapsed().as_secs_f64() * 1000.0;
                let took = wrapping + wall(spawn).await?;
                figures.entry(name).or_default().push(took);
            }
        }
    }
    println!("{}", serde_json::to_string(&figures)?);
    Ok(())
}

/// One for each mechanism, which finds only that, with the bounds of an ordinary user.
fn sandboxes(user: PathBuf, hermes: PathBuf) -> Result<Vec<(&'static str, Sandbox)>> {
    let (home, work, temp) = (user.join("home"), user.join("work"), user.join("tmp"));
    for dir in [".ssh", ".aws", ".config/gh", ".hermes/sessions"] {
        fs::create_dir_all(home.join(dir))?;
    }
    fs::create_dir_all(&work)?;
    fs::create_dir_all(&temp)?;
    let places = Surroundings {
        dir: work,
        temp_dir: temp,
        hermes_home: home.join(".hermes"),
        hermes_root: home.join(".hermes"),
        user_home: home,
        ..Surroundings::default()
    };
    let only = |search: &str, confiner: PathBuf| {
        let means = Means {
            search: search.to_owned(),
            confiner,
        };
        Sandbox::new(Mode::Strict, places.policy(Network::On), means)
    };
    Ok(vec![
        (
            "bubblewrap",
            only("/usr/local/bin:/usr/bin", PathBuf::new()),
        ),
        ("Landlock", only("", hermes)),
    ])
}

fn echo() -> Spawn {
    Spawn {
        program: "/bin/bash".into(),
        args: vec!["-c".to_owned(), "echo 1".to_owned()],
        env: Vec::new(),
        dir: "/".into(),
        stdin: Stdin::Null,
        tty: Tty::None,
    }
}

async fn wall(spawn: Spawn) -> Result<f64> {
    let start = Instant::now();
    let mut running = spawn.start()?;
    loop {
        if let Event::Ended(exit) = running.next().await {
            ensure!(exit == Exit::Code(0), "ended with {exit:?}");
            return Ok(start.elapsed().as_secs_f64() * 1000.0);
        }
    }
}
