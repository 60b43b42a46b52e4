//! Just enough HTTP/1.1, with every byte in our hands.

use std::io;
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::text::Text;

const MAX_HEAD: usize = 64 << 10;
const MAX_BODY: usize = 16 << 20;

/// How a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Closed,
    /// With a TCP reset.
    Reset,
    /// It stays open, and nothing is said on it any more.
    Silent,
}

impl From<io::Error> for End {
    fn from(_: io::Error) -> Self {
        // Nobody is left to tell.
        Self::Closed
    }
}

/// What an exchange leaves behind: a connection to go on with, or its end.
pub(crate) type Served = Result<(), End>;

#[derive(Debug)]
pub(crate) struct Request {
    pub method: String,
    pub target: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    pub fn query(&self, name: &str) -> Option<String> {
        field(self.target.split_once('?')?.1, name)
    }

    /// A field of a form in the body.
    pub fn form(&self, name: &str) -> Option<String> {
        field(&String::from_utf8_lossy(&self.body), name)
    }

    pub fn wants_close(&self) -> bool {
        self.header("connection")
            .is_some_and(|value| value.eq_ignore_ascii_case("close"))
    }

    /// Where it went, as it called us.
    pub fn origin(&self) -> String {
        format!("http://{}", self.header("host").unwrap_or("127.0.0.1"))
    }
}

fn field(text: &str, name: &str) -> Option<String> {
    let mut pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    let (_, value) = pairs.find(|(key, _)| *key == name)?;
    Some(unescaped(value))
}

fn unescaped(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        match (first, code.and_then(|two| u8::from_str_radix(two, 16).ok())) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            (b'+', _) => {
                bytes.push(b' ');
                rest = after;
            }
            _ => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[derive(Clone, Debug)]
pub(crate) struct Response {
    pub status: u16,
    headers: Vec<(&'static str, String)>,
    pub body: Text,
}

impl Response {
    pub fn empty(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Text::plain(""),
        }
    }

    pub fn new(status: u16, kind: &'static str, body: Text) -> Self {
        let headers = vec![("content-type", kind.to_owned())];
        Self {
            status,
            headers,
            body,
        }
    }

    pub fn json(status: u16, body: &Value) -> Self {
        Self::new(status, "application/json", Text::json(body))
    }

    pub fn html(status: u16, body: &str) -> Self {
        Self::new(status, "text/html; charset=utf-8", Text::plain(body))
    }

    pub fn with(mut self, name: &'static str, value: impl ToString) -> Self {
        self.headers.push((name, value.to_string()));
        self
    }

    fn head(&self) -> String {
        let mut head = format!("HTTP/1.1 {} {}\r\n", self.status, reason(self.status));
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        if self.status != 204 {
            head += &format!("content-length: {}\r\n", self.body.len());
        }
        head + "\r\n"
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        204 => "No Content",
        302 => "Found",
        307 => "Temporary Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "Scripted",
    }
}

/// The client's end of a connection, from our side.
#[derive(Debug)]
pub(crate) struct Conn {
    stream: TcpStream,
    /// Read and not yet used.
    buffer: BytesMut,
}

impl Conn {
    pub fn new(stream: TcpStream) -> Self {
        // Small writes go out at once; a socket without this option still works.
        let _ = stream.set_nodelay(true);
        Self {
            stream,
            buffer: BytesMut::new(),
        }
    }

    /// The next request; `None` if none is to come, or it is none we understand.
    pub async fn request(&mut self) -> Option<Request> {
        let end = loop {
            let found = self.buffer.windows(4).position(|four| four == b"\r\n\r\n");
            if let Some(end) = found {
                break end;
            }
            if self.buffer.len() > MAX_HEAD {
                return None;
            }
            self.more().await?;
        };
        let head = self.buffer.split_to(end + 4);
        let mut request = read_head(&String::from_utf8_lossy(&head))?;
        let chunked = request.header("transfer-encoding") == Some("chunked");
        let length = request.header("content-length").map(str::parse);
        request.body = match length {
            _ if chunked => self.chunks().await?,
            Some(length) => self.take(length.ok()?).await?.to_vec(),
            None => Vec::new(),
        };
        Some(request)
    }

    async fn chunks(&mut self) -> Option<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let line = loop {
                let found = self.buffer.windows(2).position(|two| two == b"\r\n");
                if let Some(end) = found {
                    break self.buffer.split_to(end + 2);
                }
                self.more().await?;
            };
            let line = std::str::from_utf8(&line).ok()?;
            let size = line.split(';').next()?.trim();
            let size = usize::from_str_radix(size, 16).ok()?;
            let chunk = self.take(size.checked_add(2)?).await?;
            body.extend_from_slice(&chunk[..size]);
            if size == 0 {
                return Some(body);
            }
            if body.len() > MAX_BODY {
                return None;
            }
        }
    }

    async fn take(&mut self, size: usize) -> Option<BytesMut> {
        if size > MAX_BODY {
            return None;
        }
        while self.buffer.len() < size {
            self.more().await?;
        }
        Some(self.buffer.split_to(size))
    }

    async fn more(&mut self) -> Option<()> {
        let read = self.stream.read_buf(&mut self.buffer).await;
        matches!(read, Ok(1..)).then_some(())
    }

    /// Ends when the client has closed its side.
    pub async fn closed(&mut self) {
        while self.more().await.is_some() {
            if self.buffer.len() > MAX_BODY {
                return;
            }
        }
    }

    /// Says nothing until the client has given up.
    pub async fn hold(&mut self) {
        while self.more().await.is_some() {
            self.buffer.clear();
        }
    }

    pub async fn send(&mut self, response: &Response) -> io::Result<()> {
        self.write(response.head().as_bytes()).await?;
        for piece in response.body.pieces() {
            self.write(&piece).await?;
        }
        Ok(())
    }

    /// The head, and half of the body.
    pub async fn send_half(&mut self, response: &Response) -> io::Result<()> {
        self.write(response.head().as_bytes()).await?;
        self.write(&response.body.half()).await
    }

    /// The head at once, the body byte by byte.
    pub async fn trickle(&mut self, response: &Response, pause: Duration) -> io::Result<()> {
        self.write(response.head().as_bytes()).await?;
        for piece in response.body.pieces() {
            for byte in piece {
                tokio::time::sleep(pause).await;
                self.write(&[byte]).await?;
            }
        }
        Ok(())
    }

    /// The head of a stream of events, of unknown length.
    pub async fn start_events(&mut self, session: Option<&str>) -> io::Result<()> {
        let session = session.map(|id| format!("mcp-session-id: {id}\r\n"));
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\n{}\
             transfer-encoding: chunked\r\n\r\n",
            session.unwrap_or_default()
        );
        self.write(head.as_bytes()).await
    }

    /// A part of a stream.
    pub async fn chunk(&mut self, text: &Text) -> io::Result<()> {
        for piece in text.pieces() {
            self.chunk_bytes(piece).await?;
        }
        Ok(())
    }

    pub async fn chunk_bytes(&mut self, bytes: Bytes) -> io::Result<()> {
        let head = format!("{:x}\r\n", bytes.len());
        let mut whole = Buf::chain(head.as_bytes(), bytes).chain(&b"\r\n"[..]);
        while whole.has_remaining() {
            self.stream.write_buf(&mut whole).await?;
        }
        Ok(())
    }

    pub async fn end_chunks(&mut self) -> io::Result<()> {
        self.write(b"0\r\n\r\n").await
    }

    pub async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await
    }

    /// Ends the connection with a reset.
    pub fn reset(self) {
        // Without the option it is an ordinary close, and the client sees a cut all the same.
        let _ = self.stream.set_zero_linger();
    }

    /// The socket itself, and what was read from it ahead.
    pub fn into_parts(self) -> (TcpStream, BytesMut) {
        (self.stream, self.buffer)
    }
}

fn read_head(head: &str) -> Option<Request> {
    let mut lines = head.lines();
    let mut first = lines.next()?.split(' ');
    let (method, target) = (first.next()?, first.next()?);
    let headers = lines.filter_map(|line| line.split_once(':'));
    Some(Request {
        method: method.to_owned(),
        target: target.to_owned(),
        headers: headers
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect(),
        body: Vec::new(),
    })
}
