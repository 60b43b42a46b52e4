//! Many servers of which almost all are dead, and many calls of which some hang.

use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};
use futures::future::join_all;
use hermes_mcp::{Endpoint, HttpEndpoint, Server, State, stop_all};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, stdin};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::{Instant, timeout};

use crate::faulty::{Faulty, call, read};

/// Addresses nobody answers at; they are so for as long as this lives.
struct Holes {
    addresses: Vec<SocketAddr>,
    _listeners: Vec<TcpListener>,
    /// They fill the queues of every second one, so that not even the connection comes about.
    _fillers: Vec<TcpStream>,
}

impl Holes {
    async fn dig(count: usize) -> Result<Self> {
        let (mut listeners, mut fillers, mut addresses) = (Vec::new(), Vec::new(), Vec::new());
        for at in 0..count {
            let socket = TcpSocket::new_v4()?;
            socket.bind(SocketAddr::from(([127, 0, 0, 1], 0)))?;
            let (backlog, callers) = if at % 2 == 0 { (128, 0) } else { (1, 4) };
            let listener = socket.listen(backlog)?;
            let address = listener.local_addr()?;
            for _ in 0..callers {
                let caller = timeout(Duration::from_millis(20), TcpStream::connect(address));
                fillers.extend(caller.await.ok().and_then(Result::ok));
            }
            addresses.push(address);
            listeners.push(listener);
        }
        Ok(Self {
            addresses,
            _listeners: listeners,
            _fillers: fillers,
        })
    }
}

/// Prints such addresses, and keeps them until the end of its input.
pub async fn holes(count: usize) -> Result<()> {
    let holes = Holes::dig(count).await?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", json!(holes.addresses))?;
    out.flush()?;
    drop(out);
    stdin().read_to_end(&mut Vec::new()).await?;
    Ok(())
}

/// Milliseconds until the one live server among dead ones has answered.
pub async fn crowd(flaky: &Path, dead: usize) -> Result<Value> {
    let faulty = Faulty::start(flaky).await?;
    let holes = Holes::dig(dead).await?;
    let began = Instant::now();
    let at = |name: &str, url: String| faulty.server(name, Endpoint::Http(HttpEndpoint::new(url)));
    let mut servers: Vec<Server> = holes
        .addresses
        .iter()
        .map(|address| {
            at(
                &format!("dead-{}", address.port()),
                format!("http://{address}/mcp"),
            )
        })
        .collect();
    let healthy = at("healthy", faulty.url.clone());
    servers.insert(dead / 2, healthy.clone());
    let state = timeout(Duration::from_secs(20), healthy.settled()).await?;
    ensure!(state == State::Ready, "{:?}", healthy.status());
    read(&healthy).await?;
    let ready = began.elapsed().as_secs_f64() * 1000.0;
    let mut times = Vec::new();
    for _ in 0..200 {
        times.push(read(&healthy).await?);
    }
    let stopping = Instant::now();
    stop_all(&servers, Duration::from_secs(15)).await;
    let stopped = stopping.elapsed().as_secs_f64() * 1000.0;
    Ok(json!({"ready": ready, "calls": times, "stopped": stopped}))
}

/// Calls at once, and how many of them hang.
const CALLS: usize = 64;
const HUNG: usize = 20;

/// Milliseconds of the calls that don't hang: alone, and beside those that do.
pub async fn hung(flaky: &Path, rounds: usize) -> Result<Value> {
    let faulty = Faulty::start(flaky).await?;
    let server = faulty.over_http().await?;
    let many = || join_all((0..CALLS - HUNG).map(|_| read(&server)));
    let mut alone = Vec::new();
    for _ in 0..rounds + 5 {
        alone.extend(many().await.into_iter().collect::<Result<Vec<_>>>()?);
    }
    let hanging = join_all((0..HUNG).map(|_| call(&server, "slow", json!({"ms": 25_000}))));
    let working = async {
        let mut beside = Vec::new();
        for _ in 0..rounds {
            beside.extend(many().await.into_iter().collect::<Result<Vec<_>>>()?);
        }
        anyhow::Ok(beside)
    };
    let beside = tokio::select! {
        _ = hanging => anyhow::bail!("a call that should hang has ended"),
        beside = working => beside?,
    };
    // The first ones opened the connections.
    alone.drain(..5 * (CALLS - HUNG));
    server.stop().await;
    Ok(json!({"alone": alone, "beside": beside}))
}
