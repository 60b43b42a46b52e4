//! The stdio child's own side: it carries bytes between its client and the server, and obeys.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::thread;

use nix::sys::signal::{Signal, raise};
use serde_json::{Value, json};

// Each frame for the child: a tag, the size in four bytes, so many bytes.
pub(crate) const WRITE: u8 = 0;
pub(crate) const KILL: u8 = 1;
pub(crate) const STOP: u8 = 2;
pub(crate) const CLOSE_STDOUT: u8 = 3;
pub(crate) const SPAWN: u8 = 4;

const MAX_FRAME: u32 = 64 << 20;

/// Serves MCP on stdin and stdout for the server with this control address, until one of them is gone.
pub fn relay(control: SocketAddr) -> io::Result<()> {
    let env: BTreeMap<_, _> = std::env::vars_os()
        .map(|(name, value)| {
            let text = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
            (text(name), text(value))
        })
        .collect();
    let hello = json!({"pid": std::process::id(), "env": env});
    let mut server = connect(control, "/child", &hello)?;
    let mut up = server.try_clone()?;
    // Ends with the process: a read of stdin can't be broken off.
    thread::Builder::new().spawn(move || {
        // Whatever ended it, the server learns that no more comes.
        let _ = io::copy(&mut io::stdin().lock(), &mut up);
        let _ = up.shutdown(Shutdown::Write);
    })?;
    while let Some((tag, payload)) = frame(&mut server)? {
        match tag {
            WRITE => {
                let mut stdout = io::stdout().lock();
                stdout.write_all(&payload)?;
                stdout.flush()?;
            }
            KILL => raise(Signal::SIGKILL)?,
            STOP => raise(Signal::SIGSTOP)?,
            CLOSE_STDOUT => nix::unistd::close(1)?,
            SPAWN => spawn(control, payload.first().copied().unwrap_or_default())?,
            _ => return Err(io::Error::other("the server said something unknown")),
        }
    }
    Ok(())
}

/// Lives until the server is gone; the server sees it live.
pub fn grandchild(control: SocketAddr) -> io::Result<()> {
    let mut server = connect(control, "/grandchild", &Value::Null)?;
    let mut nothing = [0];
    // A reset is an end like any other.
    let _ = server.read(&mut nothing);
    Ok(())
}

fn spawn(control: SocketAddr, count: u8) -> io::Result<()> {
    for _ in 0..count {
        #[expect(
            clippy::disallowed_methods,
            reason = "a child nobody looks after is the point of this fault"
        )]
        Command::new(std::env::current_exe()?)
            .args(["grandchild", &control.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
    }
    Ok(())
}

/// A connection to the server, past the greeting.
fn connect(control: SocketAddr, path: &str, hello: &Value) -> io::Result<TcpStream> {
    let mut server = TcpStream::connect(control)?;
    server.set_nodelay(true)?;
    let body = hello.to_string();
    let size = body.len();
    let head = format!("POST {path} HTTP/1.1\r\nhost: {control}\r\ncontent-length: {size}\r\n\r\n");
    server.write_all(&[head.as_bytes(), body.as_bytes()].concat())?;
    Ok(server)
}

/// The next frame; `None` when the server is gone.
fn frame(server: &mut TcpStream) -> io::Result<Option<(u8, Vec<u8>)>> {
    let mut head = [0; 5];
    if server.read_exact(&mut head).is_err() {
        return Ok(None);
    }
    let [tag, size @ ..] = head;
    let size = u32::from_be_bytes(size);
    if size > MAX_FRAME {
        return Err(io::Error::other("the server said too much"));
    }
    let mut payload = Vec::new();
    let read = server.take(u64::from(size)).read_to_end(&mut payload)?;
    Ok((u32::try_from(read) == Ok(size)).then_some((tag, payload)))
}
