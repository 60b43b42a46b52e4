//! How long a call waits for the audit log, for `cargo xtask bench audit`: milliseconds from what was seen to what
//! is written, one by one, in a log that grows meanwhile.

#![allow(clippy::print_stdout, reason = "its figures are read from stdout")]

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use hermes_home::{Env, Resolved};
use hermes_session::AuditLog;
use hermes_types::{Act, Outcome, Witness};

fn main() -> Result<()> {
    let rounds: usize = std::env::args().nth(1).context("ROUNDS")?.parse()?;
    let dir = tempfile::tempdir()?;
    let home = dir
        .path()
        .to_str()
        .context("a directory with a plain name")?;
    let env = Env::from([("HERMES_HOME", home)]);
    let log = AuditLog::new(Resolved::from(None, &env)?.home(&env), 12);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let times = runtime.block_on(async {
        let mut times = Vec::with_capacity(rounds);
        for round in 0..rounds {
            let act = act(round);
            let start = Instant::now();
            let told = log.saw(act).await;
            times.push(start.elapsed().as_secs_f64() * 1e3);
            ensure!(told.is_none(), "not written: {told:?}");
        }
        Ok(times)
    })?;
    println!("{}", serde_json::to_string(&times)?);
    Ok(())
}

fn act(round: usize) -> Act {
    Act {
        session: "20260405_223459_ab12cd".into(),
        tool: "terminal".to_owned(),
        about: format!("cargo nextest run -p crate-{round} 2>&1 | tail -40 → exit 0, 41 lines"),
        place: PathBuf::from("/home/me/src/project"),
        decision: "owner: session".to_owned(),
        outcome: Outcome::Done,
        took: Duration::from_millis(912),
        changed: vec![PathBuf::from("/home/me/src/project/src/lib.rs")],
    }
}
