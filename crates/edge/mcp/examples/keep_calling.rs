//! Calls a tool again and again, and says when the connection was healed in between.
//!
//! `cargo run -p hermes-mcp --example keep_calling -- http://127.0.0.1:8080/mcp TOOL`
//! Restart the server, take its network away, let it forget its sessions: the calls go on.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use hermes_mcp::{
    CallContext, Client, Credentials, Endpoint, Herd, HttpEndpoint, Operation, Server,
    ServerConfig, Surroundings, SystemClock, Timing,
};
use serde_json::Map;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(url), Some(name)) = (args.next(), args.next()) else {
        return Err("usage: keep_calling URL TOOL".into());
    };
    let timing = Timing::default();
    let around = Surroundings {
        client: Client {
            name: "keep-calling".to_owned(),
            version: "1".to_owned(),
        },
        herd: Herd::new(Arc::new(SystemClock), &timing),
        timing,
        sampler: None,
        permission: None,
    };
    let config = ServerConfig::new("example", Endpoint::Http(HttpEndpoint::new(url)));
    let server = Server::start(config, Credentials::Configured, &around);
    let operation = Operation::CallTool {
        name,
        arguments: Map::new(),
    };
    loop {
        match server.call(&operation, &CallContext::default()).await {
            Ok(reply) => println!(
                "connection {}, {} retries: {:?}",
                reply.generation, reply.retries, reply.answer
            ),
            Err(error) => println!("{:?}", error.cause),
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}
