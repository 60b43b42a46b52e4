//! A plain client of the official Rust SDK, with its defaults: `rmcp_peer SERVER TOKENS`.
//!
//! A peer of `cargo xtask faults --peer rmcp`; it speaks like `xtask/python/faults_peer.py`.

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "what it is told and what it answers are lines of stdin and stdout"
)]

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use futures::future::join_all;
use rmcp::model::{CallToolRequestParams, GetPromptRequestParams, ReadResourceRequestParams};
use rmcp::service::{Peer, RunningService, ServiceError};
use rmcp::transport::auth::{
    AuthClient, AuthorizationManager, CredentialStore, InMemoryCredentialStore,
};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{RoleClient, ServiceExt};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader, stdin};
use tokio::process::Command;
use tokio::time::{Instant, timeout};

/// The SDK has no deadline of its own.
const PATIENCE: Duration = Duration::from_secs(30);

type Session = RunningService<RoleClient, ()>;

#[tokio::main]
async fn main() -> Result<()> {
    // Whoever uses the SDK without a TLS library of its choice must choose one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut args = std::env::args().skip(1);
    let server = args.next().context("which server?")?;
    let tokens = args.next().context("which tokens?")?;
    let server: Value = serde_json::from_str(&server)?;
    let session = timeout(PATIENCE, connect(&server, Path::new(&tokens))).await;
    let session = session.context("never connected").flatten();
    println!("{}", json!({"ready": session.is_ok()}));
    let session = session?;
    let mut lines = BufReader::new(stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        let wish: Value = serde_json::from_str(&line)?;
        println!(
            "{}",
            json!({"answers": fulfil(&wish, session.peer()).await})
        );
    }
    Ok(())
}

async fn connect(server: &Value, tokens: &Path) -> Result<Session> {
    if let Some(program) = server["command"].as_str() {
        let mut command = Command::new(program);
        command.args(
            server["args"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str),
        );
        return Ok(().serve(TokioChildProcess::new(command)?).await?);
    }
    let url = server["url"].as_str().context("neither command nor url")?;
    let mut config = StreamableHttpClientTransportConfig::with_uri(url);
    if let Some(headers) = server["headers"].as_object() {
        let mut own = HashMap::new();
        for (name, value) in headers {
            own.insert(name.parse()?, value.as_str().unwrap_or_default().parse()?);
        }
        config = config.custom_headers(own);
    }
    if server["auth"] == "oauth" {
        let client = AuthClient::new(reqwest::Client::new(), manager(url, tokens).await?);
        return Ok(
            ().serve(StreamableHttpClientTransport::with_client(client, config))
                .await?,
        );
    }
    Ok(
        ().serve(StreamableHttpClientTransport::from_config(config))
            .await?,
    )
}

/// Somebody who has logged in before.
async fn manager(url: &str, tokens: &Path) -> Result<AuthorizationManager> {
    let response: Value = serde_json::from_str(&std::fs::read_to_string(tokens)?)?;
    let now = std::time::UNIX_EPOCH.elapsed()?.as_secs();
    let stored =
        json!({"client_id": "matrix", "token_response": response, "token_received_at": now});
    let store = InMemoryCredentialStore::new();
    store.save(serde_json::from_value(stored)?).await?;
    let mut manager = AuthorizationManager::new(url).await?;
    manager.set_credential_store(store);
    if !manager.initialize_from_store().await? {
        bail!("the tokens are not accepted");
    }
    Ok(manager)
}

async fn fulfil(wish: &Value, peer: &Peer<RoleClient>) -> Vec<Value> {
    let at_once = wish["at_once"].as_u64().unwrap_or(1);
    let operation: Arc<str> = wish["call"].as_str().unwrap_or_default().into();
    let cancel = wish["cancel_ms"].as_u64().map(Duration::from_millis);
    join_all((0..at_once).map(|_| one(&operation, peer, cancel))).await
}

async fn one(operation: &str, peer: &Peer<RoleClient>, cancel: Option<Duration>) -> Value {
    let start = Instant::now();
    let ended = timeout(cancel.unwrap_or(PATIENCE), call(operation, peer)).await;
    let (outcome, text) = match ended {
        // Dropping a call is how it is cancelled.
        Err(_) if cancel.is_some() => return json!({"outcome": "C", "ms": 0, "text": "dropped"}),
        Err(_) => ("hang", String::new()),
        Ok(Ok(None)) => ("ok", String::new()),
        Ok(Ok(Some(error))) => ("E", error),
        Ok(Err(error)) => (code(&error), words(&error)),
    };
    json!({"outcome": outcome, "ms": start.elapsed().as_millis() as u64, "text": text})
}

/// What a tool says it failed at.
async fn call(operation: &str, peer: &Peer<RoleClient>) -> Result<Option<String>, ServiceError> {
    match operation {
        "CTw" | "CTr" => {
            let name = if operation == "CTw" { "write" } else { "read" };
            let result = peer.call_tool(CallToolRequestParams::new(name)).await?;
            let failed = result.is_error == Some(true);
            return Ok(failed.then(|| format!("{:?}", result.content)));
        }
        "LR" => drop(peer.list_resources(None).await?),
        "RR" => drop(
            peer.read_resource(ReadResourceRequestParams::new("file:///notes.txt"))
                .await?,
        ),
        "LP" => drop(peer.list_prompts(None).await?),
        _ => drop(
            peer.get_prompt(GetPromptRequestParams::new("greet"))
                .await?,
        ),
    }
    Ok(None)
}

/// Without the names of types it begins with.
fn words(error: &ServiceError) -> String {
    let text = error.to_string();
    let words = text
        .split_once("] error: ")
        .map(|(_, words)| words.to_owned());
    words.unwrap_or(text)
}

/// It has no word for a call whose outcome is unknown.
fn code(error: &ServiceError) -> &'static str {
    let text = error.to_string().to_lowercase();
    let wants_login = text.contains("auth required")
        || text.contains("authorization required")
        || text.contains("insufficient scope");
    if wants_login { "A" } else { "E" }
}
