//! The check against a small server of our own.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use hermes_home::Resolved;
use hermes_net::{Options, Reach};
use hermes_testkit::TempHome;
use pretty_assertions::assert_eq;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::*;

/// Gives every request the same answer, and remembers their bodies.
struct Database {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Value>>>,
    count: Arc<AtomicUsize>,
    _work: JoinSet<()>,
}

impl Database {
    async fn start(status: &'static str, answer: Value) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (asked, count) = (
            Arc::new(Mutex::new(Vec::new())),
            Arc::new(AtomicUsize::new(0)),
        );
        let mut work = JoinSet::new();
        let (bodies, times) = (asked.clone(), count.clone());
        work.spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                times.fetch_add(1, Ordering::Relaxed);
                let mut bytes = Vec::new();
                let body = loop {
                    let mut piece = [0; 4096];
                    let read = stream.read(&mut piece).await.unwrap();
                    bytes.extend_from_slice(&piece[..read]);
                    let text = String::from_utf8_lossy(&bytes);
                    let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
                    if let Ok(body) = serde_json::from_str::<Value>(body) {
                        break body;
                    }
                };
                bodies.lock().unwrap().push(body);
                let answer = answer.to_string();
                let head = format!(
                    "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                    answer.len()
                );
                stream.write_all((head + &answer).as_bytes()).await.unwrap();
            }
        });
        Self {
            address,
            asked,
            count,
            _work: work,
        }
    }

    fn times(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }
}

fn osv(temp: &TempHome, endpoint: SocketAddr) -> Osv {
    let options = Options::new("HermesAgent/test", Duration::from_secs(5), Reach::Loopback);
    let (hermes, endpoint) = (
        temp.hermes().display().to_string(),
        format!("http://{endpoint}/v1/query"),
    );
    let env = Env::from([
        ("HERMES_HOME", hermes.as_str()),
        ("OSV_ENDPOINT", &endpoint),
    ]);
    let home = Resolved::from(None, &env).unwrap().home(&env);
    Osv::new(hermes_net::client(&options).unwrap(), &env, &home)
}

async fn check(osv: &Osv, line: &str) -> Verdict {
    let mut words = line.split_whitespace().map(str::to_owned);
    let program = PathBuf::from(words.next().unwrap());
    osv.check(&program, &words.collect::<Vec<_>>()).await
}

// spec: mcp §15.22
#[tokio::test]
async fn malware_is_refused_and_remembered() {
    let temp = TempHome::new();
    let report =
        json!({"vulns": [{"id": "MAL-2026-7", "summary": "steals keys"}, {"id": "GHSA-x"}]});
    let database = Database::start("200 OK", report).await;
    let osv = osv(&temp, database.address);
    for _ in 0..2 {
        let verdict = check(&osv, "npx -y @evil/mail@1.0.16").await;
        let refusal = verdict.refusal().unwrap();
        assert!(refusal.contains("MAL-2026-7 (steals keys)"), "{refusal}");
    }
    assert_eq!(database.times(), 1, "the second time it was known");
    let expected =
        json!({"package": {"name": "@evil/mail", "ecosystem": "npm"}, "version": "1.0.16"});
    assert_eq!(*database.asked.lock().unwrap(), [expected]);
    assert_eq!(check(&osv, "node server.js").await, Verdict::Clean);
    assert_eq!(database.times(), 1, "no package, no question");
}

// spec: mcp §15.22
#[tokio::test]
async fn a_database_that_is_down_stops_nobody() {
    let temp = TempHome::new();
    let gone = {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        listener.local_addr().unwrap()
    };
    let verdict = check(&osv(&temp, gone), "uvx pkg").await;
    assert!(
        matches!(verdict, Verdict::Unknown(_)) && verdict.refusal().is_none(),
        "{verdict:?}"
    );
    let broken = Database::start("500 Oops", json!({"vulns": [{"id": "MAL-1"}]})).await;
    let osv = osv(&temp, broken.address);
    assert!(matches!(check(&osv, "uvx pkg").await, Verdict::Unknown(_)));
    assert!(matches!(check(&osv, "uvx pkg").await, Verdict::Unknown(_)));
    assert_eq!(broken.times(), 2, "what is unknown is asked again");
}

#[tokio::test]
async fn only_programs_need_permission() {
    let temp = TempHome::new();
    let database = Database::start("200 OK", json!({"vulns": [{"id": "MAL-1"}]})).await;
    let may = Arc::new(osv(&temp, database.address)).permission();
    let program = hermes_mcp::StdioEndpoint {
        program: PathBuf::from("/bin/npx"),
        args: vec!["evil".to_owned()],
        env: Default::default(),
        dir: temp.work(),
        stderr: None,
        idle_limit: None,
        lifetime: None,
    };
    let refusal = may(&ServerConfig::new("s", Endpoint::Stdio(program))).await;
    assert_eq!(
        refusal,
        Err("its package is reported as malware: MAL-1".to_owned())
    );
    let http = hermes_mcp::HttpEndpoint::new("https://h.example/npx/evil");
    assert_eq!(
        may(&ServerConfig::new("s", Endpoint::Http(http))).await,
        Ok(())
    );
    assert_eq!(database.times(), 1);
}
