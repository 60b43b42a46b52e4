//! A tiny HTTP client that hides nothing: it sees each chunk, and whether the body came to its end.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use hermes_scripted::{Script, ScriptedModel};
use serde_json::{Value, json};

/// A response as far as it came.
#[derive(Debug)]
pub struct Seen {
    pub status: u16,
    /// Status line and headers, in lower case.
    pub head: String,
    /// The body's pieces as the server wrote them.
    pub chunks: Vec<Vec<u8>>,
    pub end: End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The body is complete.
    Complete,
    /// The connection was closed before that.
    Cut,
    /// Nothing came for a while.
    Silent,
}

impl Seen {
    pub fn body(&self) -> String {
        String::from_utf8_lossy(&self.chunks.concat()).into_owned()
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body()).unwrap()
    }

    /// The JSON of each event of a stream.
    pub fn events(&self) -> Vec<Value> {
        let body = self.body();
        let data = body.lines().filter_map(|line| line.strip_prefix("data: "));
        data.filter_map(|data| serde_json::from_str(data).ok())
            .collect()
    }
}

/// A server that plays these steps, or this script.
pub fn start(script: Value) -> ScriptedModel {
    ScriptedModel::start(Script::from_value(script).unwrap()).unwrap()
}

/// A streaming chat request that says `text`.
pub fn ask(text: &str) -> Value {
    json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": text}]})
}

/// Asks the server to stream a chat completion.
pub fn chat(server: &ScriptedModel, text: &str) -> Seen {
    post(server, "/v1/chat/completions", &ask(text))
}

pub fn post(server: &ScriptedModel, path: &str, body: &Value) -> Seen {
    request(server, "POST", path, &body.to_string())
}

pub fn get(server: &ScriptedModel, path: &str) -> Seen {
    request(server, "GET", path, "")
}

pub fn request(server: &ScriptedModel, method: &str, path: &str, body: &str) -> Seen {
    read(send(server, method, path, body))
}

/// Sends a request and leaves the answer to be read.
pub fn send(server: &ScriptedModel, method: &str, path: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(server.addr()).unwrap();
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer key-1\r\nconnection: close\r\n\
         content-length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    stream
}

/// Reads until the connection is closed.
pub fn read(stream: TcpStream) -> Seen {
    let seen = read_until_silence(stream, Duration::from_secs(20));
    assert_ne!(seen.end, End::Silent, "{}", seen.body());
    seen
}

/// Reads until the connection is closed, or nothing has come for so long.
pub fn read_until_silence(mut stream: TcpStream, silence: Duration) -> Seen {
    stream.set_read_timeout(Some(silence)).unwrap();
    let mut bytes = Vec::new();
    let silent = match stream.read_to_end(&mut bytes) {
        Ok(_) => false,
        Err(error) if error.kind() == ErrorKind::WouldBlock => true,
        Err(error) => panic!("{error}"),
    };
    let split = bytes.windows(4).position(|four| four == b"\r\n\r\n");
    let split = split.unwrap_or_else(|| panic!("no response: {bytes:?}"));
    let head = String::from_utf8_lossy(&bytes[..split]).to_lowercase();
    let body = &bytes[split + 4..];
    let (chunks, complete) = if head.contains("transfer-encoding: chunked") {
        dechunk(body)
    } else {
        (vec![body.to_vec()], true)
    };
    Seen {
        status: head.split(' ').nth(1).unwrap().parse().unwrap(),
        head,
        chunks,
        end: match (complete, silent) {
            (true, _) => End::Complete,
            (false, true) => End::Silent,
            (false, false) => End::Cut,
        },
    }
}

/// The chunks of a body, and whether the last one was there.
fn dechunk(mut body: &[u8]) -> (Vec<Vec<u8>>, bool) {
    let mut chunks = vec![];
    while let Some(line) = body.windows(2).position(|two| two == b"\r\n") {
        let size = std::str::from_utf8(&body[..line]).unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            return (chunks, true);
        }
        chunks.push(body[line + 2..line + 2 + size].to_vec());
        body = &body[line + 2 + size + 2..];
    }
    (chunks, false)
}
