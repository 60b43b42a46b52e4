//! How long a session waits for the list of skills, for `cargo xtask bench skills`: milliseconds without a snapshot
//! and with one, and how many bytes of the prompt the list takes.

#![allow(clippy::print_stdout, reason = "its figures are read from stdout")]

use std::time::Instant;

use anyhow::{Context, Result};
use hermes_home::config::Settings;
use hermes_home::{Env, Resolved};
use hermes_skills::{Offer, Skills};
use serde_json::json;

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let home = args.next().context("HOME")?;
    let rounds: usize = args.next().context("ROUNDS")?.parse()?;
    let env = Env::from([("HERMES_HOME", home.as_str())]);
    let home = Resolved::from(None, &env)?.home(&env);
    let settings = Settings::load(&home, &env);
    // As a session does it: from the settings to the text.
    let index = || Skills::new(&home, &settings, &env, "cli").prompt(&Offer::default());
    let timed = || {
        let begun = Instant::now();
        let text = index();
        (begun.elapsed().as_secs_f64() * 1e3, text)
    };
    let (mut cold, mut warm, mut bytes) = (Vec::new(), Vec::new(), 0);
    for _ in 0..rounds {
        Skills::new(&home, &settings, &env, "cli")
            .library()
            .forget();
        cold.push(timed().0);
        let (time, text) = timed();
        warm.push(time);
        let text = text.context("there are no skills")?;
        bytes = text
            .find("<available_skills>")
            .map_or(0, |at| text.len() - at);
    }
    println!("{}", json!({"cold": cold, "warm": warm, "bytes": bytes}));
    Ok(())
}
