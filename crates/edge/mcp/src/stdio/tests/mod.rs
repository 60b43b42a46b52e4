//! Real children, most of them small shell scripts.

mod endings;
mod exchange;
mod starting;
mod traces;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::StdioDial;
use crate::config::{Endpoint, Secret, ServerConfig, StdioEndpoint};
use crate::failure::Failure;
use crate::link::{Dial, Inbound, InboundBody, Link, Request};
use crate::timing::Timing;

/// Long enough for a busy machine, short enough to see what hangs.
const LIMIT: Duration = Duration::from_secs(20);

/// Answers every request with its own process number; `$id` and `$line` are there for what comes before.
const ANSWERS: &str = r#"
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
next() { read -r line || exit 0; id=${line#*\"id\":}; id=${id%%[,\}]*}; }
"#;
const SERVE: &str = "while :; do next; answer $$; done";

/// A connection to a child, and what the child says on its own.
struct Talk {
    link: Arc<dyn Link>,
    inbox: mpsc::Receiver<Inbound>,
}

fn script(text: &str) -> StdioEndpoint {
    StdioEndpoint {
        program: "/bin/sh".into(),
        args: vec!["-c".to_owned(), format!("{ANSWERS}{text}")],
        env: env(&[("PATH", "/usr/bin:/bin")]),
        dir: "/".into(),
        stderr: None,
        idle_limit: None,
        lifetime: None,
    }
}

fn env(pairs: &[(&str, &str)]) -> BTreeMap<String, Secret> {
    let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), Secret::new(*value));
    pairs.iter().map(pair).collect()
}

fn config(endpoint: &StdioEndpoint) -> ServerConfig {
    ServerConfig::new("shell", Endpoint::Stdio(endpoint.clone()))
}

fn dial(endpoint: &StdioEndpoint) -> StdioDial {
    StdioDial::new(&config(endpoint), endpoint, Timing::default())
}

async fn talk_through(dial: &StdioDial) -> Talk {
    let (sender, inbox) = mpsc::channel(16);
    let link = dial.dial(sender).await.unwrap();
    Talk { link, inbox }
}

async fn talk(text: &str) -> Talk {
    talk_through(&dial(&script(text))).await
}

fn request(id: u64, params: Value) -> Request {
    Request {
        id,
        method: "test",
        params,
        mirrored: Vec::new(),
    }
}

impl Talk {
    async fn ask(&self, id: u64) -> Result<Value, Failure> {
        within(self.link.request(request(id, json!({})))).await
    }

    /// Waits for the next thing the child says on its own: a notification.
    async fn hear(&mut self) -> String {
        let inbound = within(self.inbox.recv()).await.unwrap();
        assert_eq!(inbound.origin, None);
        match inbound.body {
            InboundBody::Notification { method, .. } | InboundBody::Request { method, .. } => {
                method
            }
        }
    }

    async fn closed(&self) -> Failure {
        within(self.link.closed()).await
    }

    async fn abandon(&self) {
        within(self.link.abandon()).await;
    }
}

async fn within<T>(future: impl Future<Output = T>) -> T {
    timeout(LIMIT, future).await.unwrap()
}

/// Processes with `text` in their command line. Zombies have none.
fn processes(text: &str) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let matches = |pid: &u32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line)
            .replace('\0', " ")
            .contains(text)
    };
    pids.filter(matches).collect()
}

/// Waits until something is so that there is no event for.
async fn eventually(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < LIMIT, "never: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn kill(pid: u64) {
    hermes_proc::Group::led_by(pid.try_into().unwrap())
        .unwrap()
        .kill();
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}
