//! Another model stands in: from the request that is refused to the same one at the next server.

use std::fs::OpenOptions;
use std::io::Write;

use anyhow::{Result, ensure};
use serde_json::json;

use super::start::wall;
use super::table::{Bar, Row};
use super::user::User;
use super::{Setup, percentile};

pub fn rows(setup: &Setup) -> Result<Vec<Row>> {
    let refusal =
        json!({"steps": [{"status": 429, "headers": {"retry-after": "30"}, "repeat": true}]});
    let first = User::new("failover", &refusal)?;
    let second = User::new(
        "failover-other",
        &json!({"steps": [{"text": "done", "repeat": true}]}),
    )?;
    let config = first.home.path().join(".hermes/config.yaml");
    let mut config = OpenOptions::new().append(true).open(config)?;
    writeln!(
        config,
        "fallback_providers: [{{provider: custom, model: other, base_url: '{}/v1'}}]",
        second.server.url
    )?;
    let rounds = setup.rounds(100).max(5);
    for _ in 0..rounds {
        wall(&mut first.command(&setup.hermes, &["-z", "hi"]))?;
    }
    let (refused, answered) = (first.server.calls()?, second.server.calls()?);
    ensure!(
        refused.len() == rounds && answered.len() == rounds,
        "{} refused, {} answered",
        refused.len(),
        answered.len()
    );
    let gaps = refused.iter().zip(&answered);
    let gaps: Vec<_> = gaps
        .map(|(refused, answered)| (answered.at_unix_us - refused.at_unix_us) as f64 / 1000.0)
        .collect();
    let row = |rank: usize, name: &str| {
        let what = format!("a refused request to the same one at the fallback, {name}");
        Row::new(what, percentile(&gaps, rank), "ms", Bar::AtMost(20.0))
    };
    Ok(vec![row(50, "median"), row(95, "p95")])
}
