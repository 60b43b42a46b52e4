//! A server made of a TCP socket: it reads requests properly and answers with whatever bytes it is given.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// A request as it came.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub method: String,
    pub path: String,
    /// Names in small letters.
    pub headers: BTreeMap<String, String>,
    pub body: Value,
}

impl Seen {
    pub(super) fn rpc(&self) -> &str {
        self.body["method"].as_str().unwrap_or_default()
    }

    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value)
    }
}

/// What the server does with one request.
pub(super) enum Reply {
    /// Sends these bytes and waits for the next request on the connection.
    Bytes(String),
    /// Sends these bytes and closes the connection.
    Last(String),
    /// Sends these bytes and then resets the connection.
    Reset(String),
    /// Does what it likes with the connection.
    Custom(Box<dyn FnOnce(TcpStream) -> BoxFuture<'static, ()> + Send>),
}

pub(super) struct Server {
    address: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    _tasks: JoinSet<()>,
}

type Script = Arc<dyn Fn(&Seen) -> Reply + Send + Sync>;

impl Server {
    pub(super) async fn start(script: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, Arc::new(script), seen.clone()));
        Self {
            address,
            seen,
            _tasks: tasks,
        }
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(super) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    pub(super) fn count(&self, method: &str) -> usize {
        self.seen()
            .iter()
            .filter(|seen| seen.method == method)
            .count()
    }
}

async fn accept(listener: TcpListener, script: Script, seen: Arc<Mutex<Vec<Seen>>>) {
    let mut connections = JoinSet::new();
    loop {
        let (connection, _) = listener.accept().await.unwrap();
        connections.spawn(serve(connection, script.clone(), seen.clone()));
    }
}

async fn serve(connection: TcpStream, script: Script, seen: Arc<Mutex<Vec<Seen>>>) {
    let mut connection = BufReader::new(connection);
    while let Some(request) = read(&mut connection).await {
        seen.lock().unwrap().push(request.clone());
        let reply = script(&request);
        let stream = connection.get_mut();
        match reply {
            Reply::Bytes(bytes) => {
                // The client may have gone, which is its right.
                let _ = stream.write_all(bytes.as_bytes()).await;
            }
            Reply::Last(bytes) => {
                let _ = stream.write_all(bytes.as_bytes()).await;
                let _ = stream.shutdown().await;
                return;
            }
            Reply::Reset(bytes) => {
                let _ = stream.write_all(bytes.as_bytes()).await;
                stream.set_zero_linger().unwrap();
                return;
            }
            Reply::Custom(act) => return act(connection.into_inner()).await,
        }
    }
}

async fn read(connection: &mut BufReader<TcpStream>) -> Option<Seen> {
    let mut line = String::new();
    connection.read_line(&mut line).await.ok()?;
    let mut words = line.split_whitespace();
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        connection.read_line(&mut line).await.ok()?;
        match line.trim_end().split_once(':') {
            Some((name, value)) => headers.insert(name.to_lowercase(), value.trim().to_owned()),
            None => break,
        };
    }
    let length = headers
        .get("content-length")
        .and_then(|length| length.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    connection.read_exact(&mut body).await.ok()?;
    Some(Seen {
        method,
        path,
        headers,
        body: serde_json::from_slice(&body).unwrap_or(Value::Null),
    })
}

/// A whole answer.
pub(super) fn answer(status: &str, kind: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n{body}")
}

pub(super) fn json(body: &str) -> Reply {
    Reply::Bytes(answer("200 OK", "application/json", body))
}

pub(super) fn status(status: &str) -> Reply {
    Reply::Bytes(format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n"))
}

/// The head of an answer whose body ends with the connection.
pub(super) const EVENTS: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";

/// Events that end properly.
pub(super) fn events(body: &str) -> Reply {
    Reply::Bytes(answer("200 OK", "text/event-stream; charset=utf-8", body))
}

/// A stream that says `body` and then stays open.
pub(super) fn open_events(body: &str) -> Reply {
    let text = format!("{EVENTS}{body}");
    Reply::Custom(Box::new(move |mut stream| {
        Box::pin(async move {
            let _ = stream.write_all(text.as_bytes()).await;
            // Until the client hangs up.
            let _ = stream.read(&mut [0; 16]).await;
        })
    }))
}
