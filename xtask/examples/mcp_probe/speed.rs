//! How fast a lost session is healed, and what a call costs when nothing is wrong.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::faulty::{Faulty, read};

/// Milliseconds of calls that find their session gone, by fault.
pub async fn heal(flaky: &Path, rounds: usize) -> Result<Value> {
    let mut figures = Map::new();
    for code in ["F01", "F02", "F03", "F04"] {
        let faulty = Faulty::start(flaky).await?;
        let server = faulty.over_http().await?;
        let mut times = Vec::new();
        for _ in 0..rounds {
            faulty.wish(&json!({"arm": code})).await?;
            times.push(read(&server).await?);
        }
        let handshakes = faulty.wish(&json!({})).await?["initialize"].as_u64();
        ensure!(
            handshakes > Some(rounds as u64),
            "{code}: {handshakes:?} handshakes in {rounds} rounds"
        );
        server.stop().await;
        figures.insert(code.to_owned(), json!(times));
    }
    Ok(Value::Object(figures))
}

/// Milliseconds of the same request, by turns: through the library, and with the bare HTTP client.
pub async fn overhead(flaky: &Path, rounds: usize) -> Result<Value> {
    let faulty = Faulty::start(flaky).await?;
    let server = faulty.over_http().await?;
    let plain = Plain::open(&faulty).await?;
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for round in 0..rounds + 20 {
        let (through, around) = match round % 2 {
            0 => (read(&server).await?, plain.read().await?),
            _ => {
                let around = plain.read().await?;
                (read(&server).await?, around)
            }
        };
        // The first ones pay for what is only made once.
        if round >= 20 {
            ours.push(through);
            bare.push(around);
        }
    }
    server.stop().await;
    Ok(json!({"ours": ours, "bare": bare}))
}

/// The protocol by hand, as little of it as a call takes.
struct Plain<'a> {
    faulty: &'a Faulty,
    session: String,
}

impl<'a> Plain<'a> {
    async fn open(faulty: &'a Faulty) -> Result<Self> {
        let mut plain = Self {
            faulty,
            session: String::new(),
        };
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "plain", "version": "1"},
        }});
        let answer = plain.post(&hello).send().await?;
        let session = answer.headers().get("mcp-session-id");
        plain.session = session.context("no session")?.to_str()?.to_owned();
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        plain.post(&ready).send().await?;
        Ok(plain)
    }

    async fn read(&self) -> Result<f64> {
        let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
            "name": "read", "arguments": {},
        }});
        let start = Instant::now();
        let answer: Value = self.post(&call).send().await?.json().await?;
        ensure!(answer["result"].is_object(), "{answer}");
        Ok(start.elapsed().as_secs_f64() * 1000.0)
    }

    fn post(&self, body: &Value) -> reqwest::RequestBuilder {
        let request = self.faulty.http.post(&self.faulty.url);
        let request = match self.session.as_str() {
            "" => request,
            session => request.header("mcp-session-id", session),
        };
        request
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", "2025-11-25")
            .timeout(Duration::from_secs(10))
            .json(body)
    }
}
