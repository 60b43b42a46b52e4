//! One connection to the server, held by hand.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use hermes_scripted::mcp::{Fault, Flaky, Options, Times};
use serde_json::{Value, json};

/// How long a reply may take.
pub const PATIENCE: Duration = Duration::from_secs(20);
/// How long a server must say nothing to count as silent.
const SILENCE: Duration = Duration::from_millis(300);

/// A reply as far as it came.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    /// Status line and headers, in lower case.
    pub head: String,
    pub body: Vec<u8>,
    pub end: End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Complete,
    Closed,
    Reset,
    Silent,
}

impl Reply {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body, or its last event.
    pub fn json(&self) -> Value {
        let text = self.text();
        let event = text.lines().rfind(|line| line.starts_with("data: {"));
        let json = event.map_or(text.as_str(), |line| &line[6..]);
        serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The text of a tool's result.
    pub fn said(&self) -> String {
        let json = self.json();
        let text = json["result"]["content"][0]["text"].as_str();
        text.unwrap_or_else(|| panic!("{json}")).to_owned()
    }

    pub fn header(&self, name: &str) -> &str {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        let found = lines.find(|(key, _)| *key == name);
        found.map_or("", |(_, value)| value)
    }
}

/// A client of the session era that never repairs anything.
#[derive(Debug)]
pub struct Link {
    stream: TcpStream,
    pub session: String,
    pub headers: String,
    id: u64,
}

pub fn start() -> Flaky {
    Flaky::start(Options::default()).unwrap()
}

pub fn armed(flaky: &Flaky, fault: &str) {
    flaky.arm(Fault::parse(fault).unwrap(), Times::Once);
}

impl Link {
    /// Connected, nothing said.
    pub fn open(flaky: &Flaky) -> Self {
        let stream = TcpStream::connect(flaky.addr()).unwrap();
        Self {
            stream,
            session: String::new(),
            headers: String::new(),
            id: 0,
        }
    }

    /// With a session.
    pub fn new(flaky: &Flaky) -> Self {
        let mut link = Self::open(flaky);
        link.initialize();
        link
    }

    pub fn initialize(&mut self) -> Reply {
        self.session.clear();
        let reply = self.ask("initialize", json!({"protocolVersion": "2025-06-18"}));
        self.session = reply.header("mcp-session-id").to_owned();
        reply
    }

    /// Another connection with the same session.
    pub fn again(&self, flaky: &Flaky) -> Self {
        Self {
            session: self.session.clone(),
            headers: self.headers.clone(),
            id: self.id + 100,
            ..Self::open(flaky)
        }
    }

    pub fn tool(&mut self, name: &str) -> Reply {
        self.ask("tools/call", json!({"name": name, "arguments": {}}))
    }

    pub fn ask(&mut self, method: &str, params: Value) -> Reply {
        self.send(method, params);
        self.reply(PATIENCE)
    }

    /// What comes in a time that is long for a server that means to answer.
    pub fn ask_in_vain(&mut self, method: &str) -> End {
        self.send(method, json!({"name": "write"}));
        self.reply(SILENCE).end
    }

    pub fn send(&mut self, method: &str, params: Value) {
        self.id += 1;
        let message = json!({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params});
        self.post("/mcp", &message.to_string());
    }

    pub fn notify(&mut self, method: &str, params: Value) -> Reply {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.post("/mcp", &message.to_string());
        self.reply(PATIENCE)
    }

    pub fn post(&mut self, path: &str, body: &str) {
        self.request("POST", path, body);
    }

    pub fn get(&mut self, path: &str, more: &str) -> Reply {
        self.headers += more;
        self.request("GET", path, "");
        self.reply(PATIENCE)
    }

    pub fn request(&mut self, method: &str, path: &str, body: &str) {
        let session = match self.session.as_str() {
            "" => String::new(),
            id => format!("mcp-session-id: {id}\r\n"),
        };
        let (more, size) = (&self.headers, body.len());
        // The server may have closed it: the reply will tell.
        let _ = write!(
            self.stream,
            "{method} {path} HTTP/1.1\r\nhost: {}\r\naccept: application/json, text/event-stream\r\n\
             {session}{more}content-length: {size}\r\n\r\n{body}",
            self.stream.peer_addr().unwrap(),
        );
    }

    pub fn reply(&mut self, patience: Duration) -> Reply {
        self.stream.set_read_timeout(Some(patience)).unwrap();
        let mut bytes = Vec::new();
        let mut piece = vec![0; 64 << 10];
        loop {
            if let Some(reply) = complete(&bytes) {
                return reply;
            }
            let end = match self.stream.read(&mut piece) {
                Ok(0) => End::Closed,
                Ok(read) => {
                    bytes.extend_from_slice(&piece[..read]);
                    continue;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => End::Silent,
                Err(error) if error.kind() == ErrorKind::ConnectionReset => End::Reset,
                Err(error) => panic!("{error}"),
            };
            return partial(&bytes, end);
        }
    }

    /// Lines of a stream until one contains `wanted`.
    pub fn line_with(&mut self, wanted: &str) -> String {
        self.stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut line = Vec::new();
        let mut byte = [0];
        loop {
            self.stream.read_exact(&mut byte).unwrap();
            line.push(byte[0]);
            if byte[0] == b'\n' {
                let text = String::from_utf8(std::mem::take(&mut line)).unwrap();
                if text.contains(wanted) {
                    return text.trim().to_owned();
                }
            }
        }
    }
}

fn split(bytes: &[u8]) -> Option<(String, &[u8])> {
    let split = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&bytes[..split]).to_lowercase();
    Some((head, &bytes[split + 4..]))
}

fn complete(bytes: &[u8]) -> Option<Reply> {
    let (head, body) = split(bytes)?;
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let whole = match length {
        Some(length) => body.len() == length.parse::<usize>().unwrap(),
        None => body.ends_with(b"0\r\n\r\n"),
    };
    whole.then(|| partial(bytes, End::Complete))
}

fn partial(bytes: &[u8], end: End) -> Reply {
    let (head, body) = split(bytes).unwrap_or_default();
    let status = head.split(' ').nth(1).map(|status| status.parse().unwrap());
    let body = if head.contains("transfer-encoding: chunked") {
        dechunked(body)
    } else {
        body.to_vec()
    };
    Reply {
        status: status.unwrap_or_default(),
        head,
        body,
        end,
    }
}

fn dechunked(mut body: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    while let Some(line) = body.windows(2).position(|two| two == b"\r\n") {
        let size = std::str::from_utf8(&body[..line]).unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        let end = (line + 2 + size).min(body.len());
        whole.extend_from_slice(&body[line + 2..end]);
        body = body.get(end + 2..).unwrap_or_default();
    }
    whole
}

impl Link {
    /// Everything until the connection ends or falls silent, as it is.
    pub fn rest(&mut self) -> (Vec<u8>, End) {
        self.stream.set_read_timeout(Some(SILENCE)).unwrap();
        let mut bytes = Vec::new();
        let end = match self.stream.read_to_end(&mut bytes) {
            Ok(_) => End::Closed,
            Err(error) if error.kind() == ErrorKind::WouldBlock => End::Silent,
            Err(error) if error.kind() == ErrorKind::ConnectionReset => End::Reset,
            Err(error) => panic!("{error}"),
        };
        (bytes, end)
    }
}
