//! The whole of it against an authorization server that plays along, or does not.

mod logging_in;
mod renewing;
mod server;
mod unattended;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

use hermes_net::{Options, Reach, Redirects};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::Instant;

use super::*;
use crate::timing::Clock;

const SERVER: &str = "fake";

/// A clock that can be wrong.
#[derive(Default)]
struct Wrong {
    by: AtomicI64,
}

impl Wrong {
    fn jump(&self, seconds: i64) {
        self.by.fetch_add(seconds, Ordering::SeqCst);
    }
}

impl Clock for Wrong {
    fn mono(&self) -> Instant {
        Instant::now()
    }

    fn boot(&self) -> Duration {
        Duration::ZERO
    }

    fn wall(&self) -> SystemTime {
        let by = self.by.load(Ordering::SeqCst);
        let distance = Duration::from_secs(by.unsigned_abs());
        let now = SystemTime::now();
        if by < 0 {
            now - distance
        } else {
            now + distance
        }
    }
}

/// A token directory and how to get at it.
struct Desk {
    dir: TempDir,
    clock: Arc<Wrong>,
}

impl Desk {
    fn new() -> Self {
        Self {
            dir: TempDir::new().unwrap(),
            clock: Arc::default(),
        }
    }

    fn store(&self) -> FileTokens {
        FileTokens::new(self.dir.path())
    }

    fn access(&self, url: String) -> Access {
        access(self.store(), url, self.clock.clone())
    }

    fn read(&self, document: Document) -> Option<Value> {
        let stored = self.store().load(SERVER, document).unwrap();
        stored.map(|stored| Value::Object(stored.fields))
    }

    fn write(&self, document: Document, fields: &Value) {
        let fields = fields.as_object().unwrap();
        self.store().save(SERVER, document, fields).unwrap();
    }

    /// Everything a logged-in user has, with the first tokens the server gives out.
    fn logged_in(&self, server: &server::Fake) {
        self.write(
            Document::Tokens,
            &json!({
                "access_token": "access-0", "refresh_token": "refresh-0", "token_type": "Bearer",
                "id_token": "kept",
            }),
        );
        self.write(
            Document::Client,
            &json!({"client_id": "client-7", "redirect_uris": ["https://proxy.example/callback"]}),
        );
        let token_endpoint = server.url("/token");
        self.write(
            Document::Metadata,
            &json!({"token_endpoint": token_endpoint, "resource": server.url("/mcp")}),
        );
    }
}

fn access(store: FileTokens, url: String, clock: Arc<dyn Clock>) -> Access {
    let mut options = Options::new("test/1", Duration::from_secs(5), Reach::Loopback);
    options.redirects = Redirects::Never;
    Access {
        server: SERVER.to_owned(),
        url,
        config: OAuthConfig::new("Test Program"),
        store: Arc::new(store),
        http: hermes_net::client(&options).unwrap(),
        clock,
    }
}

/// An address at which nobody listens.
async fn nowhere() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

fn poll() -> Duration {
    Duration::from_millis(10)
}
